import { env } from 'cloudflare:workers';
import type { ResponseType } from '@licet/contract/outcomes';
import fc from 'fast-check';
import { beforeAll, beforeEach, expect, it } from 'vitest';
import { RESPONSE_TYPE_CODES } from '../../src/db/codes.ts';
import type { HistoryRecord } from '../../src/requests/record.ts';
import { call, create, get, historyOf, type License, validate } from '../support/client.ts';
import { captureConsole } from '../support/console.ts';
import { type Fault, withFaults } from '../support/faults.ts';
import {
  DAY_MS,
  emptyHistory,
  HOUR_MS,
  MINUTE_MS,
  readPages,
  recordAt,
  runScheduled,
  runToTheEnd,
  setNow,
  write,
} from '../support/history.ts';
import { importOne } from '../support/import.ts';
import { openShop } from '../support/shop.ts';
import { newWriter, type Writer } from '../support/writer.ts';

/** Totals, roll-ups and the retention: what the scheduled handler makes of the history (1.6). */

/** Shortly after an hour and a day have begun, so that late records are of those before. */
const NOW = Date.UTC(2026, 5, 2, 0, 2);

const shop = openShop();

beforeEach(emptyHistory);

const bucketOf = (time: number): number => Math.floor((time - Date.UTC(2025, 0, 1)) / HOUR_MS);
const timeOf = ({ id }: HistoryRecord): number => Math.floor(id / 4096) + Date.UTC(2025, 0, 1);

async function rowsOf<Row>(sql: string): Promise<Row[]> {
  return (await env.DB.prepare(sql).all<Row>()).results;
}

/** The roll-ups of products, as text: hour, product and outcome, and how many. */
async function readRollups(): Promise<Map<string, number>> {
  const rows = await rowsOf<{ name: string; requests: number }>(
    `select bucket || ' ' || product_id || ' ' || outcome as name, requests from rollups
     where product_id >= 0`,
  );
  return new Map(rows.map(({ name, requests }) => [name, requests]));
}

function countRollups(records: readonly HistoryRecord[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const record of records) {
    const { productId } = record.installation;
    // The product of a record that belongs to no license could be any number.
    const product = typeof record.licenseId === 'number' ? productId : 0;
    const name = `${bucketOf(timeOf(record))} ${product} ${RESPONSE_TYPE_CODES[record.outcome]}`;
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return counts;
}

const isWrite = (sql: string): boolean =>
  /^(insert into|update|delete from) "(?!changes)/m.test(sql);

/** D1 with these faults, one after another, at the round trips that write the history. */
function withWriteFaults(faults: readonly Fault[]): D1Database {
  const left = [...faults];
  return withFaults(env.DB, (sql) => (isWrite(sql) ? (left.shift() ?? null) : null));
}

const TWELVE = { maxLength: 12 };
const licenses: License[] = [];

beforeAll(async () => {
  for (let index = 0; index < 2; index++) licenses.push(await shop.newLicense());
});

const asked = fc.record({
  installation: fc.nat(4),
  outcome: fc.constantFrom<ResponseType>('VALID', 'VALID', 'MAX_IPS_REACHED', 'RATE_LIMITED'),
  ageMinutes: fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom(0, 1, 3, 5) },
    { weight: 1, arbitrary: fc.nat(180) },
    { weight: 1, arbitrary: fc.nat(70 * 60) },
  ),
});
const step = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      asked: fc.array(asked, { minLength: 1, maxLength: 8 }),
      // Both at once write the same.
      isolates: fc.constantFrom([0], [1], [0, 1]),
    }),
  },
  { weight: 1, arbitrary: fc.record({ repeatedBy: fc.nat(1) }) },
  { weight: 3, arbitrary: fc.record({ hours: fc.constantFrom(0, 0, 1, 2, 24, 50) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      // Several at once, each with these faults of its round trips that write.
      runs: fc.array(fc.array(fc.constantFrom<Fault>(null, 'fails', 'response is lost'), TWELVE), {
        minLength: 1,
        maxLength: 3,
      }),
    }),
  },
);

type Asked = typeof asked extends fc.Arbitrary<infer Value> ? Value : never;

/** Five installations of two licenses and of an unknown key. */
function newRecord({ installation, outcome, ageMinutes }: Asked, now: number): HistoryRecord {
  const license = licenses[installation >> 1];
  return recordAt(now - ageMinutes * MINUTE_MS, {
    licenseId: license?.id ?? null,
    licenseKey: license?.licenseKey ?? 'unknown',
    productId: shop.productId,
    hwid: `HW-${installation}`,
    outcome,
  });
}

const isOf = (license: License) => (record: HistoryRecord) =>
  record.licenseId === license.id && record.outcome !== 'RATE_LIMITED';

it('totals count every record once, and in the end so do the roll-ups [1.6.21]', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { minLength: 4, maxLength: 12 }),
      fc.constantFrom(0, 2, 4),
      async (steps, retentionDays) => {
        captureConsole();
        await emptyHistory();
        const settings = { REQUEST_RETENTION_DAYS: String(retentionDays) };
        const isolates: Writer[] = [newWriter(), newWriter()];
        const all: HistoryRecord[] = [];
        let message: HistoryRecord[] = [];
        let now = NOW;
        setNow(now);
        const lastExpired = () =>
          retentionDays === 0 ? -1 : bucketOf(now - retentionDays * DAY_MS) - 1;
        for (const doing of steps) {
          if ('hours' in doing) {
            now += doing.hours * HOUR_MS;
            setNow(now);
            // A message does not come again after its records have been removed.
            if (doing.hours > 2) message = [];
          } else if ('runs' in doing) {
            await Promise.all(
              doing.runs.map((faults) =>
                runScheduled(now, { ...settings, DB: withWriteFaults(faults) }),
              ),
            );
          } else {
            if ('asked' in doing) {
              message = doing.asked
                .map((one) => newRecord(one, now))
                .filter((record) => bucketOf(timeOf(record)) > lastExpired());
              all.push(...message);
            }
            const writers = 'asked' in doing ? doing.isolates : [doing.repeatedBy];
            await Promise.all(writers.map((index) => isolates[index]?.(...message)));
          }
          for (const license of licenses) {
            const { totalRequests } = await get.license(license.id);
            expect(totalRequests).toBe(all.filter(isOf(license)).length);
          }
        }

        // The buckets of all records are closed, and their days are over.
        now += 26 * HOUR_MS;
        await runToTheEnd(now, settings);
        for (const license of licenses) {
          const { totalRequests } = await get.license(license.id);
          expect(totalRequests).toBe(all.filter(isOf(license)).length);
        }
        expect(await readRollups()).toEqual(countRollups(all));
        const kept = all.filter((record) => bucketOf(timeOf(record)) > lastExpired());
        const ids = (await readPages({}, 1_000)).map(({ id }) => id);
        expect(ids.toSorted()).toEqual(kept.map(({ id }) => id).toSorted());
        const installations = await rowsOf('select hwid from installations');
        const isInstallation = ({ licenseId }: HistoryRecord) => licenseId !== null;
        expect(installations.length).toBe(
          new Set(kept.filter(isInstallation).map(({ installation }) => installation.hwid)).size,
        );
      },
    ),
    { numRuns: env.IS_LONG ? 8 : 3 },
  );
}, 60_000);

it('a license that is created again under an old key has a count of its own', async () => {
  const licenseKey = crypto.randomUUID();
  const totals = [];
  let records = 0;
  for (const requests of [3, 2]) {
    const { id: productId } = await create.product();
    const item = { licenseKey, productId, licenseType: 'PERMANENT', maxIPs: -1, maxHWIDs: -1 };
    const { id } = await importOne('licenses', item);
    // The product is the same in each record: the installations differ in nothing but the license.
    for (let nth = 0; nth < requests; nth++) await validate({ licenseKey, productId: 1 });
    records += requests;
    const history = await historyOf({ licenseKey }, records);
    expect(history.filter(({ licenseId }) => licenseId === id)).toHaveLength(requests);
    totals.push((await get.license(Number(id))).totalRequests);
    for (const path of [`licenses/${id}`, `products/${productId}`]) {
      expect((await call('DELETE', `/api/v2/${path}`)).status).toBe(204);
    }
  }
  expect(totals).toEqual([3, 2]);
});

const NEXT_DAY = NOW + 26 * HOUR_MS;

const recordOf = (license: License, requestedAt: number, hwid = 'HW'): HistoryRecord =>
  recordAt(requestedAt, {
    licenseId: license.id,
    licenseKey: license.licenseKey,
    productId: license.productId,
    hwid,
  });

const many = <Item>(count: number, newItem: (index: number) => Item): Item[] =>
  Array.from({ length: count }, (_, index) => newItem(index));

const foldedInstallations = async (): Promise<number> =>
  (await rowsOf(`select 1 from installations where requests > 0`)).length;

it('a record that comes while its day is aggregated is counted', async () => {
  setNow(NEXT_DAY);
  const license = await shop.newLicense();
  await write(recordOf(license, NOW));
  let isFirst = true;
  const DB = withFaults(env.DB, async (sql) => {
    if (isFirst && sql.includes('update "counters"') && (await foldedInstallations()) > 0) {
      isFirst = false;
      await write(recordOf(license, NOW, 'another'));
    }
    return null;
  });
  await runToTheEnd(NEXT_DAY, { DB });
  expect(isFirst).toBe(false);
  expect((await get.license(license.id)).totalRequests).toBe(2);
  expect(await foldedInstallations()).toBe(2);
});

it('roll-ups count a record that comes while they are made, in an hour without any', async () => {
  setNow(NEXT_DAY);
  const license = await shop.newLicense();
  const later = recordOf(license, NOW + 3 * HOUR_MS);
  const late = recordOf(license, NOW + HOUR_MS);
  await write(recordOf(license, NOW));
  await runToTheEnd(NEXT_DAY);
  await write(later);
  let isFirst = true;
  const DB = withFaults(env.DB, async (sql) => {
    if (isFirst && sql.includes('insert into "rollups"')) {
      isFirst = false;
      await write(late);
    }
    return null;
  });
  await runToTheEnd(NEXT_DAY, { DB });
  expect(isFirst).toBe(false);
  const bucket = bucketOf(NOW);
  expect([...(await readRollups()).keys()].map((name) => Number(name.split(' ')[0]))).toEqual([
    bucket,
    bucket + 1,
    bucket + 3,
  ]);
});

it('roll-ups stay when their records are removed, also when one more comes days late', async () => {
  setNow(NOW);
  const license = await shop.newLicense();
  const requestedAt = NOW - 5 * DAY_MS;
  await write(...many(7, () => recordOf(license, requestedAt)));
  const retention = { REQUEST_RETENTION_DAYS: '2' };
  await runToTheEnd(NOW, retention);
  expect(await readPages({}, 10)).toEqual([]);
  expect([...(await readRollups()).values()]).toEqual([7]);
  await write(recordOf(license, requestedAt));
  await runToTheEnd(NOW, retention);
  expect(await readPages({}, 10)).toEqual([]);
  expect([...(await readRollups()).values()]).toEqual([7]);
  expect((await get.license(license.id)).totalRequests).toBe(8);
});

it('roll-ups stay with a product that is deleted, also when they are made again', async () => {
  setNow(NOW);
  const { id: productId } = await create.product();
  const license = await shop.newLicense({ productId });
  await write(...many(3, () => recordOf(license, NOW - 3 * HOUR_MS)));
  await runToTheEnd(NOW);
  for (const path of [`licenses/${license.id}`, `products/${productId}`]) {
    expect((await call('DELETE', `/api/v2/${path}`)).status).toBe(204);
  }
  await write(recordOf(license, NOW - 3 * HOUR_MS));
  await runToTheEnd(NOW);
  const name = `${bucketOf(NOW - 3 * HOUR_MS)} ${productId} ${RESPONSE_TYPE_CODES.VALID}`;
  expect(await readRollups()).toEqual(new Map([[name, 4]]));
});

const hourStart = NOW - (NOW % HOUR_MS);

/** The ages of the records that are kept, in hours. */
async function keptAges(): Promise<number[]> {
  const records = await readPages({}, 1_000);
  return records.map(({ requestDate }) => (hourStart - Date.parse(requestDate)) / HOUR_MS);
}

/** Stores each record so many times, at later milliseconds. */
const repeatRecords = (times: number) =>
  env.DB.prepare(
    `with recursive n(i) as (select 1 union all select i + 1 from n where i < ?1 - 1)
     insert into requests
     select bucket, product_id, installation_id, id + i * 4096, nonce, type, outcome, details
     from requests, n`,
  )
    .bind(times)
    .run();

const runWith = (days: string) => runToTheEnd(NOW, { REQUEST_RETENTION_DAYS: days });

it('the retention removes whole hours that are older than its days, and nothing else [1.6.23]', async () => {
  setNow(NOW);
  const license = await shop.newLicense();
  const days = 24 * 90;
  const ages = [0, 1, 24, 24.5, 25, days, days + 0.5, days + 1, days + 100];
  await write(...ages.map((hours) => recordOf(license, hourStart - hours * HOUR_MS)));
  await runWith('90');
  // The hour that began 90 days ago has records that are younger.
  expect(await keptAges()).toEqual(ages.slice(0, 6));
  await runWith('1');
  expect(await keptAges()).toEqual([0, 1, 24]);
  expect((await get.license(license.id)).totalRequests).toBe(ages.length);
});

it('the retention is 90 days by default [1.6.23]', () => {
  expect(env.REQUEST_RETENTION_DAYS).toBe('90');
});

it.each(['0', '', ' ', 'x', '-1', 'NaN'])(
  'the retention keeps all when it is "%s" [1.6.23]',
  async (days) => {
    captureConsole();
    setNow(NOW);
    const license = await shop.newLicense();
    await write(recordOf(license, Date.UTC(2025, 0, 1)), recordOf(license, NOW));
    await runWith(days);
    expect(await keptAges()).toHaveLength(2);
  },
);

it('one run of the retention removes at most 25,000 records, and the next run more [1.6.23]', async () => {
  setNow(NOW);
  // Three licenses: one with records of one hour, one of two hours, and one with records that are kept.
  const licenses = [await shop.newLicense(), await shop.newLicense(), await shop.newLicense()];
  const hours = [[25_600], [0, 10, 10], [0, 0, 0, 1]];
  for (const [index, license] of licenses.entries()) {
    for (const [hour, count] of (hours[index] ?? []).entries()) {
      const requestedAt = hour === 3 ? NOW : NOW - 100 * DAY_MS + hour * HOUR_MS;
      await write(...many(Math.min(count, 25), () => recordOf(license, requestedAt)));
      if (count > 25) await repeatRecords(count / 25);
    }
  }
  await runWith('0');
  const left = [];
  for (let run = 0; run < 4; run++) {
    await runScheduled(NOW);
    left.push((await rowsOf('select 1 from requests')).length);
    // Those that are left still have their installations.
    const licenseIds = (await readPages({}, 1_000)).map(({ licenseId }) => licenseId);
    expect(licenseIds).not.toContain(null);
  }
  expect(left).toEqual([621, 21, 11, 1]);
  expect(await rowsOf('select 1 from installations')).toHaveLength(1);
  const totals = await Promise.all(licenses.map(({ id }) => get.license(id)));
  expect(totals.map(({ totalRequests }) => totalRequests)).toEqual([25_600, 20, 1]);
});
