import { expect, it } from 'vitest';
import { call, create, expectError, historyOf, validate } from '../support/client.ts';
import { API_INTENTS } from '../support/endpoints.ts';
import {
  blacklists,
  type CreatableResource,
  customers,
  licenses,
  products,
  type Resource,
  read,
  tokens,
  withoutChange,
} from '../support/resources.ts';

const TIMESTAMP = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00$/);
const INTEGER = expect.toSatisfy(Number.isSafeInteger, 'is an integer');

const PRODUCT_TYPES = [
  'GAME_JAVA_PLUGIN',
  'GAME_JAVA_MOD',
  'GAME_BEDROCK_PLUGIN',
  'GAME_BEDROCK_MOD',
  'GAME_SERVER_SETUP',
  'WEB_APPLICATION',
  'DESKTOP_APPLICATION',
  'MOBILE_APPLICATION',
  'OTHER',
];
const LICENSE_TYPES = ['TEMPORARY', 'PERMANENT'];
const LICENSE_STATUSES = ['ACTIVE', 'EXPIRED', 'DEACTIVATED', 'DELETED'];
const LICENSE_PLATFORMS = [
  'PLATFORM_A',
  'PLATFORM_B',
  'PLATFORM_C',
  'MARKET_A',
  'MARKET_B',
  'CHAT',
  'OTHER',
];
const LICENSE_DATA_TYPES = ['IP', 'HWID'];

const post = (path: string, body: unknown) => call('POST', path, { body });
const put = (path: string, body: unknown) => call('PUT', path, { body });

it('a product has the fields of 2.1 and no other [interface 2.1, interface 2.7, interface 4.2]', async () => {
  const sent = await products.fullBody();
  expect((await post(products.path, sent)).json).toEqual({
    ...sent,
    id: INTEGER,
    createdDate: TIMESTAMP,
    updatedDate: TIMESTAMP,
  });
});

it('a product without optional fields reads empty, null or 5 in their place [1.4.5, interface 2.1]', async () => {
  const response = await post(products.path, { name: 'Least', productType: 'OTHER' });
  expect(response.json).toEqual({
    ...products.cleared,
    id: INTEGER,
    name: 'Least',
    productType: 'OTHER',
    createdDate: TIMESTAMP,
    updatedDate: TIMESTAMP,
    defaultMaxIPs: 5,
    defaultMaxHWIDs: 5,
    offlineDays: 0,
    selfResets: 0,
    selfRotate: false,
    checkAfterHours: 24,
    entitlements: {},
    ipIdleDays: null,
    hwidIdleDays: null,
    defaultExpiresAfterDays: null,
  });
});

it('a license has the fields of 2.2 and no other [interface 2.2, interface 2.7, interface 4.3]', async () => {
  const sent = await licenses.fullBody();
  expect((await post(licenses.path, sent)).json).toEqual({
    ...sent,
    id: INTEGER,
    licenseKey: expect.any(String),
    createdDate: TIMESTAMP,
    updatedDate: TIMESTAMP,
    totalRequests: 0,
    licenseStatus: 'ACTIVE',
    ips: ['203.0.113.7', '2001:db8::7'],
    hwids: ['HW-7'],
    effectiveEntitlements: { max_players: -1 },
    customer: expect.objectContaining({ id: INTEGER, chatId: sent.ownerChatId }),
    productIdString: String(sent.productId),
  });
});

it('a license without optional fields reads empty, null or as its product has it [interface 2.2]', async () => {
  const { id: productId } = await create.product({ defaultMaxIPs: 7, defaultMaxHWIDs: -1 });
  const response = await post(licenses.path, { productId, licenseType: 'PERMANENT' });
  expect(response.json).toEqual({
    id: INTEGER,
    licenseKey: expect.any(String),
    productId,
    licenseType: 'PERMANENT',
    licensePlatform: null,
    licensePlatformOther: '',
    ownerPlatformId: '',
    createdDate: TIMESTAMP,
    updatedDate: TIMESTAMP,
    expiryDate: null,
    expiresAfterDays: null,
    maxIPs: 7,
    maxHWIDs: -1,
    totalRequests: 0,
    ownerChatId: '',
    ownerChatUsername: '',
    licenseStatus: 'ACTIVE',
    hwids: [],
    ips: [],
    notes: '',
    metadata: {},
    entitlements: {},
    entitlementsExpire: {},
    effectiveEntitlements: {},
    customer: null,
    productIdString: String(productId),
  });
});

it('a blacklist entry has the fields of 2.3 and no other [interface 2.3]', async () => {
  const sent = await blacklists.fullBody();
  expect((await post(blacklists.path, sent)).json).toEqual({
    ...sent,
    id: INTEGER,
    createdAt: TIMESTAMP,
    updatedAt: TIMESTAMP,
  });
});

it('a license request has the fields of 2.4 and no other [3.15, interface 2.4, interface 2.7, interface 8]', async () => {
  const { id: licenseId, licenseKey, productId } = await create.license();
  await validate({
    licenseKey,
    productId,
    productVersion: '1.2.3',
    hwid: 'HW-1',
    ip: '203.0.113.1',
    operatingSystem: 'Linux',
    osVersion: '6.8',
    osArchitecture: 'amd64',
    javaVersion: '21',
    macAddress: '00:00:5E:00:53:01',
  });
  expect(await historyOf({ licenseKey }, 1)).toEqual([
    {
      id: INTEGER,
      licenseId,
      licenseKey,
      productId,
      productVersion: '1.2.3',
      ip: '203.0.113.1',
      hwid: 'HW-1',
      macAddress: '00:00:5E:00:53:01',
      operatingSystem: 'Linux',
      operatingSystemVersion: '6.8',
      operatingSystemArchitecture: 'amd64',
      javaVersion: '21',
      requestDate: TIMESTAMP,
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

it('a customer has the fields of 2.5 and no other [3.51, 3.54, interface 2.5, interface 2.7]', async () => {
  const { id } = await customers.create();
  const sent = customers.changes();
  const response = await put(`${customers.path}/${id}`, sent);
  expect(response.json).toEqual({
    ...sent,
    id,
    passwordHash: null,
    createdAt: TIMESTAMP,
    lastLoginAt: null,
    chatAccessToken: null,
    chatRefreshToken: null,
    chatTokenExpiry: null,
  });
});

it('all of a customer but the id and the time of creation may be null [interface 2.5]', async () => {
  const { customer } = await create.license({ ownerChatId: '5' });
  const { id, createdAt, chatId, metadata, ...others } = customer ?? {};
  expect({ id, createdAt, chatId, metadata }).toEqual({
    id: INTEGER,
    createdAt: TIMESTAMP,
    chatId: '5',
    metadata: {},
  });
  expect(Object.keys(others)).toHaveLength(25);
  expect(new Set(Object.values(others))).toEqual(new Set([null]));
});

it.each<[CreatableResource, string, readonly string[], object]>([
  [products, 'productType', PRODUCT_TYPES, {}],
  [licenses, 'licenseType', ['TEMPORARY'], {}],
  [licenses, 'licenseType', ['PERMANENT'], { expiryDate: null }],
  [licenses, 'licensePlatform', LICENSE_PLATFORMS, {}],
  [blacklists, 'licenseDataType', LICENSE_DATA_TYPES, { data: '198.51.100.9' }],
  [tokens, 'intents', API_INTENTS, {}],
])(
  '$name takes every value of $1 [interface 1, interface 2.6]',
  async (resource, field, values, rest) => {
    for (const value of values) {
      const sent = resource === tokens ? [value] : value;
      const body = { ...(await resource.fullBody()), ...rest, [field]: sent };
      const response = await post(resource.path, body);
      expect(response.status, response.text).toBe(201);
      expect(response.json).toMatchObject({ [field]: sent });
    }
  },
);

it.each<[CreatableResource, string, string[]]>([
  [products, 'productType', PRODUCT_TYPES],
  [licenses, 'licenseType', LICENSE_TYPES],
  [licenses, 'licensePlatform', LICENSE_PLATFORMS],
  [licenses, 'licenseStatus', LICENSE_STATUSES],
  [blacklists, 'licenseDataType', LICENSE_DATA_TYPES],
])(
  '$name with another $1 returns 400 listing the values [3.17, interface 2.6]',
  async (resource, field, values) => {
    const message = `${field} must be one of ${values.join(', ')}`;
    const one = `${resource.path}/${(await resource.create()).id}`;
    for (const wrong of ['NONE', values[0]?.toLowerCase(), '', 0]) {
      const body = { ...(await resource.fullBody()), [field]: wrong };
      const created = await withoutChange(resource.path, () => post(resource.path, body));
      expectError(created, 400, message);
      const updated = await withoutChange(one, () => put(one, { [field]: wrong }));
      expectError(updated, 400, message);
    }
  },
);

it('a token with another intent returns 400 listing the values [3.17]', async () => {
  const body = { ...(await tokens.fullBody()), intents: ['ALL_READ', 'ALL_WRITE'] };
  const response = await withoutChange(tokens.path, () => post(tokens.path, body));
  expectError(response, 400, `intents[1] must be one of ${API_INTENTS.join(', ')}`);
});

it.each([
  ['licenses?licenseStatus=active', 'licenseStatus', LICENSE_STATUSES],
  ['licenses?licenseType=FREE', 'licenseType', LICENSE_TYPES],
  ['products?productType=GAME', 'productType', PRODUCT_TYPES],
  ['blacklists?licenseDataType=MAC', 'licenseDataType', LICENSE_DATA_TYPES],
  ['licenses/by-platform/PLATFORM_D/5', 'platform', LICENSE_PLATFORMS],
])('GET %s returns 400 listing the values [3.17, 3.44]', async (path, name, values) => {
  const response = await call('GET', `/api/v2/${path}`);
  expectError(response, 400, `${name} must be one of ${values.join(', ')}`);
});

const withExpiry = async (expiryDate: unknown) =>
  post(licenses.path, { ...(await licenses.fullBody()), expiryDate });

it.each([
  ['with an offset of zero', '2030-01-27T19:01:25.710+00:00', '2030-01-27T19:01:25.710+00:00'],
  ['with Z', '2030-01-27T19:01:25.710Z', '2030-01-27T19:01:25.710+00:00'],
  ['with an offset to the east', '2030-01-28T00:31:25+05:30', '2030-01-27T19:01:25.000+00:00'],
  ['with an offset without colon', '2030-01-27T20:01:25+0100', '2030-01-27T19:01:25.000+00:00'],
  ['without an offset, then UTC', '2030-01-27T19:01:25.710', '2030-01-27T19:01:25.710+00:00'],
  ['without milliseconds', '2030-01-27T19:01:25', '2030-01-27T19:01:25.000+00:00'],
  ['without seconds', '2030-01-27T19:01Z', '2030-01-27T19:01:00.000+00:00'],
  ['finer than milliseconds', '2030-01-27T19:01:25.710999Z', '2030-01-27T19:01:25.710+00:00'],
  ['that is a date alone', '2030-01-27', '2030-01-27T00:00:00.000+00:00'],
  ['on a leap day', '2028-02-29', '2028-02-29T00:00:00.000+00:00'],
])(
  'one %s is taken and written as the interface does [3.15, 3.16, interface 1, interface 2]',
  async (_, sent, shown) => {
    const response = await withExpiry(sent);
    expect(response.status, response.text).toBe(201);
    expect(response.json).toMatchObject({ expiryDate: shown });
  },
);

it.each([
  'tomorrow',
  '2030-01-27T25:00:00Z',
  '2030-01-27T19:01:25+25:00',
  'Sun, 27 Jan 2030 19:01:25 GMT',
  1_895_684_485_710,
])('%j is no timestamp and returns 400 [3.16]', async (sent) => {
  const response = await withoutChange(licenses.path, () => withExpiry(sent));
  expectError(response, 400, /^expiryDate must be an ISO 8601 timestamp/);
  const one = `${licenses.path}/${(await licenses.create()).id}`;
  const update = await withoutChange(one, () => put(one, { expiryDate: sent }));
  expectError(update, 400, /^expiryDate must be an ISO 8601 timestamp/);
});

it.each(['2030-02-30T00:00:00Z', '2029-02-29'])(
  '%s returns 400, because the day does not exist [3.16]',
  async (sent) => {
    const response = await withoutChange(licenses.path, () => withExpiry(sent));
    expectError(response, 400, 'expiryDate must be a day that exists, for example 2035-12-31');
  },
);

const FIELDS: [Pick<Resource, 'name' | 'path' | 'create'>, string][] = [
  [products, 'roleId'],
  [products, 'purchaseRoleId'],
  [licenses, 'ownerPlatformId'],
  [licenses, 'ownerChatId'],
  [customers, 'chatId'],
  [customers, 'platformAId'],
  [customers, 'platformBId'],
  [customers, 'platformCId'],
  [customers, 'marketAId'],
  [customers, 'marketBId'],
];
const CASES = FIELDS.map(([resource, field], index) => ({
  ...resource,
  field,
  safe: Number.MAX_SAFE_INTEGER - index,
  long: `${1_234_567_890 + index}12345678901234567890`,
}));
const createPath = async ({ path, create }: (typeof CASES)[number]) =>
  `${path}/${(await create()).id}`;

it.each(CASES)(
  '$field of a $name is text, and takes a safe integer as its text [3.19]',
  async (one) => {
    const path = await createPath(one);
    for (const value of [one.long, one.safe]) {
      const response = await put(path, { [one.field]: value });
      expect(response.json).toMatchObject({ [one.field]: String(value) });
      expect(await read(path)).toMatchObject({ [one.field]: String(value) });
    }
    for (const number of ['9007199254740993', '1.5', 'true']) {
      const response = await withoutChange(path, () => put(path, `{"${one.field}":${number}}`));
      expectError(response, 400, new RegExp(`^${one.field} must be`));
    }
  },
);
