import { describe, expect, it } from 'vitest';
import { call, createLicense, createProduct, createToken, expectError } from '../support/client.ts';
import { captureConsole } from '../support/console.ts';
import { readSet, writeSet } from '../support/endpoints.ts';
import { withoutTable } from '../support/faults.ts';
import { licenses, products, withoutChange } from '../support/resources.ts';

it('accepted_intents are those of the endpoint whatever the error', async () => {
  const { id } = await createProduct();
  const body = '{';
  const errors: [status: number, method: string, path: string, body?: string][] = [
    [400, 'POST', products.path, body],
    [400, 'PUT', `${products.path}/${id}`, body],
    [404, 'PUT', `${products.path}/999999`, '{}'],
    [404, 'DELETE', `${products.path}/999999`],
  ];
  for (const [status, method, path, sent] of errors) {
    const response = await call(method, path, { body: sent });
    expectError(response, status, /./, writeSet('PRODUCTS'));
  }
});

it.each([
  ['that is no object', '[]', 'Body must be an object'],
  ['that is malformed JSON', '{"name":', 'Malformed JSON in request body'],
])('a body %s returns 400 with a message about the body', async (_, body, message) => {
  expectError(await call('POST', products.path, { body }), 400, message);
});

it('a body is JSON whatever its content type says', async () => {
  for (const type of [
    'text/plain',
    'application/x-www-form-urlencoded',
    'application/json; utf-8',
  ]) {
    const body = { name: type, productType: 'OTHER' };
    const response = await call('POST', products.path, { body, headers: { 'Content-Type': type } });
    expect(response.status, response.text).toBe(201);
    expect(response.json).toMatchObject(body);
  }
});

describe('Our own failure', () => {
  it('our own failure returns 500 with a message that says nothing of our insides', async () => {
    captureConsole();
    await withoutTable('products', async () => {
      const list = await call('GET', products.path);
      expectError(list, 500, 'Internal server error', readSet('PRODUCTS'));
      const body = { name: 'secret name', productType: 'OTHER' };
      const create = await call('POST', products.path, { body });
      expectError(create, 500, 'Internal server error', writeSet('PRODUCTS'));
    });
  });

  it('our own failure is logged without keys, tokens and SQL', async () => {
    const { licenseKey, productId } = await createLicense();
    const { token } = await createToken(['ALL_READ_WRITE']);
    const consoleLines = captureConsole();
    await withoutTable('bindings', async () => {
      const path = `${licenses.path}/by-license-key/${licenseKey}`;
      const responses = [
        await call('GET', path, { token }),
        // A new address: only the database can tell whether it still fits.
        await call('POST', '/api/v2/validate', {
          token,
          body: { licenseKey, productId, ip: '192.0.2.77' },
        }),
      ];
      expect(responses.map(({ status }) => status)).toEqual([500, 503]);
      for (const { text } of [...responses, { text: consoleLines.join() }]) {
        expect(text).not.toContain(licenseKey);
        expect(text).not.toContain(token);
        expect(text).not.toMatch(/select|insert|bindings/i);
      }
    });
    expect(consoleLines.join()).toContain('A request failed');
  });
});

it('no error message repeats a license key or a token', async () => {
  const { id, licenseKey, productId } = await createLicense();
  const path = `${licenses.path}/${id}`;
  const otherKey = 'AAAA-AAAA-AAAA-AAAA-AAAA';
  const secret = 'licet_a-token-that-is-unknown';
  const responses = [
    await withoutChange(path, () => call('PUT', path, { body: { licenseKey: otherKey } })),
    await call('POST', licenses.path, { body: { productId, licenseKey: otherKey } }),
    await call('GET', `${licenses.path}/by-license-key/${otherKey}`),
    await call('GET', path, { token: secret }),
    await call('POST', '/api/v2/validate', { body: { licenseKey: otherKey, productId } }),
  ];
  for (const { status, text } of responses) {
    expect(status).toBeGreaterThanOrEqual(400);
    for (const hidden of [licenseKey, otherKey, secret]) expect(text).not.toContain(hidden);
  }
});
