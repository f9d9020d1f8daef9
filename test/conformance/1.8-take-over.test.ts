import { env } from 'cloudflare:workers';
import { DAY_MS } from '@licet/contract/durations';
import { event } from '@licet/contract/events';
import { expect, it, vi } from 'vitest';
import { newIsolate } from '../support/app.ts';
import {
  call,
  create,
  get,
  historyOf,
  type License,
  updateLicense,
  validate,
} from '../support/client.ts';
import { withFaults } from '../support/faults.ts';

/** Decisions 1.8: a program takes a license over, within the self-resets of its product. */

const newLicense = async (selfResets: number, fields: object = {}): Promise<License> => {
  const { id: productId } = await create.product({ selfResets });
  return create.license({ productId, maxHWIDs: 2, maxIPs: -1, hwids: ['OLD', 'NEW'], ...fields });
};

const ask = ({ licenseKey, productId }: License, hwid: string, fields: object = {}) =>
  validate({ licenseKey, productId, hwid, takeOver: true, ...fields });

const hwidsOf = async ({ id }: License) => (await get.license(id)).hwids;

/** The remarks of the records of a license, newest first. */
const remarksOf = async ({ licenseKey }: License, count: number) =>
  (await historyOf({ licenseKey }, count)).map(({ remarks }) => remarks);

const eventsOf = async ({ id }: License) => {
  const path = `/api/v2/events?resourceType=license&resourceId=${id}&actor=program`;
  return event.array().parse((await call('GET', path)).json);
};

const dayIn = (days: number): string =>
  new Date(Date.now() + days * DAY_MS).toISOString().slice(0, 10);

const REFUSED = { valid: false, message: 'Max HWIDs reached' };

it('takeOver frees the value that was used longest ago, binds the new one, and counts as a self-reset [1.8.40, 1.8.42]', async () => {
  const license = await newLicense(1);
  expect((await ask(license, 'OLD', { takeOver: false })).status).toBe(200);
  expect(await remarksOf(license, 1)).toEqual([null]);
  expect((await ask(license, 'THIRD')).json).toMatchObject({ valid: true });
  expect(await hwidsOf(license)).toEqual(['OLD', 'THIRD']);
  expect(await eventsOf(license)).toMatchObject([
    {
      type: 'license.slots_freed',
      actor: {
        tokenId: null,
        tokenName: 'program',
        isConsole: false,
        isMcp: false,
        customerId: null,
      },
      changes: { hwids: { before: ['OLD', 'NEW'], after: ['OLD', 'THIRD'] } },
    },
  ]);
  expect(await remarksOf(license, 2)).toEqual([
    `Took over the slot of NEW, last used on ${dayIn(0)}`,
    null,
  ]);
  // The budget of 30 days is used up.
  expect((await ask(license, 'FOURTH')).json).toEqual(REFUSED);
  expect((await remarksOf(license, 3))[0]).toBe(`takeOver is possible again on ${dayIn(30)}`);
  expect(await hwidsOf(license)).toEqual(['OLD', 'THIRD']);
});

it('a request that finds a free slot, or sends takeOver of another type, takes nothing over [1.8.40]', async () => {
  const license = await newLicense(3);
  for (const takeOver of [undefined, null, false, 'yes', 'true', 1, {}]) {
    expect((await ask(license, 'THIRD', { takeOver })).json).toEqual(REFUSED);
  }
  await updateLicense(license.id, { maxHWIDs: 3 });
  expect((await ask(license, 'THIRD')).json).toMatchObject({ valid: true });
  expect(await hwidsOf(license)).toEqual(['OLD', 'NEW', 'THIRD']);
  expect(await eventsOf(license)).toEqual([]);
});

it('of 50 programs that take a license over at the same time, as many are valid as it has self-resets [1.8.40]', async () => {
  const license = await newLicense(3);
  const responses = await Promise.all(
    Array.from({ length: 50 }, (_, index) =>
      ask(license, `PARALLEL-${index}`, {}).then(({ status }) => status),
    ),
  );
  const count = (status: number) => responses.filter((one) => one === status).length;
  // A busy database answers some too late, of which a move may go through.
  const late = count(503);
  expect(count(200) + count(400) + late).toBe(50);
  expect(count(200)).toBeLessThanOrEqual(3);
  expect(count(200) + late).toBeGreaterThanOrEqual(3);
  await vi.waitFor(async () => expect(await eventsOf(license)).toHaveLength(3), 30_000);
  expect(await hwidsOf(license)).toHaveLength(2);
});

it.each([
  [
    'the product has no self-resets',
    0,
    {},
    'takeOver needs selfResets of the product, which are 0',
  ],
  ['the limit is lower than the number of bound values', 3, { maxHWIDs: 1 }, null],
  ['the license allows no hardware ID', 3, { maxHWIDs: 0, hwids: [] }, null],
] as const)('takeOver is refused as before if %s [1.8.41]', async (_, resets, fields, remarks) => {
  const license = await newLicense(resets);
  await updateLicense(license.id, fields);
  const before = await hwidsOf(license);
  expect((await ask(license, 'THIRD')).json).toEqual(REFUSED);
  expect(await hwidsOf(license)).toEqual(before);
  expect(await remarksOf(license, 1)).toEqual([remarks]);
});

it.each([
  ['HWID', 'OLD', { hwids: ['OLD'], maxHWIDs: 1 }],
  ['IP', '198.51.100.0/24', { ips: ['198.51.100.7'], maxIPs: 1, hwids: [], maxHWIDs: -1 }],
] as const)(
  'takeOver frees no %s that the blacklist has as %s [1.8.41]',
  async (licenseDataType, data, fields) => {
    const license = await newLicense(3, fields);
    const { productId } = license;
    await create.blacklist({ licenseDataType, data, isForAllProducts: false, productId });
    const { json } = await ask(license, 'THIRD', { ip: '203.0.113.50' });
    expect(json).toMatchObject({ valid: false });
    expect(await remarksOf(license, 1)).toEqual([
      'takeOver would free a value that is on the blacklist',
    ]);
    expect(await get.license(license.id)).toMatchObject({ hwids: license.hwids, ips: license.ips });
  },
);

it('a move to another address and another hardware ID counts once, and one value that stays keeps its slot [1.8.40]', async () => {
  const license = await newLicense(2, {
    ips: ['192.0.2.7'],
    maxIPs: 1,
    hwids: ['OLD'],
    maxHWIDs: 1,
  });
  const valid = (hwid: string, ip: string) =>
    expect(ask(license, hwid, { ip })).resolves.toMatchObject({ status: 200 });
  await valid('SECOND', '2001:db8:1::1');
  await valid('THIRD', '2001:db8:1::2');
  expect(await get.license(license.id)).toMatchObject({
    ips: ['2001:db8:1::1'],
    hwids: ['THIRD'],
  });
  expect((await ask(license, 'FOURTH', { ip: '2001:db8:1::3' })).json).toEqual(REFUSED);
  expect(await eventsOf(license)).toHaveLength(2);
});

it('a license that waits for its first use begins with the move [1.8.40]', async () => {
  const license = await newLicense(1, { licenseType: 'TEMPORARY', expiresAfterDays: 30 });
  expect((await ask(license, 'THIRD')).status).toBe(200);
  const { expiryDate, expiresAfterDays } = await get.license(license.id);
  expect(expiresAfterDays).toBeNull();
  expect(expiryDate?.slice(0, 10)).toBe(dayIn(30));
});

it('a move whose response is lost counts once, and its program is valid when it asks again [1.8.40]', async () => {
  const license = await newLicense(2);
  let isLost = true;
  const DB = withFaults(env.DB, (sql) => {
    if (!isLost || !sql.includes('insert into "self_resets"')) return null;
    isLost = false;
    return 'response is lost';
  });
  const isolate = newIsolate({ DB });
  const { licenseKey, productId } = license;
  const move = () => isolate.validate({ licenseKey, productId, hwid: 'THIRD', takeOver: true });
  expect((await move()).status).toBe(503);
  expect((await move()).status).toBe(200);
  expect(await hwidsOf(license)).toEqual(['NEW', 'THIRD']);
  expect(await eventsOf(license)).toHaveLength(1);
});

it.each([
  ['DEACTIVATED', 'License is deactivated'],
  ['DELETED', 'License not found or invalid'],
])('takeOver moves no license that is %s [1.8.41]', async (licenseStatus, message) => {
  const license = await newLicense(3);
  await updateLicense(license.id, { licenseStatus });
  expect((await ask(license, 'THIRD')).json).toEqual({ valid: false, message });
  expect(await hwidsOf(license)).toEqual(['OLD', 'NEW']);
});

it('takeOver by a replaced key moves nothing [1.8.41]', async () => {
  const license = await newLicense(3);
  expect((await call('POST', `/api/v2/licenses/${license.id}/rotate`)).status).toBe(200);
  const { json } = await ask(license, 'THIRD');
  expect(json).toEqual({ valid: false, message: 'License not found or invalid' });
  expect(await hwidsOf(license)).toEqual(['OLD', 'NEW']);
});
