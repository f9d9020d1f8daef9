import { expect, it } from 'vitest';
import {
  call,
  create,
  expectError,
  get,
  historyOf,
  updateLicense,
  validate,
} from '../support/client.ts';
import { idsOf, products, read, withoutChange } from '../support/resources.ts';

const post = (body: object) => call('POST', products.path, { body });
const pathOf = (id: number) => `${products.path}/${id}`;

it('an error names every field that is wrong [3.1.3]', async () => {
  const response = await post({ name: '', productType: 'OTHER', defaultMaxIPs: -2 });
  expectError(
    response,
    400,
    'name must not be empty; defaultMaxIPs must be 0 to 1000; use -1 for unlimited',
  );
});

it('product names need not be unique [3.18]', async () => {
  const one = await create.product({ name: 'Same' });
  const other = await create.product({ name: 'Same' });
  expect(other.id).not.toBe(one.id);
});

it('products are filtered by productType [3.30]', async () => {
  const mod = await create.product({ productType: 'GAME_JAVA_MOD' });
  const plugin = await create.product({ productType: 'GAME_BEDROCK_MOD' });
  const ids = await idsOf(`${products.path}?productType=GAME_JAVA_MOD`);
  expect(ids).toContain(mod.id);
  expect(ids).not.toContain(plugin.id);
});

it('products are searched by text in name and description, without case, letter for letter [3.30]', async () => {
  const byName = await create.product({ name: 'Region 100%_GUARD' });
  const byDescription = await create.product({ description: 'like Region 100%_Guard' });
  await create.product({ name: 'Region 100 safe guard' });
  expect(await idsOf(`${products.path}?q=${encodeURIComponent('100%_guard')}`)).toEqual([
    byName.id,
    byDescription.id,
  ]);
});

it.each(['ACTIVE', 'EXPIRED', 'DEACTIVATED'])(
  'DELETE of a product with a license that is %s returns 409 and changes nothing [3.1.3, 3.21]',
  async (status) => {
    const { id: productId } = await create.product();
    const deleted = await create.license({ productId, licenseStatus: 'DELETED' });
    const { id } = await create.license({
      productId,
      licenseType: 'TEMPORARY',
      expiryDate: status === 'EXPIRED' ? '2001-01-01' : '2099-01-01',
      licenseStatus: status,
      ips: ['203.0.113.1'],
    });
    const license = await get.license(id);
    expect(license.licenseStatus).toBe(status);

    const response = await withoutChange(pathOf(productId), () =>
      call('DELETE', pathOf(productId)),
    );

    expectError(response, 409, 'Product has licenses, cannot delete');
    expect(await get.license(id)).toEqual(license);
    expect(await get.license(deleted.id)).toEqual(deleted);
  },
);

it('DELETE of a product deletes its DELETED licenses and blacklist entries with it; history stays [3.22]', async () => {
  const { id: productId } = await create.product();
  const license = await create.license({ productId });
  const { licenseKey } = license;
  const entry = await create.blacklist({
    data: '198.51.100.1',
    isForAllProducts: false,
    productId,
  });
  const general = await create.blacklist({ data: '198.51.100.2' });
  expect((await validate({ licenseKey, productId, ip: '203.0.113.1' })).status).toBe(200);
  const history = await historyOf({ licenseKey }, 1);
  await updateLicense(license.id, { licenseStatus: 'DELETED' });

  expect((await call('DELETE', pathOf(productId))).status).toBe(204);

  expectError(await call('GET', pathOf(productId)), 404, 'Product not found');
  expectError(await call('GET', `/api/v2/licenses/${license.id}`), 404, 'License not found');
  expect((await call('GET', `/api/v2/licenses?licenseStatus=DELETED`)).json).not.toContainEqual(
    expect.objectContaining({ id: license.id }),
  );
  expect(await idsOf('/api/v2/blacklists')).toContain(general.id);
  expect(await idsOf('/api/v2/blacklists')).not.toContain(entry.id);
  expect(await historyOf({ licenseKey }, 1)).toEqual(history);
  expect(await read(`/api/v2/requests/${history[0]?.id}`)).toEqual(history[0]);
  expect((await validate({ licenseKey, productId })).json).toEqual({
    valid: false,
    message: 'License not found or invalid',
  });
});
