import {
  createExecutionContext,
  createMessageBatch,
  createScheduledController,
  waitOnExecutionContext,
} from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import document from '../../docs/cost.md?raw';
import deploying from '../../docs/deploy.md?raw';
import { app } from '../../src/app';
import { openDatabase } from '../../src/db/client';
import type { Bindings } from '../../src/isolate';
import worker from '../../src/index';
import { firstRequestIdAt } from '../../src/history/id';
import { type NewRequest, withIdentity, writeRequests } from '../../src/requests/write';
import { createLicense, createProduct, type Product, readAnswer } from '../support/client';
import type { SentStatement } from '../support/d1-intercept';
import { spyOnDatabase } from '../support/d1-spy';
import { spyOnKv } from '../support/kv-spy';
import { indexAll } from '../support/large-database';
import { settleLog } from '../support/published';

/** What validations ask of the platform, counted one by one, is what docs/cost.md and docs/deploy.md tell. */

/** Cloudflare's list prices on the Workers Paid plan, in dollars for a million. */
const PRICES = {
  requests: 0.3,
  kvReads: 0.5,
  kvWrites: 5,
  queueOperations: 0.4,
  rowsRead: 0.001,
  rowsWritten: 1,
};

type Counts = Record<keyof typeof PRICES, number>;
type Asked = Counts & { status: number };

const combine = (
  one: Counts,
  other: Counts,
  by: (one: number, other: number) => number,
): Counts => ({
  requests: by(one.requests, other.requests),
  kvReads: by(one.kvReads, other.kvReads),
  kvWrites: by(one.kvWrites, other.kvWrites),
  queueOperations: by(one.queueOperations, other.queueOperations),
  rowsRead: by(one.rowsRead, other.rowsRead),
  rowsWritten: by(one.rowsWritten, other.rowsWritten),
});

/** A message is written, read and deleted. */
const OPERATIONS_PER_MESSAGE = 3;

let product: Product;

beforeAll(async () => {
  product = await createProduct();
});

// What is published leaves the log after a few minutes: what is counted has nothing to catch up with.
beforeEach(() =>
  env.DB.exec("delete from changes where published_revision > 0 and subject <> 'blacklist'"),
);

/** An isolate of which all operations are counted; with the queue, its consumer's too. */
function newIsolate(withQueue: boolean) {
  const { spy: DB, roundTrips } = spyOnDatabase(env.DB);
  const { spy: SNAPSHOTS, operations } = spyOnKv(env.SNAPSHOTS);
  const sent: unknown[] = [];
  const RECORDS = new Proxy(env.TEST_RECORDS, {
    get: () => async (body: unknown) => {
      sent.push(structuredClone(body));
      return { metadata: { metrics: { backlogCount: 0, backlogBytes: 0 } } };
    },
  });
  const bindings: Bindings = { ...env, DB, SNAPSHOTS, ...(withQueue && { RECORDS }) };

  // The consumer is an isolate of its own.
  const consumer = { ...env, DB, SNAPSHOTS };
  async function consume(): Promise<void> {
    if (sent.length === 0) return;
    const messages = sent.map((body, index) => ({
      id: String(index),
      timestamp: new Date(),
      attempts: 1,
      body,
    }));
    await worker.queue(createMessageBatch('records', messages), consumer);
  }

  async function count(
    work: () => Promise<void>,
    isCounted: (statement: SentStatement) => boolean = () => true,
  ): Promise<Counts> {
    roundTrips.length = 0;
    operations.length = 0;
    sent.length = 0;
    await work();
    const statements = roundTrips.flat().filter(isCounted);
    const metas = statements.map(({ meta }) => meta);
    const sum = (count: (meta: D1Meta) => number) =>
      metas.reduce((total, meta) => total + (meta ? count(meta) : Number.NaN), 0);
    const reads = operations.filter(({ name }) => name === 'get').length;
    return {
      requests: 0,
      kvReads: reads,
      kvWrites: operations.length - reads,
      queueOperations: sent.length * OPERATIONS_PER_MESSAGE,
      // Rounded up: it changes by one or two with what else is in the database, and costs next to nothing.
      rowsRead: Math.ceil(sum((meta) => meta.rows_read) / 10) * 10,
      rowsWritten: sum((meta) => meta.rows_written),
    };
  }

  async function ask(body: object): Promise<Asked> {
    let status = 0;
    const counts = await count(async () => {
      const context = createExecutionContext();
      const request = new Request('http://licet.test/api/v1/validate', {
        method: 'POST',
        body: JSON.stringify({ productId: product.id, ...body }),
      });
      const answer = await app.fetch(request, bindings, context);
      ({ status } = await readAnswer(request, answer));
      await waitOnExecutionContext(context);
      await consume();
    });
    return { ...counts, status, requests: 1 };
  }

  /** What a run of the scheduled handler does for what was put: more than one that finds nothing. */
  async function confirm(): Promise<Counts> {
    const scheduledTime = Date.now() + 6 * 60_000;
    const controller = createScheduledController({ scheduledTime });
    // What it looks for is counted with the handler: D1 tells nothing of a single select.
    const run = () =>
      count(
        () => worker.scheduled(controller, bindings),
        ({ sql }) => !sql.startsWith('select'),
      );
    return combine(await run(), await run(), (some, none) => some - none);
  }

  return { ask, confirm };
}

/** A license that is in KV. */
async function newPublishedLicense(body: object = {}): Promise<{ licenseKey: string }> {
  const license = await createLicense({ productId: product.id, ...body });
  await vi.waitFor(async () => {
    const unpublished = env.DB.prepare(
      'select count(*) n from changes where published_revision < revision',
    );
    expect(await unpublished.first('n')).toBe(0);
  });
  return license;
}

/** An isolate that has heard from the database a moment ago. */
async function newIsolateInTouch(withQueue: boolean): Promise<ReturnType<typeof newIsolate>> {
  const isolate = newIsolate(withQueue);
  await isolate.ask({ licenseKey: crypto.randomUUID() });
  return isolate;
}

const KINDS: Record<string, { status: number; count: (withQueue: boolean) => Promise<Asked> }> = {
  'hot: the license is in memory': {
    status: 200,
    async count(withQueue) {
      const { ask } = await newIsolateInTouch(withQueue);
      const { licenseKey } = await newPublishedLicense();
      await ask({ licenseKey, ip: '192.0.2.1' });
      return ask({ licenseKey, ip: '192.0.2.1' });
    },
  },
  'cold: it is in KV': {
    status: 200,
    async count(withQueue) {
      const { licenseKey } = await newPublishedLicense({ ips: ['192.0.2.1'] });
      const { ask } = await newIsolateInTouch(withQueue);
      return ask({ licenseKey, ip: '192.0.2.1' });
    },
  },
  'the isolate is new, or has slept': {
    status: 200,
    async count(withQueue) {
      const { licenseKey } = await newPublishedLicense({ ips: ['192.0.2.1'] });
      return newIsolate(withQueue).ask({ licenseKey, ip: '192.0.2.1' });
    },
  },
  'first binding of an address': {
    status: 200,
    async count(withQueue) {
      const { ask, confirm } = await newIsolateInTouch(withQueue);
      const { licenseKey } = await newPublishedLicense();
      await ask({ licenseKey, ip: '192.0.2.1' });
      // The log has the last change always: that of another license, before as after.
      await newPublishedLicense();
      await settleLog();
      const { status, ...asked } = await ask({ licenseKey, ip: '192.0.2.2' });
      await newPublishedLicense();
      await env.DB.exec(
        'update changes set published_at = null where seq = (select max(seq) from changes)',
      );
      await env.DB.exec(
        `delete from changes where published_at is null and subject like 'license:%'
          and seq < (select max(seq) from changes)`.replace(/\s+/g, ' '),
      );
      return { status, ...combine(asked, await confirm(), (now, later) => now + later) };
    },
  },
  'unknown key': {
    status: 400,
    async count(withQueue) {
      const { ask } = await newIsolateInTouch(withQueue);
      return ask({ licenseKey: crypto.randomUUID() });
    },
  },
};

const NAMES = Object.keys(PRICES) as (keyof typeof PRICES)[];

it.each(
  Object.entries(KINDS).flatMap(([kind, { status, count }]) => [
    { kind, queue: 'no', status, count: () => count(false) },
    { kind, queue: 'yes', status, count: () => count(true) },
  ]),
)('docs/cost.md tells what a million cost of: $kind, queue: $queue', async (row) => {
  const { status, rowsRead, ...others } = await row.count();
  expect(status).toBe(row.status);
  const line = document.split('\n').find((one) => one.startsWith(`| ${row.kind} | ${row.queue} |`));
  // At most: what is read together with the news depends on which of two comes first.
  const told = Number(line?.split('|')[7]);
  expect([rowsRead, rowsRead + 10]).toContain(told);
  const counts = { ...others, rowsRead: told };
  const dollars = NAMES.reduce((sum, name) => sum + counts[name] * PRICES[name], 0);
  const cells = [
    row.kind,
    row.queue,
    ...NAMES.map((name) => counts[name]),
    `$${dollars.toFixed(2)}`,
  ];
  expect(line).toBe(`| ${cells.join(' | ')} |`);
});

/** What a game server sends. */
const RECORD: NewRequest = {
  requestType: 'V1_VALIDATE',
  responseType: 'VALID',
  productId: 1,
  productVersion: '1.4.2',
  operatingSystem: 'Linux',
  operatingSystemVersion: '6.1.0-18-amd64',
  operatingSystemArchitecture: 'amd64',
  javaVersion: '17.0.10',
};

const ofLicense = (id: number) => ({
  licenseId: id,
  licenseKey: `7K2M-9QX4-B3TD-WJ8R-${id}`,
  licenseKeyNormalized: `7K2M-9QX4-B3TD-WJ8R-${id}`,
  hwid: `0e8a5d1c-${id}-4b7e-9f3a-5f0c2b1d9e77`,
});

describe('docs/deploy.md tells what the Free plan carries', () => {
  const numbersIn = (text: string): number[] =>
    [...text.matchAll(/\d[\d,]*(?<!,)/g)].map(([number]) => Number(number.replaceAll(',', '')));

  /** A row of the table of ceilings: the ceiling, what a validation takes, enough for how many. */
  function ceiling(name: string): [limit: number, takes: number[], enough: number[]] {
    const row = new RegExp(`^\\| ([\\d,]+) ${name} \\| (.*) \\| (.*) \\|$`, 'm').exec(deploying);
    const [, limit = '', takes = '', enough = ''] = row ?? [];
    return [Number(limit.replaceAll(',', '')), numbersIn(takes), numbersIn(enough)];
  }

  /** The document rounds: to what is at most two in a hundred away. */
  function expectAbout(told: number | undefined, exact: number): void {
    expect((told ?? 0) / exact).toBeGreaterThan(0.98);
    expect((told ?? 0) / exact).toBeLessThan(1.02);
  }

  const count = (kind: string): Promise<Asked> => {
    const { [kind]: found } = KINDS;
    if (!found) throw new Error(`Nothing counts: ${kind}`);
    return found.count(false);
  };

  /** What removing a record writes, by the scheduled handler. */
  async function removalRows(): Promise<number> {
    const now = Date.UTC(2040, 0, 1);
    const records = 500;
    await env.DB.exec('delete from requests');
    await env.DB.prepare(
      `with recursive n(i) as (select 0 union all select i + 1 from n where i + 1 < ?2)
       insert into requests (id, nonce, request_type, response_type)
       select ?1 + i * 4096, '', 'V1_VALIDATE', 'VALID' from n`,
    )
      .bind(firstRequestIdAt(now - 100 * 86_400_000), records)
      .run();
    const { spy: DB, roundTrips } = spyOnDatabase(env.DB);
    const controller = createScheduledController({ scheduledTime: now });
    await worker.scheduled(controller, { ...env, DB, REQUEST_RETENTION_DAYS: '90' });
    expect(await env.DB.prepare('select count(*) n from requests').first('n')).toBe(0);
    const deletions = roundTrips.flat().filter(({ sql }) => /^delete from "?requests/i.test(sql));
    return deletions.reduce((sum, { meta }) => sum + (meta?.rows_written ?? 0), 0) / records;
  }

  it('of written rows', async () => {
    const { rowsWritten } = await count('hot: the license is in memory');
    const removed = await removalRows();
    const [limit, takes, [enough, atFirst]] = ceiling('written D1 rows a day');
    expect(takes).toEqual([rowsWritten, removed]);
    expectAbout(enough, limit / (rowsWritten + removed));
    expectAbout(atFirst, limit / rowsWritten);
  });

  it('of requests, reads and writes', async () => {
    const { requests, rowsRead } = await count('hot: the license is in memory');
    const { kvReads } = await count('cold: it is in KV');
    const { kvWrites } = await count('first binding of an address');
    expect(ceiling('requests a day')).toEqual([100_000, [requests], [100_000 / requests]]);
    expect(ceiling('KV reads a day')).toEqual([100_000, [kvReads], [100_000 / kvReads]]);
    const [rows, takes, [enough]] = ceiling('read D1 rows a day');
    expect(takes).toEqual([rowsRead]);
    expectAbout(enough, (rows - 500_000) / rowsRead);
    expect(ceiling('KV writes a day').slice(0, 2)).toEqual([1_000, [0, kvWrites]]);
  });

  it('of what a record takes, with its part of the index', async () => {
    const sizeBytes = async () => (await env.DB.prepare('select 1').run()).meta.size_after;
    const now = Date.UTC(2041, 0, 1);
    const rows = Array.from({ length: 16_384 }, (_, n) => {
      const request = { ...RECORD, ...ofLicense(1_000 + (n % 1_000)), ip: `203.0.113.${n % 250}` };
      return withIdentity(request, now - 86_400_000 + n * 4_000);
    });
    const before = await sizeBytes();
    while (rows.length > 0) await writeRequests(openDatabase(env.DB), rows.splice(0, 1_024), 0);
    await indexAll(env.DB, now);
    const bytes = ((await sizeBytes()) - before) / 16_384;
    const [, [told = 0]] = ceiling('MB a database');
    expect(Math.abs(bytes - told)).toBeLessThan(15);
  });

  it('of the size, and in sum', () => {
    const [megabytes, [bytes = 0], [inNinety = 0, ninety, inThirty, thirty]] =
      ceiling('MB a database');
    const perDay = (days: number) => (megabytes * 1_000_000) / bytes / days;
    expect([ninety, thirty]).toEqual([90, 30]);
    expectAbout(inNinety, perDay(90));
    expectAbout(inThirty, perDay(30));
    const [, sum = '', days = ''] =
      /^So: \*\*(.*) with `REQUEST_RETENTION_DAYS = "(\d+)"`/m.exec(deploying) ?? [];
    const [written = 0] = ceiling('written D1 rows a day')[2];
    expect(numbersIn(sum)).toEqual([inNinety, written]);
    expectAbout(written, perDay(Number(days)));
    const servers = /24 of them: (\d+) servers, or ([\d,]+)\./.exec(deploying)?.[0] ?? '';
    const [, inFirst, inSecond] = numbersIn(servers);
    expectAbout(inFirst, inNinety / 24);
    expectAbout(inSecond, written / 24);
  });
});
