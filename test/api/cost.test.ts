import {
  createExecutionContext,
  createMessageBatch,
  waitOnExecutionContext,
} from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import document from '../../docs/cost.md?raw';
import deploying from '../../docs/deploy.md?raw';
import { app } from '../../src/app';
import worker from '../../src/index';
import type { Bindings } from '../../src/isolate';
import { callWith } from '../support/app';
import {
  createLicense,
  createProduct,
  createToken,
  type Product,
  readAnswer,
} from '../support/client';
import type { SentStatement } from '../support/d1-intercept';
import { spyOnDatabase } from '../support/d1-spy';
import {
  DAY_MS,
  emptyHistory,
  HOUR_MS,
  recordAt,
  runScheduled,
  setNow,
  write,
} from '../support/history';
import { spyOnKv } from '../support/kv-spy';
import { seedLargeDatabase } from '../support/large-database';
import { isAllPublished, settleLog } from '../support/published';

/** What validations ask of the platform, counted one by one, is what docs/cost.md and docs/deploy.md say. */

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

/** A message is written, read and deleted. */
const OPERATIONS_PER_MESSAGE = 3;

let product: Product;

beforeAll(async () => {
  // In the middle of an hour: its bucket is new once, which is counted apart.
  setNow(Math.floor(Date.now() / HOUR_MS) * HOUR_MS + HOUR_MS / 2);
  product = await createProduct();
  // The blacklist is in KV.
  await runScheduled(Date.now());
});
afterAll(() => {
  vi.useRealTimers();
});

beforeEach(async () => {
  // What is published leaves the log after a few minutes: what is counted has nothing to catch up with.
  await settleLog();
  // Nor does a history that ends in another year say that all of these records are late.
  await emptyHistory();
  // The hour has a record.
  await newIsolate(false)({ licenseKey: crypto.randomUUID() });
});

/** What a statement has read and written. D1 does not say it of a single select: it is sent again. */
async function metaOf({ sql, params, meta }: SentStatement): Promise<D1Meta> {
  if (meta) return meta;
  expect(sql).toMatch(/^select /);
  return (
    await env.DB.prepare(sql)
      .bind(...params)
      .run()
  ).meta;
}

async function sumRows(statements: readonly SentStatement[]) {
  const metas = await Promise.all(statements.map(metaOf));
  return {
    read: metas.reduce((sum, { rows_read }) => sum + rows_read, 0),
    written: metas.reduce((sum, { rows_written }) => sum + rows_written, 0),
  };
}

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

  /** One validation, to the end of all that it leaves to be done. */
  return async function ask(body: object): Promise<Asked> {
    roundTrips.length = 0;
    operations.length = 0;
    sent.length = 0;
    const context = createExecutionContext();
    const request = new Request('http://licet.test/api/v1/validate', {
      method: 'POST',
      body: JSON.stringify({ productId: product.id, ...body }),
    });
    const { status } = await readAnswer(request, await app.fetch(request, bindings, context));
    await waitOnExecutionContext(context);
    await consume();
    const rows = await sumRows(roundTrips.flat());
    const kvReads = operations.filter(({ name }) => name === 'get').length;
    return {
      status,
      requests: 1,
      kvReads,
      kvWrites: operations.length - kvReads,
      queueOperations: sent.length * OPERATIONS_PER_MESSAGE,
      // Rounded up, because it costs next to nothing.
      rowsRead: Math.ceil(rows.read / 10) * 10,
      rowsWritten: rows.written,
    };
  };
}

/** What a server sends. */
const SERVER = {
  ip: '192.0.2.1',
  hwid: '0e8a5d1c-4b7e-9f3a-5f0c-2b1d9e77a001',
  productVersion: '1.4.2',
  operatingSystem: 'Linux',
  osVersion: '6.1.0-18-amd64',
  osArchitecture: 'amd64',
  javaVersion: '17.0.10',
};

/** A license in KV, and what a server sends that is not bound yet. */
async function newLicense(fields: object = {}): Promise<{ licenseKey: string }> {
  const { licenseKey } = await createLicense({ productId: product.id, ...fields });
  await isAllPublished();
  await settleLog();
  return { licenseKey, ...SERVER };
}

/** A license whose server was validated before, elsewhere. */
async function newKnownServer(): Promise<{ licenseKey: string }> {
  const server = await newLicense();
  await newIsolate(false)(server);
  return server;
}

/** An isolate that knows the blacklist, and the callers of none of these licenses. */
async function newWarmIsolate(withQueue: boolean): Promise<ReturnType<typeof newIsolate>> {
  const ask = newIsolate(withQueue);
  await ask({ licenseKey: crypto.randomUUID() });
  return ask;
}

const KINDS: Record<string, { status: number; count: (withQueue: boolean) => Promise<Asked> }> = {
  'hot: the license is in memory': {
    status: 200,
    async count(withQueue) {
      const server = await newKnownServer();
      const ask = newIsolate(withQueue);
      await ask(server);
      return ask(server);
    },
  },
  'cold: it is in KV': {
    status: 200,
    async count(withQueue) {
      const server = await newKnownServer();
      return (await newWarmIsolate(withQueue))(server);
    },
  },
  'the isolate is new, or has slept': {
    status: 200,
    async count(withQueue) {
      const server = await newKnownServer();
      return newIsolate(withQueue)(server);
    },
  },
  'a new version of the program': {
    status: 200,
    async count(withQueue) {
      const server = await newKnownServer();
      const ask = newIsolate(withQueue);
      await ask(server);
      return ask({ ...server, productVersion: '1.4.3' });
    },
  },
  'first binding of an address': {
    status: 200,
    async count(withQueue) {
      const { licenseKey } = await newLicense();
      return (await newWarmIsolate(withQueue))({ licenseKey, ip: SERVER.ip });
    },
  },
  'first binding of an address and a hardware ID': {
    status: 200,
    async count(withQueue) {
      const server = await newLicense();
      return (await newWarmIsolate(withQueue))(server);
    },
  },
  'refused: all slots are taken': {
    status: 400,
    async count(withQueue) {
      const server = await newLicense({ ips: ['192.0.2.1', '192.0.2.2'], maxIPs: 2 });
      const ask = newIsolate(withQueue);
      const other = { ...server, ip: '192.0.2.99' };
      await ask(other);
      return ask(other);
    },
  },
  'unknown key': {
    status: 400,
    async count(withQueue) {
      const ask = await newWarmIsolate(withQueue);
      return ask({ licenseKey: crypto.randomUUID(), ...SERVER });
    },
  },
};

const NAMES = Object.keys(PRICES) as (keyof typeof PRICES)[];

const dollarsOf = (counts: Counts): string =>
  NAMES.reduce((sum, name) => sum + counts[name] * PRICES[name], 0).toFixed(2);

/** The line of docs/cost.md about a kind of validation. */
const lineOf = (kind: string, queue: string): string =>
  document.split('\n').find((line) => line.startsWith(`| ${kind} | ${queue} |`)) ?? '';

/** The read rows that a line states: at most so many, for they change with what else is in the database. */
function rowsReadOf(line: string, rowsRead: number): number {
  const stated = Number(line.split('|')[7]);
  expect([rowsRead, rowsRead + 10]).toContain(stated);
  return stated;
}

it.each(
  Object.entries(KINDS).flatMap(([kind, { status, count }]) => [
    { kind, queue: 'no', status, count: () => count(false) },
    { kind, queue: 'yes', status, count: () => count(true) },
  ]),
)('docs/cost.md says what a million cost of: $kind, queue: $queue', async (row) => {
  const { status, rowsRead, ...others } = await row.count();
  expect(status).toBe(row.status);
  const line = lineOf(row.kind, row.queue);
  const counts = { ...others, rowsRead: rowsReadOf(line, rowsRead) };
  const cells = [
    row.kind,
    row.queue,
    ...NAMES.map((name) => counts[name]),
    `$${dollarsOf(counts)}`,
  ];
  expect(line).toBe(`| ${cells.join(' | ')} |`);
});

const numbersIn = (text: string): number[] =>
  [...text.matchAll(/\d[\d,]*(?:\.\d+)?(?<!,)/g)].map(([number]) =>
    Number(number.replaceAll(',', '')),
  );

/** A document rounds: to what is at most two in a hundred away. */
function expectAbout(stated: number | undefined, exact: number): void {
  expect((stated ?? 0) / exact).toBeGreaterThan(0.98);
  expect((stated ?? 0) / exact).toBeLessThan(1.02);
}

async function count(kind: string): Promise<Asked> {
  const { [kind]: found } = KINDS;
  if (!found) throw new Error(`Nothing counts: ${kind}`);
  const asked = await found.count(false);
  return { ...asked, rowsRead: rowsReadOf(lineOf(kind, 'no'), asked.rowsRead) };
}

const RECORDS = 240;

/** What removing a record writes, by the scheduled handler. */
async function removalRows(): Promise<number> {
  await emptyHistory();
  const server = await newLicense();
  const day = Date.UTC(2040, 0, 1);
  const records = Array.from({ length: RECORDS }, (_, n) =>
    recordAt(day + n * (DAY_MS / RECORDS), { ...server, licenseId: undefined }),
  );
  await write(...records);
  const { spy: DB, roundTrips } = spyOnDatabase(env.DB);
  // A run removes some hours.
  for (let run = 0; run < 24; run++) await runScheduled(day + 100 * DAY_MS, { DB });
  expect(await env.DB.prepare('select count(*) n from requests').first('n')).toBe(0);
  const deletions = roundTrips.flat().filter(({ sql }) => sql.startsWith('delete from "requests"'));
  return (await sumRows(deletions)).written / RECORDS;
}

describe('docs/deploy.md says what the Free plan carries', () => {
  /** A row of the table of ceilings: the ceiling, what a validation takes, enough for how many. */
  function ceiling(name: string): [limit: number, takes: number[], enough: number[]] {
    const row = new RegExp(`^\\| ([\\d,]+) ${name} \\| (.*) \\| (.*) \\|$`, 'm').exec(deploying);
    const [, limit = '', takes = '', enough = ''] = row ?? [];
    return [Number(limit.replaceAll(',', '')), numbersIn(takes), numbersIn(enough)];
  }

  it('of written rows', async () => {
    const { rowsWritten } = await count('hot: the license is in memory');
    const removal = await removalRows();
    const [limit, takes, [enough, atFirst]] = ceiling('written D1 rows a day');
    expect(takes).toEqual([rowsWritten, removal]);
    expectAbout(enough, limit / (rowsWritten + removal));
    expectAbout(atFirst, limit / rowsWritten);
  });

  it('of requests, reads and writes', async () => {
    const { requests, rowsRead } = await count('hot: the license is in memory');
    const { kvReads } = await count('the isolate is new, or has slept');
    const { kvWrites } = await count('first binding of an address');
    expect(ceiling('requests a day')).toEqual([100_000, [requests], [100_000 / requests]]);
    expect(ceiling('KV reads a day')).toEqual([100_000, [kvReads], [100_000 / kvReads]]);
    const [rows, takes, [enough]] = ceiling('read D1 rows a day');
    expect(takes).toEqual([rowsRead]);
    expectAbout(enough, (rows - 500_000) / rowsRead);
    expect(ceiling('KV writes a day').slice(0, 2)).toEqual([1_000, [0, kvWrites]]);
  });

  it('of the size', async () => {
    await emptyHistory();
    const size = { products: 5, customers: 1, licenses: 1, blacklists: 1 };
    const history = { callers: 2_000, hours: 90 * 24 };
    const now = Date.UTC(2041, 5, 2);
    const { bytesPerRecord } = await seedLargeDatabase(env.DB, { ...size, ...history }, now);
    const [megabytes, [bytes = 0], [inNinety = 0, ninety, inThirty, thirty]] =
      ceiling('MB a database');
    expect(Math.abs(bytes - bytesPerRecord)).toBeLessThan(5);
    const perDay = (days: number) => (megabytes * 1_000_000) / bytes / days;
    expect([ninety, thirty]).toEqual([90, 30]);
    expectAbout(inNinety, perDay(90));
    expectAbout(inThirty, perDay(30));
    // It is of another time.
    await emptyHistory();
  });

  it('in sum', async () => {
    const { rowsWritten: binding } = await count('first binding of an address');
    const [, ...texts] =
      /So: \*\*([\d,]+) validations a day\*\*, with (\d+) days of history\. They write ([\d,]+) rows\. The ([\d,]+) others .* first bindings \((\d+) rows each\).*: ([\d,]+) servers\./s.exec(
        deploying,
      ) ?? [];
    const [validations = 0, ...others] = texts.flatMap(numbersIn);
    const [rowLimit, takes] = ceiling('written D1 rows a day');
    const rows = validations * takes.reduce((sum, each) => sum + each, 0);
    expect(others).toEqual([90, rows, rowLimit - rows, binding, validations / 24]);
    expect(rows).toBeLessThan(rowLimit);
    const [, , [fitting = 0]] = ceiling('MB a database');
    expect(validations).toBeLessThan(fitting);
  });
});

it('docs/deploy.md says what the Paid plan includes, and what more costs', async () => {
  const hot = await count('hot: the license is in memory');
  const [, requests, rows, validations, gigabytes, dollars] =
    /includes (\d+) million requests and (\d+) million\s+written rows a month: ([\d,]+) validations a day\. Their\s+records take ([\d.]+) GB in 90 days;.*A million validations more\s+are \[\$([\d.]+)\]/s.exec(
      deploying,
    ) ?? [];
  const [perDay = 0] = numbersIn(validations ?? '');
  // With the row that removes the record.
  const limit = Math.min(Number(requests) / hot.requests, Number(rows) / (hot.rowsWritten + 1));
  expectAbout(perDay, (limit * 1_000_000) / 30);
  const [, bytes] = /about (\d+) bytes, for `REQUEST_RETENTION_DAYS`/.exec(deploying) ?? [];
  expectAbout(Number(gigabytes), (perDay * 90 * Number(bytes)) / 1_000_000_000);
  expect(dollars).toBe(dollarsOf(hot));
});

it('docs/cost.md says what changes of licenses and tokens cost', async () => {
  const { id } = await createLicense({ productId: product.id });
  const token = await createToken(['ALL_READ']);
  const changes = [
    ['POST', '/licenses', { productId: product.id, licenseType: 'PERMANENT' }],
    ['PUT', `/licenses/${id}`, { notes: 'Changed' }],
    ['DELETE', `/licenses/${id}`, undefined],
    ['POST', '/tokens', { name: 'Shop', intents: ['LICENSES_READ_WRITE'] }],
    ['DELETE', `/tokens/${token.id}`, undefined],
  ] as const;
  await isAllPublished();
  const { spy: DB, roundTrips } = spyOnDatabase(env.DB);
  const { spy: SNAPSHOTS, operations } = spyOnKv(env.SNAPSHOTS);
  const written: number[] = [];
  for (const [method, path, body] of changes) {
    await settleLog();
    roundTrips.length = 0;
    operations.length = 0;
    await callWith({ DB, SNAPSHOTS }, method, `/api/v2${path}`, { body });
    expect(operations.map(({ name }) => name)).toEqual(['put']);
    const now = await sumRows(roundTrips.flat());
    // The newest change stays in the log: another one comes before this one leaves it.
    await createToken(['ALL_READ']);
    await isAllPublished();
    roundTrips.length = 0;
    await runScheduled(Date.now() + HOUR_MS, { DB });
    const pruning = roundTrips.flat().filter(({ sql }) => sql.startsWith('delete from "changes"'));
    written.push(now.written + (await sumRows(pruning)).written);
  }
  const [, ...stated] =
    /one write of KV, and (\d+) to (\d+) written\s+rows/.exec(document)?.map(Number) ?? [];
  expect([Math.min(...written), Math.max(...written)]).toEqual(stated);
});
