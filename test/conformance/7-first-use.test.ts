import { env } from 'cloudflare:workers';
import { license as licenseWire } from '@licet/contract/licenses';
import { validResponse } from '@licet/contract/validation';
import { beforeEach, expect, it, vi } from 'vitest';
import { newIsolate } from '../support/app.ts';
import {
  call,
  create,
  expectError,
  get,
  type License,
  updateLicense,
  validate,
} from '../support/client.ts';
import { withFaults } from '../support/faults.ts';
import { importForeign } from '../support/import.ts';
import { idsOf, licenses, products, withoutChange } from '../support/resources.ts';

const START = '2026-06-01T12:00:00.000+00:00';
const START_MS = Date.parse(START);
const DAY_MS = 86_400_000;

/** A moment some days after the start, as responses write it. */
const after = (days: number) =>
  new Date(START_MS + days * DAY_MS).toISOString().replace('Z', '+00:00');

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'], now: START_MS });
});

const createWaiting = (fields: object = {}) =>
  create.license({ licenseType: 'TEMPORARY', expiryDate: null, expiresAfterDays: 30, ...fields });

const pathOf = (license: { id: number }) => `${licenses.path}/${license.id}`;
const put = (license: { id: number }, body: object) => call('PUT', pathOf(license), { body });

const ask = ({ licenseKey, productId }: License, fields: object = {}) =>
  validate({ licenseKey, productId, ...fields });

const endOf = async ({ id }: { id: number }) => {
  const { expiryDate, expiresAfterDays, licenseStatus } = await get.license(id);
  return { expiryDate, expiresAfterDays, licenseStatus };
};

const WAITING = { expiryDate: null, expiresAfterDays: 30, licenseStatus: 'ACTIVE' };

it('a license with expiresAfterDays has no expiryDate, and is ACTIVE until its first use [7.1.1]', async () => {
  const license = await createWaiting();
  expect(license).toMatchObject(WAITING);
  vi.setSystemTime(START_MS + 4_000 * DAY_MS);
  expect(await endOf(license)).toEqual(WAITING);
  expect(await idsOf(`${licenses.path}?licenseStatus=ACTIVE`)).toContain(license.id);
  expect(await idsOf(`${licenses.path}?licenseStatus=EXPIRED`)).not.toContain(license.id);
});

it.each([
  ['with a slot', { maxIPs: 1, maxHWIDs: 1 }],
  ['without limits', { maxIPs: -1, maxHWIDs: -1 }],
  ['with bound values', { ips: ['203.0.113.5'], hwids: ['HW-5'] }],
])(
  'the first VALID validation sets the expiryDate, and no later one: %s [7.1.2]',
  async (_, fields) => {
    const license = await createWaiting(fields);
    const sent = { ip: '203.0.113.5', hwid: 'HW-5' };
    vi.setSystemTime(START_MS + 10 * DAY_MS);
    const first = await ask(license, sent);
    expect(first.json).toMatchObject({ valid: true, expiryDate: '2026-07-11T12:00:00' });
    vi.setSystemTime(START_MS + 11 * DAY_MS);
    const second = await ask(license, sent);
    expect(second.json).toMatchObject({ valid: true, expiryDate: '2026-07-11T12:00:00' });
    const started = { expiryDate: after(40), expiresAfterDays: null, licenseStatus: 'ACTIVE' };
    expect(await endOf(license)).toEqual(started);
    vi.setSystemTime(START_MS + 40 * DAY_MS);
    expect((await ask(license, sent)).json).toMatchObject({ message: 'License has expired' });
  },
);

it('the expiryDate is set once, whatever runs in parallel [7.1.2]', async () => {
  const license = await createWaiting({ maxIPs: 5, maxHWIDs: -1 });
  const isolates = Array.from({ length: 4 }, () => newIsolate());
  let now = START_MS;
  const responses = await Promise.all(
    Array.from({ length: 200 }, (_, index) => {
      vi.setSystemTime(++now);
      const { licenseKey, productId } = license;
      const body = { licenseKey, productId, ip: `203.0.113.${index % 8}` };
      return isolates[index % 4]?.validate(body);
    }),
  );
  await Promise.all(responses.map((response) => response?.recorded));
  const dates = responses.flatMap((response) =>
    response?.status === 200 ? [validResponse.parse(response.json).expiryDate] : [],
  );
  expect(dates.length).toBeGreaterThan(0);
  expect(new Set(dates).size).toBe(1);
  const { expiryDate, expiresAfterDays } = await endOf(license);
  expect([expiryDate?.slice(0, 19), expiresAfterDays]).toEqual([dates[0], null]);
});

it.each([
  ['a full license', { maxIPs: 1, maxHWIDs: -1, ips: ['198.51.100.1'] }, {}],
  ['a license of another product', {}, { productId: 999_999 }],
  ['a DEACTIVATED license', { licenseStatus: 'DEACTIVATED' }, {}],
  ['a license with a slot for one of two values', { maxIPs: 5, maxHWIDs: 0 }, { hwid: 'HW-1' }],
])('a refusal starts nothing: %s [7.1.3]', async (_, fields, sent) => {
  const license = await createWaiting(fields);
  expect((await ask(license, { ip: '203.0.113.5', ...sent })).status).toBe(400);
  const { expiryDate, expiresAfterDays } = await endOf(license);
  expect({ expiryDate, expiresAfterDays }).toEqual({ expiryDate: null, expiresAfterDays: 30 });
});

it('a first use that cannot be stored is not decided [7.1.3]', async () => {
  const license = await createWaiting({ maxIPs: -1, maxHWIDs: -1 });
  const { licenseKey, productId } = license;
  let isCut = false;
  const isolate = newIsolate({ DB: withFaults(env.DB, () => (isCut ? 'fails' : null)) });
  await (await isolate.validate({ licenseKey, productId: 999_999 })).recorded;
  isCut = true;
  const { status, recorded } = await isolate.validate({ licenseKey, productId });
  isCut = false;
  await recorded;
  expect(status).toBe(503);
  expect(await endOf(license)).toEqual(WAITING);
});

it('a date ends the waiting, and days begin it again [7.1.4]', async () => {
  const license = await createWaiting();
  await updateLicense(license.id, { expiryDate: after(5) });
  expect(await endOf(license)).toMatchObject({ expiryDate: after(5), expiresAfterDays: null });
  await updateLicense(license.id, { expiresAfterDays: 7 });
  expect(await endOf(license)).toMatchObject({ expiryDate: null, expiresAfterDays: 7 });
  expect((await ask(license)).json).toMatchObject({ expiryDate: '2026-06-08T12:00:00' });
});

it('a PUT of what GET shows, before and after the first use, changes neither [7.1.4]', async () => {
  const license = await createWaiting();
  for (const expected of [WAITING, { expiryDate: after(30), expiresAfterDays: null }]) {
    const shown = await get.license(license.id);
    expect(shown).toMatchObject(expected);
    await updateLicense(license.id, shown);
    expect(await endOf(license)).toMatchObject(expected);
    await ask(license);
  }
});

it('a waiting license becomes PERMANENT, and may carry its old days [7.1.1, 7.1.4]', async () => {
  for (const body of [{}, { expiresAfterDays: 30 }, { expiryDate: null, expiresAfterDays: null }]) {
    const license = await createWaiting();
    await updateLicense(license.id, { licenseType: 'PERMANENT', ...body });
    expect(await endOf(license)).toMatchObject({ expiryDate: null, expiresAfterDays: null });
  }
});

it.each([
  [
    { expiresAfterDays: 30, expiryDate: '2027-01-01' },
    'expiryDate and expiresAfterDays exclude each other: send one of them',
  ],
  [
    { licenseType: 'PERMANENT', expiresAfterDays: 31 },
    'expiresAfterDays needs licenseType TEMPORARY',
  ],
  [{ expiresAfterDays: 0 }, 'expiresAfterDays must be an integer from 1 to 3650'],
  [{ expiresAfterDays: 3_651 }, 'expiresAfterDays must be an integer from 1 to 3650'],
  [{ expiresAfterDays: '30' }, 'expiresAfterDays must be an integer from 1 to 3650'],
  [
    { expiryDate: null, expiresAfterDays: null },
    'expiryDate or expiresAfterDays is required for a TEMPORARY license',
  ],
])('%o returns 400 on create and on update [7.1.1, 7.1.4]', async (fields, message) => {
  const license = await createWaiting();
  const { productId } = license;
  const body = { productId, licenseType: 'TEMPORARY', ...fields };
  expectError(await call('POST', licenses.path, { body }), 400, message);
  const response = await withoutChange(pathOf(license), () => put(license, fields));
  expectError(response, 400, message);
});

it('a TEMPORARY license without an end of its own takes that of its product [7.1.5]', async () => {
  const { id: productId } = await create.product({ defaultExpiresAfterDays: 90 });
  const newLicense = async (fields: object) =>
    endOf(await create.license({ productId, ...fields }));
  const temporary = { licenseType: 'TEMPORARY' };
  expect(await newLicense({ ...temporary, expiryDate: null })).toMatchObject({
    expiresAfterDays: 90,
  });
  expect(await newLicense({ ...temporary, expiresAfterDays: 3 })).toMatchObject({
    expiresAfterDays: 3,
  });
  expect(await newLicense({ ...temporary, expiryDate: after(1) })).toEqual({
    expiryDate: after(1),
    expiresAfterDays: null,
    licenseStatus: 'ACTIVE',
  });
  expect(await newLicense({ licenseType: 'PERMANENT' })).toMatchObject({ expiresAfterDays: null });
});

it('each license of a batch starts with its own first use [7.1.2]', async () => {
  const { id: productId } = await create.product();
  const body = { productId, licenseType: 'TEMPORARY', expiresAfterDays: 30, count: 2 };
  const { status, json } = await call('POST', `${licenses.path}/batch`, { body });
  expect(status).toBe(201);
  const [used, unused] = licenseWire.array().parse(json);
  if (!used || !unused) throw new Error('The batch has two licenses');
  await ask(used);
  expect(await endOf(used)).toMatchObject({ expiryDate: after(30), expiresAfterDays: null });
  expect(await endOf(unused)).toEqual(WAITING);
});

it('a list by expiryDate has no license that waits for its first use [7.1.6]', async () => {
  const license = await createWaiting();
  const byExpiry = ['sort=expiryDate', 'sort=-expiryDate', 'expiresFrom=2020-01-01'];
  for (const query of byExpiry) {
    expect(await idsOf(`${licenses.path}?${query}`)).not.toContain(license.id);
  }
  await ask(license);
  for (const query of byExpiry) {
    expect(await idsOf(`${licenses.path}?${query}`)).toContain(license.id);
  }
});

it('the page of a list by expiryDate does not begin after a license that waits', async () => {
  const { id } = await createWaiting();
  expectError(
    await call('GET', `${licenses.path}?sort=expiryDate&limit=10&after=${id}`),
    400,
    `after must be a license of the list, and ${id} no longer is. Read the list from its start again`,
  );
});

it('a validation without a required hwid starts nothing and binds nothing, whatever the snapshot says', async () => {
  const license = await createWaiting({ maxIPs: 5, maxHWIDs: -1 });
  const isolate = newIsolate({ REQUIRE_HWID: 'true' });
  const { licenseKey, productId } = license;
  // The isolate has the license in memory, and no limit of hardware IDs in it.
  const early = await isolate.validate({ licenseKey, productId: productId + 1 });
  expect(early.json).toMatchObject({ message: 'License not found or invalid' });
  await put(license, { maxHWIDs: 2 });
  const late = await isolate.validate({ licenseKey, productId, ip: '203.0.113.77' });
  expect([late.status, late.json]).toEqual([400, { valid: false, message: 'hwid is required' }]);
  expect(await endOf(license)).toEqual(WAITING);
  expect((await get.license(license.id)).ips).toEqual([]);
});

it('an import of a file takes expiresAfterDays as a number or a text, and the default of the product [7.1.5]', async () => {
  const { id: productId } = await create.product({ defaultExpiresAfterDays: 90 });
  const item = { productId, licenseType: 'TEMPORARY' };
  const keys = Array.from({ length: 5 }, () => crypto.randomUUID());
  const items = [
    { ...item, licenseKey: keys[0], expiresAfterDays: 30 },
    { ...item, licenseKey: keys[1], expiresAfterDays: '30' },
    { ...item, licenseKey: keys[2] },
    { ...item, licenseKey: keys[3], expiresAfterDays: 30, expiryDate: after(1) },
    { ...item, licenseKey: keys[4], licenseType: 'PERMANENT', expiresAfterDays: 30 },
  ];
  const { results } = await importForeign('licenses', items);
  const ends = await Promise.all(
    keys.map(async (key) => {
      const { json: found } = await call('GET', `${licenses.path}/by-license-key/${key}`);
      return found;
    }),
  );
  expect(ends).toMatchObject([
    { expiresAfterDays: 30 },
    { expiresAfterDays: 30 },
    { expiresAfterDays: 90 },
    { message: 'License not found' },
    { expiresAfterDays: null },
  ]);
  expect(results[3]?.reason).toContain('exclude each other');
  const again = await importForeign('licenses', items.slice(0, 3));
  expect(again.results.map(({ outcome }) => outcome)).toEqual(Array(3).fill('unchanged'));
});

it('a product shows and clears its default [7.1.5]', async () => {
  const { id } = await create.product({ defaultExpiresAfterDays: 90 });
  const path = `${products.path}/${id}`;
  const cleared = await call('PUT', path, { body: { defaultExpiresAfterDays: null } });
  expect(cleared.json).toMatchObject({ defaultExpiresAfterDays: null });
});
