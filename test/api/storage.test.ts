import { createExecutionContext } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { beforeAll, describe, expect, it } from 'vitest';
import { app } from '../../src/app';
import { callWith, newIsolate, type ValidationOptions } from '../support/app';
import type { Answer, CallOptions } from '../support/client';
import type { SentStatement } from '../support/d1-intercept';
import { type RoundTrips, spyOnDatabase } from '../support/d1-spy';
import { firstRequestOf, ipOf, type Size, seedLargeDatabase } from '../support/large-database';
import { settleLog } from '../support/published';
import { ROOT_TOKEN } from '../support/root-token';
import { type Step, stepOf } from '../support/steps';

/**
 * What the endpoints cost D1 at the size that the service is built for: no statement reads more
 * rows than its answer needs, and a validation is a handful of rows.
 */

const SIZE: Size = {
  products: 200,
  customers: 50_000,
  licenses: 100_000,
  blacklists: 10_000,
  requests: 1_000_000,
};
const NOW = Date.now();

beforeAll(async () => {
  await seedLargeDatabase(env.DB, SIZE, NOW);
  await settleLog();
}, 60_000);

/** Asks the service, and tells what that cost. */
async function ask(
  method: string,
  path: string,
  options: CallOptions = {},
): Promise<Answer & { roundTrips: RoundTrips }> {
  const { spy, roundTrips } = spyOnDatabase(env.DB);
  return { ...(await callWith({ DB: spy }, method, path, options)), roundTrips };
}

const bound = ({ sql, params }: SentStatement, prefix = '') =>
  env.DB.prepare(prefix + sql).bind(...params);

const usedIndexes = new Set<string>();

async function planOf(statement: SentStatement): Promise<string[]> {
  const { results } = await bound(statement, 'explain query plan ').all<{ detail: string }>();
  for (const { detail } of results) {
    const [, index] = / INDEX (\w+)/.exec(detail) ?? [];
    if (index !== undefined) usedIndexes.add(index);
  }
  return results.map(({ detail }) => detail);
}

/** What a statement read; a select whose answer did not tell is sent again. */
async function rowsRead(statement: SentStatement): Promise<number> {
  if (statement.meta) return statement.meta.rows_read;
  if (!statement.sql.startsWith('select')) return 0;
  return (await bound(statement).all()).meta.rows_read;
}

/** A whole table or index read, and rows sorted because no index has them in order. */
const isScan = (detail: string): boolean =>
  /^SCAN (products|customers|licenses|bindings|blacklists|requests|tokens)\b/.test(detail);
const isSort = (detail: string): boolean => detail === 'USE TEMP B-TREE FOR ORDER BY';
/** What is found in them is sorted: they are not in the order of time, and there are none as a rule. */
const isOfLateBlocks = ({ sql, params }: SentStatement): boolean =>
  sql.includes('"is_late" = ?') && params.includes(1);

const TOTAL = 'X-Total-Count counts them all';
const NEWEST = 'walks from the newest and stops at the limit';
const SEARCH = 'a free search reads every row';
const STATUS = 'a status or type has too few values for an index to pay';
const SMALL = 'products are few';

interface Case {
  path: string;
  /** How many rows a statement may read that reads the objects. */
  reads: number;
  /** How many rows a statement may read that counts them; as many as `reads` unless given. */
  counts?: number;
  /** Why a table may be scanned. */
  scan?: string;
}

const { products, customers, licenses, blacklists, requests } = SIZE;
/** A page of ten reads one more, to know whether there is a next one. */
const PAGE = 11;
/** A license is read with its customer, its total, and what is bound to it. */
const PER_LICENSE = 9;
/** How far to walk for a page of what is one in a hundred. */
const PAGE_OF_1_IN_100 = PAGE * 100 + PAGE * PER_LICENSE;
/** A row too many is read to see that there is no other. */
const ofProduct = licenses / products + 1;
/** The history is indexed in blocks; what is left has to be read through. */
const BLOCK = 4_096;
const blocks = Math.floor(requests / BLOCK);
const tail = (requests % BLOCK) + 3;
/** Of each block a search reads what it is, one row of terms, and whether it has its oldest record. */
const INDEX = 3 * blocks + 2;
/** Found records, and where the index says that they are; the tail is asked whether it has enough. */
const found = (records: number) => 3 * records + 2 * tail;
const refusedPerBlock = BLOCK / 10;
const dayAgo = encodeURIComponent(new Date(NOW - 24 * 60 * 60 * 1000).toISOString());

const LISTS: Case[] = [
  { path: '/products', reads: products },
  { path: '/products?limit=10', reads: PAGE, counts: products, scan: TOTAL },
  { path: '/products?limit=10&productType=OTHER', reads: products, scan: SMALL },
  { path: '/products?limit=10&q=nothing', reads: products, scan: SEARCH },

  { path: '/licenses?limit=10', reads: 12 * PER_LICENSE, counts: licenses, scan: TOTAL },
  {
    path: '/licenses?limit=10&after=99000',
    reads: 12 * PER_LICENSE,
    counts: licenses,
    scan: TOTAL,
  },
  {
    path: '/licenses?limit=10&licenseStatus=ACTIVE',
    reads: 12 * PER_LICENSE,
    counts: licenses,
    scan: STATUS,
  },
  ...['licenseStatus=EXPIRED', 'licenseStatus=DEACTIVATED', 'licenseStatus=DELETED']
    .concat('licenseType=TEMPORARY')
    .map((filter) => ({
      path: `/licenses?limit=10&${filter}`,
      reads: PAGE_OF_1_IN_100,
      counts: licenses,
      scan: STATUS,
    })),
  { path: '/licenses?limit=10&q=key-99999', reads: licenses + PER_LICENSE, scan: SEARCH },
  { path: '/licenses?limit=10&productId=9', reads: 12 * PER_LICENSE, counts: ofProduct },
  { path: '/licenses?limit=10&productId=9&licenseStatus=DELETED', reads: ofProduct },
  { path: '/licenses?limit=10&productId=9&q=key-8', reads: ofProduct + PAGE * PER_LICENSE },
  { path: '/licenses/by-product-id/9', reads: ofProduct * PER_LICENSE },
  { path: '/licenses/by-product-id/9?limit=10', reads: 12 * PER_LICENSE, counts: ofProduct },
  ...[
    '/by-customer-email/USER7@SHOP.test',
    '/by-customer-id/7',
    '/by-chat-id/chat-7',
    '/by-platform/PLATFORM_A/a-7',
  ].flatMap((by) =>
    ['', '?limit=10', '?productId=7&licenseStatus=ACTIVE', '?limit=10&productId=7'].map((more) => ({
      path: `/licenses${by}${more}`,
      // by-chat-id unites two indexes: the chat account is named by one of two fields.
      reads: 2 * PER_LICENSE + 7,
    })),
  ),

  { path: '/blacklists?limit=10', reads: PAGE, counts: blacklists, scan: TOTAL },
  {
    path: '/blacklists?limit=10&licenseDataType=IP',
    reads: 2 * PAGE,
    counts: blacklists,
    scan: TOTAL,
  },
  { path: '/blacklists?licenseDataType=IP', reads: 5_000 },
  { path: '/blacklists?limit=10&productId=11', reads: PAGE, counts: 51 },
  { path: '/blacklists?limit=10&productId=11&licenseDataType=IP', reads: PAGE, counts: 51 },
  { path: '/blacklists?limit=10&q=nothing', reads: blacklists, scan: SEARCH },

  { path: '/requests', reads: 1_000, scan: NEWEST },
  { path: '/requests?limit=10', reads: PAGE, counts: INDEX, scan: NEWEST },
  { path: '/requests?valid=true', reads: 1_200, scan: NEWEST },
  { path: '/requests?limit=10&valid=true', reads: 2 * PAGE, counts: INDEX, scan: NEWEST },
  { path: `/requests?limit=10&from=${dayAgo}`, reads: PAGE, counts: 2 * BLOCK },
  { path: `/requests?limit=10&to=${dayAgo}`, reads: PAGE, counts: INDEX + 2 * BLOCK },
  { path: '/requests?valid=false', reads: found(1_000 + refusedPerBlock) },
  { path: '/requests?limit=10&valid=false', reads: found(refusedPerBlock), counts: INDEX },
  { path: `/requests?limit=10&from=${dayAgo}&valid=false`, reads: found(refusedPerBlock) },
  { path: '/requests?limit=10&productId=9', reads: found(PAGE), counts: INDEX },
  { path: '/requests?productId=9', reads: found(1_000), counts: INDEX },
  { path: '/requests?limit=10&productId=9&valid=true', reads: found(PAGE), counts: INDEX },
  // For ten of a product of which every tenth is refused, five blocks have to be read.
  { path: '/requests?limit=10&productId=9&valid=false', reads: found(10 * PAGE), counts: INDEX },
  { path: `/requests?limit=10&productId=9&from=${dayAgo}`, reads: found(PAGE) },
  ...['licenseKey=key-8', 'ip=10.0.0.8', 'hwid=HW-8', 'hwid=nothing'].flatMap((filter) =>
    ['', '&productId=9', '&valid=true', '&valid=false', '&productId=9&valid=false', `&to=${dayAgo}`]
      .map((more) => `/requests?limit=10&${filter}${more}`)
      .map((path) => ({ path, reads: INDEX + tail })),
  ),
  {
    path: '/requests?limit=10&licenseKey=key-8&ip=10.0.0.8&hwid=HW-8&productId=9',
    reads: INDEX + tail,
  },

  { path: '/customers?limit=10', reads: PAGE, counts: customers, scan: TOTAL },
  { path: '/customers?limit=10&q=nothing', reads: customers, scan: SEARCH },
  { path: '/tokens?limit=10', reads: 1, scan: TOTAL },

  { path: '/products/7', reads: 1 },
  { path: '/licenses/7', reads: PER_LICENSE },
  { path: '/licenses/by-license-key/key-7', reads: PER_LICENSE },
  { path: '/blacklists/7', reads: 1 },
  { path: '/customers/7', reads: 1 },
  { path: `/requests/${firstRequestOf(SIZE, NOW)}`, reads: 1 },
];

describe('reading', () => {
  it.each(LISTS)('GET $path reads few rows', async ({ path, reads, counts = reads, scan }) => {
    const { status, roundTrips } = await ask('GET', `/api/v2${path}`);
    expect(status).toBe(200);
    expect(roundTrips).not.toEqual([]);
    for (const statement of roundTrips.flat()) {
      const plan = await planOf(statement);
      const budget = /^select (count\(|ifnull\(sum\()/.test(statement.sql) ? counts : reads;
      expect(await rowsRead(statement), plan.join('\n')).toBeLessThanOrEqual(budget);
      if (!isOfLateBlocks(statement)) expect(plan.filter(isSort), statement.sql).toEqual([]);
      if (scan === undefined) expect(plan.filter(isScan), statement.sql).toEqual([]);
    }
  });

  it.each(['', '&productId=9', '&licenseKey=key-8', `&from=${dayAgo}`])(
    'counts the valid records with %s as what is not refused',
    async (filter) => {
      const total = async (valid: string) => {
        const { headers } = await ask('GET', `/api/v2/requests?limit=1${valid}${filter}`);
        return Number(headers.get('X-Total-Count'));
      };
      const refusedTotal = await total('&valid=false');
      expect(refusedTotal).toBeGreaterThan(0);
      expect((await total('&valid=true')) + refusedTotal).toBe(await total(''));
    },
  );

  it('sends a complete list while it reads it', async () => {
    const { spy, roundTrips } = spyOnDatabase(env.DB);
    const request = new Request('http://licet.test/api/v2/licenses', {
      headers: { TOKEN: ROOT_TOKEN },
    });
    const response = await app.fetch(request, { ...env, DB: spy }, createExecutionContext());
    const reader = response.body?.getReader();
    expect((await reader?.read())?.value?.length).toBeGreaterThan(0);
    expect((await reader?.read())?.value?.length).toBeGreaterThan(1_000_000);
    // Of the forty chunks no more than the one that is being sent and the next.
    expect(roundTrips.length).toBeLessThanOrEqual(3);
    await reader?.cancel();
  });
});

/** The only one that reads a whole table: the blacklist is published as one. */
const isWholeBlacklist = ({ sql }: SentStatement): boolean =>
  sql.includes('left join "blacklists" on true');

async function expectNoScans(roundTrips: RoundTrips): Promise<void> {
  for (const statement of roundTrips.flat()) {
    if (isWholeBlacklist(statement)) continue;
    expect((await planOf(statement)).filter(isScan), statement.sql).toEqual([]);
  }
}

/** Of the log of changes: what has changed, and publishing it. */
const isOfTheLog = (trip: readonly SentStatement[]): boolean =>
  trip.some(({ sql }) => sql.includes('"changes"'));

async function totalRead(roundTrips: RoundTrips): Promise<number> {
  const rows = await Promise.all(roundTrips.flat().map(rowsRead));
  return rows.reduce((sum, read) => sum + read, 0);
}

interface Change {
  method: string;
  path: string;
  body?: object;
  status: number;
  /** How many rows its statements may read. */
  reads: number;
  /** How many rows are read to learn of the change and to publish it. */
  publishes?: number;
}

/** The change itself, its row, and what is marked. */
const PUBLISHED = 18;
/** All its entries are read, each with a row of the join. */
const WHOLE_BLACKLIST = blacklists + PUBLISHED;

const CHANGES: Change[] = [
  {
    method: 'POST',
    path: '/products',
    body: { name: 'New', productType: 'OTHER' },
    status: 201,
    reads: 0,
  },
  { method: 'PUT', path: '/products/5', body: { name: 'Renamed' }, status: 200, reads: 1 },
  { method: 'DELETE', path: '/products/201', status: 204, reads: 10 },
  { method: 'DELETE', path: '/products/6', status: 409, reads: 15 },
  {
    method: 'POST',
    path: '/licenses',
    body: {
      productId: 5,
      licenseType: 'PERMANENT',
      licensePlatform: 'PLATFORM_A',
      ownerPlatformId: 'a-7',
      ownerChatId: 'somebody',
      ips: ['192.0.2.1'],
    },
    status: 201,
    reads: 35,
  },
  {
    method: 'PUT',
    path: '/licenses/10',
    body: { ownerPlatformId: 'somebody', ips: ['192.0.2.1'], hwids: [] },
    status: 200,
    reads: 48,
  },
  { method: 'DELETE', path: '/licenses/9', status: 204, reads: PER_LICENSE },
  {
    method: 'POST',
    path: '/blacklists',
    body: { licenseDataType: 'IP', data: '203.0.113.0/24', isForAllProducts: true, reason: '' },
    status: 201,
    reads: 0,
    publishes: WHOLE_BLACKLIST,
  },
  {
    method: 'PUT',
    path: '/blacklists/8',
    body: { data: '203.0.114.0/24' },
    status: 200,
    reads: 1,
    publishes: WHOLE_BLACKLIST,
  },
  {
    method: 'DELETE',
    path: '/blacklists/8',
    status: 204,
    reads: 1,
    publishes: WHOLE_BLACKLIST,
  },
  { method: 'PUT', path: '/customers/8', body: { email: 'new@shop.test' }, status: 200, reads: 1 },
  {
    method: 'POST',
    path: '/tokens',
    body: { name: 'Dashboard', intents: ['ALL_READ'] },
    status: 201,
    reads: 0,
  },
  { method: 'PUT', path: '/tokens/1', body: { name: 'Screen' }, status: 200, reads: 1 },
  { method: 'DELETE', path: '/tokens/1', status: 204, reads: 1 },
  // With its 500 licenses, which are DELETED, and what is bound to them; some of them leave KV at once.
  {
    method: 'DELETE',
    path: '/products/4',
    status: 204,
    reads: 19 * ofProduct + 2,
    publishes: ofProduct + 10 * PUBLISHED,
  },
];

describe('writing', () => {
  it.each(CHANGES)(
    '$method $path',
    async ({ method, path, body, status, reads, publishes = PUBLISHED }) => {
      const answer = await ask(method, `/api/v2${path}`, { body });
      expect(answer.status, answer.text).toBe(status);
      await expectNoScans(answer.roundTrips);
      const ofTheLog = answer.roundTrips.filter(isOfTheLog);
      const own = answer.roundTrips.filter((trip) => !isOfTheLog(trip));
      expect(await totalRead(own)).toBeLessThanOrEqual(reads);
      expect(await totalRead(ofTheLog)).toBeLessThanOrEqual(publishes);
    },
  );
});

/** How many rows each statement of a round trip may read, and how many it writes. */
interface Cost {
  reads: number[];
  writes: number[];
}

/** A row of the log, the license, its total and what is bound to it. */
const LICENSE: Cost = { reads: [2, 14], writes: [0, 0] };
const BLACKLIST: Cost = { reads: [2, blacklists + 2], writes: [0, 0] };
/** A new isolate reads what has yet to settle of all that these tests have changed. */
const inNewIsolate = ({ reads: [_, ...reads], writes }: Cost): Cost => ({
  reads: [20, ...reads],
  writes,
});
const TOKEN: Cost = { reads: [2, 3], writes: [0, 0] };
/** The total and the record, each in one row, and the news. */
const RECORD: Cost = { reads: [10, 5, 2], writes: [1, 1, 0] };
const RECORD_WITHOUT_LICENSE: Cost = { reads: [6, 5, 2], writes: [0, 1, 0] };
const MARK: Cost = { reads: [1, 1], writes: [1, 0] };
/** What is bound, in its table and its index; the license's revision, and the log's row of it. */
const claimOf = (values: number): Cost => ({
  reads: [11 + 2 * values, 2, 8 + 2 * values, 3],
  writes: [2 * values, 4, 0, 0],
});

interface Validation {
  name: string;
  body?: object;
  headers?: Record<string, string>;
  message: string;
  /** Whether the license was asked for before. */
  isHot?: boolean;
  steps: [Step, Cost][];
}

const VALIDATIONS: Validation[] = [
  { name: 'hot', message: 'License is valid', isHot: true, steps: [['record', RECORD]] },
  {
    name: 'the first with a hardware ID',
    body: { hwid: 'another' },
    message: 'License is valid',
    isHot: true,
    steps: [
      ['bind', claimOf(1)],
      ['record', RECORD],
      ['license', LICENSE],
      ['mark as published', MARK],
    ],
  },
  {
    name: 'the first with an address and a hardware ID',
    body: { ip: '198.51.100.1', hwid: 'another' },
    message: 'License is valid',
    isHot: true,
    steps: [
      ['bind', claimOf(2)],
      ['record', RECORD],
      ['license', LICENSE],
      ['mark as published', MARK],
    ],
  },
  {
    name: 'in no copy anywhere',
    message: 'License is valid',
    steps: [
      ['license', LICENSE],
      ['record', RECORD],
      // It is published then; the log has no row of what is settled.
      ['license', LICENSE],
      ['mark as published', { reads: [1, 1], writes: [0, 0] }],
    ],
  },
  {
    name: 'an unknown key',
    body: { licenseKey: 'nothing' },
    message: 'License not found or invalid',
    steps: [
      ['license', LICENSE],
      ['record', RECORD_WITHOUT_LICENSE],
    ],
  },
  {
    name: 'another product',
    body: { productId: 10 },
    message: 'License not found or invalid',
    isHot: true,
    steps: [['record', RECORD]],
  },
  {
    name: 'a blacklisted address',
    body: { ip: '192.0.4.77' },
    message: 'IP address is blacklisted',
    isHot: true,
    steps: [['record', RECORD]],
  },
  {
    name: 'a blacklisted hardware ID',
    body: { hwid: 'BAD-7' },
    message: 'Hardware ID is blacklisted',
    isHot: true,
    steps: [['record', RECORD]],
  },
];

async function expectSteps(roundTrips: RoundTrips, steps: readonly [Step, Cost][]): Promise<void> {
  await expectNoScans(roundTrips);
  const taken = await Promise.all(
    roundTrips.map(async (trip) => ({
      step: stepOf(trip),
      reads: await Promise.all(trip.map(rowsRead)),
      writes: trip.map(({ meta }) => meta?.rows_written ?? 0),
    })),
  );
  // What is done after the answer is done at once, in no order.
  const inOrder = <Step extends { step: string }>(list: readonly Step[]) =>
    list.toSorted((one, other) => one.step.localeCompare(other.step));
  expect(inOrder(taken)).toEqual(
    inOrder(
      steps.map(([step, { reads, writes }]) => ({
        step,
        reads: reads.map((budget) => expect.toSatisfy((rows) => rows <= budget, `<= ${budget}`)),
        writes,
      })),
    ),
  );
}

const ASKED = VALIDATIONS.map((validation, index) => {
  // Each with a license of its own, all of product 9 and with free slots.
  const license = 8 + index * products;
  const usual = {
    licenseKey: `key-${license}`,
    productId: 9,
    ip: ipOf(license),
    hwid: `HW-${license}`,
  };
  return { ...validation, usual, body: { ...usual, ...validation.body } };
});

describe('validating', () => {
  const { spy, roundTrips } = spyOnDatabase(env.DB);
  const isolate = newIsolate({ DB: spy });

  /** What a request costs to the end of all that it does. */
  async function ask(
    body: object,
    options: ValidationOptions = {},
    of = isolate,
  ): Promise<{ json: unknown; taken: RoundTrips }> {
    roundTrips.length = 0;
    const { json, recorded } = await of.validate(body, options);
    await recorded;
    return { json, taken: [...roundTrips] };
  }

  beforeAll(async () => {
    await settleLog();
    // The first request of an isolate asks for the whole blacklist.
    await ask({ licenseKey: 'nothing at all', productId: 9 });
  });

  it.each(ASKED)('$name', async ({ usual, body, message, isHot, steps }) => {
    if (isHot) await ask(usual);
    const { json, taken } = await ask(body);
    expect(json).toMatchObject({ message });
    await expectSteps(taken, steps);
  });

  it('under v2 reads one row more for the token, and writes its use, once', async () => {
    const { text } = await isolate.call('POST', '/api/v2/tokens', {
      body: { name: 'Server', intents: ['LICENSE_VALIDATE'] },
    });
    const headers = { TOKEN: /licet_[\w-]+/.exec(text)?.[0] ?? '' };
    const [{ usual } = { usual: {} }] = ASKED;
    await ask(usual);
    const first = await ask(usual, { version: 'v2', headers });
    await expectSteps(
      first.taken.filter((trip) => stepOf(trip) !== 'token'),
      [
        ['token used', { reads: [1, 1], writes: [1, 0] }],
        ['record', RECORD],
      ],
    );
    const second = await ask(usual, { version: 'v2', headers });
    await expectSteps(second.taken, [['record', RECORD]]);
    const slept = newIsolate({ DB: spy });
    const third = await ask(usual, { version: 'v2', headers }, slept);
    await expectSteps(third.taken, [
      ['token', inNewIsolate(TOKEN)],
      ['record', RECORD],
    ]);
  });

  it('in an isolate that finds no copy reads the whole blacklist twice: once to publish it', async () => {
    await env.SNAPSHOTS.delete('blacklist');
    const [, { usual } = { usual: {} }] = ASKED;
    const { taken } = await ask(usual, {}, newIsolate({ DB: spy }));
    await expectSteps(taken, [
      ['license', inNewIsolate(LICENSE)],
      ['blacklist', BLACKLIST],
      ['record', RECORD],
      ['blacklist', BLACKLIST],
      ['mark as published', MARK],
    ]);
  });
});

it('has no index that nothing uses', async () => {
  const { results } = await env.DB.prepare(
    `select name from sqlite_master where type = 'index' and sql not like 'create unique %'`,
  ).all<{ name: string }>();
  const names = results.map(({ name }) => name);
  expect(names).not.toEqual([]);
  expect(names.filter((name) => !usedIndexes.has(name))).toEqual([]);
});
