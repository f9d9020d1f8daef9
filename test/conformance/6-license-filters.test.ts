import { env } from 'cloudflare:workers';
import { license as licenseWire } from '@licet/contract/licenses';
import { beforeAll, expect, it } from 'vitest';
import * as z from 'zod';
import { call, create, expectError, type License, readPagesFrom } from '../support/client.ts';
import {
  DAY_MS,
  emptyHistory,
  HOUR_MS,
  recordAt,
  runToTheEnd,
  setNow,
  write,
} from '../support/history.ts';
import { importOne } from '../support/import.ts';
import { openShop } from '../support/shop.ts';

const NOW = Date.UTC(2026, 5, 2, 12, 30);
const inDays = (days: number): string => new Date(NOW + days * DAY_MS).toISOString();

const shop = openShop();

/** The notes of the licenses of all pages, in order, and the number of pages. */
async function readPages(query: string): Promise<{ notes: string[]; pages: number }> {
  const pages = await readPagesFrom(`/api/v2/licenses?${query}`);
  const licenses = pages.flatMap(({ json }) => z.array(licenseWire).parse(json));
  return { notes: licenses.map(({ notes }) => notes), pages: pages.length };
}

async function notesOf(query: string): Promise<string[]> {
  setNow(NOW);
  const whole = await call('GET', `/api/v2/licenses?${query}`);
  expect(whole.status, whole.text).toBe(200);
  const complete = z.array(licenseWire).parse(whole.json);
  const { notes } = await readPages(`${query}&limit=2`);
  expect(notes).toEqual(complete.map((license) => license.notes));
  return notes;
}

const licenses: Record<string, License> = {};

beforeAll(async () => {
  setNow(NOW);
  await emptyHistory();
  const fields: Record<string, object> = {
    plain: {},
    full: { maxIPs: 1, maxHWIDs: -1, ips: ['192.0.2.1'] },
    closed: { maxIPs: -1, maxHWIDs: 0 },
    endless: { maxIPs: -1, maxHWIDs: -1 },
    later: { licenseType: 'TEMPORARY', expiryDate: inDays(8) },
    soon: { licenseType: 'TEMPORARY', expiryDate: inDays(6) },
    twin: { licenseType: 'TEMPORARY', expiryDate: inDays(6) },
    expired: { licenseType: 'TEMPORARY', expiryDate: inDays(-1) },
    deleted: { licenseType: 'TEMPORARY', expiryDate: inDays(7), licenseStatus: 'DELETED' },
  };
  for (const [notes, each] of Object.entries(fields)) {
    licenses[notes] = await shop.newLicense({ licenseType: 'PERMANENT', notes, ...each });
  }
  const ask = (name: string, time: number, ip = '192.0.2.1') => {
    const license = licenses[name];
    if (!license) throw new Error(`no license ${name}`);
    const { id: licenseId, licenseKey, productId } = license;
    return recordAt(time, { licenseId, licenseKey, productId, hwid: name, ip });
  };
  await write(
    ask('plain', NOW - 40 * DAY_MS),
    ask('full', NOW - 31 * DAY_MS),
    ask('closed', NOW - 40 * DAY_MS),
    ask('closed', NOW - 3 * DAY_MS),
    ask('soon', NOW - 40 * DAY_MS),
  );
  await runToTheEnd(NOW);
  // These records are not aggregated yet.
  await write(
    ask('soon', NOW - HOUR_MS, '203.0.113.129'),
    ask('later', NOW - HOUR_MS, '2001:db8:0:7::5'),
  );
  await importOne('licenses', {
    licenseKey: 'used elsewhere',
    productId: shop.productId,
    licenseType: 'PERMANENT',
    notes: 'imported',
    totalRequests: 7,
  });
});

it.each([
  { query: `expiresFrom=${inDays(0)}`, notes: ['soon', 'twin', 'later'] },
  { query: `expiresTo=${inDays(6)}`, notes: ['expired', 'soon', 'twin'] },
  { query: `expiresFrom=${inDays(6)}&expiresTo=${inDays(6)}`, notes: ['soon', 'twin'] },
  { query: `expiresFrom=${inDays(0)}&sort=id`, notes: ['later', 'soon', 'twin'] },
  { query: `expiresFrom=${inDays(0)}&sort=-expiryDate`, notes: ['later', 'twin', 'soon'] },
  { query: 'sort=expiryDate', notes: ['expired', 'soon', 'twin', 'later'] },
  { query: 'sort=expiryDate&licenseStatus=DELETED', notes: ['deleted'] },
  { query: 'sort=expiryDate&licenseStatus=ACTIVE', notes: ['soon', 'twin', 'later'] },
  { query: 'sort=-id&full=true', notes: ['closed', 'full'] },
  { query: 'full=true', notes: ['full', 'closed'] },
  { query: 'full=false&licenseType=TEMPORARY', notes: ['later', 'soon', 'twin', 'expired'] },
  { query: 'unused=true', notes: ['endless', 'twin', 'expired'] },
  { query: 'unused=false', notes: ['plain', 'full', 'closed', 'later', 'soon', 'imported'] },
  { query: 'dormantDays=30', notes: ['plain', 'full', 'imported'] },
  { query: 'dormantDays=35', notes: ['plain', 'imported'] },
  { query: 'dormantDays=2', notes: ['plain', 'full', 'closed', 'imported'] },
  { query: 'dormantDays=30&full=true', notes: ['full'] },
  { query: 'ip=203.0.113.129', notes: ['soon'] },
  { query: 'ip=203.0.113.1/25', notes: [] },
  { query: 'ip=203.0.113.255/25', notes: ['soon'] },
  { query: 'ip=203.0.0.0/12', notes: ['soon'] },
  { query: 'ip=2001:db8::/47', notes: ['later'] },
  { query: 'ip=2001:db8:0:7::/64', notes: ['later'] },
  { query: 'ip=2001:db8:0:8::/62', notes: [] },
  { query: 'ip=0.0.0.0/0&full=false', notes: ['plain', 'soon'] },
])(
  'licenses of $query are $notes [3.31, 3.32, 3.33, 3.34, 3.35, 3.37, 3.38]',
  async ({ query, notes }) => {
    const ofShop = `productId=${shop.productId}&${query.replaceAll('+', '%2B')}`;
    expect(await notesOf(ofShop)).toEqual(notes);
  },
);

it('a page with total=false has no X-Total-Count, and others count all that match [3.36]', async () => {
  const path = `/api/v2/licenses?productId=${shop.productId}&full=true&limit=1`;
  expect((await call('GET', path)).headers.get('X-Total-Count')).toBe('2');
  expect((await call('GET', `${path}&total=false`)).headers.has('X-Total-Count')).toBe(false);
});

it('licenses by a range return 400 where more than 10,000 installations have such addresses [3.35]', async () => {
  const insert = (first: number, count: number) =>
    env.DB.prepare(
      `with recursive n(i) as (select ${first} union all select i + 1 from n limit ${count})
       insert into installations (license_key_normalized, fingerprint, license_id, license_key, ip,
         first_seen_at, last_seen_at, aggregated_bucket)
       select 'MADE-UP', i, 0, 'MADE-UP', '198.18.' || (i >> 8) || '.' || (i & 255), 0, 0, 0 from n`,
    ).run();
  const ask = (ip: string) => call('GET', `/api/v2/licenses?limit=1&ip=${ip}`);
  await insert(0, 10_000);
  // Only whole groups of the address narrow the search.
  for (const ip of ['198.18.0.0/16', '198.18.0.0/20']) expect((await ask(ip)).status).toBe(200);
  await insert(10_000, 1);
  for (const ip of ['198.18.0.0/16', '198.18.0.0/20']) {
    const message =
      'ip must be a narrower range: more than 10000 installations have such addresses';
    expectError(await ask(ip), 400, message);
  }
  expect((await ask('198.18.0.0/24')).status).toBe(200);
  await env.DB.prepare("delete from installations where license_key = 'MADE-UP'").run();
});

it.each([
  'unused=1',
  'dormantDays=0',
  'dormantDays=4000',
  'full=',
  'sort=notes',
  'total=no',
  'ip=203.0.113',
])(
  '%s returns 400 and names the parameter [3.31, 3.32, 3.33, 3.34, 3.35, 3.37, 3.38]',
  async (query) => {
    const [name = ''] = query.split('=');
    expectError(await call('GET', `/api/v2/licenses?${query}`), 400, new RegExp(`^${name} must`));
  },
);

it.each([
  { change: 'was extended beyond', sort: 'expiryDate', body: { expiryDate: inDays(400) } },
  { change: 'no longer expires in', sort: 'expiryDate', body: { licenseType: 'PERMANENT' } },
  { change: 'no longer expires in', sort: '-expiryDate', body: { licenseType: 'PERMANENT' } },
])(
  'the page after a license that $change a list by $sort returns 400 and names after [3.39]',
  async ({ body, sort }) => {
    setNow(NOW);
    const { id: productId } = await create.product();
    const ids: number[] = [];
    for (let day = 1; day <= 3; day++) {
      const fields = { productId, licenseType: 'TEMPORARY', expiryDate: inDays(day) };
      ids.push((await create.license(fields)).id);
    }
    const list = `/api/v2/licenses?productId=${productId}&expiresTo=${inDays(7)}&sort=${sort}`;
    const after = `${list}&limit=1&after=${ids[1]}`;
    expect((await call('GET', after)).json).toMatchObject([{}]);
    await call('PUT', `/api/v2/licenses/${ids[1]}`, { body });
    expectError(await call('GET', after), 400, /^after must/);
    // An empty last page is correct.
    const last = sort === 'expiryDate' ? ids[2] : ids[0];
    expect((await call('GET', `${list}&limit=1&after=${last}`)).json).toEqual([]);
  },
);

it('a page is full while more licenses follow, however many between them do not match [3.28]', async () => {
  const { id: productId } = await create.product();
  const body = { productId, licenseType: 'PERMANENT', count: 500 };
  for (const notes of ['first', 'second', 'third']) {
    const created = await call('POST', '/api/v2/licenses/batch', { body });
    expect(created.status, created.text).toBe(201);
    await call('POST', '/api/v2/licenses', {
      body: { ...body, count: undefined, maxIPs: 0, notes },
    });
  }
  const query = `productId=${productId}&limit=2&full=true`;
  const all = ['first', 'second', 'third'];
  expect(await readPages(query)).toEqual({ notes: all, pages: 2 });
  expect(await readPages(`${query}&sort=-id`)).toEqual({ notes: all.toReversed(), pages: 2 });
  expect(await readPages(`${query}&dormantDays=1`)).toEqual({ notes: [], pages: 1 });
});
