import { expect, it } from 'vitest';
import { call, createLicense, createProduct, createToken, validate } from '../support/client';

it.each(['products', 'licenses', 'blacklists', 'requests', 'customers', 'ping', 'healthy'])(
  'v2 has /api/v2/%s',
  async (path) => {
    expect((await call('GET', `/api/v2/${path}`)).status).toBe(200);
  },
);

it.each(['products', 'licenses', 'blacklists', 'requests', 'customers', 'ping', 'healthy', ''])(
  'v1 has a single endpoint: /api/v1/%s answers 404',
  async (path) => {
    expect((await call('GET', `/api/v1/${path}`)).status).toBe(404);
    expect((await call('POST', `/api/v1/${path}`, { body: {} })).status).toBe(404);
  },
);

it.each(['/api/v3/validate', '/api/validate', '/validate', '/v2/products', '/'])(
  'there is no %s',
  async (path) => {
    const answer = await call('POST', path, { body: {} });
    expect(answer.status).toBe(404);
    expect(answer.json).toEqual({ message: 'Path not found', accepted_intents: [] });
  },
);

it('v2 validate answers what v1 answers to the same request', async () => {
  const { id: productId } = await createProduct({ defaultMaxIPs: 1, defaultMaxHWIDs: -1 });
  const { licenseKey } = await createLicense({
    productId,
    licenseType: 'TEMPORARY',
    expiryDate: '2099-12-31T23:59:59Z',
  });
  const { token } = await createToken(['LICENSE_VALIDATE']);
  const asked = { licenseKey, productId, ip: '203.0.113.1', osVersion: '6.8', hwid: 'HW-1' };
  for (const [body, status] of [
    [asked, 200],
    [{ ...asked, ip: '203.0.113.2' }, 400],
    [{ ...asked, licenseKey: 'unknown' }, 400],
    [{ productId }, 400],
    ['{', 400],
  ] as const) {
    const v1 = await validate(body);
    const v2 = await call('POST', '/api/v2/validate', { body, token });
    expect([v1.status, v2.status]).toEqual([status, status]);
    expect(Object.keys(Object(v2.json))).toEqual(Object.keys(Object(v1.json)));
    expect({ ...Object(v2.json), totalRequests: 0 }).toEqual({
      ...Object(v1.json),
      totalRequests: 0,
    });
  }
});
