import { beforeEach, expect, it, vi } from 'vitest';
import { call, create, expectError, get, updateLicense, validate } from '../support/client.ts';
import { idsOf, licenses, readList, withoutChange } from '../support/resources.ts';

const EXPIRY = '2026-06-01T12:00:00.000+00:00';
const EXPIRY_MS = Date.parse(EXPIRY);

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'], now: EXPIRY_MS - 1 });
});
const pathOf = (license: { id: number }) => `${licenses.path}/${license.id}`;
const put = (license: { id: number }, body: object) => call('PUT', pathOf(license), { body });

const createTemporary = (fields: object = {}) =>
  create.license({ licenseType: 'TEMPORARY', expiryDate: EXPIRY, ...fields });

const messageFor = async ({ licenseKey, productId }: { licenseKey: string; productId: number }) =>
  (await validate({ licenseKey, productId })).json;

const VALID = expect.objectContaining({ valid: true });
const refusal = (message: string) => ({ valid: false, message });

/** A license of an owner, and the paths of all lists that have it. */
async function createListed() {
  const owner = { licensePlatform: 'PLATFORM_A', ownerPlatformId: crypto.randomUUID() };
  const license = await createTemporary({ ...owner, ownerChatId: owner.ownerPlatformId });
  const { productId, customer, ownerPlatformId } = license;
  const email = `${ownerPlatformId}@example.com`;
  await call('PUT', `/api/v2/customers/${customer?.id}`, { body: { email } });
  const lists = [
    '',
    `/by-product-id/${productId}`,
    `/by-customer-id/${customer?.id}`,
    `/by-customer-email/${email}`,
    `/by-platform/PLATFORM_A/${ownerPlatformId}`,
    `/by-chat-id/${ownerPlatformId}`,
  ].map((list) => `${licenses.path}${list}`);
  return { license, lists };
}

it('a TEMPORARY license is EXPIRED from the very millisecond of its expiry, in every response [1.3, 2.1, interface 2.6]', async () => {
  const { license, lists } = await createListed();
  const { id, licenseKey } = license;
  const shown = async () => {
    const inLists = await Promise.all(lists.map(readList));
    const byKey = await call('GET', `${licenses.path}/by-license-key/${licenseKey}`);
    return [
      await get.license(id),
      byKey.json,
      ...inLists.map((list) => list.find((one) => one.id === id)),
    ];
  };
  const listedAs = async (status: string) =>
    (await idsOf(`${licenses.path}?licenseStatus=${status}`)).includes(id);

  for (const one of await shown()) expect(one).toMatchObject({ licenseStatus: 'ACTIVE' });
  expect([await listedAs('ACTIVE'), await listedAs('EXPIRED')]).toEqual([true, false]);
  expect(await messageFor(license)).toEqual(VALID);

  vi.setSystemTime(EXPIRY_MS);

  for (const one of await shown()) expect(one).toMatchObject({ licenseStatus: 'EXPIRED' });
  expect([await listedAs('ACTIVE'), await listedAs('EXPIRED')]).toEqual([false, true]);
  expect(await messageFor(license)).toEqual(refusal('License has expired'));
  expect((await updateLicense(id, { notes: 'late' })).licenseStatus).toBe('EXPIRED');
});

it('an EXPIRED license is ACTIVE again with a later expiryDate [2.1, 2.4, interface 3]', async () => {
  const license = await createTemporary();
  vi.setSystemTime(EXPIRY_MS + 1_000);
  const revived = await updateLicense(license.id, { expiryDate: '2026-07-01' });
  expect(revived.licenseStatus).toBe('ACTIVE');
  expect(await messageFor(license)).toEqual(VALID);
});

it.each(['ACTIVE', 'EXPIRED'])(
  '%s on write decides nothing about the expiry [2.4]',
  async (status) => {
    const license = await createTemporary({ licenseStatus: status });
    expect(license.licenseStatus).toBe('ACTIVE');
    expect((await updateLicense(license.id, { licenseStatus: status })).licenseStatus).toBe(
      'ACTIVE',
    );
    vi.setSystemTime(EXPIRY_MS);
    expect((await updateLicense(license.id, { licenseStatus: status })).licenseStatus).toBe(
      'EXPIRED',
    );
  },
);

it.each(['ACTIVE', 'EXPIRED'])(
  '%s on write means not deactivated, not deleted [2.4, interface 3]',
  async (status) => {
    const license = await createTemporary();
    for (const before of ['DEACTIVATED', 'DELETED']) {
      await updateLicense(license.id, { licenseStatus: before });
      const after = await updateLicense(license.id, { licenseStatus: status });
      expect(after.licenseStatus).toBe('ACTIVE');
      expect(await messageFor(license)).toEqual(VALID);
    }
  },
);

it.each([
  ['DEACTIVATED', 'License is deactivated'],
  ['DELETED', 'License not found or invalid'],
])(
  '%s stays until people change it, whatever the clock and expiryDate say [2.2, interface 2.6, interface 3]',
  async (status, message) => {
    const license = await createTemporary({ licenseStatus: status });
    const expectStatus = async () => {
      expect((await get.license(license.id)).licenseStatus).toBe(status);
      expect(await messageFor(license)).toEqual(refusal(message));
    };
    await expectStatus();
    vi.setSystemTime(EXPIRY_MS + 1_000);
    await expectStatus();
    await updateLicense(license.id, { expiryDate: '2027-01-01' });
    await expectStatus();
    await updateLicense(license.id, { licenseStatus: 'ACTIVE' });
    expect((await get.license(license.id)).licenseStatus).toBe('ACTIVE');
    expect(await messageFor(license)).toEqual(VALID);
  },
);

it('TEMPORARY needs an expiryDate [2.5]', async () => {
  const { id: productId } = await create.product();
  for (const expiryDate of [undefined, null]) {
    const body = { productId, licenseType: 'TEMPORARY', expiryDate };
    const response = await withoutChange(licenses.path, () =>
      call('POST', licenses.path, { body }),
    );
    expectError(
      response,
      400,
      'expiryDate or expiresAfterDays is required for a TEMPORARY license',
    );
  }
});

it('PERMANENT cannot become TEMPORARY without an expiryDate [2.5]', async () => {
  const license = await createTemporary({ licenseType: 'PERMANENT', expiryDate: null });
  const response = await withoutChange(pathOf(license), () =>
    put(license, { licenseType: 'TEMPORARY' }),
  );
  expectError(response, 400, 'expiryDate or expiresAfterDays is required for a TEMPORARY license');
  const dated = await updateLicense(license.id, { licenseType: 'TEMPORARY', expiryDate: EXPIRY });
  expect(dated.expiryDate).toBe(EXPIRY);
});

it('PERMANENT takes no expiryDate on create and on update [2.6, 2.7, interface 2.6]', async () => {
  const message = 'expiryDate needs licenseType TEMPORARY';
  const license = await createTemporary({ licenseType: 'PERMANENT', expiryDate: null });
  const { productId } = license;
  const body = { productId, licenseType: 'PERMANENT', expiryDate: EXPIRY };
  const created = await withoutChange(licenses.path, () => call('POST', licenses.path, { body }));
  expectError(created, 400, message);
  for (const change of [{ expiryDate: EXPIRY }, { licenseType: 'PERMANENT', expiryDate: EXPIRY }]) {
    const updated = await withoutChange(pathOf(license), () => put(license, change));
    expectError(updated, 400, message);
  }
  expect(await messageFor(license)).toMatchObject({ valid: true, expiryDate: null });
});

it('TEMPORARY becomes PERMANENT with its old expiryDate, and not with another [2.8]', async () => {
  const license = await createTemporary();
  const response = await put(license, { licenseType: 'PERMANENT', expiryDate: '2001-01-01' });
  expectError(response, 400, 'expiryDate needs licenseType TEMPORARY');
  const { expiryDate } = license;
  const updated = await updateLicense(license.id, { licenseType: 'PERMANENT', expiryDate });
  expect(updated).toMatchObject({ licenseStatus: 'ACTIVE', expiryDate: null });
});

it('DELETE marks the license DELETED, and again returns 204 again [2.9, 2.10, 3.3, interface 1, interface 4.3, interface 4.9]', async () => {
  const license = await createTemporary();
  for (let time = 0; time < 2; time++) {
    const response = await call('DELETE', pathOf(license));
    expect([response.status, response.text]).toEqual([204, '']);
    expect((await get.license(license.id)).licenseStatus).toBe('DELETED');
  }
});

it('a DELETED license is in no list unless asked for by licenseStatus=DELETED [2.10]', async () => {
  const { license, lists } = await createListed();
  await call('DELETE', pathOf(license));
  for (const path of lists) {
    expect(await idsOf(path)).not.toContain(license.id);
    expect(await idsOf(`${path}?licenseStatus=ACTIVE`)).not.toContain(license.id);
    expect(await idsOf(`${path}?licenseStatus=DELETED`)).toContain(license.id);
  }
  const page = await call('GET', `${lists.at(-1)}?limit=10`);
  expect(page.headers.get('X-Total-Count')).toBe('0');
});

it('a PUT with another status restores a DELETED license, with all that it had [2.10, interface 3]', async () => {
  const license = await createTemporary({ ips: ['203.0.113.1'], hwids: ['HW-1'] });
  await call('DELETE', pathOf(license));
  for (const licenseStatus of ['ACTIVE', 'DEACTIVATED']) {
    expect(await updateLicense(license.id, { licenseStatus })).toEqual({
      ...license,
      licenseStatus,
    });
  }
  expect(await idsOf(licenses.path)).toContain(license.id);
});
