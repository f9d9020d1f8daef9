import { beforeAll, expect, it } from 'vitest';
import { newIsolate } from '../support/app.ts';
import { create, get, historyOf, type Product, validate } from '../support/client.ts';

/** Section 4.7 and decisions 1.1 and 1.2: the requests of programs, and the responses. */

let product: Product;

beforeAll(async () => {
  product = await create.product();
});

const CONNECTING = '192.0.2.10';

/** Validates a new license, with more or other fields than the required ones. */
async function ask(more: object = {}, options: Parameters<typeof validate>[1] = {}) {
  const { id, licenseKey, productId } = await create.license({ productId: product.id });
  const response = await validate(
    { licenseKey, productId, ...more },
    { connectingAddress: CONNECTING, ...options },
  );
  return {
    response,
    license: () => get.license(id),
    record: async () => (await historyOf({ licenseKey }, 1))[0],
  };
}

/** The same with the body's text as a function of the license. */
async function askWith(
  write: (licenseKey: string) => string,
  headers: Record<string, string> = {},
) {
  const { licenseKey } = await create.license({ productId: product.id });
  return validate(write(licenseKey), { headers });
}

const OPTIONAL = [
  'productVersion',
  'hwid',
  'ip',
  'operatingSystem',
  'osVersion',
  'osArchitecture',
  'javaVersion',
  'macAddress',
];

const refusal = (message: string) => ({ valid: false, message });

it('the response to a valid request has exactly the eight fields [1.1.11, 1.1.15, interface 4.7]', async () => {
  const license = await create.license({
    productId: product.id,
    licenseType: 'TEMPORARY',
    expiryDate: '2035-12-31T23:59:59.999+00:00',
    maxIPs: 3,
    maxHWIDs: -1,
  });
  const response = await validate({ licenseKey: license.licenseKey, productId: product.id });
  expect(response.status).toBe(200);
  expect(response.json).toStrictEqual({
    valid: true,
    message: 'License is valid',
    hardwareLocked: false,
    iPLocked: true,
    expiryDate: '2035-12-31T23:59:59',
    maxIPs: 3,
    maxHWIDs: -1,
    totalRequests: 1,
  });
});

it.each([
  { maxIPs: -1, maxHWIDs: -1, iPLocked: false, hardwareLocked: false },
  { maxIPs: -1, maxHWIDs: 0, iPLocked: false, hardwareLocked: true },
  { maxIPs: 0, maxHWIDs: -1, iPLocked: true, hardwareLocked: false },
  { maxIPs: 1, maxHWIDs: 2, iPLocked: true, hardwareLocked: true },
])(
  'the response for limits $maxIPs and $maxHWIDs says what is locked [1.1.13, 1.1.14, interface 4.7]',
  async (limits) => {
    const { maxIPs, maxHWIDs } = limits;
    const { licenseKey } = await create.license({ productId: product.id, maxIPs, maxHWIDs });
    // Without an address and a hardware ID no limit is in the way.
    const response = await validate({ licenseKey, productId: product.id });
    expect(response.json).toMatchObject(limits);
  },
);

it('the response has the expiry in UTC, and null for a license that never expires [1.1.12, interface 4.7]', async () => {
  const temporary = await create.license({
    productId: product.id,
    licenseType: 'TEMPORARY',
    expiryDate: '2036-01-01T01:30:00+02:00',
  });
  const response = await validate({ licenseKey: temporary.licenseKey, productId: product.id });
  expect(response.json).toMatchObject({ expiryDate: '2035-12-31T23:30:00' });
  expect((await ask()).response.json).toMatchObject({ expiryDate: null });
});

it.each([
  [{ licenseKey: undefined }, 'licenseKey is required'],
  [{ licenseKey: null }, 'licenseKey is required'],
  [{ licenseKey: ' \r\n\t' }, 'licenseKey is required'],
  [{ licenseKey: true }, 'licenseKey must be a string'],
  [{ productId: undefined }, 'productId is required'],
  [{ productId: null }, 'productId is required'],
  [{ productId: 'abc' }, 'productId must be an integer'],
  [{ productId: '0x25A' }, 'productId must be an integer'],
  [{ productId: 602.5 }, 'productId must be an integer'],
  [{ productId: 2 ** 53 }, 'productId must be an integer'],
  [{ productId: true }, 'productId must be an integer'],
])('a body with %j is rejected: %s [1.3, interface 4.7]', async (fields, message) => {
  const { response } = await ask(fields);
  expect(response.status).toBe(400);
  expect(response.json).toStrictEqual(refusal(message));
});

it.each([
  '',
  '[]',
  '"KEY"',
  '{',
  '{"licenseKey":"KEY",}',
  'licenseKey=KEY&productId=602',
  '[{"licenseKey":"KEY","productId":602}]',
])('a body that is no object is rejected: %j [1.3]', async (body) => {
  const response = await validate(body);
  expect(response.status).toBe(400);
  expect(response.json).toStrictEqual(refusal('Body must be a JSON object'));
});

it.each([
  ['a number', (id: number) => `${id}`],
  ['a number with a fraction of nothing', (id: number) => `${id}.0`],
  ['text', (id: number) => `"${id}"`],
  ['text with a fraction of nothing', (id: number) => `"${id}.0"`],
])('productId may be %s [1.2.8]', async (_form, write) => {
  const response = await askWith(
    (licenseKey) => `{"licenseKey":"${licenseKey}","productId":${write(product.id)}}`,
  );
  expect(response.status).toBe(200);
});

it.each(['7', 'plain', 'a key with blanks', 'ключ', '🔑', "'; --", 'x'.repeat(300), 12_345])(
  'no format of a license key is checked: %j is merely unknown [1.2.9]',
  async (licenseKey) => {
    const response = await validate({ licenseKey, productId: product.id });
    expect(response.json).toStrictEqual(refusal('License not found or invalid'));
  },
);

it.each([
  'application/json',
  'application/json; charset=utf-8',
  'text/plain',
  'application/x-www-form-urlencoded',
  'multipart/form-data; boundary=x',
  'nonsense',
  '',
])('the body is JSON with Content-Type "%s" [1.1.9]', async (contentType) => {
  const { response } = await ask({}, { headers: { 'Content-Type': contentType } });
  expect(response.status).toBe(200);
});

it('the body may begin with a byte-order mark and have blanks around [1.1.10]', async () => {
  const response = await askWith(
    (licenseKey) => `\uFEFF \n${JSON.stringify({ licenseKey, productId: product.id })}\r\n`,
  );
  expect(response.status).toBe(200);
});

it.each([
  ['[', ']'],
  ['{"a":[', ']}'],
])('a body with more than 1,000 brackets is rejected: %s [1.2.6]', async (open, close) => {
  const askWithNested = (depth: number) =>
    askWith(
      (licenseKey) =>
        `{"licenseKey":"${licenseKey}","productId":${product.id},"nested":${open.repeat(depth)}${close.repeat(depth)}}`,
    );
  expect((await askWithNested(499)).status).toBe(200);
  const response = await askWithNested(1_000);
  expect(response.status).toBe(400);
  expect(response.json).toStrictEqual(refusal('Body must be a JSON object'));
});

it('a text field may have a number in a body with thousands of other numbers', async () => {
  const { id, licenseKey } = await create.license({ productId: product.id });
  const players = Array.from({ length: 2_000 }, (_, index) => index);
  const response = await validate({ licenseKey, productId: product.id, hwid: 4711, players });
  expect(response.status).toBe(200);
  expect((await get.license(id)).hwids).toEqual(['4711']);
});

it('the body may have fields that we do not know [1.2.4]', async () => {
  const { response } = await ask({
    pluginName: 'x',
    nested: { licenseKey: [1] },
    LICENSEKEY: 'no',
  });
  expect(response.status).toBe(200);
});

it('the body may have every optional field as null [1.2.2]', async () => {
  const { response } = await ask(Object.fromEntries(OPTIONAL.map((field) => [field, null])));
  expect(response.status).toBe(200);
});

it.each([
  ['12345678901234567891', 'longer than a number can be exact'],
  ['1.10', 'with a last zero'],
  ['-0', 'a zero below zero'],
])('a number in a text field is the text that was written: %s, %s [1.2.3]', async (written) => {
  const { id, licenseKey } = await create.license({ productId: product.id });
  const response = await validate(
    `{"licenseKey":"${licenseKey}","productId":${product.id},
      "hwid":${written},"productVersion":${written},"nested":{"number":1}}`,
  );
  expect(response.status).toBe(200);
  expect((await get.license(id)).hwids).toEqual([written]);
  const [record] = await historyOf({ licenseKey }, 1);
  expect(record).toMatchObject({ hwid: written, productVersion: written });
});

it('a license key is logged in 255 characters, and without half of a pair [1.2.5]', async () => {
  const licenseKey = `${'x'.repeat(254)}😀`;
  await validate({ licenseKey, productId: product.id }, { connectingAddress: '192.0.2.11' });
  const [record] = await historyOf({ ip: '192.0.2.11' }, 1);
  expect(record?.licenseKey).toBe(`${'x'.repeat(254)}\uFFFD`);
});

/** Fields that are only logged, and their names in the history. */
const LOGGED = [
  { field: 'productVersion', column: 'productVersion' },
  { field: 'operatingSystem', column: 'operatingSystem' },
  { field: 'osVersion', column: 'operatingSystemVersion' },
  { field: 'operatingSystemVersion', column: 'operatingSystemVersion' },
  { field: 'osArchitecture', column: 'operatingSystemArchitecture' },
  { field: 'operatingSystemArchitecture', column: 'operatingSystemArchitecture' },
  { field: 'javaVersion', column: 'javaVersion' },
  { field: 'macAddress', column: 'macAddress' },
] as const;

it.each(LOGGED)(
  '$field is logged as $column, cut at 64 characters [1.2.1, 1.2.5, interface 4.7]',
  async ({ field, column }) => {
    const { response, record } = await ask({ [field]: `${'x'.repeat(63)}yz` });
    expect(response.status).toBe(200);
    expect(await record()).toMatchObject({ [column]: `${'x'.repeat(63)}y` });
  },
);

it.each([
  ['null', null],
  ['', null],
  ['  ', null],
  [null, null],
  [17, '17'],
  [17.5, '17.5'],
  ['a\0b\uD800', 'ab\uFFFD'],
  [true, null],
  [['a'], null],
  [{}, null],
])('the value %j is logged as %j [1.2.2, 1.2.3]', async (value, logged) => {
  const { response, record } = await ask({ javaVersion: value });
  expect(response.status).toBe(200);
  expect((await record())?.javaVersion).toBe(logged);
});

it.each([
  { long: 'operatingSystemVersion', short: 'osVersion' },
  { long: 'operatingSystemArchitecture', short: 'osArchitecture' },
] as const)('$long wins over $short, unless it is absent [1.2.1]', async ({ long, short }) => {
  const both = await ask({ [short]: 'short', [long]: 'long' });
  expect((await both.record())?.[long]).toBe('long');
  for (const absent of [null, '', 'null']) {
    const one = await ask({ [short]: 'short', [long]: absent });
    expect((await one.record())?.[long]).toBe('short');
  }
});

it.each([
  ['null', null],
  ['', null],
  [' \n', null],
  [null, null],
  [' some-id ', 'some-id'],
  [4711, '4711'],
  [0, '0'],
])('hwid %j is read as %j [interface 4.7]', async (hwid, read) => {
  const { response, license, record } = await ask({ hwid });
  expect(response.status).toBe(200);
  expect((await license()).hwids).toEqual(read === null ? [] : [read]);
  expect((await record())?.hwid).toBe(read);
});

it.each([[true], [false], [['id']], [{ id: 1 }]])('hwid %j is rejected', async (hwid) => {
  const { response } = await ask({ hwid });
  expect(response.status).toBe(400);
  expect(response.json).toStrictEqual(refusal('hwid must be a string'));
});

/** The address that is bound and recorded for a body's `ip` when the connection comes from CONNECTING. */
it.each([
  ['198.51.100.7', '198.51.100.7'],
  [' 198.51.100.7\n', '198.51.100.7'],
  ['2001:DB8:0:0::1', '2001:db8::1'],
  ['::ffff:198.51.100.7', '198.51.100.7'],
  [undefined, CONNECTING],
  [null, CONNECTING],
  ['Unknown', CONNECTING],
  ['127.0.0.1', CONNECTING],
  ['10.0.0.7', CONNECTING],
  ['192.168.1.7', CONNECTING],
  ['169.254.1.7', CONNECTING],
  ['0.0.0.0', CONNECTING],
  ['::ffff:192.168.1.7', CONNECTING],
  ['::1', CONNECTING],
  ['fd00::7', CONNECTING],
  ['fe80::7', CONNECTING],
  ['198.51.100.7:25565', CONNECTING],
  ['198.51.100.0/24', CONNECTING],
  [3_325_256_711, CONNECTING],
])('ip %j is read as %s [1.2.10, 1.2.11, 1.2.12, 1.2.13, interface 4.7]', async (ip, read) => {
  const { response, license, record } = await ask({ ip });
  expect(response.status).toBe(200);
  expect((await license()).ips).toEqual([read]);
  expect((await record())?.ip).toBe(read);
});

it('ip is ignored with TRUST_BODY_IP=false [1.2.12, 1.2.13]', async () => {
  const { licenseKey, productId, id } = await create.license({ productId: product.id });
  const body = { licenseKey, productId, ip: '198.51.100.7' };
  const headers = { 'CF-Connecting-IP': CONNECTING };
  const { status } = await newIsolate({ TRUST_BODY_IP: 'False' }).validate(body, { headers });
  expect(status).toBe(200);
  expect((await get.license(id)).ips).toEqual([CONNECTING]);
});

it.each(['X-Forwarded-For', 'X-Real-IP', 'True-Client-IP', 'Forwarded', 'CF-Connecting-IPv6'])(
  'ip is never taken from %s [1.2.10]',
  async (header) => {
    const { license } = await ask({}, { headers: { [header]: '198.51.100.7' } });
    expect((await license()).ips).toEqual([CONNECTING]);
  },
);
