import { env } from 'cloudflare:workers';
import { RESPONSE_TYPES, type ResponseType } from '@licet/contract/outcomes';
import { installation } from '@licet/contract/requests';
import { statistics as statisticsWire } from '@licet/contract/statistics';
import fc from 'fast-check';
import { beforeEach, expect, it } from 'vitest';
import * as z from 'zod';
import type { HistoryRecord } from '../../src/requests/record.ts';
import { newIsolate } from '../support/app.ts';
import {
  call,
  create,
  expectError,
  get,
  type License,
  type ReadResponse,
  readPagesFrom,
  restart,
} from '../support/client.ts';
import { spyOnDatabase } from '../support/d1-spy.ts';
import {
  DAY_MS,
  emptyHistory,
  HOUR_MS,
  MINUTE_MS,
  type RecordFields,
  recordAt,
  runScheduled,
  runToTheEnd,
  setNow,
  write,
} from '../support/history.ts';
import { openShop } from '../support/shop.ts';

const NOW = Date.UTC(2026, 5, 2, 12, 30);

const shop = openShop();

beforeEach(async () => {
  // An isolate holds the counts of the test before.
  restart();
  setNow(NOW);
  await emptyHistory();
});

const timestampOf = (time: number): string => new Date(time).toISOString().replace('Z', '+00:00');

const recordOf = (license: License, time: number, fields: RecordFields = {}): HistoryRecord =>
  recordAt(time, {
    licenseId: license.id,
    licenseKey: license.licenseKey,
    productId: license.productId,
    ...fields,
  });

const askStatistics = (query = '') => call('GET', `/api/v2/statistics${query}`);

async function statisticsOf(query = '') {
  const response = await askStatistics(query);
  expect(response.status, response.text).toBe(200);
  return statisticsWire.parse(response.json);
}

const ask = (license: { id: number }, query = ''): Promise<ReadResponse> =>
  call('GET', `/api/v2/licenses/${license.id}/installations${query}`);

async function installationsOf(license: License, query = '') {
  const response = await ask(license, query);
  expect(response.status, response.text).toBe(200);
  return z.array(installation).parse(response.json);
}

it('installations have all that a program sent, when it was seen, and how often [6.12]', async () => {
  const license = await shop.newLicense();
  const sent = {
    ip: '192.0.2.10',
    hwid: 'HW',
    productVersion: '1.4.2',
    operatingSystem: 'Linux',
    operatingSystemVersion: '6.1.0',
    operatingSystemArchitecture: 'amd64',
    javaVersion: '21.0.5',
    macAddress: '00-00-5E-00-53-01',
  };
  await write(recordOf(license, NOW - 30 * DAY_MS, sent), recordOf(license, NOW, sent));
  expect(await installationsOf(license)).toEqual([
    {
      id: expect.any(Number),
      ...sent,
      firstSeen: timestampOf(NOW - 30 * DAY_MS),
      lastSeen: timestampOf(NOW),
      requests: 2,
      ipIdleDate: null,
      hwidIdleDate: null,
    },
  ]);
});

it('installations are exact before and after the aggregation, and the last seen comes first [6.12]', async () => {
  const license = await shop.newLicense();
  const other = await shop.newLicense();
  const first = NOW - 3 * DAY_MS;
  const at = (hours: number, fields: RecordFields) =>
    recordOf(license, first + hours * HOUR_MS, fields);
  await write(
    at(0, { hwid: 'often' }),
    at(1, { hwid: 'often' }),
    at(5, { hwid: 'limited', outcome: 'MAX_HWIDS_REACHED' }),
    at(6, { hwid: 'limited', outcome: 'RATE_LIMITED' }),
    recordOf(other, NOW, { hwid: 'of another license' }),
  );
  const shown = async () =>
    (await installationsOf(license)).map(({ hwid, lastSeen, requests }) => ({
      hwid,
      lastSeen: (Date.parse(lastSeen) - first) / HOUR_MS,
      requests,
    }));
  const expected = [
    // A request over a rate limit is no validation, but it shows that the program runs.
    { hwid: 'limited', lastSeen: 6, requests: 1 },
    { hwid: 'often', lastSeen: 1, requests: 2 },
  ];
  expect(await shown()).toEqual(expected);
  await runToTheEnd(NOW);
  expect(await shown()).toEqual(expected);
  await write(at(70, { hwid: 'often' }));
  expect(await shown()).toEqual([
    { hwid: 'often', lastSeen: 70, requests: 3 },
    { hwid: 'limited', lastSeen: 6, requests: 1 },
  ]);
  expect((await get.license(license.id)).totalRequests).toBe(4);
});

it('installations come in pages, each linked to the next [6.13]', async () => {
  const license = await shop.newLicense();
  const names = Array.from({ length: 5 }, (_, index) => `HW-${index}`);
  await write(...names.map((hwid, index) => recordOf(license, NOW - index * HOUR_MS, { hwid })));
  const pages = await readPagesFrom(`/api/v2/licenses/${license.id}/installations?limit=2`);
  const seen = pages.map(({ json }) =>
    z
      .array(installation)
      .parse(json)
      .map(({ hwid }) => hwid),
  );
  expect(seen).toEqual([names.slice(0, 2), names.slice(2, 4), names.slice(4)]);
});

it('installations beyond 1,000 a day are in neither the list nor the statistics, before and after the aggregation [6.15]', async () => {
  const license = await shop.newLicense({ productId: (await create.product()).id });
  const records = Array.from({ length: 1_010 }, (_, index) =>
    recordOf(license, NOW, { hwid: `HW-${index}`, productVersion: '1.0' }),
  );
  await write(...records);
  const expectNamed = async () => {
    const shown = await installationsOf(license, '?limit=1000');
    expect(shown.filter(({ hwid }) => hwid === null)).toEqual([]);
    expect(shown).toHaveLength(1_000);
    const { versions } = await statisticsOf(`?productId=${license.productId}`);
    expect(versions).toEqual([
      { productId: license.productId, productVersion: '1.0', installations: 1_000 },
    ]);
  };
  await expectNamed();
  await runToTheEnd(NOW);
  restart();
  await expectNamed();
});

it('an installation whose records were all removed is left out, and one with a record stays [6.14]', async () => {
  const license = await shop.newLicense();
  const old = NOW - 100 * DAY_MS;
  await write(
    recordOf(license, old, { hwid: 'gone' }),
    recordOf(license, old, { hwid: 'stays' }),
    recordOf(license, NOW - DAY_MS, { hwid: 'stays' }),
  );
  const shown = async () => (await installationsOf(license)).map(({ hwid }) => hwid);
  expect(await shown()).toEqual(['stays', 'gone']);
  await runToTheEnd(NOW, { REQUEST_RETENTION_DAYS: '90' });
  expect(await shown()).toEqual(['stays']);
});

it('a license without a validation has no installation, and an unknown one returns 404 [6.12]', async () => {
  expect(await installationsOf(await shop.newLicense())).toEqual([]);
  expectError(await ask({ id: 999_999_999 }), 404, 'License not found');
});

type Series = Awaited<ReturnType<typeof statisticsOf>>['series'];

/** The counts of the steps that have any, by the start of the step. */
const countsOf = (series: Series) =>
  Object.fromEntries(
    series.flatMap(({ time, ...counts }) =>
      Object.keys(counts).length === 0 ? [] : [[Date.parse(time), counts]],
    ),
  );

const HOUR = Date.UTC(2026, 5, 2, 12);

it('the last 24 hours are the default, by hour and by outcome [6.1, 6.4]', async () => {
  const license = await shop.newLicense();
  await write(
    recordOf(license, NOW),
    recordOf(license, HOUR),
    recordOf(license, HOUR - 1, { outcome: 'LICENSE_EXPIRED' }),
    recordOf(license, HOUR - 23 * HOUR_MS),
    recordOf(license, HOUR - 23 * HOUR_MS - 1),
    recordAt(NOW, { licenseKey: 'unknown', outcome: 'LICENSE_NOT_FOUND' }),
  );
  const expected = {
    [HOUR]: { VALID: 2, LICENSE_NOT_FOUND: 1 },
    [HOUR - HOUR_MS]: { LICENSE_EXPIRED: 1 },
    [HOUR - 23 * HOUR_MS]: { VALID: 1 },
  };
  const { from, to, step, series, products } = await statisticsOf();
  expect({ from, to, step }).toEqual({
    from: timestampOf(HOUR - 23 * HOUR_MS),
    to: timestampOf(HOUR + HOUR_MS - 1),
    step: 'hour',
  });
  expect(series).toHaveLength(24);
  expect(countsOf(series)).toEqual(expected);
  expect(products.find(({ productId }) => productId === shop.productId)?.validations).toBe(4);
  await runToTheEnd(NOW);
  const after = await statisticsOf();
  expect(countsOf(after.series)).toEqual(expected);
  expect(after.products).toEqual(products);
});

it('statistics of a product have its validations only [6.1]', async () => {
  const license = await shop.newLicense();
  const other = await create.product();
  await write(
    recordOf(license, NOW - 2 * HOUR_MS),
    recordOf(license, NOW),
    recordOf({ ...license, productId: other.id }, NOW, { outcome: 'PRODUCT_MISMATCH' }),
    recordOf({ ...license, productId: 987_654 }, NOW, { outcome: 'PRODUCT_MISMATCH' }),
  );
  for (const _ of ['before the roll-up', 'after it']) {
    const ofShop = await statisticsOf(`?productId=${shop.productId}`);
    expect(countsOf(ofShop.series)).toEqual({
      [HOUR]: { VALID: 1 },
      [HOUR - 2 * HOUR_MS]: { VALID: 1 },
    });
    expect(ofShop.products).toMatchObject([{ productId: shop.productId, validations: 2 }]);
    const ofOther = await statisticsOf(`?productId=${other.id}`);
    expect(countsOf(ofOther.series)).toEqual({ [HOUR]: { PRODUCT_MISMATCH: 1 } });
    expect(countsOf((await statisticsOf('?productId=987654')).series)).toEqual({});
    await runToTheEnd(NOW + HOUR_MS);
  }
});

const asked = fc.record({
  ageMinutes: fc.nat(4 * 24 * 60),
  outcome: fc.constantFrom<ResponseType>(...RESPONSE_TYPES),
  isKnown: fc.boolean(),
});

it('sums equal the records of the history, before and after roll-ups and late records [6.1, 6.2]', async () => {
  const license = await shop.newLicense();
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(asked, { minLength: 1, maxLength: 8 }), { minLength: 1, maxLength: 3 }),
      fc.constantFrom('hour', 'day'),
      async (batches, step) => {
        await emptyHistory();
        const all: HistoryRecord[] = [];
        const stepMs = step === 'hour' ? HOUR_MS : DAY_MS;
        const expectExact = async () => {
          const expected: Record<number, Record<string, number>> = {};
          for (const { id, outcome } of all) {
            const time = Math.floor(id / 4096) + Date.UTC(2025, 0, 1);
            const start = Math.floor(time / stepMs) * stepMs;
            const counts = expected[start] ?? {};
            counts[outcome] = (counts[outcome] ?? 0) + 1;
            expected[start] = counts;
          }
          const { series, products } = await statisticsOf(
            `?step=${step}&from=${new Date(NOW - 4 * DAY_MS).toISOString()}`,
          );
          expect(countsOf(series)).toEqual(expected);
          const ofShop = products.find(({ productId }) => productId === shop.productId);
          expect(ofShop?.validations).toBe(
            all.filter(({ installation }) => installation.productId === shop.productId).length,
          );
        };
        for (const batch of batches) {
          const records = batch.map(({ ageMinutes, outcome, isKnown }) =>
            isKnown
              ? recordOf(license, NOW - ageMinutes * MINUTE_MS, { outcome })
              : recordAt(NOW - ageMinutes * MINUTE_MS, { licenseKey: 'unknown', outcome }),
          );
          all.push(...records);
          await write(...records);
          await expectExact();
          await runScheduled(NOW);
          await expectExact();
          await runToTheEnd(NOW);
          await expectExact();
        }
      },
    ),
    { numRuns: env.IS_LONG ? 6 : 3 },
  );
}, 40_000);

it('licenses, versions and expiries are counted with the request [6.5, 6.6, 6.7]', async () => {
  const { id: productId } = await create.product({ name: 'Counted' });
  const temporary = (days: number) => ({
    licenseType: 'TEMPORARY',
    expiryDate: new Date(NOW + days * DAY_MS).toISOString(),
  });
  const make = (fields: object) => shop.newLicense({ productId, ...fields });
  const license = await make({});
  await make(temporary(3));
  await make(temporary(3));
  await make(temporary(200));
  await make(temporary(-1));
  await make({ ...temporary(3), licenseStatus: 'DEACTIVATED' });
  await make({ licenseStatus: 'DELETED' });
  await write(
    recordOf(license, NOW, { productVersion: '2.0', hwid: 'a' }),
    recordOf(license, NOW, { productVersion: '2.0', hwid: 'b' }),
    recordOf(license, NOW, { productVersion: '1.9', hwid: 'a' }),
    recordOf(license, NOW, { hwid: 'c' }),
  );
  const { products, licenses, versions, expiries } = await statisticsOf(`?productId=${productId}`);
  expect(products).toEqual([{ productId, productName: 'Counted', active: 4, validations: 4 }]);
  expect(licenses).toEqual({
    countedAt: timestampOf(NOW),
    active: 4,
    activeBefore: null,
    deactivated: 1,
    expired: 1,
  });
  expect(versions).toEqual([
    { productId, productVersion: '2.0', installations: 2 },
    { productId, productVersion: '1.9', installations: 1 },
    { productId, productVersion: null, installations: 1 },
  ]);
  expect(expiries).toEqual([
    { date: new Date(NOW + 3 * DAY_MS).toISOString().slice(0, 10), licenses: 2 },
  ]);
  const all = await statisticsOf();
  expect(all.expiries).toEqual(expiries);
  expect(all.products).toContainEqual(products[0]);
});

it('counts of licenses are held for 60 seconds [6.5, 6.8]', async () => {
  const { licenses } = await statisticsOf();
  await shop.newLicense();
  setNow(NOW + MINUTE_MS - 1);
  expect((await statisticsOf()).licenses).toEqual(licenses);
  setNow(NOW + MINUTE_MS);
  expect((await statisticsOf()).licenses).toEqual({
    ...licenses,
    countedAt: timestampOf(NOW + MINUTE_MS),
    active: licenses.active + 1,
  });
});

it('two concurrent requests for statistics share one count [6.5]', async () => {
  const { spy, roundTrips } = spyOnDatabase(env.DB);
  const isolate = newIsolate({ DB: spy });
  const ask = () => isolate.call('GET', '/api/v2/statistics');
  const responses = await Promise.all([ask(), ask()]);
  expect(responses.map(({ status }) => status)).toEqual([200, 200]);
  const counts = roundTrips.flat().filter(({ sql }) => sql.includes('row_number() over'));
  expect(counts).toHaveLength(1);
});

it('the counts of versions of 2,000 installations are held for two minutes [6.5, 6.9]', async () => {
  const license = await shop.newLicense();
  await env.DB.prepare(
    `with recursive n(i) as (select 1 union all select i + 1 from n where i < 2000)
     insert into installations (license_key_normalized, fingerprint, license_id, license_key, product_id,
       product_version, first_seen_at, last_seen_at, requests, aggregated_bucket)
     select ?1, 'f' || i, ?2, ?1, ?3, '1.0', 0, 0, 1, 0 from n`,
  )
    .bind(license.licenseKey, license.id, license.productId)
    .run();
  const versionsAt = async (time: number) => {
    setNow(time);
    const { versions } = await statisticsOf(`?productId=${license.productId}`);
    return versions.map(({ productVersion, installations }) => [productVersion, installations]);
  };
  const before = await versionsAt(NOW);
  expect(before).toEqual([['1.0', 2_000]]);
  await write(recordOf(license, NOW, { productVersion: '2.0' }));
  expect(await versionsAt(NOW + 119_000)).toEqual(before);
  expect(await versionsAt(NOW + 180_000)).toContainEqual(['2.0', 1]);
});

it('licenses are counted once a day, and compared with those of the first day of the period [6.5, 6.10, 6.11]', async () => {
  const before = (await statisticsOf()).licenses;
  const { id: productId } = await create.product();
  for (const days of [1, 2, 400]) {
    const expiryDate = new Date(NOW + days * DAY_MS).toISOString();
    const body = { productId, licenseType: 'TEMPORARY', expiryDate, count: 3 };
    const response = await call('POST', '/api/v2/licenses/batch', { body });
    expect(response.status, response.text).toBe(201);
  }
  await runToTheEnd(NOW);
  await shop.newLicense({ productId });
  await runToTheEnd(NOW + HOUR_MS);

  const nextDay = NOW + 30 * HOUR_MS;
  setNow(nextDay);
  await runToTheEnd(nextDay);
  const from = `from=${new Date(NOW).toISOString()}`;
  expect((await statisticsOf(`?${from}`)).licenses).toMatchObject({
    active: before.active + 9 - 3 + 1,
    activeBefore: before.active + 9,
    expired: before.expired + 3,
  });
  const ofProduct = await statisticsOf(`?productId=${productId}&${from}`);
  expect(ofProduct.licenses).toMatchObject({ active: 7, activeBefore: 9, expired: 3 });
  expect(ofProduct.expiries).toEqual([
    { date: new Date(NOW + 2 * DAY_MS).toISOString().slice(0, 10), licenses: 3 },
  ]);
  expect((await statisticsOf()).licenses.activeBefore).toBe(before.active + 9);
  const dayBefore = `?from=${new Date(NOW - DAY_MS).toISOString()}`;
  expect((await statisticsOf(dayBefore)).licenses.activeBefore).toBeNull();

  const activeBeforeAt = async (days: number) => {
    await runScheduled(NOW + days * DAY_MS);
    setNow(NOW + days * DAY_MS);
    return (await statisticsOf(`?step=day&${from}`)).licenses.activeBefore;
  };
  expect(await activeBeforeAt(400)).toBe(before.active + 9);
  expect(await activeBeforeAt(401)).toBeNull();
});

it.each([
  { query: '?from=2026-06-03', message: 'from must not be after to' },
  {
    query: '?from=2026-01-01',
    message: 'from must be at most 31 days before to, with step hour',
  },
  {
    query: '?step=day&from=2020-01-01',
    message: 'from must be at most 1100 days before to, with step day',
  },
  { query: '?step=week', message: /^step must be one of hour, day/ },
  { query: '?to=yesterday', message: /^to must be an ISO 8601 timestamp/ },
  { query: '?product=1', message: /^product is not a known query parameter/ },
])('statistics of $query return 400 and name the field [6.3]', async ({ query, message }) => {
  expectError(await askStatistics(query), 400, message);
});
