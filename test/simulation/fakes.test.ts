import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { VirtualClock } from './clock.ts';
import { FakeD1, PristineDatabase } from './fake-d1.ts';
import { FakeKv } from './fake-kv.ts';
import { Invocation, runAs } from './invocation.ts';
import { Link } from './link.ts';
import { Random } from './random.ts';

/** The fakes have the faults of the platform. */

const clock = new VirtualClock(Date.UTC(2026, 10, 20));
const newLink = (): Link => new Link('TEST', new Random(1), 10, 10);
const newInvocation = (): Invocation =>
  new Invocation(clock, { hasLostLast: false }, { kind: 'platform' });

/** Runs code in an invocation until it is done. */
const inRequest = <Result>(code: () => Promise<Result>): Promise<Result> =>
  clock.until(runAs(newInvocation(), code));

describe('time', () => {
  it('events run at their time, in the order in which they were planned', async () => {
    const happened: string[] = [];
    const start = clock.now;
    const note = (what: string) => () => happened.push(`${what} ${clock.now - start}`);
    clock.at(start + 20, note('late'));
    clock.at(start + 10, note('first'));
    clock.at(start + 10, note('second'));
    clock.at(start + 15, note('cancelled'))();
    await clock.pass(30);
    expect(happened).toEqual(['first 10', 'second 10', 'late 20']);
    expect(clock.now).toBe(start + 30);
  });
});

describe('the database', () => {
  const database = new PristineDatabase('drizzle');
  const newDatabase = () => {
    database.restore();
    return new FakeD1(clock, database);
  };
  const binding = (d1: FakeD1) =>
    z
      .object({ prepare: z.custom<(sql: string) => Statement>(), batch: z.custom<Batch>() })
      .parse(d1.binding(newLink()));
  interface Statement {
    bind(...values: unknown[]): Statement;
    all(): Promise<{ results: object[]; meta: { changes: number } }>;
    raw(): Promise<unknown[][]>;
  }
  type Batch = (statements: Statement[]) => Promise<{ results: object[] }[]>;
  const INSERT = `insert into products
    (name, product_type, default_max_ips, default_max_hwids, created_at, updated_at)
    values (?, 'OTHER', ?, 1, 0, 0)`;

  it('D1 runs a batch as one transaction, with the errors of the platform', async () => {
    const d1 = newDatabase();
    const { prepare, batch } = binding(d1);
    const insert = prepare(INSERT);
    const failing = [insert.bind('Plugin', 1), insert.bind('Plugin', -2)];
    await expect(inRequest(() => batch(failing))).rejects.toThrow(/^D1_ERROR: CHECK constraint/);
    expect(d1.read('select count(*) as n from products')).toEqual([{ n: 0 }]);
  });

  it('D1 keeps columns of the same name apart in raw() only', async () => {
    const { prepare } = binding(newDatabase());
    const { results } = await inRequest(() => prepare('select 1 as a, 2 as a').all());
    expect(results).toEqual([{ a: 2 }]);
    expect(await inRequest(() => prepare('select 1 as a, 2 as a').raw())).toEqual([[1, 2]]);
  });

  it('D1 counts written rows, and is empty in each run', async () => {
    const d1 = newDatabase();
    const { prepare } = binding(d1);
    await inRequest(() => prepare(INSERT).bind('Plugin', 1).all());
    const { meta } = await inRequest(() =>
      prepare(`insert into blacklists (license_data_type, data, created_at, updated_at)
        values ('IP', '192.0.2.1', 0, 0), ('IP', '192.0.2.2', 0, 0)`).all(),
    );
    expect(meta.changes).toBe(2);
    expect(newDatabase().read('select id from products')).toEqual([]);
  });
});

describe('KV', () => {
  interface Kv {
    get(key: string, options?: object): Promise<unknown>;
    put(key: string, value: string): Promise<void>;
  }
  const newKv = () => {
    const kv = new FakeKv(clock, new Random(5), ['Paris', 'Osaka']);
    const links = { Paris: newLink(), Osaka: newLink() };
    const binding = (location: 'Paris' | 'Osaka'): Kv =>
      z
        .object({ get: z.custom<Kv['get']>(), put: z.custom<Kv['put']>() })
        .parse(kv.binding(location, links[location]));
    return { kv, links, paris: binding('Paris'), osaka: binding('Osaka') };
  };

  it('KV takes one write of a key a second', async () => {
    const { paris, osaka } = newKv();
    await inRequest(() => paris.put('key', 'value'));
    await inRequest(() => paris.put('other', 'value'));
    await expect(inRequest(() => osaka.put('key', 'value'))).rejects.toThrow('429');
    await clock.pass(1_000);
    await inRequest(() => osaka.put('key', 'value'));
  });

  it('KV rejects a cacheTtl below 30 seconds', async () => {
    const { paris } = newKv();
    await expect(inRequest(() => paris.get('key', { cacheTtl: 10 }))).rejects.toThrow('cache_ttl');
  });
});
