import { describe, expect, it, onTestFinished } from 'vitest';
import * as z from 'zod';
import { VirtualClock } from './clock.ts';
import { FakeD1, PristineDatabase } from './fake-d1.ts';
import { FakeKv } from './fake-kv.ts';
import { type Delivery, FakeQueue } from './fake-queue.ts';
import { Invocation, roundTrip, runAs } from './invocation.ts';
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

describe('an invocation', () => {
  it('waitUntil keeps an invocation alive for 30 seconds after its response', async () => {
    const invocation = newInvocation();
    const steps: number[] = [];
    const work = runAs(invocation, async () => {
      for (let step = 0; ; step++) {
        await roundTrip(clock, newLink(), () => undefined);
        steps.push(step);
        await clock.wait(9_000);
      }
    });
    invocation.context.waitUntil(work);
    invocation.respond();
    await clock.pass(120_000);
    expect(steps).toEqual([0, 1, 2, 3]);
  });

  it('an invocation without waitUntil ends with its response', async () => {
    const invocation = newInvocation();
    let isDone = false;
    void runAs(invocation, async () => {
      await roundTrip(clock, newLink(), () => undefined);
      isDone = true;
    });
    invocation.respond();
    await clock.pass(1_000);
    expect(isDone).toBe(false);
  });

  it('calls fail during an outage', async () => {
    const link = newLink();
    let executed = 0;
    const call = () => roundTrip(clock, link, () => executed++);
    const result = expect(inRequest(call)).rejects.toThrow('Network connection lost');
    link.cut(clock.now, 60_000);
    await result;
    expect(executed).toBe(0);
    link.endFaults(clock.now);
    await inRequest(call);
    expect(executed).toBe(1);
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

  it('KV shows a write at once in its own location', async () => {
    const { paris } = newKv();
    expect(await inRequest(() => paris.get('key'))).toBeNull();
    await inRequest(() => paris.put('key', '{"a":1}'));
    expect(await inRequest(() => paris.get('key', { type: 'json' }))).toEqual({ a: 1 });
  });

  it('KV caches a miss elsewhere, in spite of a write', async () => {
    const { paris, osaka } = newKv();
    expect(await inRequest(() => osaka.get('key'))).toBeNull();
    await inRequest(() => paris.put('key', 'value'));
    await clock.pass(59_000);
    expect(await inRequest(() => osaka.get('key'))).toBeNull();
    await clock.pass(62_000);
    expect(await inRequest(() => osaka.get('key'))).toBe('value');
  });

  it('KV shows other locations the old value for up to 60 seconds', async () => {
    const { paris, osaka } = newKv();
    await inRequest(() => paris.put('key', 'old'));
    await clock.pass(61_000);
    await inRequest(() => paris.put('key', 'new'));
    const seen: unknown[] = [];
    for (let seconds = 0; seconds < 120; seconds += 31) {
      seen.push(await inRequest(() => osaka.get('key', { cacheTtl: 30 })));
      await clock.pass(31_000);
    }
    expect(seen.at(0)).toBe('old');
    expect(seen.at(-1)).toBe('new');
  });

  it('KV takes one write of a key a second', async () => {
    const { paris, osaka } = newKv();
    await inRequest(() => paris.put('key', 'value'));
    await inRequest(() => paris.put('other', 'value'));
    await expect(inRequest(() => osaka.put('key', 'value'))).rejects.toThrow('429');
    await clock.pass(1_000);
    await inRequest(() => osaka.put('key', 'value'));
  });

  it('KV fails writes, and has applied some of them', async () => {
    const { kv, links, paris } = newKv();
    links.Paris.rejectWrites(clock.now, 3_600_000);
    for (let number = 0; number < 20; number++) {
      await expect(inRequest(() => paris.put(`key ${number}`, 'value'))).rejects.toThrow('500');
    }
    expect(kv.entries().size).toBeGreaterThan(0);
    expect(kv.entries().size).toBeLessThan(20);
  });

  it('KV rejects a cacheTtl below 30 seconds', async () => {
    const { paris } = newKv();
    await expect(inRequest(() => paris.get('key', { cacheTtl: 10 }))).rejects.toThrow('cache_ttl');
  });
});

describe('the queue', () => {
  const batchOf = z.object({
    messages: z.array(
      z.object({ body: z.number(), attempts: z.number(), retry: z.custom<() => void>() }),
    ),
  });

  /** Sends numbers, and collects the messages that are delivered. */
  async function deliver(
    count: number,
    consume: (delivery: Delivery) => void,
  ): Promise<{ bodies: number[]; queue: FakeQueue }> {
    const bodies: number[] = [];
    const queue = new FakeQueue(clock, new Random(2), (delivery) => {
      bodies.push(...batchOf.parse(delivery.batch).messages.map(({ body }) => body));
      consume(delivery);
    });
    onTestFinished(() => expect(queue.isEmpty).toBe(true));
    const { sendBatch } = z
      .object({ sendBatch: z.custom<(messages: { body: number }[]) => Promise<void>>() })
      .parse(queue.binding(newLink()));
    const messages = Array.from({ length: count }, (_, body) => ({ body }));
    await inRequest(() => sendBatch(messages));
    expect(queue.isEmpty).toBe(false);
    await clock.pass(3_600_000);
    return { bodies, queue };
  }

  it('the queue delivers each message at least once, in another order, some twice', async () => {
    const { bodies, queue } = await deliver(40, ({ finish }) => finish(true));
    const inOrder = [...new Set(bodies)].sort((one, other) => one - other);
    expect(inOrder).toEqual(Array.from({ length: 40 }, (_, body) => body));
    expect(bodies).not.toEqual([...bodies].sort((one, other) => one - other));
    expect(bodies.length).toBeGreaterThan(40);
    expect(queue.deadLetters).toEqual([]);
  });

  it('the queue repeats a message that fails, and gives it up in the end', async () => {
    const { bodies, queue } = await deliver(1, ({ finish }) => finish(false));
    expect(bodies).toHaveLength(11);
    expect(queue.deadLetters).toEqual(['0']);
  });

  it('the queue repeats single messages', async () => {
    const { bodies } = await deliver(4, ({ batch, finish }) => {
      for (const { body, attempts, retry } of batchOf.parse(batch).messages) {
        if (body === 3 && attempts === 1) retry();
      }
      finish(true);
    });
    expect(bodies.filter((body) => body === 3).length).toBeGreaterThan(1);
  });
});
