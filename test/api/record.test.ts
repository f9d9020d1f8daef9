import { createExecutionContext } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { statistics } from '@licet/contract/statistics';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { firstIdAt } from '../../src/lib/time-id.ts';
import { servicesOf } from '../../src/services.ts';
import { newIsolate, settled } from '../support/app.ts';
import { call, get, type HistoryRecord, type License, validate } from '../support/client.ts';
import { type TestClock, takeClock } from '../support/clock.ts';
import { captureConsole } from '../support/console.ts';
import { spyOnDatabase, sumRows } from '../support/d1-spy.ts';
import { type Fault, withFaults } from '../support/faults.ts';
import {
  DAY_MS,
  emptyHistory,
  HOUR_MS,
  readPages,
  recordAt,
  runToTheEnd,
  setNow,
  write,
} from '../support/history.ts';
import { importOne } from '../support/import.ts';
import { spyOnKv } from '../support/kv-spy.ts';
import { ROOT_TOKEN } from '../support/root-token.ts';
import { askFor, openShop } from '../support/shop.ts';
import { newWriter } from '../support/writer.ts';

/** Records are written after the response, exactly once, through faults of D1 (decisions 1.6). */

const shop = openShop();
let clock: TestClock;
let consoleLines: string[];

beforeEach(async () => {
  await emptyHistory();
  clock = takeClock({ skipsPauses: true });
  consoleLines = captureConsole();
});

afterEach(settled);

const isRecordWrite = (sql: string): boolean => sql.includes('insert into "requests"');
const isBinding = (sql: string): boolean => sql.includes('insert into "bindings"');
const isLookUp = (sql: string): boolean => !isRecordWrite(sql) && !isBinding(sql);

const DOWN = { valid: false, message: 'Service temporarily unavailable' };

/** D1 with these faults, one after another, at the round trips that match. */
function faultsAt(
  matches: (sql: string) => boolean,
  faults: readonly Fault[],
  onMatch: () => void = () => undefined,
): D1Database {
  const left = [...faults];
  return withFaults(env.DB, (sql) => {
    if (!matches(sql)) return null;
    onMatch();
    return left.shift() ?? null;
  });
}

/** D1 whose writes of records wait until they are released. `held` resolves when the first one waits. */
function heldDatabase() {
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const { promise: held, resolve: hold } = Promise.withResolvers<void>();
  const DB = withFaults(env.DB, async (sql) => {
    if (!isRecordWrite(sql)) return null;
    hold();
    await released;
    return null;
  });
  return { DB, held, release };
}

/** The records of a license, and its total. */
async function recordsOf({
  id,
  licenseKey,
}: License): Promise<{ history: HistoryRecord[]; total: number }> {
  const history = await readPages({ licenseKey }, 1_000);
  return { history, total: (await get.license(id)).totalRequests };
}

async function expectRecorded(license: License, count: number): Promise<HistoryRecord[]> {
  const { history, total } = await recordsOf(license);
  expect({ records: history.length, total }).toEqual({ records: count, total: count });
  return history;
}

/** Nothing that may not be in a log is there: keys, tokens, addresses, SQL and its values. */
function expectNothingSecretLogged(...secrets: string[]): void {
  const log = consoleLines.join('\n');
  for (const secret of ['D1_ERROR', 'SECRET-VALUE', 'select ', 'insert ', ROOT_TOKEN, ...secrets]) {
    expect(log.toLowerCase()).not.toContain(secret.toLowerCase());
  }
}

it('a record that D1 rejects is given up alone, logged once, and shown in the statistics [1.6.9, 1.6.10, 1.6.11]', async () => {
  const license = await shop.newLicense();
  await env.DB.prepare(
    `create trigger bad before insert on installations when new.hwid = 'BAD'
     begin select raise(abort, 'CHECK constraint failed'); end`,
  ).run();
  try {
    const { DB, held, release } = heldDatabase();
    const isolate = newIsolate({ DB });
    const first = await isolate.validate(askFor(license));
    await held;
    // These arrive during its flush, and make one batch.
    const hwids = ['BAD', ...Array.from({ length: 30 }, (_, index) => `HW-${index}`)];
    const others = await Promise.all(
      hwids.map((hwid) => isolate.validate(askFor(license, { hwid }))),
    );
    release();
    await Promise.all([first, ...others].map(({ recorded }) => recorded));
    const history = await expectRecorded(license, 31);
    expect(new Set(history.map(({ hwid }) => hwid))).toEqual(new Set([null, ...hwids.slice(1)]));
  } finally {
    await env.DB.prepare('drop trigger bad').run();
  }
  expect(consoleLines).toEqual([expect.stringContaining('Requests were given up: 1')]);
  expectNothingSecretLogged(license.licenseKey, 'BAD');
  const { gaps } = statistics.parse((await call('GET', '/api/v2/statistics')).json);
  const hour = new Date(Math.floor(Date.now() / HOUR_MS) * HOUR_MS).toISOString();
  expect(gaps).toEqual([{ time: hour.replace('Z', '+00:00'), requests: 1 }]);
});

it('records in two batches at once are stored again after their installations were removed', async () => {
  const [first, second] = [await shop.newLicense(), await shop.newLicense()];
  let isHeld = false;
  let waiting = 0;
  const both = Promise.withResolvers<void>();
  const DB = withFaults(env.DB, async (sql) => {
    if (!isHeld || !isRecordWrite(sql)) return null;
    if (++waiting === 2) both.resolve();
    await both.promise;
    return null;
  });
  const isolate = newIsolate({ DB });
  for (const license of [first, second]) await (await isolate.validate(askFor(license))).recorded;
  await env.DB.batch(
    ['requests', 'installations'].map((table) => env.DB.prepare(`delete from ${table}`)),
  );
  isHeld = true;
  const one = await isolate.validate(askFor(first));
  await vi.waitFor(() => expect(waiting).toBe(1));
  const other = await isolate.validate(askFor(second));
  await Promise.all([one.recorded, other.recorded]);
  for (const license of [first, second]) await expectRecorded(license, 1);
  expect(consoleLines).toEqual([]);
});

it.each([
  {
    state: 'before its installation was known',
    tables: ['requests', 'buckets', 'installations'],
  },
  { state: 'of the hour before', tables: ['requests', 'buckets'] },
])('a record is found after the database was set back to a state $state', async ({ tables }) => {
  const license = await shop.newLicense();
  const unknown = { licenseKey: crypto.randomUUID(), productId: shop.productId };
  const isolate = newIsolate();
  const record = async (body: object) => (await isolate.validate(body)).recorded;
  for (const body of [unknown, askFor(license)]) await record(body);
  for (const body of [unknown, askFor(license)]) {
    await env.DB.batch(tables.map((table) => env.DB.prepare(`delete from ${table}`)));
    await record(body);
    expect(await readPages({ licenseKey: body.licenseKey }, 10)).toHaveLength(1);
  }
  expect((await get.license(license.id)).totalRequests).toBe(1);
});

it('a failure of the service leaves one record, under the license [1.6.16, 1.6.17]', async () => {
  const license = await shop.newLicense();
  const { spy: SNAPSHOTS } = spyOnKv(env.SNAPSHOTS, () => true);
  const bindings = { DB: faultsAt(isLookUp, ['fails', 'fails']), SNAPSHOTS };
  const { status, json, recorded } = await newIsolate(bindings).validate(askFor(license));
  await recorded;
  expect(status).toBe(503);
  expect(json).toStrictEqual(DOWN);
  expect(await expectRecorded(license, 1)).toMatchObject([
    {
      responseType: 'ERROR',
      valid: false,
      successful: false,
      blocked: false,
      rateLimited: false,
      licenseId: license.id,
      licenseKey: license.licenseKey,
    },
  ]);
  expectNothingSecretLogged(license.licenseKey);
});

it('a record whose request ends in an outage is written by the scheduled handler after it [1.6.1, interface 8]', async () => {
  const license = await shop.newLicense();
  let isDown = true;
  const DB = withFaults(env.DB, (sql) => (isDown && isRecordWrite(sql) ? 'fails' : null));
  const isolate = newIsolate({ DB });
  const { recorded } = await isolate.validate(askFor(license));
  await recorded;
  const waitedMs = clock.pausesMs.reduce((sum, pauseMs) => sum + pauseMs, 0);
  expect(waitedMs).toBeGreaterThan(15_000);
  expect(waitedMs).toBeLessThan(25_000);
  await expectRecorded(license, 0);
  expect(consoleLines).toEqual([expect.stringContaining('Requests were not written yet')]);
  expectNothingSecretLogged(license.licenseKey);
  isDown = false;
  await isolate.runScheduled();
  await vi.waitFor(() => expectRecorded(license, 1));
});

it.each<{ faults: Fault[] }>([
  { faults: [] },
  { faults: ['response is lost'] },
  { faults: ['response is lost', 'response is lost'] },
])(
  'two records with one id are both kept and counted, with faults $faults [1.6.1]',
  async ({ faults }) => {
    const licenses = [await shop.newLicense(), await shop.newLicense()];
    const now = Date.now();
    // Two installations that drew the same number, with two records each.
    const records = [...licenses, ...licenses].map((license, index) => ({
      ...recordAt(now, { ...askFor(license), licenseId: license.id }),
      id: firstIdAt(now),
      nonce: Math.floor(index / 2),
    }));
    for (const record of records) {
      const context = createExecutionContext();
      const waitUntil = (work: Promise<unknown>) => context.waitUntil(work);
      const { recorder } = servicesOf({ ...env, DB: faultsAt(isRecordWrite, faults) });
      recorder.record({ record, used: [], usedAt: 0 }, waitUntil);
      await recorder.settle(waitUntil);
    }
    for (const license of licenses) {
      const history = await expectRecorded(license, 2);
      expect(history.map(({ id }) => id)).toEqual([firstIdAt(now), firstIdAt(now)]);
    }
    expect(consoleLines.join()).not.toContain('lost');
  },
);

it('the longest records are written, in parts that D1 takes', async () => {
  const count = env.IS_LONG ? 1_000 : 200;
  const license = await shop.newLicense();
  // JSON writes each of these characters as six.
  const long = '\u0001'.repeat(255);
  const now = Date.now();
  const newRecord = (index: number, isKnown: boolean) =>
    recordAt(now, {
      licenseKey: isKnown ? license.licenseKey : long,
      licenseId: isKnown ? license.id : null,
      ip: `2001:db8::${index.toString(16)}`,
      hwid: long.repeat(2),
      productVersion: long,
      macAddress: long,
      operatingSystem: long,
      operatingSystemVersion: long,
      operatingSystemArchitecture: long,
      javaVersion: long,
      details: { remarks: long },
    });
  const records = Array.from({ length: count }, (_, index) => newRecord(index, index % 2 === 0));
  await write(...records);
  await expectRecorded(license, count / 2);
  expect(await readPages({ licenseKey: long }, 1_000)).toHaveLength(count / 2);
  expect(consoleLines).toEqual([]);
});

const NOW = Date.UTC(2026, 5, 2, 12);

const requestsOf = ({ id, licenseKey }: License, count: number, time: number, prefix = 'HW') =>
  Array.from({ length: count }, (_, index) =>
    recordAt(time, {
      licenseId: id,
      licenseKey,
      productId: shop.productId,
      hwid: `${prefix}-${index}`,
    }),
  );
const namedOf = (records: readonly HistoryRecord[]) =>
  records.filter(({ hwid }) => hwid !== null).length;

it('beyond 1,000 new installations of a license and day, requests are recorded without what was sent [1.7.28]', async () => {
  const [license, other] = [await shop.newLicense(), await shop.newLicense()];
  const records = requestsOf(license, 1_100, NOW);
  await write(...records);
  const history = await expectRecorded(license, 1_100);
  expect(namedOf(history)).toBe(1_000);
  const unnamed = history.find(({ hwid }) => hwid === null);
  expect(unnamed).toMatchObject({
    licenseId: license.id,
    licenseKey: license.licenseKey,
    productId: null,
    valid: true,
    remarks: 'Fields not stored: more than 1,000 new installations of this license on this day',
  });
  // Another license, and the next day, have their own thousand.
  await write(...requestsOf(other, 10, NOW));
  expect(namedOf(await expectRecorded(other, 10))).toBe(10);
  await write(...requestsOf(license, 10, NOW + DAY_MS, 'LATER'));
  expect(namedOf(await expectRecorded(license, 1_110))).toBe(1_010);
});

it('requests of installations beyond 1,000 a day count once when they are written again [1.7.28]', async () => {
  const license = await shop.newLicense();
  const records = requestsOf(license, 1_010, NOW);
  const nextDay = requestsOf(license, 1_010, NOW + DAY_MS);
  const beyond = records.slice(1_000);
  await write(...records);
  await write(...beyond);
  // On the next day these installations get their own rows.
  await write(...nextDay);
  await write(...beyond, ...nextDay.slice(1_000));
  expect(namedOf(await expectRecorded(license, 2_020))).toBe(2_010);
  await runToTheEnd(NOW + 3 * DAY_MS);
  // Late now.
  await write(...beyond);
  await runToTheEnd(NOW + 3 * DAY_MS);
  await expectRecorded(license, 2_020);
});

it('requests beyond 1,000 new installations a day share one row of their license, on any day and of any product [1.7.28]', async () => {
  const license = await shop.newLicense();
  const { id: licenseId, licenseKey } = license;
  const ofOther = (time: number) =>
    recordAt(time, { licenseId, licenseKey, productId: 7, outcome: 'PRODUCT_MISMATCH' });
  for (const days of [0, 1, 2]) {
    const time = NOW + days * DAY_MS;
    await write(...requestsOf(license, 1_000, time, `DAY-${days}`));
    await write(...requestsOf(license, 5, time, `BEYOND-${days}`), ofOther(time));
  }
  // A late record does not take the row back to its day.
  await write(...requestsOf(license, 1, NOW, 'LATE'));
  const history = await expectRecorded(license, 3_019);
  expect(namedOf(history)).toBe(3_000);
  expect(history.filter(({ hwid }) => hwid === null).map(({ productId }) => productId)).toEqual(
    Array.from({ length: 19 }, () => null),
  );
  const rows = env.DB.prepare('select count(*) n from installations where license_id = ?');
  expect(await rows.bind(license.id).first('n')).toBe(3_001);
});

it('a row that an earlier version shared for a day and product keeps its records [1.7.28]', async () => {
  const license = await shop.newLicense();
  const { id, productId } = license;
  await write(...requestsOf(license, 1_003, NOW, 'BEFORE'));
  const earlier = `day:${Math.floor(NOW / DAY_MS) * DAY_MS}:${id}:${productId}`;
  const isShared = "license_id = ?1 and fingerprint like 'day:%'";
  await env.DB.batch(
    [
      `update requests set product_id = ?2 where ?3 <> '' and installation_id in (
         select id from installations where ${isShared})`,
      `update installations set product_id = ?2, fingerprint = ?3 where ${isShared}`,
    ].map((sql) => env.DB.prepare(sql).bind(id, productId, earlier)),
  );
  await write(...requestsOf(license, 2, NOW, 'AFTER'));
  const shown = (await expectRecorded(license, 1_005)).filter(({ hwid }) => hwid === null);
  expect(shown.map((record) => record.productId).toSorted()).toEqual([
    ...[productId, productId, productId],
    ...[null, null],
  ]);
  expect(new Set(shown.map(({ remarks }) => remarks)).size).toBe(1);
  await runToTheEnd(NOW + 3 * DAY_MS);
  expect((await get.license(id)).totalRequests).toBe(1_005);
});

it('a flood of new installations does not count those of its day with each further one [1.7.28]', async () => {
  const license = await shop.newLicense();
  const { spy, roundTrips } = spyOnDatabase(env.DB);
  const writeCounted = newWriter({ DB: spy });
  for (const time of [NOW, NOW + DAY_MS]) {
    await write(...requestsOf(license, 1_001, time, `AT-${time}`));
    roundTrips.length = 0;
    await writeCounted(...requestsOf(license, 1, time, `BEYOND-${time}`));
    expect((await sumRows(roundTrips.flat())).read).toBeLessThan(200);
  }
});

it('installations beyond 1,000 a day get rows of their own on the next day', async () => {
  const license = await shop.newLicense();
  await write(...requestsOf(license, 1_000, Date.now()));
  const isolate = newIsolate();
  const ask = async (hwid: string, productId = shop.productId) =>
    (await isolate.validate({ ...askFor(license), productId, hwid })).recorded;
  for (let request = 0; request < 2; request++) await ask('one more');
  await ask('one more', shop.productId + 1);
  expect(namedOf(await expectRecorded(license, 1_003))).toBe(1_000);
  setNow(Date.now() + DAY_MS);
  await ask('one more');
  expect(namedOf(await expectRecorded(license, 1_004))).toBe(1_001);
  expect(consoleLines).toEqual([]);
});

it('keys that are longer when they are normalized count and find their records', async () => {
  const { productId } = shop;
  const licenseKey = `${'\u00DF'.repeat(200)}-${crypto.randomUUID()}`;
  const item = { licenseKey, productId, licenseType: 'PERMANENT', maxIPs: -1, maxHWIDs: -1 };
  const { id } = await importOne('licenses', item);
  await (await newIsolate().validate({ licenseKey, productId })).recorded;
  expect(await readPages({ licenseKey }, 10)).toMatchObject([{ licenseKey, licenseId: id }]);
  expect((await get.license(Number(id))).totalRequests).toBe(1);
});

it.each<Fault>(['fails', 'response is lost'])(
  'a binding that %s is repeated, and takes one slot',
  async (fault) => {
    const license = await shop.newLicense({ maxIPs: 1, maxHWIDs: -1 });
    const body = askFor(license, { ip: '11.60.0.1' });
    const first = await newIsolate({ DB: faultsAt(isBinding, [fault]) }).validate(body);
    expect(first.status).toBe(200);
    await first.recorded;
    expect((await get.license(license.id)).ips).toEqual(['11.60.0.1']);
  },
);

it.each<{ fault: Fault; bound: string[] }>([
  { fault: 'fails', bound: [] },
  { fault: 'response is lost', bound: ['11.60.0.1'] },
])(
  'a binding that $fault again and again returns 503, and takes no second slot later',
  async ({ fault, bound }) => {
    const license = await shop.newLicense({ maxIPs: 1, maxHWIDs: -1 });
    const body = askFor(license, { ip: '11.60.0.1' });
    const DB = faultsAt(isBinding, [fault, fault, fault]);
    const first = await newIsolate({ DB }).validate(body);
    await first.recorded;
    expect(first.status).toBe(503);
    expect((await get.license(license.id)).ips).toEqual(bound);

    expect((await validate(body)).status).toBe(200);
    expect((await get.license(license.id)).ips).toEqual(['11.60.0.1']);
    expectNothingSecretLogged(license.licenseKey, '11.60.0.1');
  },
);
