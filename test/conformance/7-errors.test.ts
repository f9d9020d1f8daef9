import { expect, it } from 'vitest';
import { call, create, expectError, restart } from '../support/client.ts';
import { captureConsole } from '../support/console.ts';
import { readSet, writeSet } from '../support/endpoints.ts';
import { withoutTable } from '../support/faults.ts';
import { licenses, markets, products, withoutChange } from '../support/resources.ts';

it('accepted_intents are those of the endpoint whatever the error [3.1.2, interface 7]', async () => {
  const { id } = await create.product();
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
  ['that is a form', 'name=N&productType=OTHER', 'Body is a form: send JSON'],
  ['of parts', '--abc\r\nContent-Disposition: form-data', 'Body is a form: send JSON'],
  ['that is empty', ' \r\n', 'Body is empty, JSON is required'],
])(
  'a body %s returns 400 with a message about the body [3.1.3, 3.1.4]',
  async (_, body, message) => {
    expectError(await call('POST', products.path, { body }), 400, message);
  },
);

it('a body in another encoding than UTF-8 returns 400, because letters would be lost [3.1.4]', async () => {
  const latin1 = Uint8Array.from('{"name":"Gr\u00f6\u00dfe","productType":"OTHER"}', (one) =>
    one.charCodeAt(0),
  );
  for (const bytes of [latin1, Uint8Array.of(0xff, 0xfe, 0x7b, 0, 0x7d, 0)]) {
    const body = new Response(bytes).body ?? undefined;
    expectError(await call('POST', products.path, { body }), 400, 'Body must be in UTF-8');
  }
});

it.each([
  ['POST', licenses.path, { email: 'ada@shop.example' }, 'email', 'customerEmail'],
  ['POST', licenses.path, { maxIps: 1 }, 'maxIps', 'maxIPs'],
  ['POST', licenses.path, { license_type: 'PERMANENT' }, 'license_type', 'licenseType'],
  ['POST', licenses.path, { expiryDat: '2035-12-31' }, 'expiryDat', 'expiryDate'],
  ['POST', licenses.path, { licenseKeys: 'A' }, 'licenseKeys', undefined],
  ['POST', licenses.path, { e: 1 }, 'e', undefined],
  ['POST', licenses.path, { colour: 'red' }, 'colour', undefined],
  ['POST', licenses.path, { ['maxIPs'.padEnd(41, '_')]: 1 }, 'maxIPs___', undefined],
] as const)(
  '%s %s with %j names the field that is meant [3.5]',
  async (...[method, path, body, sent, meant]) => {
    const message = new RegExp(
      `(^|; )${sent}_* is not a known field${meant === undefined ? '(;|$)' : ` \\(did you mean ${meant}\\?\\)`}`,
    );
    expectError(await call(method, path, { body }), 400, message);
  },
);

it('an unknown parameter names the one that is meant [3.5]', async () => {
  for (const [path, sent, meant] of [
    [products.path, 'limits', 'limit'],
    [licenses.path, 'email', 'q'],
  ]) {
    const message = `${sent} is not a known query parameter (did you mean ${meant}?)`;
    expectError(await call('GET', `${path}?${sent}=1`), 400, message);
  }
});

it.each([
  ['licenseKey', 'A-1', ': the service makes it. Keys of your own come by the import'],
  ['customer', { email: 'ada@shop.example' }, ': name the owner by customerEmail or customerId'],
])(
  '%s must not be sent, and the message says how to set it [3.5]',
  async (field, value, instead) => {
    const body = { ...(await licenses.fullBody()), [field]: value };
    const response = await call('POST', licenses.path, { body });
    expectError(response, 400, `${field} must not be sent${instead}`);
  },
);

it('the first 50 of thousands of unknown fields are named [3.5]', async () => {
  const fields = Array.from({ length: 60_000 }, (_, index) => [`maxIPs${index}`, 1]);
  const { text } = await call('POST', products.path, { body: Object.fromEntries(fields) });
  expect(text.match(/is not a known field/g)).toHaveLength(50);
});

const POST = ['POST', products.path] as const;
const permanent = { productId: 1, licenseType: 'PERMANENT' };
const sold = (fields: object) => ({
  ...{ kind: 'tebex', name: 'N' },
  products: [{ item: '1', productId: 1, ...fields }],
});
const named = (fields: object) => ({ body: { name: 'N', productType: 'OTHER', ...fields } });

it.each<[status: number, code: string, field: string | null, Parameters<typeof call>]>([
  [400, 'INVALID_JSON', null, [...POST, { body: '{' }]],
  [400, 'MISSING_FIELD', 'name', [...POST, { body: { productType: 'OTHER' } }]],
  [400, 'MISSING_FIELD', null, [...POST, { body: {} }]],
  [400, 'UNKNOWN_FIELD', 'maxIp', [...POST, named({ maxIp: 1 })]],
  [400, 'UNKNOWN_FIELD', null, [...POST, named({ 'a name\r\nthat is no header: ü': 1 })]],
  [400, 'INVALID_VALUE', 'defaultMaxIPs', [...POST, named({ defaultMaxIPs: -2 })]],
  [400, 'INVALID_VALUE', null, [...POST, named({ defaultMaxIPs: -2, defaultMaxHWIDs: -2 })]],
  [
    400,
    'INVALID_VALUE',
    'ips',
    ['POST', licenses.path, { body: { ...permanent, ips: ['x', 'y'] } }],
  ],
  [400, 'INVALID_VALUE', 'products', ['POST', markets.path, { body: sold({ productId: 0 }) }]],
  [400, 'UNKNOWN_FIELD', 'products', ['POST', markets.path, { body: sold({ colour: 1 }) }]],
  [400, 'INVALID_VALUE', 'limit', ['GET', `${products.path}?limit=0`]],
  [400, 'UNKNOWN_FIELD', 'limits', ['GET', `${products.path}?limits=1`]],
  [401, 'UNAUTHORIZED', null, ['GET', products.path, { token: 'unknown' }]],
  [404, 'NOT_FOUND', null, ['GET', `${products.path}/999999`]],
  [404, 'NOT_FOUND', null, ['GET', '/api/v2/nothing']],
  [405, 'METHOD_NOT_ALLOWED', null, ['PATCH', products.path]],
  [413, 'BODY_TOO_LARGE', null, [...POST, { body: ' '.repeat(1_048_577) }]],
  [
    415,
    'UNSUPPORTED_ENCODING',
    null,
    [...POST, { body: '{}', headers: { 'Content-Encoding': 'br' } }],
  ],
])(
  '%i %s says the same as the message, with the field %s [3.1.7]',
  async (status, code, field, sent) => {
    const response = await withoutChange(products.path, () => call(...sent));
    expectError(response, status, /./);
    expect(response.headers.get('Error-Code')).toBe(code);
    expect(response.headers.get('Error-Field')).toBe(field);
  },
);

it('an error of the rules for several fields has the field of its message [3.1.7]', async () => {
  const { id: productId } = await create.product();
  for (const [fields, code, field] of [
    [{ licenseType: 'TEMPORARY' }, 'MISSING_FIELD', 'expiryDate'],
    [{ expiryDate: '2035-01-01' }, 'INVALID_VALUE', 'expiryDate'],
    [{ productId: 999_999 }, 'INVALID_VALUE', 'productId'],
    [{ maxIPs: 1, ips: ['192.0.2.1', '192.0.2.2'] }, 'INVALID_VALUE', 'ips'],
  ] as const) {
    const body = { productId, licenseType: 'PERMANENT', ...fields };
    const { headers, text } = await call('POST', licenses.path, { body });
    expect([headers.get('Error-Code'), headers.get('Error-Field')], text).toEqual([code, field]);
  }
});

it('a token without the intent, a conflict and an old If-Match have their codes [3.1.7]', async () => {
  const { token } = await create.token(['PRODUCTS_READ']);
  const { id, productId } = await create.license();
  const path = `${licenses.path}/${id}`;
  const codes = [
    await call('GET', path, { token }),
    await call('DELETE', `${products.path}/${productId}`),
    await call('PUT', path, { body: {}, headers: { 'If-Match': '"0"' } }),
  ].map(({ headers }) => headers.get('Error-Code'));
  expect(codes).toEqual(['FORBIDDEN', 'CONFLICT', 'PRECONDITION_FAILED']);
});

it('a validation that decides nothing has a code, and a refusal has none [3.1.7, 3.1.8]', async () => {
  for (const path of ['/api/v1/validate', '/api/v2/validate']) {
    for (const [code, body] of [
      ['INVALID_REQUEST', { productId: 1 }],
      ['BODY_TOO_LARGE', ' '.repeat(16_385)],
      [null, { productId: 1, licenseKey: 'UNKNOWN' }],
    ] as const) {
      const { headers, json } = await call('POST', path, { body });
      expect([headers.get('Error-Code'), json]).toEqual([
        code,
        { valid: false, message: expect.any(String) },
      ]);
    }
  }
});

it('JSON of v2 ends with a line feed, and that of a validation does not [3.24]', async () => {
  const { id, licenseKey, productId } = await create.license();
  const path = `${licenses.path}/${id}`;
  for (const response of [
    await call('GET', path),
    await call('GET', licenses.path),
    await call('GET', `${licenses.path}?limit=1`),
    await call('PUT', path, { body: {} }),
    await call('GET', path, { token: 'unknown' }),
    await call('GET', '/.well-known/jwks.json'),
  ]) {
    expect(response.text).toMatch(/^[^\n]*[}\]]\n$/);
  }
  const validated = await call('POST', '/api/v2/validate', { body: { licenseKey, productId } });
  expect(validated.text).toMatch(/}$/);
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

it('our own failure returns 500 with a message that says nothing of our insides [3.1.1, 3.1.3]', async () => {
  captureConsole();
  await withoutTable('products', async () => {
    const list = await call('GET', products.path);
    expectError(list, 500, 'Internal server error', readSet('PRODUCTS'));
    const body = { name: 'secret name', productType: 'OTHER' };
    const create = await call('POST', products.path, { body });
    expectError(create, 500, 'Internal server error', writeSet('PRODUCTS'));
  });
});

it('our own failure is logged without keys, tokens and SQL [3.1.9]', async () => {
  const { licenseKey, productId } = await create.license();
  const { token } = await create.token(['ALL_READ_WRITE']);
  restart();
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
  expect(consoleLines.join()).toContain('Requests failed: 1');
});

it('no error message repeats a license key or a token [3.1.9]', async () => {
  const { id, licenseKey, productId } = await create.license();
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
