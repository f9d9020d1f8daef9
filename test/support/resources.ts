import { dynamicSettings } from '@licet/contract/dynamic-market';
import { DYNAMIC_PRESETS } from '@licet/contract/dynamic-presets';
import { expect } from 'vitest';
import * as z from 'zod';
import { call, create, type ReadResponse } from './client.ts';

/**
 * The resources of v2 as data, for the rules that hold for all of them: how a body with every field
 * looks, what of it can change, what null clears and what belongs to the service.
 */

export type Fields = Record<string, unknown>;

/** Whether a field has the address of a page or a picture, by its name. */
export const isWebAddress = (field: string): boolean => /url$/i.test(field);

export interface Resource {
  /** As the errors call it. */
  name: string;
  path: string;
  /** Creates one with a value in every field. */
  create: () => Promise<AnyObject>;
  /** Another value for every field that a client can set on its own. */
  changes: () => Fields;
  /** The fields that null clears, with what they read then. */
  cleared: Fields;
  /** Fields that the service keeps, with values that it must not take. */
  systemFields: Fields;
}

export interface CreatableResource extends Resource {
  /** All that a create takes; each call gives another object. */
  fullBody: () => Promise<Fields>;
  /** Fields that must not be sent on create, with values that would do otherwise. */
  forbidden: Fields;
}

const anyObject = z.looseObject({ id: z.int() });
export type AnyObject = z.infer<typeof anyObject>;

export async function read(path: string): Promise<AnyObject> {
  const response = await call('GET', path);
  expect(response.status, response.text).toBe(200);
  return anyObject.parse(response.json);
}

export async function readList(path: string): Promise<AnyObject[]> {
  const response = await call('GET', path);
  expect(response.status, response.text).toBe(200);
  return anyObject.array().parse(response.json);
}

export const idsOf = async (path: string): Promise<number[]> =>
  (await readList(path)).map(({ id }) => id);

/** A response's objects as people set them: totals of earlier validations may still be under way. */
const withoutTotals = (response: ReadResponse): unknown =>
  JSON.parse(response.text, (name, value) => (name === 'totalRequests' ? undefined : value));

/** Runs requests that must not change the object at a path, and returns their response. */
export async function withoutChange<Result>(
  path: string,
  request: () => Promise<Result>,
): Promise<Result> {
  const before = await call('GET', path);
  const response = await request();
  const after = await call('GET', path);
  expect(withoutTotals(after)).toEqual(withoutTotals(before));
  expect(after.headers.get('ETag')).toBe(before.headers.get('ETag'));
  return response;
}

let created = 0;
const nextNumber = () => ++created;

/** A number of an account elsewhere: longer than a JSON number can be exact. */
const nextAccountId = () => `90071992547409${String(nextNumber()).padStart(5, '0')}`;

export async function post(path: string, body: Fields): Promise<AnyObject> {
  const response = await call('POST', path, { body });
  expect(response.status, response.text).toBe(201);
  return anyObject.parse(response.json);
}

const LONG_AGO = '2001-02-03T04:05:06.007+00:00';

export const products: CreatableResource = {
  name: 'Product',
  path: '/api/v2/products',
  create: async () => post(products.path, await products.fullBody()),
  fullBody: async () => ({
    name: `Plugin ${nextNumber()}`,
    description: 'Protects regions',
    productType: 'OTHER',
    productTypeOther: 'Data pack',
    defaultMaxIPs: 2,
    defaultMaxHWIDs: 3,
    roleId: nextAccountId(),
    purchaseRoleId: nextAccountId(),
    url: 'https://example.com/plugin',
    imageUrl: 'https://example.com/plugin.png',
    offlineDays: 7,
    ipIdleDays: 7,
    hwidIdleDays: 30,
    defaultExpiresAfterDays: 365,
    selfResets: 3,
    selfRotate: true,
    checkAfterHours: 12,
    entitlements: { edition: 'gold', max_players: 100, pro: true },
  }),
  forbidden: { id: 999_999, createdDate: LONG_AGO, updatedDate: LONG_AGO },
  changes: () => ({
    name: 'Renamed',
    description: 'Protects more',
    productType: 'WEB_APPLICATION',
    productTypeOther: 'Shader',
    defaultMaxIPs: -1,
    defaultMaxHWIDs: 0,
    roleId: nextAccountId(),
    purchaseRoleId: nextAccountId(),
    url: 'https://example.org/',
    imageUrl: 'https://example.org/image.png',
    offlineDays: 14,
    ipIdleDays: 14,
    hwidIdleDays: 60,
    defaultExpiresAfterDays: 30,
    selfResets: 100,
    selfRotate: false,
    checkAfterHours: 720,
    entitlements: { edition: 'silver' },
  }),
  cleared: {
    description: '',
    productTypeOther: '',
    roleId: null,
    purchaseRoleId: null,
    url: null,
    imageUrl: null,
    ipIdleDays: null,
    hwidIdleDays: null,
    defaultExpiresAfterDays: null,
    entitlements: {},
  },
  systemFields: { createdDate: LONG_AGO, updatedDate: LONG_AGO },
};

export const licenses: CreatableResource = {
  name: 'License',
  path: '/api/v2/licenses',
  create: async () => post(licenses.path, await licenses.fullBody()),
  fullBody: async () => ({
    productId: (await create.product()).id,
    licenseType: 'TEMPORARY',
    licensePlatform: 'PLATFORM_A',
    licensePlatformOther: 'none',
    ownerPlatformId: nextAccountId(),
    expiryDate: '2099-12-31T23:59:59.999+00:00',
    expiresAfterDays: null,
    maxIPs: 2,
    maxHWIDs: 3,
    ownerChatId: nextAccountId(),
    ownerChatUsername: 'steve',
    licenseStatus: 'ACTIVE',
    ips: ['203.0.113.7', '2001:db8::7'],
    hwids: ['HW-7'],
    notes: 'Bought in the sale',
    metadata: { order: '4711', plan: 'gold' },
    entitlements: { max_players: -1, pro: null },
    entitlementsExpire: { edition: '2099-12-31T23:59:59.999+00:00' },
  }),
  forbidden: {
    id: 999_999,
    licenseKey: 'AAAA-BBBB-CCCC-DDDD-EEEE',
    createdDate: LONG_AGO,
    updatedDate: LONG_AGO,
    effectiveEntitlements: { pro: true },
    customer: { id: 999_999 },
  },
  changes: () => ({
    licensePlatform: 'OTHER',
    licensePlatformOther: 'Forum',
    ownerPlatformId: nextAccountId(),
    expiryDate: '2100-01-01T00:00:00.000+00:00',
    maxIPs: -1,
    maxHWIDs: 7,
    ownerChatId: nextAccountId(),
    ownerChatUsername: 'alex',
    licenseStatus: 'DEACTIVATED',
    ips: ['203.0.113.9'],
    hwids: ['HW-9', 'HW-8'],
    notes: 'Asked for more',
    metadata: { plan: 'silver' },
    entitlements: { 'module.economy': true },
    entitlementsExpire: { 'module.economy': '2100-01-01T00:00:00.000+00:00' },
  }),
  cleared: {
    licensePlatformOther: '',
    ownerChatUsername: '',
    notes: '',
    metadata: {},
    entitlements: {},
    entitlementsExpire: {},
    ownerPlatformId: '',
    licensePlatform: null,
    ownerChatId: '',
  },
  systemFields: {
    createdDate: LONG_AGO,
    updatedDate: LONG_AGO,
    customer: { id: 999_999 },
    productIdString: '999999',
    totalRequests: 999_999,
    effectiveEntitlements: { pro: true },
  },
};

export const blacklists: CreatableResource = {
  name: 'Blacklist entry',
  path: '/api/v2/blacklists',
  create: async () => post(blacklists.path, await blacklists.fullBody()),
  fullBody: async () => ({
    licenseDataType: 'HWID',
    data: `HW-${nextNumber()}`,
    isForAllProducts: false,
    productId: (await create.product()).id,
    reason: 'Charged back',
  }),
  forbidden: { id: 999_999, createdAt: LONG_AGO, updatedAt: LONG_AGO },
  changes: () => ({
    data: '198.51.100.0/24',
    licenseDataType: 'IP',
    reason: 'Leaked the plugin',
  }),
  cleared: { reason: '' },
  systemFields: { createdAt: LONG_AGO, updatedAt: LONG_AGO },
};

export const tokens: CreatableResource = {
  name: 'Token',
  path: '/api/v2/tokens',
  create: async () => {
    const { id } = await post(tokens.path, await tokens.fullBody());
    return read(`${tokens.path}/${id}`);
  },
  fullBody: async () => ({
    name: `Shop ${nextNumber()}`,
    intents: ['PRODUCTS_READ', 'LICENSES_READ_WRITE'],
    expiresAt: '2099-12-31T23:59:59.999+00:00',
  }),
  forbidden: {
    id: 999_999,
    token: 'licet_of-my-own',
    lastUsedAt: LONG_AGO,
    createdAt: LONG_AGO,
    updatedAt: LONG_AGO,
  },
  changes: () => ({
    name: 'Panel',
    intents: ['ALL_READ'],
    expiresAt: '2100-01-01T00:00:00.000+00:00',
  }),
  cleared: { expiresAt: null },
  systemFields: { lastUsedAt: LONG_AGO, createdAt: LONG_AGO, updatedAt: LONG_AGO },
};

const identityFields = (): Fields => ({
  firstName: 'Ada',
  lastName: 'Lovelace',
  username: 'ada',
  email: `ada.${nextNumber()}@example.com`,
  phoneNumber: '+44 20 7946 0000',
  profilePictureUrl: 'https://example.com/ada.png',
  role: 'CUSTOMER',
  status: 'ACTIVE',
  chatId: nextAccountId(),
  chatUsername: 'ada_chat',
  chatAvatarUrl: 'https://example.com/ada-chat.png',
  platformAId: nextAccountId(),
  platformAUsername: 'ada_a',
  platformBId: nextAccountId(),
  platformBUsername: 'ada_b',
  platformCId: nextAccountId(),
  platformCUsername: 'ada_c',
  marketAId: nextAccountId(),
  marketAUsername: 'ada_ma',
  marketBId: nextAccountId(),
  marketBUsername: 'ada_mb',
  metadata: { crm: `acct_${nextNumber()}` },
});

/** Customers that come with licenses; a PUT names them. */
export const customers: CreatableResource = {
  name: 'Customer',
  path: '/api/v2/customers',
  fullBody: async () => identityFields(),
  forbidden: { id: 999_999, createdAt: LONG_AGO, passwordHash: 'secret' },
  create: async () => {
    const { id: productId } = await create.product();
    const { customer } = await create.license({ productId, ownerChatId: nextAccountId() });
    const path = `${customers.path}/${customer?.id}`;
    const response = await call('PUT', path, { body: identityFields() });
    expect(response.status, response.text).toBe(200);
    return read(path);
  },
  changes: identityFields,
  cleared: {
    ...Object.fromEntries(Object.keys(identityFields()).map((field) => [field, null])),
    metadata: {},
  },
  systemFields: { createdAt: LONG_AGO },
};

/** Switched off, so that nothing is sent. */
export const webhooks: CreatableResource = {
  name: 'Webhook',
  path: '/api/v2/webhooks',
  create: async () => {
    // There are at most ten.
    const [oldest, ...others] = await readList(webhooks.path);
    if (oldest && others.length >= 8) await call('DELETE', `${webhooks.path}/${oldest.id}`);
    const { id } = await post(webhooks.path, await webhooks.fullBody());
    return read(`${webhooks.path}/${id}`);
  },
  fullBody: async () => ({
    url: `https://shop.example/${nextNumber()}`,
    format: 'standard',
    types: ['license.*', 'token.created'],
    enabled: false,
    description: 'Shop',
  }),
  forbidden: {
    id: 999_999,
    createdAt: LONG_AGO,
    updatedAt: LONG_AGO,
    lastSuccessAt: LONG_AGO,
    failingSince: LONG_AGO,
    disabledReason: 'Gone',
    secret: 'whsec_of-my-own',
  },
  changes: () => ({
    url: `https://shop.example/other/${nextNumber()}`,
    format: 'discord',
    types: ['session.*'],
    enabled: true,
    description: 'Panel',
  }),
  cleared: { description: '' },
  systemFields: {
    createdAt: LONG_AGO,
    updatedAt: LONG_AGO,
    lastSuccessAt: LONG_AGO,
    failingSince: LONG_AGO,
    disabledReason: 'Gone',
  },
};

export const markets: CreatableResource = {
  name: 'Market',
  path: '/api/v2/markets',
  create: async () => {
    // There are at most twenty.
    const [oldest, ...others] = await readList(markets.path);
    if (oldest && others.length >= 18) await call('DELETE', `${markets.path}/${oldest.id}`);
    const { id } = await post(markets.path, await markets.fullBody());
    return read(`${markets.path}/${id}`);
  },
  fullBody: async () => ({
    kind: 'dynamic',
    name: `Market ${nextNumber()}`,
    enabled: false,
    products: [
      {
        item: '62494',
        productId: (await create.product()).id,
        licenseType: 'TEMPORARY',
        expiresAfterDays: 30,
        maxIPs: 2,
        maxHWIDs: -1,
        quantity: 'limits',
      },
    ],
    onRefund: 'keep',
    onDispute: 'wait',
    mailsKey: true,
    settings: dynamicSettings.parse(DYNAMIC_PRESETS.sellauth.settings),
  }),
  forbidden: {
    id: 999_999,
    addresses: ['https://evil.example'],
    secretCount: 7,
    hasApiToken: true,
    createdAt: LONG_AGO,
    updatedAt: LONG_AGO,
    reconciledAt: LONG_AGO,
  },
  changes: () => ({
    name: `Market ${nextNumber()}`,
    enabled: true,
    products: [],
    onRefund: 'deactivate',
    onDispute: 'keep',
    mailsKey: false,
    settings: dynamicSettings.parse(DYNAMIC_PRESETS.shoppex.settings),
  }),
  cleared: {},
  systemFields: {
    addresses: ['https://evil.example'],
    secretCount: 7,
    hasApiToken: true,
    createdAt: LONG_AGO,
    updatedAt: LONG_AGO,
    reconciledAt: LONG_AGO,
  },
};

/** A purchase of before, with its market and its license. */
export async function newPurchase() {
  const { id: marketId } = await markets.create();
  const { id: licenseId } = await licenses.create();
  return { marketId, item: '62494', reference: String(nextNumber()), licenseId };
}

export const CREATABLE = [products, licenses, blacklists, tokens, webhooks, markets];
/** All of them. The DELETE of a customer leaves its row, without the person. */
export const UPDATABLE = [...CREATABLE, customers];
