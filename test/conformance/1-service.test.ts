import { expect, it, vi } from 'vitest';
import {
  call,
  createBlacklist,
  createLicense,
  createProduct,
  getBlacklist,
  getCustomer,
  getLicense,
  getProduct,
  historyOf,
  validate,
} from '../support/client';
import { blacklists, licenses, products, read } from '../support/resources';

const KEY = /^[0-9A-HJKMNP-TV-Z]{4}(-[0-9A-HJKMNP-TV-Z]{4}){4}$/;

it('stores products, licenses, customers, blacklist entries and the history of requests', async () => {
  const product = await createProduct({ name: 'Guard' });
  const license = await createLicense({ productId: product.id, ownerChatId: '42' });
  const entry = await createBlacklist({ data: '198.51.100.1', reason: 'Leaked' });
  const asked = { licenseKey: license.licenseKey, productId: product.id };
  expect((await validate({ ...asked, ip: '203.0.113.1' })).status).toBe(200);
  expect((await validate({ ...asked, ip: '198.51.100.1' })).status).toBe(400);

  const [blocked, valid] = await historyOf({ licenseKey: license.licenseKey }, 2);
  expect(await getProduct(product.id)).toEqual(product);
  expect(await getLicense(license.id)).toMatchObject({ ips: ['203.0.113.1'], totalRequests: 2 });
  expect(await getCustomer(license.customer?.id ?? 0)).toMatchObject({ chatId: '42' });
  expect(await getBlacklist(entry.id)).toEqual(entry);
  expect(valid).toMatchObject({ licenseId: license.id, ip: '203.0.113.1', valid: true });
  expect(blocked).toMatchObject({ ip: '198.51.100.1', valid: false, blockReason: 'Leaked' });
});

it.each([products, licenses, blacklists])(
  'creates, reads, updates and deletes: $name',
  async ({ path, create, changes }) => {
    const created = await create();
    const one = `${path}/${created.id}`;
    expect(await read(one)).toEqual(created);
    expect((await call('PUT', one, { body: changes() })).status).toBe(200);
    expect(await read(one)).not.toEqual(created);
    expect((await call('DELETE', one)).status).toBe(204);
    expect((await call('GET', path)).json).not.toContainEqual(expect.objectContaining(created));
  },
);

it('validates a license under v2 and, the legacy interface, under v1', async () => {
  const { id: productId } = await createProduct();
  const { licenseKey } = await createLicense({ productId });
  const body = { licenseKey, productId };
  expect((await call('POST', '/api/v2/validate', { body })).json).toMatchObject({ valid: true });
  expect((await validate(body)).json).toMatchObject({ valid: true });
});

it('generates a key of five groups of four for every license, each another', async () => {
  const { id: productId } = await createProduct();
  const created = await Promise.all(Array.from({ length: 30 }, () => createLicense({ productId })));
  const keys = created.map(({ licenseKey }) => licenseKey);
  for (const key of keys) expect(key).toMatch(KEY);
  expect(new Set(keys).size).toBe(30);
});

it("keys use the whole of Crockford's alphabet at every place", async () => {
  const { newLicenseKey } = await import('../../src/resources/licenses/key');
  const keys = Array.from({ length: 1_000 }, newLicenseKey);
  // 32 characters at 20 places are 100 bits. A fair source fails here once in 10^10 runs.
  for (const place of Array.from('XXXX-XXXX-XXXX-XXXX-XXXX').flatMap((c, i) =>
    c === 'X' ? i : [],
  )) {
    const seen = new Set(keys.map((key) => key.charAt(place)));
    expect([...seen].sort().join('')).toBe('0123456789ABCDEFGHJKMNPQRSTVWXYZ');
  }
});

it("keys come from the platform's secure source", async () => {
  const { id: productId } = await createProduct();
  const secureSource = vi.spyOn(crypto, 'getRandomValues').mockImplementation((array) => array);
  const { licenseKey } = await createLicense({ productId });
  secureSource.mockRestore();
  expect(licenseKey).toBe('0000-0000-0000-0000-0000');
});

it('answers with JSON', async () => {
  const { id } = await createProduct();
  for (const path of [products.path, `${products.path}?limit=1`, `${products.path}/${id}`]) {
    expect((await call('GET', path)).headers.get('Content-Type')).toMatch(/^application\/json/);
  }
});
