import { env } from 'cloudflare:workers';
import { event } from '@licet/contract/events';
import type { ResponseType } from '@licet/contract/outcomes';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type * as z from 'zod';
import { settled } from '../support/app.ts';
import {
  call,
  create,
  type License,
  readPagesFrom,
  updateLicense,
  validate,
} from '../support/client.ts';
import { spyOnDatabase, sumRows } from '../support/d1-spy.ts';
import {
  DAY_MS,
  emptyHistory,
  HOUR_MS,
  MINUTE_MS,
  type RecordFields,
  recordAt,
  runScheduled,
  setNow,
  write,
} from '../support/history.ts';
import { askFor } from '../support/shop.ts';

/** The events that the service makes about licenses, from what is stored (8). */

type Event = z.infer<typeof event>;

/** At noon, so that an hour more is the same day. */
const START = Date.UTC(2026, 5, 10, 12);
/** An hour is rolled up 15 minutes after its end. */
const ROLLED_UP_MS = 76 * MINUTE_MS;

let now = START;

const isoOf = (time: number): string => new Date(time).toISOString();

/** Lets time pass, and runs the scheduled handler. */
async function runAfter(ms: number, bindings: Parameters<typeof runScheduled>[1] = {}) {
  now += ms;
  setNow(now);
  await runScheduled(now, bindings);
}

beforeEach(async () => {
  now = START;
  setNow(now);
  await emptyHistory();
  await env.DB.batch(
    ['events', 'deliveries', 'webhooks', 'blacklists'].map((table) =>
      env.DB.prepare(`delete from ${table}`),
    ),
  );
  await env.DB.prepare(`update licenses set state = 'DELETED'`).run();
  await runScheduled(now);
});

afterEach(async () => {
  await settled();
  vi.useRealTimers();
});

/** All events of the service, the oldest first. */
async function raised(): Promise<Event[]> {
  const pages = await readPagesFrom('/api/v2/events?actor=service&limit=1000');
  return pages.flatMap(({ json }) => event.array().parse(json)).reverse();
}

const raisedTypes = async (): Promise<string[]> => (await raised()).map(({ type }) => type).sort();

/** A request of a program now, to its record. */
async function ask(license: License, more: object = {}): Promise<void> {
  await validate(askFor(license, more));
  await settled();
}

/** Records of programs with a license. */
const record = (license: License, time: number, outcome: ResponseType, fields: RecordFields = {}) =>
  recordAt(time, {
    licenseId: license.id,
    licenseKey: license.licenseKey,
    productId: license.productId,
    outcome,
    ...fields,
  });

const SERVICE = { tokenId: null, tokenName: 'service', isConsole: false };

it('the first VALID validation of a license is the event license.first_used, once in its life', async () => {
  const license = await create.license({ maxIPs: 1 });
  await ask(license, { ip: '192.0.2.1', hwid: 'HW-1', productVersion: '1.2' });
  await runAfter(MINUTE_MS);
  const [first, ...others] = await raised();
  expect(others).toEqual([]);
  expect(first).toMatchObject({
    type: 'license.first_used',
    actor: SERVICE,
    ip: null,
    resourceType: 'license',
    resourceId: license.id,
    changes: {
      ip: { before: null, after: '192.0.2.1' },
      hwid: { before: null, after: 'HW-1' },
      productVersion: { before: null, after: '1.2' },
    },
  });
  await runAfter(3 * DAY_MS);
  await ask(license, { ip: '192.0.2.1', hwid: 'HW-1', productVersion: '1.3' });
  await call('DELETE', `/api/v2/licenses/${license.id}`);
  await updateLicense(license.id, { licenseStatus: 'ACTIVE' });
  await ask(license, { ip: '192.0.2.1' });
  await runAfter(MINUTE_MS);
  expect(await raisedTypes()).toEqual(['license.first_used']);
});

it('a license whose first request was refused is used for the first time by its VALID one', async () => {
  const license = await create.license({ licenseStatus: 'DEACTIVATED' });
  await ask(license, { ip: '192.0.2.1' });
  await runAfter(MINUTE_MS);
  expect(await raised()).toEqual([]);
  await updateLicense(license.id, { licenseStatus: 'ACTIVE' });
  await ask(license, { ip: '192.0.2.1' });
  await runAfter(MINUTE_MS);
  expect(await raisedTypes()).toEqual(['license.first_used']);
});

it('a license that was used before the service made events, or elsewhere, is not used for the first time', async () => {
  const [used, moved, fresh] = [
    await create.license(),
    await create.license(),
    await create.license(),
  ];
  await env.DB.prepare(`delete from counters where name like 'alert%'`).run();
  await ask(used, { ip: '192.0.2.1' });
  await runAfter(MINUTE_MS);
  await env.DB.prepare('update licenses set past_requests = 5 where id = ?').bind(moved.id).run();
  now += MINUTE_MS;
  setNow(now);
  for (const license of [used, moved, fresh]) await ask(license, { ip: '192.0.2.2' });
  await runAfter(MINUTE_MS);
  expect((await raised()).map(({ resourceId }) => resourceId)).toEqual([fresh.id]);
});

it('a refusal for want of a slot is the event license.limit_reached with the value that found none', async () => {
  const [license, other] = [
    await create.license({ ips: ['192.0.2.1'], maxIPs: 1 }),
    await create.license({ hwids: ['HW-1'], maxHWIDs: 1 }),
  ];
  await ask(license, { ip: '192.0.2.2', hwid: 'HW-9' });
  await ask(other, { ip: '192.0.2.3', hwid: 'HW-2' });
  await runAfter(MINUTE_MS);
  const events = (await raised()).map(({ type, resourceId, changes }) => [
    type,
    resourceId,
    changes,
  ]);
  expect(events).toHaveLength(2);
  expect(events).toContainEqual([
    'license.limit_reached',
    license.id,
    { ip: { before: null, after: '192.0.2.2' } },
  ]);
  expect(events).toContainEqual([
    'license.limit_reached',
    other.id,
    { hwid: { before: null, after: 'HW-2' } },
  ]);
});

it('a request from the blacklist with a known license is the event blacklist.hit of that license', async () => {
  const license = await create.license();
  await create.blacklist({ data: '192.0.2.66', reason: 'Leaked' });
  await ask(license, { ip: '192.0.2.66', hwid: 'HW-1' });
  await validate({ licenseKey: 'unknown', productId: license.productId, ip: '192.0.2.66' });
  await settled();
  await runAfter(MINUTE_MS);
  const events = await raised();
  expect(events).toHaveLength(1);
  expect(events[0]).toMatchObject({
    type: 'blacklist.hit',
    resourceType: 'license',
    resourceId: license.id,
    changes: {
      ip: { before: null, after: '192.0.2.66' },
      hwid: { before: null, after: 'HW-1' },
      blockReason: { before: null, after: expect.stringContaining('Leaked') },
    },
  });
});

it.each([
  ['a deactivated license', { licenseStatus: 'DEACTIVATED' }, {}],
  ['another product', {}, { productId: 999_999 }],
])('a request refused for another reason is no event: %s', async (_, fields, more) => {
  const license = await create.license(fields);
  await ask(license, { ip: '192.0.2.1', ...more });
  await runAfter(MINUTE_MS);
  await runAfter(ROLLED_UP_MS);
  expect(await raised()).toEqual([]);
});

const temporary = (expiresAt: number, fields: object = {}): Promise<License> =>
  create.license({ licenseType: 'TEMPORARY', expiryDate: isoOf(expiresAt), ...fields });

it('license.expiring comes seven days and one day before, and license.expired at the end, each once', async () => {
  const expiresAt = START + 8 * DAY_MS + 30_000;
  const { id } = await temporary(expiresAt);
  const typesAt = async (time: number) => {
    now = time;
    await runAfter(0);
    await runAfter(MINUTE_MS);
    return (await raised()).map(({ type }) => type);
  };
  expect(await typesAt(expiresAt - 7 * DAY_MS - 2 * MINUTE_MS)).toEqual([]);
  expect(await typesAt(expiresAt - 7 * DAY_MS)).toEqual(['license.expiring']);
  expect(await typesAt(expiresAt - 4 * DAY_MS)).toHaveLength(1);
  expect(await typesAt(expiresAt - DAY_MS)).toHaveLength(2);
  expect(await typesAt(expiresAt - MINUTE_MS - 1)).toHaveLength(2);
  expect(await typesAt(expiresAt)).toEqual([
    'license.expiring',
    'license.expiring',
    'license.expired',
  ]);
  expect(await typesAt(expiresAt + DAY_MS)).toHaveLength(3);
  const expiryDate = { before: null, after: isoOf(expiresAt).replace('Z', '+00:00') };
  expect(await raised()).toMatchObject(
    Array(3).fill({ resourceType: 'license', resourceId: id, changes: { expiryDate } }),
  );
});

it('a license that is not ACTIVE, waits for its first use, or got its expiry later has no event of an expiry', async () => {
  const expiresAt = START + 3 * DAY_MS;
  await temporary(expiresAt, { licenseStatus: 'DEACTIVATED' });
  const deleted = await temporary(expiresAt);
  await call('DELETE', `/api/v2/licenses/${deleted.id}`);
  await create.license({ licenseType: 'TEMPORARY', expiresAfterDays: 1 });
  await create.license();
  const extended = await temporary(expiresAt);
  await updateLicense(extended.id, { expiryDate: isoOf(expiresAt + 300 * DAY_MS) });
  for (let days = 0; days < 5; days++) await runAfter(DAY_MS);
  expect(await raised()).toEqual([]);
});

it('a license that is created with less than a day is told of at its end alone', async () => {
  await runAfter(14 * MINUTE_MS);
  const { id } = await temporary(now + DAY_MS - 5 * MINUTE_MS);
  await runAfter(MINUTE_MS);
  expect(await raised()).toEqual([]);
  await runAfter(DAY_MS);
  expect(await raised()).toMatchObject([{ type: 'license.expired', resourceId: id }]);
});

it('after a week in which the service was off, an expired license is expired, and no longer expiring', async () => {
  const gone = await temporary(START + 7 * DAY_MS + HOUR_MS);
  const soon = await temporary(START + 8 * DAY_MS + 2 * HOUR_MS);
  const later = await temporary(START + 12 * DAY_MS);
  const far = await temporary(START + 30 * DAY_MS);
  await runAfter(8 * DAY_MS);
  const events = (await raised()).map(({ type, resourceId }) => [resourceId, type]);
  expect(events.toSorted()).toEqual(
    [
      [gone.id, 'license.expired'],
      [soon.id, 'license.expiring'],
      [later.id, 'license.expiring'],
    ].toSorted(),
  );
  await runAfter(MINUTE_MS);
  expect(await raised()).toHaveLength(3);
  expect(far.expiryDate).not.toBeNull();
});

it('a license that expires again on the same day leaves no second event on that day', async () => {
  const { id } = await temporary(START + HOUR_MS);
  await runAfter(HOUR_MS);
  await updateLicense(id, { expiryDate: isoOf(START + 3 * HOUR_MS) });
  await runAfter(2 * HOUR_MS);
  expect(await raisedTypes()).toEqual(['license.expired']);
  await updateLicense(id, { expiryDate: isoOf(START + 30 * HOUR_MS) });
  await runAfter(30 * HOUR_MS);
  expect(await raisedTypes()).toEqual(['license.expired', 'license.expired']);
});

it('more addresses in 24 hours than MANY_ADDRESSES are the event license.many_addresses, after the hour', async () => {
  const [shared, usual, old] = [
    await create.license(),
    await create.license(),
    await create.license(),
  ];
  const from = (license: License, time: number, addresses: number) =>
    Array.from({ length: addresses }, (_, index) =>
      record(license, time + index, 'LICENSE_EXPIRED', { ip: `198.51.100.${index}` }),
    );
  // Two versions of one program are one address.
  const twice = record(usual, START + 99, 'LICENSE_EXPIRED', {
    ip: '198.51.100.0',
    productVersion: '2',
  });
  await write(...from(old, START, 8));
  await runAfter(25 * HOUR_MS);
  await write(
    ...from(shared, now, 11),
    ...from(usual, now, 10),
    ...[twice].map((each) => ({ ...each, id: each.id + 25 * HOUR_MS * 4096 })),
    ...Array.from({ length: 7 }, (_, index) =>
      record(old, now + index, 'LICENSE_EXPIRED', { ip: `198.51.100.${100 + index}` }),
    ),
  );
  await runAfter(MINUTE_MS);
  expect(await raised()).toEqual([]);
  await runAfter(ROLLED_UP_MS);
  expect(await raised()).toMatchObject([
    {
      type: 'license.many_addresses',
      resourceId: shared.id,
      changes: { addresses: { before: null, after: 11 } },
    },
  ]);
});

it.each([
  ['9', 1],
  ['10', 0],
  ['0', 0],
])('MANY_ADDRESSES of %s takes ten addresses for %i event', async (MANY_ADDRESSES, count) => {
  const license = await create.license();
  // Five in each of two days: those of the first are aggregated.
  for (const day of [0, 1]) {
    now = START + 13 * HOUR_MS * day - HOUR_MS;
    setNow(now);
    await write(
      ...Array.from({ length: 5 }, (_, index) =>
        record(license, now + index, 'LICENSE_EXPIRED', { ip: `198.51.100.${day * 5 + index}` }),
      ),
    );
    for (let run = 0; run < 4; run++) await runAfter(30 * MINUTE_MS, { MANY_ADDRESSES });
  }
  expect(await raised()).toHaveLength(count);
});

it('an event of a type comes once for a license and day, whatever runs at once, and again on the next day', async () => {
  const license = await create.license({ ips: ['192.0.2.1'], maxIPs: 1 });
  const askTwice = async (day: number) => {
    for (const last of [2, 3]) {
      now += 10 * MINUTE_MS;
      setNow(now);
      await ask(license, { ip: `192.0.2.${last}` });
      await Promise.all(Array.from({ length: 5 }, () => runScheduled(now)));
      expect(await raised()).toHaveLength(day);
    }
  };
  await askTwice(1);
  // Before midnight, in an hour that is read again after it.
  now = START + 11.5 * HOUR_MS;
  await askTwice(1);
  await runAfter(ROLLED_UP_MS);
  expect(await raised()).toHaveLength(1);
  await askTwice(2);
  await runAfter(ROLLED_UP_MS);
  expect(await raisedTypes()).toEqual(Array(2).fill('license.limit_reached'));
});

it('a record that comes hours late leaves its event, and none for a day that had one', async () => {
  const [late, known] = [await create.license(), await create.license()];
  await write(record(known, now, 'MAX_IPS_REACHED', { ip: '192.0.2.1' }));
  for (let run = 0; run < 6; run++) await runAfter(HOUR_MS);
  expect((await raised()).map(({ resourceId }) => resourceId)).toEqual([known.id]);
  await write(
    record(late, START + MINUTE_MS, 'MAX_HWIDS_REACHED', { hwid: 'HW-1' }),
    record(known, START + MINUTE_MS, 'MAX_IPS_REACHED', { ip: '192.0.2.2' }),
  );
  await runAfter(MINUTE_MS);
  expect((await raised()).map(({ resourceId }) => resourceId)).toEqual([known.id, late.id]);
  await runAfter(DAY_MS);
  expect(await raised()).toHaveLength(2);
});

/** Creates many licenses by a statement, because only SQL is quick enough. */
async function createMany(count: number, expiresAt: number): Promise<void> {
  const { id } = await create.product();
  await env.DB.prepare(
    `with recursive n(i) as (select 1 union all select i + 1 from n where i < ?2)
     insert into licenses (license_key, license_key_normalized, product_id, license_type, expires_at, max_ips,
       max_hwids, created_at, updated_at, revision)
     select 'MANY-' || ?1 || '-' || i, 'MANY-' || ?1 || '-' || i, ?1, 'TEMPORARY', ?3, -1, -1, 0, 0, 1 from n`,
  )
    .bind(id, count, expiresAt)
    .run();
}

it('10,000 licenses that expire at once are raised in bounded runs over midnight, each once', async () => {
  await createMany(10_000, START + 11.5 * HOUR_MS);
  now = START + 11.5 * HOUR_MS - MINUTE_MS;
  const total = async () =>
    env.DB.prepare(`select count(*) n from events where actor = 'service'`).first('n');
  for (let run = 1; run <= 55; run++) {
    const { spy: DB, roundTrips } = spyOnDatabase(env.DB);
    await runAfter(MINUTE_MS, { DB });
    expect(await total()).toBe(Math.min(200 * run, 10_000));
    expect(roundTrips.flat().length).toBeLessThanOrEqual(25);
    expect((await sumRows(roundTrips.flat())).read).toBeLessThanOrEqual(25_000);
  }
  await runAfter(DAY_MS);
  expect(await total()).toBe(10_000);
  const { results } = await env.DB.prepare(
    `select distinct type, count(*) over (partition by resource_id) n from events where actor = 'service'`,
  ).all();
  expect(results).toEqual([{ type: 'license.expired', n: 1 }]);
});

/** The queries of a run, and the rows that they read and write. */
async function costOf(ms: number, bindings: Parameters<typeof runAfter>[1] = {}) {
  const { spy: DB, roundTrips } = spyOnDatabase(env.DB);
  await runAfter(ms, { ...bindings, DB });
  const statements = roundTrips.flat();
  return { queries: statements.length, ...(await sumRows(statements)), statements };
}

it('an idle minute costs at most 18 queries and 40 read rows, and writes nothing', async () => {
  await createMany(10_000, START + 100 * DAY_MS);
  await runAfter(MINUTE_MS);
  const { queries, read, written } = await costOf(MINUTE_MS);
  console.log(queries, read, written);
  expect(queries).toBeLessThanOrEqual(18);
  expect(read).toBeLessThanOrEqual(40);
  expect(written).toBe(0);
});

const RECORDS = 1_000;

it('an hour with 1,000 records is read every five minutes, and once more when it is rolled up', async () => {
  const licenses = await Promise.all(Array.from({ length: 10 }, () => create.license()));
  await write(
    ...Array.from({ length: RECORDS }, (_, index) => {
      const license = licenses[index % 10];
      return record(license ?? expect.fail(), now + index, 'VALID', {
        productVersion: String(index % 100),
      });
    }),
  );
  const reads: number[] = [];
  const scans: number[] = [];
  for (let minute = 1; minute <= 80; minute++) {
    const { statements } = await costOf(MINUTE_MS);
    const scan = statements.filter(({ sql }) => sql.includes('seen as materialized'));
    if (scan.length > 0) scans.push(minute);
    reads.push((await sumRows(scan)).read);
  }
  console.log(scans, Math.max(...reads));
  expect(Math.max(...reads)).toBeLessThanOrEqual(4 * RECORDS);
  expect(await raised()).toHaveLength(10);
});
