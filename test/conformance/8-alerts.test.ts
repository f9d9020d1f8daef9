import { env } from 'cloudflare:workers';
import { event } from '@licet/contract/events';
import type { ResponseType } from '@licet/contract/outcomes';
import { delivery, webhookWithSecret } from '@licet/contract/webhooks';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type * as z from 'zod';
import { newIsolate, settled } from '../support/app.ts';
import {
  call,
  create,
  get,
  type License,
  readPagesFrom,
  updateLicense,
  validate,
} from '../support/client.ts';
import { captureConsole } from '../support/console.ts';
import { spyOnDatabase, sumRows } from '../support/d1-spy.ts';
import { withFaults, withoutTable } from '../support/faults.ts';
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
import { spyOnKv } from '../support/kv-spy.ts';
import { askFor } from '../support/shop.ts';
import { newWriter } from '../support/writer.ts';

/** The events that the service makes about licenses (8). One about a request comes with its record. */

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
  vi.restoreAllMocks();
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
const record = (
  license: Pick<License, 'id' | 'licenseKey' | 'productId'>,
  time: number,
  outcome: ResponseType,
  fields: RecordFields = {},
) =>
  recordAt(time, {
    licenseId: license.id,
    licenseKey: license.licenseKey,
    productId: license.productId,
    outcome,
    ...fields,
  });

const SERVICE = { tokenId: null, tokenName: 'service', isConsole: false };

it('the first VALID validation of a license is the event license.first_used, once in its life [8.5.2, 8.5.4]', async () => {
  const license = await create.license({ maxIPs: 1 });
  await ask(license, { ip: '192.0.2.1', hwid: 'HW-1', productVersion: '1.2' });
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
  expect(await raisedTypes()).toEqual(['license.first_used']);
});

it('a license whose first request was refused is used for the first time by its VALID one [8.5.2, 8.5.4]', async () => {
  const license = await create.license({ licenseStatus: 'DEACTIVATED' });
  await ask(license, { ip: '192.0.2.1' });
  expect(await raised()).toEqual([]);
  await updateLicense(license.id, { licenseStatus: 'ACTIVE' });
  await ask(license, { ip: '192.0.2.1' });
  expect(await raisedTypes()).toEqual(['license.first_used']);
});

it('a license that was used before the service made events, or elsewhere, is not used for the first time [8.5.5]', async () => {
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
  expect((await raised()).map(({ resourceId }) => resourceId)).toEqual([fresh.id]);
});

it('a refusal for want of a slot is the event license.limit_reached with the value that found none [8.5.2]', async () => {
  const [license, other] = [
    await create.license({ ips: ['192.0.2.1'], maxIPs: 1 }),
    await create.license({ hwids: ['HW-1'], maxHWIDs: 1 }),
  ];
  await ask(license, { ip: '192.0.2.2', hwid: 'HW-9' });
  await ask(other, { ip: '192.0.2.3', hwid: 'HW-2' });
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

it('a request from the blacklist with a known license is the event blacklist.hit of that license [8.5.2]', async () => {
  const license = await create.license();
  await create.blacklist({ data: '192.0.2.66', reason: 'Leaked' });
  await ask(license, { ip: '192.0.2.66', hwid: 'HW-1' });
  await validate({ licenseKey: 'unknown', productId: license.productId, ip: '192.0.2.66' });
  await settled();
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
])('a request refused for another reason is no event: %s [8.5.4]', async (_, fields, more) => {
  const license = await create.license(fields);
  await ask(license, { ip: '192.0.2.1', ...more });
  await runAfter(ROLLED_UP_MS);
  expect(await raised()).toEqual([]);
});

const temporary = (expiresAt: number, fields: object = {}): Promise<License> =>
  create.license({ licenseType: 'TEMPORARY', expiryDate: isoOf(expiresAt), ...fields });

it('license.expiring comes seven days and one day before, and license.expired at the end, each once [8.5.2, 8.5.6]', async () => {
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

it('a license that is not ACTIVE, waits for its first use, or got its expiry later has no event of an expiry [8.5.7]', async () => {
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

it('a license that is created with less than a day has an event at its end alone [8.5.6]', async () => {
  await runAfter(14 * MINUTE_MS);
  const { id } = await temporary(now + DAY_MS - 5 * MINUTE_MS);
  await runAfter(MINUTE_MS);
  expect(await raised()).toEqual([]);
  await runAfter(DAY_MS);
  expect(await raised()).toMatchObject([{ type: 'license.expired', resourceId: id }]);
});

it('after a week in which the service was off, an expired license is expired, and no longer expiring [8.5.6]', async () => {
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

it('an expiry before the first run of the service leaves no event [8.5.5]', async () => {
  await temporary(START + HOUR_MS);
  await env.DB.prepare(`delete from counters where name = 'alerts_since'`).run();
  await env.DB.prepare(`delete from counters where name = 'expiries_checked_at'`).run();
  await runAfter(2 * HOUR_MS);
  await runAfter(MINUTE_MS);
  expect(await raised()).toEqual([]);
});

it('a license that expires again on the same day leaves no second event on that day [8.5.4]', async () => {
  const { id } = await temporary(START + HOUR_MS);
  await runAfter(HOUR_MS);
  await updateLicense(id, { expiryDate: isoOf(START + 3 * HOUR_MS) });
  await runAfter(2 * HOUR_MS);
  expect(await raisedTypes()).toEqual(['license.expired']);
  await updateLicense(id, { expiryDate: isoOf(START + 30 * HOUR_MS) });
  await runAfter(30 * HOUR_MS);
  expect(await raisedTypes()).toEqual(['license.expired', 'license.expired']);
});

it('more addresses in 24 hours than MANY_ADDRESSES are the event license.many_addresses, after the hour [8.5.2]', async () => {
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

it('addresses of installations beyond the newest 1,000 of a license are not counted [8.5.10]', async () => {
  const [many, few] = [await create.license(), await create.license()];
  const addresses = (license: License, time: number) =>
    Array.from({ length: 10 }, (_, index) =>
      record(license, time + index, 'LICENSE_EXPIRED', { ip: `198.51.100.${index}`, hwid: 'old' }),
    );
  const later = (license: License, count: number) =>
    Array.from({ length: count }, (_, index) =>
      record(license, now + index, 'LICENSE_EXPIRED', { ip: '192.0.2.1', hwid: `HW-${index}` }),
    );
  await write(...addresses(many, START), ...addresses(few, START));
  // On the next day, so that the license gets its 1,000 new installations.
  await runAfter(13 * HOUR_MS);
  await write(...later(many, 1_000), ...later(few, 10));
  await runAfter(ROLLED_UP_MS);
  expect(await raised()).toMatchObject([
    {
      type: 'license.many_addresses',
      resourceId: few.id,
      changes: { addresses: { before: null, after: 11 } },
    },
  ]);
});

it.each([
  ['9', 1],
  ['10', 0],
  ['0', 0],
])(
  'MANY_ADDRESSES of %s takes ten addresses for %i event [8.5.2]',
  async (MANY_ADDRESSES, count) => {
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
  },
);

it('an event of a type comes once for a license and day, whatever isolates respond, and again on the next day [8.5.4]', async () => {
  const license = await create.license({ ips: ['192.0.2.1'], maxIPs: 1 });
  const isolates = [newIsolate(), newIsolate()];
  const askTwice = async (day: number) => {
    for (const last of [2, 3]) {
      now += 10 * MINUTE_MS;
      setNow(now);
      const asked = isolates.map((isolate) =>
        isolate.validate(askFor(license, { ip: `192.0.2.${last}` })),
      );
      await Promise.all(asked);
      await settled();
      expect(await raised()).toHaveLength(day);
    }
  };
  await askTwice(1);
  now = START + 11.5 * HOUR_MS;
  await askTwice(1);
  await runAfter(ROLLED_UP_MS);
  expect(await raised()).toHaveLength(1);
  await askTwice(2);
  await runAfter(ROLLED_UP_MS);
  expect(await raisedTypes()).toEqual(Array(2).fill('license.limit_reached'));
});

it('a record that comes hours late leaves its event, and none for a day that had one [8.5.9]', async () => {
  const [late, known] = [await create.license(), await create.license()];
  await write(record(known, now, 'MAX_IPS_REACHED', { ip: '192.0.2.1' }));
  for (let run = 0; run < 6; run++) await runAfter(HOUR_MS);
  expect((await raised()).map(({ resourceId }) => resourceId)).toEqual([known.id]);
  await write(
    record(late, START + MINUTE_MS, 'MAX_HWIDS_REACHED', { hwid: 'HW-1' }),
    record(known, START + MINUTE_MS, 'MAX_IPS_REACHED', { ip: '192.0.2.2' }),
  );
  expect((await raised()).map(({ resourceId }) => resourceId)).toEqual([known.id, late.id]);
  await runAfter(DAY_MS);
  expect(await raised()).toHaveLength(2);
});

/** Creates many licenses by a statement, because only SQL is quick enough. */
async function createMany(count: number, expiresAt: number, productId?: number): Promise<void> {
  const id = productId ?? (await create.product()).id;
  await env.DB.prepare(
    `with recursive n(i) as (select 1 union all select i + 1 from n where i < ?2)
     insert into licenses (license_key, license_key_normalized, product_id, license_type, expires_at, max_ips,
       max_hwids, created_at, updated_at, revision)
     select 'MANY-' || ?1 || '-' || i, 'MANY-' || ?1 || '-' || i, ?1, 'TEMPORARY', ?3, -1, -1, 0, 0, 1 from n`,
  )
    .bind(id, count, expiresAt)
    .run();
}

/** The queries of a run, and the rows that they read and write. */
async function costOf(ms: number, bindings: Parameters<typeof runAfter>[1] = {}) {
  const { spy: DB, roundTrips } = spyOnDatabase(env.DB);
  await runAfter(ms, { ...bindings, DB });
  const statements = roundTrips.flat();
  return { queries: statements.length, ...(await sumRows(statements)), statements };
}

it('10,000 licenses that expire at once are raised in bounded runs over midnight, each once [8.5.8]', {
  tags: 'long',
}, async () => {
  await createMany(10_000, START + 11.5 * HOUR_MS);
  const total = async () =>
    env.DB.prepare(`select count(*) n from events where actor = 'service'`).first('n');
  now = START + 12 * HOUR_MS - 6 * MINUTE_MS;
  for (let run = 1; run <= 12; run++) {
    const { statements } = await costOf(MINUTE_MS);
    expect(await total()).toBe(Math.min(1_000 * run, 10_000));
    expect(statements.length).toBeLessThanOrEqual(25);
    const select = statements.filter(({ sql }) => sql.includes('license.expiring'));
    expect((await sumRows(select)).read).toBeLessThanOrEqual(4 * 10_000);
  }
  await runAfter(DAY_MS);
  expect(await total()).toBe(10_000);
  const { results } = await env.DB.prepare(
    `select distinct type, count(*) over (partition by resource_id) n from events where actor = 'service'`,
  ).all();
  expect(results).toEqual([{ type: 'license.expired', n: 1 }]);
});

it('an idle minute costs at most 21 queries and 67 read rows, and writes nothing [8.5.1]', async () => {
  await createMany(10_000, START + 100 * DAY_MS);
  await runAfter(MINUTE_MS);
  const { queries, read, written } = await costOf(MINUTE_MS);
  expect(queries).toBeLessThanOrEqual(21);
  expect(read).toBeLessThanOrEqual(67);
  expect(written).toBe(0);
});

it('a batch of 1,000 first uses has 1,000 events, and its hour is read once for its addresses [8.5.8]', async () => {
  const { id: productId } = await create.product();
  await createMany(1_000, START + 100 * DAY_MS, productId);
  const { results } = await env.DB.prepare(
    'select id, license_key licenseKey, product_id productId from licenses where product_id = ?',
  )
    .bind(productId)
    .all<Pick<License, 'id' | 'licenseKey' | 'productId'>>();
  const { spy: DB, roundTrips } = spyOnDatabase(env.DB);
  await newWriter({ DB })(
    ...results.map((one, index) => record(one, now + index, 'VALID', { ip: '::1' })),
  );
  expect(await raisedTypes()).toEqual(Array(1_000).fill('license.first_used'));
  const raising = roundTrips.flat().filter(({ sql }) => /"(events|deliveries|alerts)"/.test(sql));
  expect(raising).toHaveLength(3);
  // An event is four written rows.
  expect(await sumRows(raising)).toMatchObject({ written: 4_000 });
  expect((await sumRows(raising)).read).toBeLessThanOrEqual(12_000);
  const addressesRead: number[] = [];
  for (let run = 1; run <= 4; run++) {
    const { statements } = await costOf(25 * MINUTE_MS);
    const addresses = statements.filter(({ sql }) =>
      sql.includes("'license.many_addresses' as type"),
    );
    if (addresses.length > 0) addressesRead.push((await sumRows(addresses)).read);
  }
  expect(addressesRead).toHaveLength(1);
  expect(addressesRead[0]).toBeLessThanOrEqual(5_100);
});

/** Creates a webhook. @returns its id */
async function newWebhook(body: object): Promise<number> {
  const response = await call('POST', '/api/v2/webhooks', { body });
  expect(response.status, response.text).toBe(201);
  return webhookWithSecret.parse(response.json).id;
}

const deliveriesOf = async (id: number) => {
  const pages = await readPagesFrom(`/api/v2/webhooks/${id}/deliveries`);
  return pages.flatMap(({ json }) => delivery.array().parse(json));
};

it('an event about a request is delivered with its record to the webhooks that ask for it [8.5.12, 8.5.13]', async () => {
  const url = 'https://shop.example/hook';
  const [all, some, none] = [
    await newWebhook({ url, types: ['license.*', 'blacklist.*'] }),
    await newWebhook({ url, types: ['blacklist.hit'], format: 'discord' }),
    await newWebhook({ url, types: ['license.expired'] }),
  ];
  const license = await create.license({ ips: ['192.0.2.1'], maxIPs: 1 });
  await create.blacklist({ data: '192.0.2.66' });
  await ask(license, { ip: '192.0.2.2' });
  await ask(license, { ip: '192.0.2.66' });
  // Without a run of the scheduled handler.
  const events = await raised();
  expect(events).toHaveLength(2);
  const ids = events.map(({ id }) => id);
  const delivered = (await deliveriesOf(all)).filter(({ id }) => ids.includes(id));
  expect(delivered).toMatchObject(Array(2).fill({ state: 'DELIVERED', attempts: 1 }));
  expect(await deliveriesOf(some)).toMatchObject([{ type: 'blacklist.hit', state: 'DELIVERED' }]);
  expect(await deliveriesOf(none)).toEqual([]);
});

it('of a batch of records, up to five events are sent at once, and more wait for the scheduled handler [8.3.1]', async () => {
  const id = await newWebhook({ url: 'https://shop.example/hook', types: ['license.*'] });
  const attemptsAfter = async (count: number) => {
    const used = await Promise.all(Array.from({ length: count }, () => create.license()));
    await settled();
    await write(...used.map((license) => record(license, now, 'VALID', { ip: '192.0.2.1' })));
    const ids = used.map((license) => license.id);
    const events = (await raised()).filter(({ resourceId }) => ids.includes(resourceId ?? 0));
    const sent = await deliveriesOf(id);
    return events.map((one) => sent.find((each) => each.id === one.id)?.attempts);
  };
  expect(await attemptsAfter(5)).toEqual(Array(5).fill(1));
  expect(await attemptsAfter(6)).toEqual(Array(6).fill(0));
});

it('an event about a request is stored with its record or not at all [8.5.13]', async () => {
  const license = await create.license();
  const rows = async () => {
    const { results } = await env.DB.prepare(
      'select (select count(*) from requests) records, (select count(*) from alerts) alerts',
    ).all();
    return results;
  };
  const lines = captureConsole();
  await withoutTable('alerts', async () => {
    await validate(askFor(license, { ip: '192.0.2.1' }));
    await vi.waitFor(() => expect(lines.join()).toContain('not written yet'), 5_000);
    expect(await env.DB.prepare('select count(*) n from requests').first('n')).toBe(0);
  });
  await settled();
  expect(await rows()).toEqual([{ records: 1, alerts: 1 }]);
});

it('events and their deliveries are stored together or not at all [8.5.12]', async () => {
  const id = await newWebhook({ url: 'https://shop.example/hook', types: ['license.expired'] });
  await temporary(START + HOUR_MS);
  captureConsole();
  await withoutTable('deliveries', () => runAfter(HOUR_MS));
  expect(await raised()).toEqual([]);
  expect(await deliveriesOf(id)).toEqual([]);
  await runAfter(MINUTE_MS);
  expect(await raised()).toHaveLength(1);
  expect(await deliveriesOf(id)).toHaveLength(1);
});

it('forgetting a person erases addresses and hardware IDs in the events of the service, and keeps them out of later ones [8.5.11]', async () => {
  const license = await create.license({
    ownerChatId: crypto.randomUUID(),
    ips: ['192.0.2.1'],
    maxIPs: 1,
  });
  await create.blacklist({ data: '192.0.2.66', reason: 'Leaked' });
  const askBoth = async () => {
    for (const ip of ['192.0.2.2', '192.0.2.66']) await ask(license, { ip, hwid: 'HW-OF-ADA' });
  };
  await askBoth();
  const changes = async () => (await raised()).map(({ changes }) => Object.keys(changes ?? {}));
  expect((await changes()).toSorted()).toEqual([['ip'], ['ip', 'hwid', 'blockReason']].toSorted());
  const response = await call('DELETE', `/api/v2/customers/${license.customer?.id}`);
  expect(response.status, response.text).toBe(204);
  expect((await changes()).toSorted()).toEqual([[], ['blockReason']].toSorted());
  await runAfter(DAY_MS);
  await askBoth();
  expect((await changes()).flat()).toEqual(['blockReason', 'blockReason']);
  expect(await raised()).toHaveLength(4);
});

it('DELETE of a product also removes the memory of the events of its licenses [8.5.4]', async () => {
  const { id, productId } = await temporary(START + HOUR_MS);
  await runAfter(HOUR_MS);
  const remembered = async () =>
    env.DB.prepare('select count(*) n from alerts where license_id = ?').bind(id).first('n');
  expect(await remembered()).toBe(1);
  await call('DELETE', `/api/v2/licenses/${id}`);
  expect((await call('DELETE', `/api/v2/products/${productId}`)).status).toBe(204);
  expect(await remembered()).toBe(0);
});

it('a request with a license that is deleted before its record is stored is no event [8.5.7]', async () => {
  const license = await create.license({ ips: ['192.0.2.1'], maxIPs: 1 });
  await call('DELETE', `/api/v2/licenses/${license.id}`);
  await write(record(license, now, 'MAX_IPS_REACHED', { ip: '192.0.2.2' }));
  await runAfter(ROLLED_UP_MS);
  expect(await raised()).toEqual([]);
});

it('a record and its event are stored together or not at all, and once if they are stored again', async () => {
  const license = await create.license({ ips: ['192.0.2.1'], maxIPs: 1 });
  captureConsole();
  const refused = record(license, now, 'MAX_IPS_REACHED', { ip: '192.0.2.2' });
  const writer = newWriter();
  const requests = async () => (await get.license(license.id)).totalRequests;
  await withoutTable('alerts', () => expect(writer(refused)).rejects.toThrow());
  expect([await requests(), await raised()]).toEqual([0, []]);
  const DB = withFaults(env.DB, (sql) =>
    sql.includes('insert into "requests"') ? 'response is lost' : null,
  );
  await expect(newWriter({ DB })(refused)).rejects.toThrow();
  await writer(refused);
  expect([await requests(), await raisedTypes()]).toEqual([1, ['license.limit_reached']]);
});

it('records of the previous version that it has not looked at yet leave no event after the upgrade', async () => {
  const license = await create.license({ ips: ['192.0.2.1'], maxIPs: 1 });
  await write(record(license, now, 'MAX_IPS_REACHED', { ip: '192.0.2.2' }));
  // The previous version reads an hour later.
  await env.DB.batch([
    env.DB.prepare('delete from events'),
    env.DB.prepare('delete from alerts'),
    env.DB.prepare(`insert into counters values ('alerted_bucket', 1), ('alerts_due_at', ?)`).bind(
      now + HOUR_MS,
    ),
  ]);
  for (let run = 0; run < 3; run++) await runAfter(ROLLED_UP_MS);
  expect(await raised()).toEqual([]);
  await ask(license, { ip: '192.0.2.2' });
  expect(await raisedTypes()).toEqual(['license.limit_reached']);
});

it.each(['', 'many', '-1'])(
  'MANY_ADDRESSES of %j is logged, and takes no number for too many [8.5.2]',
  async (MANY_ADDRESSES) => {
    const license = await create.license();
    const lines = captureConsole();
    await write(record(license, now, 'LICENSE_EXPIRED', { ip: '192.0.2.1' }));
    await runAfter(ROLLED_UP_MS, { MANY_ADDRESSES });
    expect(await raised()).toEqual([]);
    const named = `MANY_ADDRESSES must be a number of addresses, not \\"${MANY_ADDRESSES}\\"`;
    expect(lines.filter((line) => line.includes(named))).toHaveLength(
      MANY_ADDRESSES === '' ? 0 : 1,
    );
  },
);

it('a run makes at most 50 queries and requests, however much is due [8.5.12]', {
  tags: 'long',
}, async () => {
  const limited = await create.license({ ips: ['192.0.2.1'], maxIPs: 1 });
  for (const format of ['standard', 'discord']) {
    await newWebhook({ url: 'https://shop.example/hook', types: ['license.*'], format });
  }
  const due = env.IS_LONG ? 450 : 150;
  await createMany(due, START + 4 * DAY_MS);
  for (let day = 0; day < 4; day++) {
    now = START + day * DAY_MS;
    setNow(now);
    await write(
      ...Array.from({ length: 12 }, (_, index) =>
        record(limited, now + index, 'MAX_IPS_REACHED', { ip: `198.51.100.${index}` }),
      ),
    );
  }
  await env.DB.prepare(
    `with recursive n(i) as (select 1 union all select i + 1 from n where i < 40)
     insert into outbox select 'license:LEFT-' || i, i from n`,
  ).run();
  now = START + 4 * DAY_MS;
  const sent = () => env.DB.prepare('select total(attempts) n from deliveries').first<number>('n');
  const most: number[] = [];
  for (let run = 0; run < 40 + due / 5; run++) {
    const before = (await sent()) ?? 0;
    const { spy: SNAPSHOTS, operations } = spyOnKv(env.SNAPSHOTS);
    const { queries } = await costOf(MINUTE_MS, { SNAPSHOTS, REQUEST_RETENTION_DAYS: '1' });
    most.push(queries + operations.length + ((await sent()) ?? 0) - before);
  }
  expect(Math.max(...most)).toBeLessThanOrEqual(50);
  // All of it was done: an event about a request on each of four days, and one about all their addresses.
  const rest = await env.DB.prepare(
    `select (select count(*) from outbox) outbox, (select count(*) from deliveries where next_at is not null) open,
       (select count(*) from events where type = 'license.expired') expired,
       (select count(*) from events where type in ('license.limit_reached', 'license.many_addresses')) others,
       (select count(*) from buckets) buckets`,
  ).first();
  expect(rest).toEqual({ outbox: 0, open: 0, expired: due, others: 5, buckets: 0 });
});
