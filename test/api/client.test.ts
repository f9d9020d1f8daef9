import { exports } from 'cloudflare:workers';
import { Licet, LicetError } from '@licet/client';
import { expect, it } from 'vitest';
import { readResponse } from '../support/client.ts';
import { ROOT_TOKEN } from '../support/root-token.ts';

/** The client runs inside a Worker; all that it does is tested in Node, over HTTP. */

async function fetch(request: Request): Promise<Response> {
  const response = await exports.default.fetch(request);
  await readResponse(request, response.clone());
  return response;
}
const licet = new Licet({ url: 'https://licet.test', token: ROOT_TOKEN, fetch });

it('the client creates, iterates, changes and validates, and reports each rejection', async () => {
  const product = await licet.products.create({ name: 'Plugin', productType: 'OTHER' });
  const license = { productId: product.id, licenseType: 'PERMANENT', maxIPs: 0 } as const;
  const first = await licet.licenses.create(license);
  const second = await licet.licenses.create(license);
  expect(await Array.fromAsync(licet.licenses.iterate({ limit: 1 }))).toEqual([first, second]);

  await licet.licenses.change(first.id, ({ maxIPs }) => ({ maxIPs: maxIPs + 1 }));
  const ask = { productId: product.id, ip: '192.0.2.1' };
  expect(await licet.validate({ ...ask, licenseKey: first.licenseKey })).toMatchObject({
    valid: true,
    maxIPs: 1,
  });
  expect(await licet.validate({ ...ask, licenseKey: second.licenseKey })).toEqual({
    valid: false,
    message: 'Max IPs reached',
  });

  const invalid = { ...ask, licenseKey: '' };
  const asking = [() => licet.validate(invalid), () => licet.validateWithToken(invalid)];
  for (const validate of asking) {
    const validated = validate();
    await expect(validated).rejects.toBeInstanceOf(LicetError);
    await expect(validated).rejects.toMatchObject({ status: 400, code: 'INVALID_REQUEST' });
  }

  const refused = licet.products.delete(product.id);
  await expect(refused).rejects.toBeInstanceOf(LicetError);
  await expect(refused).rejects.toMatchObject({ status: 409 });
});

it('the client updates an item only if it is unchanged since it was read', async () => {
  const product = await licet.products.create({ name: 'Plugin', productType: 'OTHER' });
  const { item, etag } = await licet.products.read(product.id);
  expect(item).toEqual(product);
  await licet.products.update(product.id, { name: 'Theirs' }, { ifMatch: etag });
  const late = licet.products.update(product.id, { name: 'Mine' }, { ifMatch: etag });
  await expect(late).rejects.toMatchObject({ status: 412 });
  expect(await licet.products.get(product.id)).toMatchObject({ name: 'Theirs' });
});
