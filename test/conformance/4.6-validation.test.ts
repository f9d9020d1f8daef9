import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { INTENTS } from '../../src/auth/intents';
import { API_INTENTS } from '../../src/lib/enums';
import { validateWith } from '../support/app';
import {
  call,
  createBlacklist,
  createLicense,
  createProduct,
  createToken,
  expectError,
  getLicense,
  type HistoryRecord,
  historyOf,
  type License,
  type Product,
  updateLicense,
  validate,
} from '../support/client';
import { ROOT_TOKEN } from '../support/root-token';

/** Section 4.6 and what decisions 1.1, 1.3, 1.4 and 1.6 make of it: the conditions and outcomes. */

let product: Product;
let otherProduct: Product;

beforeAll(async () => {
  product = await createProduct({ name: 'Ours' });
  otherProduct = await createProduct({ name: 'Another' });
});

afterEach(() => {
  vi.useRealTimers();
});

let asked = 0;

/** An address and a hardware ID that no other test uses. */
function newcomer(): { ip: string; hwid: string } {
  asked += 1;
  return { ip: `10.1.${asked >> 8}.${asked & 255}`, hwid: `hwid-${asked}` };
}

const askFor = ({ licenseKey, productId }: License, more: object = {}) => ({
  licenseKey,
  productId,
  ...more,
});

interface Asked {
  licenseKey: string;
  productId: number | null;
  ip: string;
  hwid: string;
}

const REFUSED = { valid: false, message: expect.any(String) };

/**
 * The rows of decisions 1.3, each as the least that makes it true of an otherwise valid request.
 * Row 2, the rate limits, is in `../api/rate-limits.test.ts`.
 */
interface Row {
  responseType: HistoryRecord['responseType'];
  message: string;
  license?: object;
  request?: (other: Product) => Partial<Asked>;
  isListed?: 'ip' | 'hwid';
  /** Whether no license has the key. */
  hasNoLicense?: true;
}

const PAST = '2020-01-01T00:00:00Z';

const ROWS: Row[] = [
  {
    responseType: 'INVALID_REQUEST',
    message: 'productId is required',
    request: () => ({ productId: null }),
  },
  { responseType: 'IP_BLACKLISTED', message: 'IP address is blacklisted', isListed: 'ip' },
  { responseType: 'HWID_BLACKLISTED', message: 'Hardware ID is blacklisted', isListed: 'hwid' },
  {
    responseType: 'LICENSE_NOT_FOUND',
    message: 'License not found or invalid',
    request: () => ({ licenseKey: `unknown-${asked}` }),
    hasNoLicense: true,
  },
  {
    responseType: 'PRODUCT_MISMATCH',
    message: 'License not found or invalid',
    request: (other) => ({ productId: other.id }),
  },
  {
    responseType: 'LICENSE_DELETED',
    message: 'License not found or invalid',
    license: { licenseStatus: 'DELETED' },
  },
  {
    responseType: 'LICENSE_DEACTIVATED',
    message: 'License is deactivated',
    license: { licenseStatus: 'DEACTIVATED' },
  },
  {
    responseType: 'LICENSE_EXPIRED',
    message: 'License has expired',
    license: { licenseType: 'TEMPORARY', expiryDate: PAST },
  },
  { responseType: 'MAX_IPS_REACHED', message: 'Max IPs reached', license: { maxIPs: 0 } },
  { responseType: 'MAX_HWIDS_REACHED', message: 'Max HWIDs reached', license: { maxHWIDs: 0 } },
  { responseType: 'VALID', message: 'License is valid' },
];

const needsLicense = (row: Row) =>
  row.license !== undefined || row.responseType === 'PRODUCT_MISMATCH';

/** Two rows that cannot both be true: without a license nothing is, and it has one status. */
const isContradiction = (earlier: Row, later: Row): boolean =>
  (earlier.responseType === 'LICENSE_NOT_FOUND' && needsLicense(later)) ||
  (earlier.responseType === 'LICENSE_DELETED' && later.responseType === 'LICENSE_DEACTIVATED');

const REFUSALS = ROWS.filter(({ responseType }) => responseType !== 'VALID');

const PAIRS = REFUSALS.flatMap((earlier, index) =>
  REFUSALS.slice(index + 1)
    .filter((later) => !isContradiction(earlier, later))
    .map((later) => [earlier.responseType, later.responseType, earlier, later] as const),
);

/**
 * A request of which all these rows are true, from a newcomer with a license of its own. Where two
 * rows need one field the earlier one has it.
 */
async function arrange(...rows: Row[]) {
  const visitor = newcomer();
  const settings = { productId: product.id };
  for (const row of rows.toReversed()) Object.assign(settings, row.license);
  const license = await createLicense(settings);
  const request: Asked = { ...askFor(license), ...visitor };
  for (const row of rows.toReversed()) Object.assign(request, row.request?.(otherProduct));
  for (const { isListed } of rows) {
    if (isListed === undefined) continue;
    await createBlacklist({
      licenseDataType: isListed === 'ip' ? 'IP' : 'HWID',
      data: visitor[isListed],
      reason: 'Charged back, case 4711',
    });
  }
  return { license, visitor, request };
}

describe('POST /api/v1/validate', () => {
  it('needs no token and ignores one', async () => {
    const license = await createLicense({ productId: product.id });
    for (const token of [null, '', 'wrong', ROOT_TOKEN]) {
      const answer = await validate(askFor(license), { token });
      expect(answer.status).toBe(200);
    }
  });

  it.each(ROWS)('answers $responseType as decided and records it', async (row) => {
    const { license, visitor, request } = await arrange(row);
    const isValid = row.responseType === 'VALID';
    const answer = await validate(request);

    expect(answer.status).toBe(isValid ? 200 : 400);
    expect(answer.headers.get('Content-Type')).toMatch(/^application\/json/);
    if (isValid) expect(answer.json).toMatchObject({ valid: true, message: row.message });
    else expect(answer.json).toEqual({ valid: false, message: row.message });

    const [record] = await historyOf({ ip: visitor.ip }, 1);
    expect(record).toMatchObject({
      licenseId: row.hasNoLicense ? null : license.id,
      licenseKey: request.licenseKey,
      productId: request.productId,
      ip: visitor.ip,
      hwid: visitor.hwid,
      requestType: 'V1_VALIDATE',
      responseType: row.responseType,
      blockReason: row.isListed ? 'Charged back, case 4711' : null,
      valid: isValid,
      successful: true,
      rateLimited: false,
      blocked: row.isListed !== undefined,
      spam: false,
    });
    const after = await getLicense(license.id);
    expect(after.totalRequests).toBe(row.hasNoLicense ? 0 : 1);
  });

  it.each(REFUSALS)('binds nothing when it answers $responseType', async (row) => {
    const { license, request } = await arrange(row);
    await validate(request);
    expect(await getLicense(license.id)).toMatchObject({ ips: [], hwids: [] });
  });

  it.each(PAIRS)('answers %s where %s is true too', async (_first, _second, earlier, later) => {
    const { request } = await arrange(earlier, later);
    const answer = await validate(request);
    expect(answer.status).toBe(400);
    const [record] = await historyOf({ hwid: request.hwid }, 1);
    expect(record?.responseType).toBe(earlier.responseType);
  });

  it('validates the key of a license that was deleted and restored', async () => {
    const license = await createLicense({ productId: product.id });
    await call('DELETE', `/api/v2/licenses/${license.id}`);
    expect((await validate(askFor(license))).status).toBe(400);
    await updateLicense(license.id, { licenseStatus: 'ACTIVE' });
    expect((await validate(askFor(license))).status).toBe(200);
  });

  it('expires a TEMPORARY license at the very millisecond, and revives it with a later expiry', async () => {
    const expiryDate = '2031-05-06T07:08:09.123Z';
    const license = await createLicense({
      productId: product.id,
      licenseType: 'TEMPORARY',
      expiryDate,
    });
    vi.useFakeTimers({ toFake: ['Date'] });

    vi.setSystemTime(Date.parse(expiryDate) - 1);
    expect((await validate(askFor(license))).json).toMatchObject({ message: 'License is valid' });
    vi.setSystemTime(Date.parse(expiryDate));
    expect((await validate(askFor(license))).json).toEqual({
      valid: false,
      message: 'License has expired',
    });
    await updateLicense(license.id, { expiryDate: '2031-05-06T07:08:09.124Z' });
    expect((await validate(askFor(license))).status).toBe(200);
  });

  it('never expires a PERMANENT license', async () => {
    const license = await createLicense({ productId: product.id, expiryDate: PAST });
    expect((await validate(askFor(license))).status).toBe(200);
  });
});

describe('POST /api/v2/validate', () => {
  it.each(API_INTENTS.map((intent) => ({ intent })))('with $intent', async ({ intent }) => {
    const license = await createLicense({ productId: product.id });
    const { token } = await createToken([intent]);
    const answer = await call('POST', '/api/v2/validate', { body: askFor(license), token });
    if (intent === 'LICENSE_VALIDATE' || intent === 'ALL_READ_WRITE') {
      expect(answer.status).toBe(200);
      expect(answer.json).toMatchObject({ valid: true });
    } else {
      expectError(answer, 403, /intent/, INTENTS.validate);
    }
  });

  it.each([null, '', 'wrong'])('answers the v2 error structure to token %j', async (token) => {
    const license = await createLicense({ productId: product.id });
    const answer = await call('POST', '/api/v2/validate', { body: askFor(license), token });
    expectError(answer, 401, /token/i);
    expect((await getLicense(license.id)).totalRequests).toBe(0);
  });

  it.each(ROWS)('answers $responseType like v1 and records V2_VALIDATE', async (row) => {
    const [first, second] = [await arrange(row), await arrange(row)];
    const v1 = await validate(first.request);
    const v2 = await call('POST', '/api/v2/validate', { body: second.request });
    expect(v2.status).toBe(v1.status);
    expect(v2.json).toEqual(v1.json);
    expect(v2.headers.get('Content-Type')).toBe(v1.headers.get('Content-Type'));
    const [record] = await historyOf({ ip: second.visitor.ip }, 1);
    expect(record).toMatchObject({
      requestType: 'V2_VALIDATE',
      responseType: row.responseType,
    });
  });

  it('shares the bindings and the total with v1', async () => {
    const license = await createLicense({ productId: product.id, maxIPs: 1 });
    const [one, two] = [newcomer(), newcomer()];
    await validate(askFor(license, one));
    const answer = await call('POST', '/api/v2/validate', { body: askFor(license, two) });
    expect(answer.json).toEqual({ valid: false, message: 'Max IPs reached' });
    await historyOf({ licenseKey: license.licenseKey }, 2);
    expect((await getLicense(license.id)).totalRequests).toBe(2);
  });
});

describe('the address of the endpoint', () => {
  const PATHS = [
    '/api/v1/validate',
    '//api/v1/validate',
    '/api/v1/validate/',
    '//api//v1///validate//',
    '/api/v1/validate?x=1',
    '/api/v2/validate',
    '//api/v2/validate/',
  ];

  it.each(PATHS)('POST %s validates in place', async (path) => {
    const license = await createLicense({ productId: product.id });
    const answer = await call('POST', path, { body: askFor(license) });
    expect(answer.status).toBe(200);
    expect(answer.json).toMatchObject({ valid: true });
  });

  it.each(
    ['GET', 'PUT', 'DELETE', 'PATCH'].flatMap((method) =>
      ['/api/v1/validate', '//api/v1/validate/'].map((path) => ({ method, path })),
    ),
  )('$method $path answers 405 with Allow', async ({ method, path }) => {
    const answer = await call(method, path);
    expect(answer.status).toBe(405);
    expect(answer.headers.get('Allow')).toBe('POST');
    expect(answer.json).toEqual(REFUSED);
  });

  it.each(['GET', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'])(
    '%s /api/v2/validate answers 405 with Allow',
    async (method) => {
      const answer = await call(method, '/api/v2/validate');
      expectError(answer, 405, /method/i, INTENTS.validate);
      expect(answer.headers.get('Allow')).toBe('POST');
    },
  );

  it.each(['/api/v1', '/api/v1/', '/api/v1/nothing', '/api/v1/validate/x', '/api/v1/VALIDATE'])(
    '%s is no page and no redirect',
    async (path) => {
      for (const method of ['GET', 'POST', 'HEAD']) {
        const answer = await call(method, path, { token: null });
        expect(answer.status).toBe(404);
        if (method !== 'HEAD') expect(answer.json).toEqual(REFUSED);
      }
    },
  );

  it.each(['/api', '/api/', '/api/v3/validate', '/api/validate'])('%s is unknown', async (path) =>
    expectError(await call('POST', path), 404, /not found/i, []),
  );

  it('forbids caches to keep an answer', async () => {
    const answer = await validate({});
    expect(answer.headers.get('Cache-Control')).toBe('no-store');
  });
});

describe('the blacklist', () => {
  const BODY_ADDRESS = '198.51.100.77';
  const CONNECTING = '203.0.113.9';

  it.each([
    { data: BODY_ADDRESS, what: "the body's address" },
    { data: '198.51.100.0/24', what: "a range that holds the body's address" },
    { data: '::ffff:198.51.100.77', what: "the body's address in another spelling" },
    { data: CONNECTING, what: 'the connecting address' },
    { data: '203.0.112.0/22', what: 'a range that holds the connecting address' },
  ])('with $what refuses, for all products and for this one', async ({ data }) => {
    const license = await createLicense({ productId: product.id });
    const ask = () =>
      validate(askFor(license, { ip: BODY_ADDRESS }), { connectingAddress: CONNECTING });

    for (const [scope, status] of [
      [{ isForAllProducts: true }, 400],
      [{ isForAllProducts: false, productId: product.id }, 400],
      [{ isForAllProducts: false, productId: otherProduct.id }, 200],
    ] as const) {
      expect((await ask()).status, 'before').toBe(200);
      const { id } = await createBlacklist({ data, ...scope });
      expect((await ask()).status, JSON.stringify(scope)).toBe(status);
      await call('DELETE', `/api/v2/blacklists/${id}`);
    }
  });

  it('with an IPv6 range refuses the addresses in it, however they are spelled', async () => {
    const license = await createLicense({ productId: product.id });
    await createBlacklist({ data: '2001:db8:bad::/48' });
    const ask = (ip: string) => validate(askFor(license, { ip }));
    expect((await ask('2001:0DB8:0BAD:0000::0001')).json).toEqual({
      valid: false,
      message: 'IP address is blacklisted',
    });
    expect((await ask('2001:db8:bae::1')).status).toBe(200);
  });

  it('with a hardware ID refuses it, for all products and for this one', async () => {
    const license = await createLicense({ productId: product.id, maxHWIDs: -1 });
    for (const [scope, status] of [
      [{ isForAllProducts: true }, 400],
      [{ isForAllProducts: false, productId: product.id }, 400],
      [{ isForAllProducts: false, productId: otherProduct.id }, 200],
    ] as const) {
      const { hwid } = newcomer();
      await createBlacklist({ licenseDataType: 'HWID', data: hwid, ...scope });
      expect((await validate(askFor(license, { hwid }))).status).toBe(status);
    }
  });

  it('refuses what is bound already, at the very next validation', async () => {
    const license = await createLicense({ productId: product.id });
    const visitor = newcomer();
    expect((await validate(askFor(license, visitor))).status).toBe(200);
    await createBlacklist({ data: visitor.ip });
    expect((await validate(askFor(license, visitor))).status).toBe(400);
  });

  it('takes an address as a hardware ID for what it is', async () => {
    const license = await createLicense({ productId: product.id });
    const { ip } = newcomer();
    await createBlacklist({ licenseDataType: 'HWID', data: ip });
    expect((await validate(askFor(license, { ip }))).status).toBe(200);
  });

  it('says in the history which connecting address was listed', async () => {
    const license = await createLicense({ productId: product.id });
    const { ip } = newcomer();
    await createBlacklist({ data: '192.0.2.66', reason: 'Resold' });
    await validate(askFor(license, { ip }), { connectingAddress: '192.0.2.66' });
    const [record] = await historyOf({ ip }, 1);
    expect(record).toMatchObject({
      blockReason: 'Resold',
      remarks: expect.stringContaining('192.0.2.66'),
    });
  });
});

describe('limits and binding', () => {
  it.each([
    { kind: 'ips', limit: 'maxIPs', value: 'ip', message: 'Max IPs reached' },
    { kind: 'hwids', limit: 'maxHWIDs', value: 'hwid', message: 'Max HWIDs reached' },
  ] as const)('binds $kind up to the limit, in their order', async (of) => {
    const license = await createLicense({ productId: product.id, [of.limit]: 2 });
    const values = [newcomer(), newcomer(), newcomer()].map((visitor) => visitor[of.value]);
    const [one = '', two = '', three = ''] = values.toReversed();
    const ask = async (value: string) => {
      const answer = await validate(askFor(license, { [of.value]: value }));
      return answer.status === 200 ? 200 : answer.json;
    };
    const refusal = { valid: false, message: of.message };

    expect(await ask(one)).toBe(200);
    expect(await ask(two)).toBe(200);
    expect(await ask(three)).toEqual(refusal);
    expect(await ask(one)).toBe(200);
    expect((await getLicense(license.id))[of.kind]).toEqual([one, two]);

    await updateLicense(license.id, { [of.limit]: 1 });
    expect(await ask(two), 'bound before the limit was lowered').toBe(200);
    expect(await ask(three)).toEqual(refusal);
    expect((await getLicense(license.id))[of.kind]).toEqual([one, two]);

    await updateLicense(license.id, { [of.kind]: [] });
    expect(await ask(three), 'in a slot that was freed').toBe(200);
    expect(await ask(one)).toEqual(refusal);
    expect((await getLicense(license.id))[of.kind]).toEqual([three]);

    await updateLicense(license.id, { [of.limit]: -1 });
    expect(await ask(one)).toBe(200);
    expect((await getLicense(license.id))[of.kind], 'nothing is bound at -1').toEqual([three]);

    await updateLicense(license.id, { [of.limit]: 0, [of.kind]: [] });
    expect(await ask(one)).toEqual(refusal);
  });

  it('binds an address and a hardware ID together or not at all', async () => {
    const license = await createLicense({ productId: product.id, maxIPs: 2, maxHWIDs: 1 });
    const [one, two] = [newcomer(), newcomer()];
    await validate(askFor(license, one));
    expect((await validate(askFor(license, two))).json).toEqual({
      valid: false,
      message: 'Max HWIDs reached',
    });
    expect(await getLicense(license.id)).toMatchObject({ ips: [one.ip], hwids: [one.hwid] });
    expect((await validate(askFor(license, { ...two, hwid: one.hwid }))).status).toBe(200);
    expect(await getLicense(license.id)).toMatchObject({ ips: [one.ip, two.ip] });
  });

  it('binds one address once, however it is spelled', async () => {
    const license = await createLicense({ productId: product.id, maxIPs: 2 });
    for (const ip of ['2001:DB8::1', '2001:db8:0:0:0:0:0:1', '1.2.3.4', '::ffff:1.2.3.4']) {
      expect((await validate(askFor(license, { ip }))).status, ip).toBe(200);
    }
    expect((await getLicense(license.id)).ips).toEqual(['2001:db8::1', '1.2.3.4']);
  });

  it('binds hardware IDs as they are written', async () => {
    const license = await createLicense({ productId: product.id, maxHWIDs: 1 });
    expect((await validate(askFor(license, { hwid: 'abc' }))).status).toBe(200);
    expect((await validate(askFor(license, { hwid: 'ABC' }))).status).toBe(400);
  });

  it('gives every license slots of its own', async () => {
    const visitor = newcomer();
    for (const name of ['first', 'second']) {
      const license = await createLicense({ productId: product.id, maxIPs: 1, notes: name });
      expect((await validate(askFor(license, visitor))).status).toBe(200);
      expect(await getLicense(license.id)).toMatchObject({
        ips: [visitor.ip],
        hwids: [visitor.hwid],
      });
    }
  });

  it("takes the product's default limits for a license without its own", async () => {
    const { id: productId } = await createProduct({ defaultMaxIPs: 1, defaultMaxHWIDs: -1 });
    const license = await createLicense({ productId });
    expect(license).toMatchObject({ maxIPs: 1, maxHWIDs: -1 });
    const generous = await createLicense({ productId: product.id });
    expect(generous).toMatchObject({ maxIPs: 5, maxHWIDs: 5 });
  });

  it.each(['maxIPs', 'maxHWIDs'])('refuses a %s below -1', async (limit) => {
    const answer = await call('POST', '/api/v2/licenses', {
      body: { productId: product.id, licenseType: 'PERMANENT', [limit]: -2 },
    });
    expectError(answer, 400, new RegExp(limit));
  });

  it('checks no hardware limit without a hardware ID', async () => {
    const license = await createLicense({ productId: product.id, maxHWIDs: 0 });
    expect((await validate(askFor(license))).status).toBe(200);
  });

  it.each([
    { maxHWIDs: 1, hwid: undefined, status: 400 },
    { maxHWIDs: 0, hwid: '', status: 400 },
    { maxHWIDs: 1, hwid: 'some', status: 200 },
    { maxHWIDs: -1, hwid: undefined, status: 200 },
  ])(
    'with REQUIRE_HWID and maxHWIDs $maxHWIDs answers $status to hwid $hwid',
    async ({ maxHWIDs, hwid, status }) => {
      const license = await createLicense({ productId: product.id, maxHWIDs });
      const answer = await validateWith(
        { REQUIRE_HWID: 'true' },
        askFor(license, { ...(hwid !== undefined && { hwid }) }),
      );
      expect(answer.status).toBe(status);
      if (status === 200) return;
      expect(answer.json).toEqual({ valid: false, message: 'hwid is required' });
      const [record] = await historyOf({ licenseKey: license.licenseKey }, 1);
      expect(record).toMatchObject({ responseType: 'INVALID_REQUEST', valid: false });
    },
  );
});

describe('freshness in this process', () => {
  it('sees every change at the very next validation', async () => {
    const license = await createLicense({ productId: product.id });
    const ask = async () => (await validate(askFor(license))).status;
    for (const [change, status] of [
      [{}, 200],
      [{ licenseStatus: 'DEACTIVATED' }, 400],
      [{ licenseStatus: 'ACTIVE' }, 200],
      [{ licenseType: 'TEMPORARY', expiryDate: PAST }, 400],
      [{ licenseType: 'PERMANENT' }, 200],
      [{ productId: otherProduct.id }, 400],
      [{ productId: product.id }, 200],
    ] as const) {
      await updateLicense(license.id, change);
      expect(await ask(), JSON.stringify(change)).toBe(status);
    }
  });
});

describe('the history', () => {
  it('keeps what was sent, and when', async () => {
    const license = await createLicense({ productId: product.id });
    const visitor = newcomer();
    vi.useFakeTimers({ toFake: ['Date'] });
    vi.setSystemTime('2030-01-02T03:04:05.678Z');
    await validate({
      ...askFor(license, visitor),
      productVersion: '1.2.3',
      operatingSystem: 'Linux',
      osVersion: '6.8',
      osArchitecture: 'amd64',
      javaVersion: '21.0.1',
      macAddress: '00:1B:44:11:3A:B7',
    });
    vi.useRealTimers();
    expect(await historyOf({ ip: visitor.ip }, 1)).toEqual([
      {
        id: expect.any(Number),
        licenseId: license.id,
        licenseKey: license.licenseKey,
        productId: product.id,
        productVersion: '1.2.3',
        ip: visitor.ip,
        hwid: visitor.hwid,
        macAddress: '00:1B:44:11:3A:B7',
        operatingSystem: 'Linux',
        operatingSystemVersion: '6.8',
        operatingSystemArchitecture: 'amd64',
        javaVersion: '21.0.1',
        requestDate: '2030-01-02T03:04:05.678+00:00',
        requestType: 'V1_VALIDATE',
        responseType: 'VALID',
        blockReason: null,
        notes: null,
        remarks: null,
        valid: true,
        successful: true,
        rateLimited: false,
        blocked: false,
        spam: false,
      },
    ]);
  });

  it('keeps key and product as they were sent, and finds them by any spelling', async () => {
    const { ip } = newcomer();
    await validate({ licenseKey: 'No-Such-Key', productId: 987_654, ip });
    const [record] = await historyOf({ licenseKey: 'nO-sUCH-kEY' }, 1);
    expect(record).toMatchObject({
      licenseId: null,
      licenseKey: 'No-Such-Key',
      productId: 987_654,
    });
  });

  it('records a body that cannot be read, with the connecting address', async () => {
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

  it('records what could be read of a request that lacks a field', async () => {
    const { ip } = newcomer();
    await validate({ licenseKey: 'KEY', ip, productVersion: '9' });
    const [record] = await historyOf({ ip }, 1);
    expect(record).toMatchObject({
      licenseKey: 'KEY',
      productId: null,
      productVersion: '9',
      responseType: 'INVALID_REQUEST',
      remarks: 'productId is required',
    });
  });

  it('counts valid and refused requests of a known license alike', async () => {
    const license = await createLicense({ productId: product.id, maxIPs: 1 });
    const [one, two] = [newcomer(), newcomer()];
    for (const visitor of [one, two, one]) await validate(askFor(license, visitor));
    await historyOf({ licenseKey: license.licenseKey }, 3);
    expect((await getLicense(license.id)).totalRequests).toBe(3);
  });
});
