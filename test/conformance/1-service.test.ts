import { expect, it, vi } from 'vitest';
import { create } from '../support/client.ts';

const KEY = /^[0-9A-HJKMNP-TV-Z]{4}(-[0-9A-HJKMNP-TV-Z]{4}){4}$/;

it('the service generates a key of five groups of four for every license, each another [3.68, interface 1, interface 2.7]', async () => {
  const { id: productId } = await create.product();
  const created = await Promise.all(
    Array.from({ length: 30 }, () => create.license({ productId })),
  );
  const keys = created.map(({ licenseKey }) => licenseKey);
  for (const key of keys) expect(key).toMatch(KEY);
  expect(new Set(keys).size).toBe(30);
});

it("keys use the whole of Crockford's alphabet at every place [3.68]", async () => {
  const { newLicenseKey } = await import('../../src/resources/licenses/rules.ts');
  const keys = Array.from({ length: 1_000 }, newLicenseKey);
  // 32 characters at 20 places are 100 bits. A fair source fails here once in 10^10 runs.
  for (const place of Array.from('XXXX-XXXX-XXXX-XXXX-XXXX').flatMap((c, i) =>
    c === 'X' ? i : [],
  )) {
    const seen = new Set(keys.map((key) => key.charAt(place)));
    expect([...seen].sort().join('')).toBe('0123456789ABCDEFGHJKMNPQRSTVWXYZ');
  }
});

it("keys come from the platform's secure source [3.68]", async () => {
  const { id: productId } = await create.product();
  const secureSource = vi.spyOn(crypto, 'getRandomValues').mockImplementation((array) => array);
  const { licenseKey } = await create.license({ productId });
  secureSource.mockRestore();
  expect(licenseKey).toBe('0000-0000-0000-0000-0000');
});
