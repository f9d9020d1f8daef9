/** @module-tag long */

import { createExecutionContext } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { license } from '@licet/contract/licenses';
import { beforeAll, describe, expect, it } from 'vitest';
import { app } from '../../src/routes/app.ts';
import { newIsolate } from '../support/app.ts';
import type { CallOptions, ReadResponse } from '../support/client.ts';
import type { SentStatement } from '../support/d1-intercept.ts';
import { metaOf, type RoundTrips, spyOnDatabase, sumRows } from '../support/d1-spy.ts';
import { runScheduled, runToTheEnd, setNow } from '../support/history.ts';
import {
  hwidOf,
  ipOf,
  keyOf,
  largeDatabase,
  licenseOf,
  type Size,
  someRecordId,
} from '../support/large-database.ts';
import { emptyOutbox } from '../support/published.ts';
import { ROOT_TOKEN } from '../support/root-token.ts';
import { WRITES, type Write } from '../support/writes.ts';

/**
 * The cost of the endpoints in D1 at the size that the service is built for: no statement reads more
 * rows than its response needs, and a validation is a handful of rows.
 */

/** A million records in 90 days; without `LICET_LONG` those of 20 days. */
const DAYS = env.IS_LONG ? 90 : 20;
const SIZE: Size = {
  products: 200,
  customers: 50_000,
  licenses: 100_000,
  blacklists: 10_000,
  installations: 463 * 43,
  hours: DAYS * 24,
};
/** Just before a day is aggregated: the history since then is as long as it gets. */
const NOW = Date.UTC(2026, 5, 2, 0, 59);
let records: number;
let bytesOfRecords: number;

beforeAll(async () => {
  setNow(NOW);
  const run = (statements: string[]) =>
    env.DB.batch(statements.map((statement) => env.DB.prepare(statement)));
  const { shop, history, rollups } = largeDatabase(SIZE, NOW);
  await run(shop);
  const metas = (await run(history)).map(({ meta }) => meta);
  const [before, written] = [metas.at(-3), metas.at(-1)];
  await run(rollups);
  records = written?.changes ?? 0;
  bytesOfRecords = (written?.size_after ?? Number.NaN) - (before?.size_after ?? Number.NaN);
  await emptyOutbox();
}, 60_000);

it('a million records with their installations take at most 45 bytes each, and 200,000 at most 70', () => {
  expect(records).toBeGreaterThan(env.IS_LONG ? 1_000_000 : 200_000);
  expect(bytesOfRecords / records).toBeLessThan(env.IS_LONG ? 45 : 70);
});

/** Sends a request. @returns the response, and the round trips that it cost */
async function ask(
  method: string,
  path: string,
  options: CallOptions = {},
): Promise<ReadResponse & { roundTrips: RoundTrips }> {
  const { spy, roundTrips } = spyOnDatabase(env.DB);
  return { ...(await newIsolate({ DB: spy }).call(method, path, options)), roundTrips };
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

/** A whole table or index read, and rows sorted because no index has them in order. */
const isScan = (detail: string): boolean =>
  /^SCAN (products|customers|licenses|bindings|blacklists|requests|installations|buckets|tokens)\b/.test(
    detail,
  );
const isSort = (detail: string): boolean => detail === 'USE TEMP B-TREE FOR ORDER BY';
/** Within a page and within a bucket, records are sorted; and the installations of a license. */
const isOfTheHistory = ({ sql }: SentStatement): boolean =>
  sql.includes('from "buckets"') || sql.includes('order by exact.last_seen_at');

const TOTAL = 'X-Total-Count counts them all';
const SEARCH = 'a free search reads every row';
const STATUS = 'a status or type has too few values for an index to pay';

interface Case {
  path: string;
  /** The rows that a statement may read that reads the objects. */
  reads: number;
  /** The rows that a statement may read that counts them; as many as `reads` unless given. */
  counts?: number;
  /** Why a table may be scanned. */
  scan?: string;
}

const { products, customers, licenses, blacklists } = SIZE;
/** A page of ten reads one more, to know whether there is a next one. */
const PAGE = 11;
/** A license is read with its customer, its total, and what is bound to it. */
const PER_LICENSE = 9;
/** One license in seven has two installations, whose records of 25 hours are not aggregated yet. */
const TOTALS_OF_10 = 2 * 2 * (2 + 25);
/** How far to walk for a page of what is one in a hundred. */
const PAGE_OF_1_IN_100 = PAGE * 100 + PAGE * PER_LICENSE;
/** With the totals, too. */
const PAGE_OF_100_OF_1_IN_100 = 101 * 100 + 101 * PER_LICENSE + 10 * TOTALS_OF_10;
/** A row too many is read to see that there is no other. */
const ofProduct = licenses / products + 1;
/** A license with two installations, each of which asks every 43 hours. */
const active = licenseOf(801);
const dayAgo = encodeURIComponent(new Date(NOW - 24 * 60 * 60 * 1000).toISOString());

const LISTS: Case[] = [
  { path: '/products', reads: products },
  { path: '/products?limit=10&q=nothing', reads: products, scan: SEARCH },

  {
    path: '/licenses?limit=10',
    reads: 12 * PER_LICENSE + TOTALS_OF_10,
    counts: licenses,
    scan: TOTAL,
  },
  {
    path: '/licenses?limit=10&after=99000',
    reads: 12 * PER_LICENSE,
    counts: licenses,
    scan: TOTAL,
  },
  ...['licenseStatus=EXPIRED', 'licenseType=TEMPORARY'].map((filter) => ({
    path: `/licenses?limit=10&${filter}`,
    reads: PAGE_OF_1_IN_100,
    counts: licenses,
    scan: STATUS,
  })),
  // A page of 100, of a filter without an index, reads licenses until it is full. The license 50,001 expires.
  ...[
    { filter: '', reads: 2_100 },
    { filter: '&sort=-id', reads: 2_100 },
    ...['licenseStatus=EXPIRED', 'licenseStatus=DEACTIVATED', 'licenseType=TEMPORARY'].map(
      (by) => ({
        filter: `&${by}`,
        reads: PAGE_OF_100_OF_1_IN_100,
      }),
    ),
    { filter: `&expiresFrom=${dayAgo}`, reads: 2_100 },
    { filter: '&sort=-expiryDate', reads: 2_100 },
    { filter: '&sort=expiryDate&productId=2', reads: 3_000 },
    { filter: `&expiresFrom=${dayAgo}&sort=id`, reads: PAGE_OF_100_OF_1_IN_100 },
    { filter: '&unused=true', reads: 3_000 },
    // One license in seven was used.
    { filter: '&unused=false', reads: 7_000 },
    // No license matches: the rest of the table is read, each with its bindings.
    { filter: '&full=true', reads: 5 * (licenses / 2) },
    { filter: '&dormantDays=1', reads: 12_100 },
    { filter: '&dormantDays=90&productId=9', reads: 5_000 },
  ].map(({ filter, reads }) => ({
    path: `/licenses?limit=100&total=false&after=50001${filter}`,
    reads,
  })),
  {
    path: '/licenses?limit=10&q=key-00000000000000099999',
    reads: licenses + customers + PER_LICENSE,
    scan: SEARCH,
  },
  // The addresses come from their index, and the licenses from the installations at these addresses.
  { path: `/licenses?limit=10&ip=${ipOf(active)}`, reads: 2 * PER_LICENSE + TOTALS_OF_10 },
  { path: '/licenses?limit=10&total=false&ip=11.1.0.0/16', reads: 3_500 },
  { path: '/licenses?limit=10&total=false&ip=198.51.100.0/24', reads: 10 },
  {
    path: '/licenses?limit=10&productId=9',
    reads: 12 * PER_LICENSE + TOTALS_OF_10,
    counts: ofProduct,
  },
  { path: '/licenses?limit=10&productId=9&licenseStatus=DELETED', reads: ofProduct },
  { path: '/licenses/by-product-id/9', reads: ofProduct * PER_LICENSE + 50 * TOTALS_OF_10 },
  ...[
    '/by-customer-email/USER7@SHOP.test',
    '/by-customer-id/7',
    '/by-chat-id/chat-7',
    '/by-platform/PLATFORM_A/a-7',
  ].flatMap((by) =>
    ['', '?limit=10&productId=7'].map((more) => ({
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
  { path: '/blacklists?limit=10&productId=11&licenseDataType=IP', reads: PAGE, counts: 51 },
  { path: '/blacklists?limit=10&q=nothing', reads: blacklists, scan: SEARCH },

  // Buckets of 463 records are read and sorted, from the newest one on, until the page is full.
  ...['', `&to=${dayAgo}`, `&from=${dayAgo}`, '&valid=true', '&valid=false'].map((more) => ({
    path: `/requests?limit=10${more}`,
    reads: 1_000,
  })),
  { path: '/requests', reads: 5_000 },
  // One record in ten is refused.
  { path: '/requests?valid=false', reads: 14_000 },
  // A product has two or three records in each bucket.
  { path: '/requests?limit=10&productId=9', reads: 120 },
  { path: `/requests?limit=10&productId=9&from=${dayAgo}`, reads: 120 },
  { path: '/requests?limit=10&productId=9&valid=false', reads: 500 },
  { path: '/requests?productId=9', reads: 7_000 },
  // All of 90 days: three rows for each bucket, and two more for each installation that matches.
  ...[
    { filter: 'hwid=nothing', reads: 6_500 },
    { filter: `ip=${ipOf(active)}`, reads: 11_100 },
    { filter: `licenseKey=${keyOf(active).toLowerCase()}`, reads: 15_700 },
    { filter: `hwid=${hwidOf(active)}`, reads: 15_700 },
    { filter: `licenseKey=${keyOf(active)}&ip=${ipOf(active)}`, reads: 11_100 },
  ].map(({ filter, reads }) => ({ path: `/requests?${filter}&valid=false`, reads })),
  // The newest ten are in 430 buckets.
  { path: `/requests?limit=10&ip=${ipOf(active)}`, reads: 2_500 },
  { path: `/requests?from=${dayAgo}&licenseKey=${keyOf(active)}`, reads: 200 },

  { path: '/customers?limit=10', reads: PAGE, counts: customers, scan: TOTAL },
  // Each customer has two licenses.
  {
    path: '/customers?limit=10&licenseCount=true',
    reads: PAGE * 8,
    counts: customers,
    scan: TOTAL,
  },
  { path: '/customers?limit=10&q=nothing', reads: customers, scan: SEARCH },
  { path: '/tokens?limit=10', reads: 1, scan: TOTAL },

  // Each event with its token.
  { path: '/events?limit=10', reads: 2 * PAGE },
  { path: '/events?limit=10&resourceType=license&resourceId=7', reads: 2 * PAGE },
  { path: '/events?limit=10&type=license.deleted', reads: 2_000 },

  { path: '/products/7', reads: 1 },
  { path: '/licenses/7', reads: PER_LICENSE },
  { path: `/licenses/by-license-key/${keyOf(7)}`, reads: PER_LICENSE },
  { path: `/licenses/${active}/installations`, reads: 100 },
  { path: '/blacklists/7', reads: 1 },
  { path: '/customers/7', reads: 1 },
  // The other records of its hour.
  { path: `/requests/${someRecordId(NOW)}`, reads: 500 },
];

it.each(LISTS)(
  'GET $path reads few rows [3.54, 5.20]',
  async ({ path, reads, counts = reads, scan }) => {
    const { status, roundTrips } = await ask('GET', `/api/v2${path}`);
    expect(status).toBe(200);
    expect(roundTrips).not.toEqual([]);
    for (const statement of roundTrips.flat()) {
      const plan = await planOf(statement);
      const budget = /^select (count\(|ifnull\(sum\()/.test(statement.sql) ? counts : reads;
      expect((await metaOf(statement)).rows_read, plan.join('\n')).toBeLessThanOrEqual(budget);
      if (!isOfTheHistory(statement)) expect(plan.filter(isSort), statement.sql).toEqual([]);
      if (scan === undefined) expect(plan.filter(isScan), statement.sql).toEqual([]);
    }
  },
);

it('licenses by address take a statement for the addresses, one for the page and one for the total', async () => {
  const { roundTrips } = await ask('GET', `/api/v2/licenses?limit=10&ip=${ipOf(active)}`);
  const starts = roundTrips.flat().map(({ sql }) => sql.split(' ', 2).join(' '));
  expect(starts.toSorted()).toEqual(['select "ip"', 'select "licenses"."id",', 'select count(*)']);
});

it('licenses by a range of more than 10,000 installations return 400 after 10,001 rows [3.35]', async () => {
  const { status, roundTrips } = await ask('GET', '/api/v2/licenses?limit=10&ip=11.0.0.0/8');
  expect(status).toBe(400);
  expect(roundTrips.flat()).toHaveLength(1);
  expect(await totalRead(roundTrips)).toBeLessThanOrEqual(10_001);
});

it('the statistics of a large shop read at most 2,500 rows, and 5,000 for 31 days by hour, beside the counts that are held [6.1, 6.2]', async () => {
  setNow(NOW);
  await runToTheEnd(NOW);
  const { spy, roundTrips } = spyOnDatabase(env.DB);
  const isolate = newIsolate({ DB: spy });
  expect((await isolate.call('GET', '/api/v2/statistics')).status).toBe(200);
  const plans = await Promise.all(roundTrips.flat().map(planOf));
  expect(plans.flat().filter(isScan)).toEqual([
    'SCAN licenses USING COVERING INDEX licenses_product',
    'SCAN installations',
  ]);
  // SQLite sorts them into groups, and counts the sorted rows too.
  expect(await totalRead(roundTrips)).toBeLessThanOrEqual(
    2 * (licenses + SIZE.installations) + 3_000,
  );
  // The last hour is read from the history for 15 minutes after its end.
  await env.DB.prepare(
    "update counters set value = value - 1 where name = 'rolled_up_bucket'",
  ).run();
  const daysAgo = (days: number, hours = 0) =>
    new Date(NOW - (days * 24 + hours) * 60 * 60 * 1000).toISOString();
  for (const [query, most] of [
    ['', 2_500],
    [`from=${daysAgo(7)}`, 2_500],
    // Both ends are in the middle of a day.
    [`from=${daysAgo(7, 12)}&to=${daysAgo(0, 12)}`, 2_500],
    [`from=${daysAgo(31)}`, 5_000],
    [`step=day&from=${daysAgo(6)}`, 2_500],
    ['step=day', 2_500],
  ] as const) {
    for (const ofProduct of ['', '&productId=9']) {
      roundTrips.length = 0;
      const path = `/api/v2/statistics?${query}${ofProduct}`;
      const { status, text } = await isolate.call('GET', path);
      expect(status, text).toBe(200);
      expect(await totalRead(roundTrips), path).toBeLessThanOrEqual(most);
      await expectNoScans(roundTrips);
    }
  }
});

it('a complete list is sent while it is read [3.25]', async () => {
  const { spy, roundTrips } = spyOnDatabase(env.DB);
  const request = new Request('http://licet.test/api/v2/licenses', {
    headers: { TOKEN: ROOT_TOKEN },
  });
  const response = await app.fetch(request, { ...env, DB: spy }, createExecutionContext());
  const reader = response.body?.getReader();
  expect((await reader?.read())?.value?.length).toBeGreaterThan(0);
  expect((await reader?.read())?.value?.length).toBeGreaterThan(500_000);
  // At most two of the two hundred chunks were read: the one that is being sent and the next.
  expect(roundTrips.length).toBeLessThanOrEqual(3);
  await reader?.cancel();
});

/** The only statement that reads a whole table: the policy is published as one. */
const isWholeBlacklist = ({ sql }: SentStatement): boolean => sql.endsWith('from "blacklists"');

/** An index that has the products of the policy only. */
const POLICY_SCAN = 'SCAN products USING COVERING INDEX products_policy';

async function expectNoScans(roundTrips: RoundTrips): Promise<void> {
  for (const statement of roundTrips.flat()) {
    const scans = (await planOf(statement)).filter(isScan);
    const isDue = (detail: string) =>
      (isWholeBlacklist(statement) && /^SCAN blacklists\b/.test(detail)) || detail === POLICY_SCAN;
    expect(
      scans.filter((detail) => !isDue(detail)),
      statement.sql,
    ).toEqual([]);
  }
}

const totalRead = async (roundTrips: RoundTrips): Promise<number> =>
  (await sumRows(roundTrips.flat())).read;

/** The rows that a write may read, up to the publication of the change. */
const WRITE_READS = 110;
/** All entries are read to publish the policy. */
const WHOLE_POLICY = blacklists + 60;
/** The offline days of products are in it. */
const PUBLISHES_POLICY = /blacklists|^(POST|PUT) .*products|import/;
/** A product with 500 DELETED licenses, their bindings and their snapshots. Some leave KV at once. */
const DELETE_PRODUCT = 22 * ofProduct + 100;

/** A record of no license can be in any hour. */
const ALL_HOURS = 5_000;
const CHANGES: { route: string; status?: number; reads?: number; prepare: () => Promise<Write> }[] =
  [
    ...Object.entries(WRITES).map(([route, prepare]) => ({
      route,
      prepare,
      ...(PUBLISHES_POLICY.test(route) && { reads: WHOLE_POLICY }),
      ...(route === 'DELETE /api/v2/customers/:id' && { reads: ALL_HOURS }),
    })),
    {
      route: 'DELETE a product in use',
      status: 409,
      prepare: async () => ({ path: '/api/v2/products/6' }),
    },
    {
      route: 'DELETE a product with 500 deleted licenses',
      reads: DELETE_PRODUCT,
      prepare: async () => ({ path: '/api/v2/products/4' }),
    },
  ];

it.each(CHANGES)('$route reads few rows', async ({ route, status, reads, prepare }) => {
  const { path, body } = await prepare();
  const response = await ask(route.split(' ', 1).join(), path, { body });
  if (status === undefined) expect(response.status, response.text).toBeLessThan(300);
  else expect(response.status).toBe(status);
  await expectNoScans(response.roundTrips);
  expect(await totalRead(response.roundTrips)).toBeLessThanOrEqual(reads ?? WRITE_READS);
});

it('an import of 200 licenses is 25 statements of few rows', async () => {
  const items = Array.from({ length: 200 }, (_, n) => ({
    ...{ id: n % 2 ? n + 1 : n + 500_000, licenseKey: `cost ${n}`, productId: 1 },
    ...{ licenseType: 'PERMANENT', licensePlatform: 'PLATFORM_A', ownerPlatformId: `a-${n}` },
    ...{ ips: ['192.0.2.10', '2001:db8::7'], hwids: ['HW 1'] },
    customer: n % 4 ? null : { email: `new${n}@shop.example`, chatId: `new ${n}` },
  }));
  const body = { kind: 'licenses', items };
  const { status, text, roundTrips } = await ask('POST', '/api/v2/import', { body });
  expect(status, text).toBe(200);
  const statements = roundTrips.flat();
  // The Free plan has 50 a request.
  expect(statements.length).toBeLessThan(25);
  expect(Math.max(...statements.map(({ params }) => params.length))).toBeLessThan(20);
  const read = statements.map(({ meta }) => meta?.rows_read ?? 0);
  expect(Math.max(...read)).toBeLessThan(5_000);
  const written = sum(statements.map(({ meta }) => meta?.rows_written ?? 0));
  expect(written / items.length).toBeLessThan(20);
});

const sum = (counts: readonly number[]): number =>
  counts.reduce((total, count) => total + count, 0);

describe('validating', () => {
  const { spy, roundTrips } = spyOnDatabase(env.DB);
  const isolate = newIsolate({ DB: spy });

  /** Validates, to the end of all that it leaves to be done. */
  async function validate(body: object): Promise<unknown> {
    roundTrips.length = 0;
    const { json, recorded } = await isolate.validate(body);
    await recorded;
    return json;
  }

  beforeAll(async () => {
    await emptyOutbox();
    // The first request of an isolate asks for the whole policy.
    await validate({ licenseKey: 'nothing at all', productId: 9 });
  });

  // Each round trip of a validation is counted in cost.test.ts and cache-cost.test.ts.
  it.each([
    { what: 'a hot license', license: 8, isHot: true, body: {}, reads: 17 },
    {
      what: 'a first address and hardware ID',
      license: 208,
      isHot: true,
      body: { ip: '198.51.100.1', hwid: 'another' },
      reads: 85,
    },
    { what: 'a license that only D1 has', license: 408, isHot: false, body: {}, reads: 57 },
  ])('a validation reads few rows: $what', async ({ license, isHot, body, reads }) => {
    const usual = { licenseKey: keyOf(license), ip: ipOf(license), hwid: hwidOf(license) };
    if (isHot) await validate({ ...usual, productId: 9 });
    expect(await validate({ ...usual, productId: 9, ...body })).toMatchObject({ valid: true });
    await expectNoScans(roundTrips);
    expect(await totalRead(roundTrips)).toBeLessThanOrEqual(reads);
  });

  it('a validation reads few rows: an unknown key', async () => {
    expect(await validate({ licenseKey: 'nothing', productId: 9 })).toMatchObject({ valid: false });
    await expectNoScans(roundTrips);
    expect(await totalRead(roundTrips)).toBeLessThanOrEqual(37);
  });
});

const RUNS = 12;

const rowsWritten = (roundTrips: RoundTrips, start: string): number =>
  sum(
    roundTrips
      .flat()
      .map(({ sql, meta }) => (sql.startsWith(start) ? (meta?.rows_written ?? 0) : 0)),
  );

it('a day is aggregated in twelve runs of 40 statements and 50,000 rows beside the daily count, one written row for each installation [1.6.23]', async () => {
  const all: RoundTrips = [];
  for (let run = 0; run < RUNS; run++) {
    const { spy, roundTrips } = spyOnDatabase(env.DB);
    await runScheduled(NOW + 24 * 60 * 60 * 1000, {
      DB: spy,
      REQUEST_RETENTION_DAYS: String(DAYS),
    });
    expect(roundTrips.flat().length).toBeLessThanOrEqual(40);
    const isCount = ({ sql }: SentStatement) => sql.startsWith('insert into "daily_counts"');
    const others = roundTrips.map((sent) => sent.filter((statement) => !isCount(statement)));
    if (run === 0) await expectNoScans(others);
    expect(await totalRead(others)).toBeLessThanOrEqual(50_000);
    // The licenses are counted once a day.
    const counted = await totalRead(roundTrips.map((sent) => sent.filter(isCount)));
    expect(counted).toBeLessThanOrEqual(run === 0 ? 2 * licenses + 10 : 10);
    all.push(...roundTrips);
  }
  // Each installation asked once on that day. In each run an expired hour is removed.
  expect(rowsWritten(all, 'update "installations"')).toBe(24 * 463);
  expect(rowsWritten(all, 'delete from "requests"')).toBe(RUNS * 463);
});

it('a customer is forgotten without a look at the installations of others', async () => {
  const { json } = await ask('GET', `/api/v2/licenses/${active}`);
  const { customer } = license.parse(json);
  const { status, roundTrips } = await ask('DELETE', `/api/v2/customers/${customer?.id}`);
  expect(status).toBe(204);
  const plans = await Promise.all(roundTrips.flat().map(planOf));
  expect(plans.flat()).toContainEqual(expect.stringMatching(/^SEARCH i USING INTEGER PRIMARY KEY/));
  expect(plans.flat().filter((detail) => /^SCAN (i|installations)\b/.test(detail))).toEqual([]);
});

it('slots and their filter read the license and its installations alone, also if all products have idle days [7.2.16]', async () => {
  setNow(NOW);
  await env.DB.prepare('update products set ip_idle_days = 30, hwid_idle_days = 30').run();
  for (const { path, reads } of [
    { path: `/licenses/${active}/slots`, reads: 200 },
    { path: `/licenses/${active}/installations`, reads: 300 },
    // No license matches: the rest of the table is read, each with its bindings.
    {
      path: '/licenses?limit=100&total=false&after=50001&idleSlots=true',
      reads: 6 * (licenses / 2),
    },
    { path: '/licenses?limit=100&total=false&after=50001&idleSlots=false', reads: 10_000 },
    { path: '/licenses?limit=10&productId=9&idleSlots=true', reads: 6_000 },
  ]) {
    const { status, text, roundTrips } = await ask('GET', `/api/v2${path}`);
    expect(status, text).toBe(200);
    await expectNoScans(roundTrips);
    expect(await totalRead(roundTrips), path).toBeLessThanOrEqual(reads);
  }
});
