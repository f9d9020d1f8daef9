import { beforeAll, expect, it } from 'vitest';
import { newIsolate } from '../support/app.ts';
import {
  call,
  create,
  expectError,
  get,
  historyOf,
  type Product,
  updateLicense,
  validate,
} from '../support/client.ts';
import { arrange, newcomer, OUTCOME_ROWS } from '../support/outcomes.ts';
import { ROOT_TOKEN } from '../support/root-token.ts';
import { askFor } from '../support/shop.ts';

/** The conditions and outcomes of section 4.6, with decisions 1.1, 1.3, 1.4 and 1.6. */

let product: Product;
let otherProduct: Product;

beforeAll(async () => {
  product = await create.product({ name: 'Ours' });
  otherProduct = await create.product({ name: 'Another' });
});

const REFUSED = { valid: false, message: expect.any(String) };

it('v1 validate needs no token and ignores one [1.1.18, interface 4.6, interface 5]', async () => {
  const license = await create.license({ productId: product.id });
  for (const token of [null, '', 'wrong', ROOT_TOKEN]) {
    const response = await validate(askFor(license), { token });
    expect(response.status).toBe(200);
  }
});

it.each(OUTCOME_ROWS)(
  'v1 validate responds to $responseType as decided and records it [1.1.1, 1.1.2, 1.1.3, 1.1.5, 1.3, 1.6.1, 1.6.2, 1.6.16, 1.6.17, 1.6.19, 1.6.21, interface 1, interface 4.7, interface 7]',
  async (row) => {
    const { license, body } = await arrange(row, product, otherProduct);
    const isValid = row.responseType === 'VALID';
    const response = await validate(body);

    expect(response.status).toBe(isValid ? 200 : 400);
    expect(response.headers.get('Content-Type')).toMatch(/^application\/json/);
    if (isValid) expect(response.json).toMatchObject({ valid: true, message: row.message });
    else expect(response.json).toEqual({ valid: false, message: row.message });

    const [record] = await historyOf({ ip: body.ip }, 1);
    expect(record).toMatchObject({
      licenseId: row.hasNoLicense ? null : license.id,
      licenseKey: body.licenseKey,
      productId: body.productId,
      ip: body.ip,
      hwid: body.hwid,
      requestType: 'V1_VALIDATE',
      responseType: row.responseType,
      blockReason: row.isListed ? 'Charged back, case 4711' : null,
      valid: isValid,
      successful: true,
      rateLimited: false,
      blocked: row.isListed !== undefined,
      spam: false,
      ...(row.responseType === 'INVALID_REQUEST' && { remarks: row.message }),
    });
    const after = await get.license(license.id);
    expect(after.totalRequests).toBe(row.hasNoLicense ? 0 : 1);
    if (!isValid) expect(after).toMatchObject({ ips: [], hwids: [] });
  },
);

it.each(OUTCOME_ROWS)(
  'v2 validate responds to $responseType like v1 and records V2_VALIDATE [1.1.20, 1.6.1, 1.6.3, interface 1, interface 4.6, interface 9]',
  async (row) => {
    const first = await arrange(row, product, otherProduct);
    const second = await arrange(row, product, otherProduct);
    const v1 = await validate(first.body);
    const v2 = await call('POST', '/api/v2/validate', { body: second.body });
    expect(v2.status).toBe(v1.status);
    expect(v2.json).toEqual(v1.json);
    expect(v2.headers.get('Content-Type')).toBe(v1.headers.get('Content-Type'));
    const [record] = await historyOf({ ip: second.body.ip }, 1);
    expect(record).toMatchObject({
      requestType: 'V2_VALIDATE',
      responseType: row.responseType,
    });
  },
);

const PATHS = [
  '/api/v1/validate',
  '//api/v1/validate',
  '/api/v1/validate/',
  '//api//v1///validate//',
  '/api/v1/validate?x=1',
  '/api/v2/validate',
  '//api/v2/validate/',
];

it.each(PATHS)('POST %s validates in place [1.1.7]', async (path) => {
  const license = await create.license({ productId: product.id });
  const response = await call('POST', path, { body: askFor(license) });
  expect(response.status).toBe(200);
  expect(response.json).toMatchObject({ valid: true });
});

it.each(
  ['GET', 'PUT', 'DELETE', 'PATCH'].flatMap((method) =>
    ['/api/v1/validate', '//api/v1/validate/'].map((path) => ({ method, path })),
  ),
)('$method $path returns 405 with Allow [1.1.8]', async ({ method, path }) => {
  const response = await call(method, path);
  expect(response.status).toBe(405);
  expect(response.headers.get('Allow')).toBe('POST');
  expect(response.json).toEqual(REFUSED);
});

it.each(['/api/v1', '/api/v1/', '/api/v1/nothing', '/api/v1/validate/x', '/api/v1/VALIDATE'])(
  '%s is no page and no redirect [1.1.6, 4.24, interface 9]',
  async (path) => {
    for (const method of ['GET', 'POST', 'HEAD']) {
      const response = await call(method, path, { token: null });
      expect(response.status).toBe(404);
      if (method !== 'HEAD') expect(response.json).toEqual(REFUSED);
    }
  },
);

it.each(['/api', '/api/', '/api/v3/validate', '/api/validate'])('%s is unknown', async (path) =>
  expectError(await call('POST', path), 404, /not found/i, []),
);

it('a response to a validation forbids caches to keep it', async () => {
  const response = await validate({});
  expect(response.headers.get('Cache-Control')).toBe('no-store');
});

const BODY_ADDRESS = '198.51.100.77';
const CONNECTING = '203.0.113.9';

it.each([
  { data: BODY_ADDRESS, what: "the body's address" },
  { data: '198.51.100.0/24', what: "a range that holds the body's address" },
  { data: '::ffff:198.51.100.77', what: "the body's address in another spelling" },
  { data: CONNECTING, what: 'the connecting address' },
  { data: '203.0.112.0/22', what: 'a range that holds the connecting address' },
])(
  'a blacklist entry of $what rejects, for all products or for this one [1.3]',
  async ({ data }) => {
    const license = await create.license({ productId: product.id });
    const ask = () =>
      validate(askFor(license, { ip: BODY_ADDRESS }), { connectingAddress: CONNECTING });

    for (const [scope, status] of [
      [{ isForAllProducts: true }, 400],
      [{ isForAllProducts: false, productId: product.id }, 400],
      [{ isForAllProducts: false, productId: otherProduct.id }, 200],
    ] as const) {
      expect((await ask()).status, 'before').toBe(200);
      const { id } = await create.blacklist({ data, ...scope });
      expect((await ask()).status, JSON.stringify(scope)).toBe(status);
      await call('DELETE', `/api/v2/blacklists/${id}`);
    }
  },
);

it('a blacklist entry of a hardware ID rejects it, for all products or for this one [1.3]', async () => {
  const license = await create.license({ productId: product.id, maxHWIDs: -1 });
  for (const [scope, status] of [
    [{ isForAllProducts: true }, 400],
    [{ isForAllProducts: false, productId: product.id }, 400],
    [{ isForAllProducts: false, productId: otherProduct.id }, 200],
  ] as const) {
    const { hwid } = newcomer();
    await create.blacklist({ licenseDataType: 'HWID', data: hwid, ...scope });
    expect((await validate(askFor(license, { hwid }))).status).toBe(status);
  }
});

it('the blacklist takes an address as a hardware ID for what it is', async () => {
  const license = await create.license({ productId: product.id });
  const { ip } = newcomer();
  await create.blacklist({ licenseDataType: 'HWID', data: ip });
  expect((await validate(askFor(license, { ip }))).status).toBe(200);
});

it('the history says that the connecting address may be the listed one, without the address', async () => {
  const license = await create.license({ productId: product.id });
  const { ip } = newcomer();
  await create.blacklist({ data: '192.0.2.66', reason: 'Resold' });
  await validate(askFor(license, { ip }), { connectingAddress: '192.0.2.66' });
  const [record] = await historyOf({ ip }, 1);
  expect(record).toMatchObject({
    blockReason: 'Resold',
    remarks: 'The connecting address may be the one on the blacklist',
  });
});

it('the history has no remark about the connecting address if the address itself is listed', async () => {
  const license = await create.license({ productId: product.id });
  const { ip } = newcomer();
  await create.blacklist({ data: ip, reason: 'Resold' });
  await validate(askFor(license, { ip }), { connectingAddress: '192.0.2.67' });
  const [record] = await historyOf({ ip }, 1);
  expect(record).toMatchObject({ blockReason: 'Resold', remarks: null });
});

it.each([
  { kind: 'ips', limit: 'maxIPs', value: 'ip', message: 'Max IPs reached' },
  { kind: 'hwids', limit: 'maxHWIDs', value: 'hwid', message: 'Max HWIDs reached' },
] as const)(
  'a validation binds $kind up to the limit, in their order [1.4.1, 1.4.8, 1.4.10, 1.4.11, 1.4.12, interface 4.7]',
  async (of) => {
    const license = await create.license({ productId: product.id, [of.limit]: 2 });
    const values = [newcomer(), newcomer(), newcomer()].map((visitor) => visitor[of.value]);
    const [one = '', two = '', three = ''] = values.toReversed();
    const ask = async (value: string) => {
      const response = await validate(askFor(license, { [of.value]: value }));
      return response.status === 200 ? 200 : response.json;
    };
    const refusal = { valid: false, message: of.message };

    expect(await ask(one)).toBe(200);
    expect(await ask(two)).toBe(200);
    expect(await ask(three)).toEqual(refusal);
    expect(await ask(one)).toBe(200);
    expect((await get.license(license.id))[of.kind]).toEqual([one, two]);

    await updateLicense(license.id, { [of.limit]: 1 });
    expect(await ask(two), 'bound before the limit was lowered').toBe(200);
    expect(await ask(three)).toEqual(refusal);
    expect((await get.license(license.id))[of.kind]).toEqual([one, two]);

    await updateLicense(license.id, { [of.kind]: [] });
    expect(await ask(three), 'in a slot that was freed').toBe(200);
    expect(await ask(one)).toEqual(refusal);
    expect((await get.license(license.id))[of.kind]).toEqual([three]);

    await updateLicense(license.id, { [of.limit]: -1 });
    expect(await ask(one)).toBe(200);
    expect((await get.license(license.id))[of.kind], 'nothing is bound at -1').toEqual([three]);

    await updateLicense(license.id, { [of.limit]: 0, [of.kind]: [] });
    expect(await ask(one)).toEqual(refusal);
  },
);

it('a validation binds an address and a hardware ID together or not at all [1.4.6]', async () => {
  const license = await create.license({ productId: product.id, maxIPs: 2, maxHWIDs: 1 });
  const [one, two] = [newcomer(), newcomer()];
  await validate(askFor(license, one));
  expect((await validate(askFor(license, two))).json).toEqual({
    valid: false,
    message: 'Max HWIDs reached',
  });
  expect(await get.license(license.id)).toMatchObject({ ips: [one.ip], hwids: [one.hwid] });
  expect((await validate(askFor(license, { ...two, hwid: one.hwid }))).status).toBe(200);
  expect(await get.license(license.id)).toMatchObject({ ips: [one.ip, two.ip] });
});

it('a validation binds one address once, however it is spelled [1.2.14]', async () => {
  const license = await create.license({ productId: product.id, maxIPs: 2 });
  for (const ip of ['2001:DB8::1', '2001:db8:0:0:0:0:0:1', '1.2.3.4', '::ffff:1.2.3.4']) {
    expect((await validate(askFor(license, { ip }))).status, ip).toBe(200);
  }
  expect((await get.license(license.id)).ips).toEqual(['2001:db8::1', '1.2.3.4']);
});

it('a validation binds hardware IDs as they are written', async () => {
  const license = await create.license({ productId: product.id, maxHWIDs: 1 });
  expect((await validate(askFor(license, { hwid: 'abc' }))).status).toBe(200);
  expect((await validate(askFor(license, { hwid: 'ABC' }))).status).toBe(400);
});

it('a validation without a hardware ID has no hardware limit checked [1.4.13]', async () => {
  const license = await create.license({ productId: product.id, maxHWIDs: 0 });
  expect((await validate(askFor(license))).status).toBe(200);
});

// A text in any case, or a boolean of TOML.
it.each<{ setting: object; maxHWIDs: number; hwid: string | undefined; status: number }>([
  { setting: { REQUIRE_HWID: 'True' }, maxHWIDs: 1, hwid: undefined, status: 400 },
  { setting: { REQUIRE_HWID: true }, maxHWIDs: 0, hwid: '', status: 400 },
  { setting: { REQUIRE_HWID: 'true' }, maxHWIDs: 1, hwid: 'some', status: 200 },
  { setting: { REQUIRE_HWID: 'true' }, maxHWIDs: -1, hwid: undefined, status: 200 },
])(
  'a validation with REQUIRE_HWID and maxHWIDs $maxHWIDs returns $status for hwid $hwid [1.4.14]',
  async ({ setting, maxHWIDs, hwid, status }) => {
    const license = await create.license({ productId: product.id, maxHWIDs });
    const body = askFor(license, { ...(hwid !== undefined && { hwid }) });
    const response = await newIsolate({ ...setting }).validate(body);
    expect(response.status).toBe(status);
    if (status === 200) return;
    expect(response.json).toEqual({ valid: false, message: 'hwid is required' });
    const [record] = await historyOf({ licenseKey: license.licenseKey }, 1);
    expect(record).toMatchObject({ responseType: 'INVALID_REQUEST', valid: false });
  },
);

it('the history keeps key and product as they were sent, and finds them by any spelling [1.6.19]', async () => {
  const { ip } = newcomer();
  await validate({ licenseKey: 'No-Such-Key', productId: 987_654, ip });
  const [record] = await historyOf({ licenseKey: 'nO-sUCH-kEY' }, 1);
  expect(record).toMatchObject({
    licenseId: null,
    licenseKey: 'No-Such-Key',
    productId: 987_654,
  });
});

it('the history records a body that cannot be read, with the connecting address [1.6.1]', async () => {
  const connectingAddress = '192.0.2.200';
  await validate('{"licenseKey":', { connectingAddress });
  const [record] = await historyOf({ ip: connectingAddress }, 1);
  expect(record).toMatchObject({
    licenseId: null,
    licenseKey: null,
    productId: null,
    hwid: null,
    responseType: 'INVALID_REQUEST',
    valid: false,
    successful: true,
    blocked: false,
  });
});
