import { env } from 'cloudflare:workers';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { ApiIntent } from '../../src/enums';
import {
  call,
  createLicense,
  createProduct,
  createToken,
  expectError,
  validate,
} from '../support/client';
import { idsOf, licenses, products, withoutChange } from '../support/resources';

const MIB = 1024 * 1024;
const ALL_INTENTS: ApiIntent[] = [
  'PRODUCTS_READ',
  'PRODUCTS_READ_WRITE',
  'LICENSE_VALIDATE',
  'LICENSES_READ',
  'LICENSES_READ_WRITE',
  'BLACKLISTS_READ',
  'BLACKLISTS_READ_WRITE',
  'REQUESTS_READ',
  'CUSTOMERS_READ',
  'ALL_READ',
  'ALL_READ_WRITE',
];
const readSet = (resource: 'PRODUCTS' | 'LICENSES' | 'BLACKLISTS'): ApiIntent[] => [
  `${resource}_READ`,
  `${resource}_READ_WRITE`,
  'ALL_READ',
  'ALL_READ_WRITE',
];
const writeSet = (resource: 'PRODUCTS' | 'LICENSES' | 'BLACKLISTS'): ApiIntent[] => [
  `${resource}_READ_WRITE`,
  'ALL_READ_WRITE',
];

/** Every endpoint of sections 4.1 to 4.6 and the extensions, with the intents of its row. */
const ENDPOINTS: [method: string, path: string, intents: ApiIntent[]][] = [
  ['GET', '/ping', ALL_INTENTS],
  ['GET', '/products', readSet('PRODUCTS')],
  ['GET', '/products/1', readSet('PRODUCTS')],
  ['POST', '/products', writeSet('PRODUCTS')],
  ['PUT', '/products/1', writeSet('PRODUCTS')],
  ['DELETE', '/products/1', writeSet('PRODUCTS')],
  ['GET', '/licenses', readSet('LICENSES')],
  ['GET', '/licenses/1', readSet('LICENSES')],
  ['POST', '/licenses', writeSet('LICENSES')],
  ['GET', '/licenses/by-license-key/K', readSet('LICENSES')],
  ['GET', '/licenses/by-customer-email/a@example.com', readSet('LICENSES')],
  ['GET', '/licenses/by-platform/CHAT/1', readSet('LICENSES')],
  ['GET', '/licenses/by-customer-id/1', readSet('LICENSES')],
  ['GET', '/licenses/by-product-id/1', readSet('LICENSES')],
  ['GET', '/licenses/by-chat-id/1', readSet('LICENSES')],
  ['PUT', '/licenses/1', writeSet('LICENSES')],
  ['DELETE', '/licenses/1', writeSet('LICENSES')],
  ['GET', '/blacklists', readSet('BLACKLISTS')],
  ['GET', '/blacklists/1', readSet('BLACKLISTS')],
  ['POST', '/blacklists', writeSet('BLACKLISTS')],
  ['PUT', '/blacklists/1', writeSet('BLACKLISTS')],
  ['DELETE', '/blacklists/1', writeSet('BLACKLISTS')],
  ['GET', '/requests', ['REQUESTS_READ', 'ALL_READ', 'ALL_READ_WRITE']],
  ['GET', '/requests/1', ['REQUESTS_READ', 'ALL_READ', 'ALL_READ_WRITE']],
  ['GET', '/customers', ['CUSTOMERS_READ', 'ALL_READ', 'ALL_READ_WRITE']],
  ['GET', '/customers/1', ['CUSTOMERS_READ', 'ALL_READ', 'ALL_READ_WRITE']],
  ['PUT', '/customers/1', ['ALL_READ_WRITE']],
  ['POST', '/validate', ['LICENSE_VALIDATE', 'ALL_READ_WRITE']],
  ['GET', '/tokens', ['ALL_READ_WRITE']],
  ['GET', '/tokens/1', ['ALL_READ_WRITE']],
  ['POST', '/tokens', ['ALL_READ_WRITE']],
  ['PUT', '/tokens/1', ['ALL_READ_WRITE']],
  ['DELETE', '/tokens/1', ['ALL_READ_WRITE']],
];

afterEach(() => {
  vi.restoreAllMocks();
});

describe('accepted_intents', () => {
  it.each(ENDPOINTS)(
    '%s %s lists its intents in the decided order',
    async (method, path, intents) => {
      const answer = await call(method, `/api/v2${path}`, { token: null });
      expectError(answer, 401, 'Token is missing, unknown, expired or revoked', intents);
    },
  );

  it.each(
    ENDPOINTS.flatMap(([method, path, accepted]) =>
      ALL_INTENTS.filter((intent) => !accepted.includes(intent))
        .slice(0, 1)
        .map((lacking): [string, string, ApiIntent, ApiIntent[]] => [
          method,
          path,
          lacking,
          accepted,
        ]),
    ),
  )('%s %s answers 403 to a live token of %s alone', async (method, path, intent, accepted) => {
    const { token } = await createToken([intent]);
    const answer = await call(method, `/api/v2${path}`, { token });
    expectError(answer, 403, 'Token lacks a required intent', accepted);
  });

  it('are those of the endpoint whatever the error', async () => {
    const { id } = await createProduct();
    const body = '{';
    const errors: [status: number, method: string, path: string, body?: string][] = [
      [400, 'POST', products.path, body],
      [400, 'PUT', `${products.path}/${id}`, body],
      [404, 'PUT', `${products.path}/999999`, '{}'],
      [404, 'DELETE', `${products.path}/999999`],
    ];
    for (const [status, method, path, sent] of errors) {
      const answer = await call(method, path, { body: sent });
      expectError(answer, status, /./, writeSet('PRODUCTS'));
    }
  });
});

describe('Every error is JSON of exactly message and accepted_intents', () => {
  it.each<[number, string, string, string, string | undefined, RegExp]>([
    [400, 'JSON that is none', 'POST', '/products', '{"name":', /JSON/],
    [400, 'a body that is no object', 'POST', '/products', '[]', /^Body must be an object$/],
    [400, 'a bad id', 'GET', '/products/x', undefined, /^id must be/],
    [400, 'a bad query', 'GET', '/products?limit=x', undefined, /^limit must be/],
    [404, 'an unknown id', 'GET', '/products/999999', undefined, /^Product not found$/],
    [404, 'an unknown path', 'GET', '/nothing/here', undefined, /^Path not found$/],
    [404, 'the root of v2', 'GET', '', undefined, /^Path not found$/],
    [405, 'a wrong method', 'PATCH', '/products', '{}', /^Method not allowed$/],
    [413, 'a body over 1 MiB', 'POST', '/products', 'x'.repeat(MIB + 1), /^Body must be at most/],
  ])('%i for %s', async (status, _, method, path, body, message) => {
    const answer = await call(method, `/api/v2${path}`, { body });
    expectError(answer, status, message);
    expect(answer.headers.get('Content-Type')).toMatch(/^application\/json/);
  });

  it('an unknown path has no intents', async () => {
    expectError(await call('GET', '/api/v2/nothing'), 404, 'Path not found', []);
    expectError(await call('GET', '/api/v2/nothing', { token: null }), 401, /^Token/, []);
  });

  it('a body of just 1 MiB is read', async () => {
    const body = `{"name":"${'n'.repeat(MIB - 11)}"}`;
    expect(body).toHaveLength(MIB);
    expectError(await call('POST', products.path, { body }), 400, /^name must be at most 255/);
  });
});

it.each([
  ['PATCH', '/products', 'GET, POST'],
  ['DELETE', '/products', 'GET, POST'],
  ['POST', '/products/1', 'GET, PUT, DELETE'],
  ['PUT', '/licenses', 'GET, POST'],
  ['PATCH', '/licenses/1', 'GET, PUT, DELETE'],
  ['POST', '/licenses/by-chat-id/5', 'GET'],
  ['DELETE', '/licenses/by-license-key/K', 'GET'],
  ['PATCH', '/blacklists/1', 'GET, PUT, DELETE'],
  ['POST', '/requests', 'GET'],
  ['DELETE', '/customers/1', 'GET, PUT'],
  ['GET', '/validate', 'POST'],
  ['PUT', '/tokens', 'GET, POST'],
])('%s %s answers 405 with Allow: %s', async (method, path, allow) => {
  const answer = await call(method, `/api/v2${path}`);
  expectError(answer, 405, 'Method not allowed');
  expect(answer.headers.get('Allow')).toBe(allow);
});

describe('The token is checked before anything else', () => {
  it.each([
    ['an id that exists', 'GET', '/products/1', undefined],
    ['an id that does not', 'GET', '/products/999999', undefined],
    ['a bad id', 'GET', '/products/x', undefined],
    ['a path that does not exist', 'GET', '/nothing', undefined],
    ['a wrong method', 'PATCH', '/products', undefined],
    ['a wrong method on healthy', 'DELETE', '/healthy', undefined],
    ['a bad body', 'POST', '/products', '{'],
    ['a body that is too large', 'POST', '/products', 'x'.repeat(MIB + 1)],
    ['a bad validation', 'POST', '/validate', '{'],
    ['a large validation', 'POST', '/validate', 'x'.repeat(MIB)],
  ])('without one, %s answers 401 and no more', async (_, method, path, body) => {
    for (const token of [null, 'no-such-token']) {
      const answer = await call(method, `/api/v2${path}`, { token, body });
      expectError(answer, 401, 'Token is missing, unknown, expired or revoked');
      expect(answer.headers.has('Allow')).toBe(false);
    }
  });

  it('and so is its intent: ids, bodies and keys that do not fit answer 403', async () => {
    const { token } = await createToken(['CUSTOMERS_READ']);
    for (const [method, path, body] of [
      ['GET', '/products/999999', undefined],
      ['GET', '/products/x', undefined],
      ['POST', '/products', '{'],
      ['POST', '/products', 'x'.repeat(MIB)],
      ['GET', '/licenses/by-license-key/none', undefined],
      ['GET', '/licenses?limit=x', undefined],
    ] as const) {
      const answer = await call(method, `/api/v2${path}`, { token, body });
      expectError(answer, 403, 'Token lacks a required intent');
    }
  });
});

it('GET by-license-key answers 404 when no license has that key', async () => {
  const answer = await call('GET', `${licenses.path}/by-license-key/0000-0000-0000-0000-0000`);
  expectError(answer, 404, 'License not found', readSet('LICENSES'));
});

it('a v1 validation that is invalid has valid false, a message and no other field', async () => {
  const { id: productId } = await createProduct();
  const answer = await validate({ licenseKey: 'no-such-key', productId });
  expect(answer.status).toBe(400);
  expect(answer.json).toEqual({ valid: false, message: 'License not found or invalid' });
});

it('a body is JSON whatever its content type says', async () => {
  for (const type of [
    'text/plain',
    'application/x-www-form-urlencoded',
    'application/json; utf-8',
  ]) {
    const body = { name: type, productType: 'OTHER' };
    const answer = await call('POST', products.path, { body, headers: { 'Content-Type': type } });
    expect(answer.status, answer.text).toBe(201);
    expect(answer.json).toMatchObject(body);
  }
});

describe('Our own failure', () => {
  /** Takes a table away from the service while something runs. */
  async function without(table: string, run: () => Promise<void>): Promise<void> {
    await env.DB.prepare(`alter table ${table} rename to hidden_${table}`).run();
    try {
      await run();
    } finally {
      await env.DB.prepare(`alter table hidden_${table} rename to ${table}`).run();
    }
  }

  function captureLogs(): () => string {
    const methods = ['error', 'warn', 'info', 'log', 'debug'] as const;
    const spies = methods.map((method) => vi.spyOn(console, method).mockReturnValue(undefined));
    return () => JSON.stringify(spies.flatMap((spy) => spy.mock.calls));
  }

  it('answers 500 with a message that says nothing of our insides', async () => {
    captureLogs();
    await without('products', async () => {
      const list = await call('GET', products.path);
      expectError(list, 500, 'Internal server error', readSet('PRODUCTS'));
      const body = { name: 'secret name', productType: 'OTHER' };
      const create = await call('POST', products.path, { body });
      expectError(create, 500, 'Internal server error', writeSet('PRODUCTS'));
    });
  });

  it('is logged without keys, tokens and SQL', async () => {
    const { id: productId } = await createProduct();
    const { licenseKey } = await createLicense({ productId });
    const { token } = await createToken(['ALL_READ_WRITE']);
    const logs = captureLogs();
    await without('bindings', async () => {
      const path = `${licenses.path}/by-license-key/${licenseKey}`;
      const answers = [
        await call('GET', path, { token }),
        await call('POST', '/api/v2/validate', { token, body: { licenseKey, productId } }),
      ];
      expect(answers.map(({ status }) => status)).toEqual([500, 503]);
      for (const { text } of [...answers, { text: logs() }]) {
        expect(text).not.toContain(licenseKey);
        expect(text).not.toContain(token);
        expect(text).not.toMatch(/select|insert|bindings/i);
      }
    });
    expect(logs()).toContain('A request failed');
  });
});

it('no error message repeats a license key or a token', async () => {
  const { id: productId } = await createProduct();
  const { id, licenseKey } = await createLicense({ productId });
  const path = `${licenses.path}/${id}`;
  const otherKey = 'AAAA-AAAA-AAAA-AAAA-AAAA';
  const secret = 'licet_a-token-that-is-unknown';
  const answers = [
    await withoutChange(path, () => call('PUT', path, { body: { licenseKey: otherKey } })),
    await call('POST', licenses.path, { body: { productId, licenseKey: otherKey } }),
    await call('GET', `${licenses.path}/by-license-key/${otherKey}`),
    await call('GET', path, { token: secret }),
    await call('POST', '/api/v2/validate', { body: { licenseKey: otherKey, productId } }),
  ];
  for (const { status, text } of answers) {
    expect(status).toBeGreaterThanOrEqual(400);
    for (const hidden of [licenseKey, otherKey, secret]) expect(text).not.toContain(hidden);
  }
});

it('a refused request changes nothing', async () => {
  const before = await idsOf(products.path);
  const body = { name: 'Never', productType: 'OTHER' };
  const { token } = await createToken(['PRODUCTS_READ']);
  expect((await call('POST', products.path, { body, token: null })).status).toBe(401);
  expect((await call('POST', products.path, { body, token })).status).toBe(403);
  expect(await idsOf(products.path)).toEqual(before);
});
