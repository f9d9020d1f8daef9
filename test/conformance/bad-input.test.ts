import { expect, it } from 'vitest';
import { call, expectError } from '../support/client.ts';
import {
  blacklists,
  CREATABLE,
  type CreatableResource,
  customers,
  licenses,
  markets,
  products,
  type Resource,
  tokens,
  UPDATABLE,
  webhooks,
  withoutChange,
} from '../support/resources.ts';

/** The values that POST and PUT reject: 400 with the name of the field, and nothing is stored (3.1). */

type BadValue = [field: string, value: unknown, message: string | RegExp];

const badLimits = (field: string): BadValue[] => [
  [field, -2, `${field} must be 0 to 1000; use -1 for unlimited`],
  [field, 1_001, `${field} must be 0 to 1000; use -1 for unlimited`],
  [field, 1.5, `${field} must be an integer`],
  [field, '5', `${field} must be an integer`],
  [field, true, `${field} must be an integer`],
];

const BAD: Record<string, BadValue[]> = {
  [products.name]: [
    ['name', '', 'name must not be empty'],
    ['name', '   ', 'name must not be empty'],
    ['name', null, 'name must be a string'],
    ['name', 5, 'name must be a string'],
    ['name', 'n'.repeat(256), 'name must be at most 255 characters'],
    ['description', {}, 'description must be a string'],
    ['url', 5, 'url must be a string'],
    ['imageUrl', [], 'imageUrl must be a string'],
    ...badLimits('defaultMaxIPs'),
    ...badLimits('defaultMaxHWIDs'),
    ['offlineDays', -1, 'offlineDays must be at least 0'],
    ['offlineDays', 91, 'offlineDays must be at most 90'],
    ['ipIdleDays', 1.5, 'ipIdleDays must be an integer from 1 to 365'],
    ['ipIdleDays', '7', 'ipIdleDays must be an integer from 1 to 365'],
    ['ipIdleDays', 0, 'ipIdleDays must be an integer from 1 to 365'],
    ['ipIdleDays', 366, 'ipIdleDays must be an integer from 1 to 365'],
    ['hwidIdleDays', -1, 'hwidIdleDays must be an integer from 1 to 365'],
    ['defaultExpiresAfterDays', 3_651, 'defaultExpiresAfterDays must be an integer from 1 to 3650'],
    ['selfResets', -1, 'selfResets must be at least 0'],
    ['selfResets', 101, 'selfResets must be at most 100'],
    ['selfRotate', 'yes', 'selfRotate must be true or false'],
    ['offlineDays', 1.5, 'offlineDays must be an integer'],
    ['offlineDays', '7', 'offlineDays must be an integer'],
  ],
  [licenses.name]: [
    ['productId', 999_999, 'productId 999999 does not exist'],
    ['productId', '1', 'productId must be an integer'],
    ['ips', ['203.0.113.1', 'localhost'], 'ips[1] must be an IP address'],
    ['ips', ['203.0.113.0/24'], 'ips[0] must be an IP address'],
    ['ips', null, 'ips must be an array'],
    ['hwids', [''], 'hwids[0] must not be empty'],
    ['hwids', ['h'.repeat(513)], /hwids\[0\] must be at most 512 bytes$/],
    ['hwids', ['1', '2', '3', '4'], 'hwids must be at most 3 in number, the limit in maxHWIDs'],
    [
      'ips',
      ['2a01:1::1', '2a01:2::1', '192.0.2.3'],
      'ips must be at most 2 in number, the limit in maxIPs',
    ],
    [
      'ips',
      ['192.0.2.3', '::ffff:172.18.0.5'],
      'ips must not have 172.18.0.5, which is a private or reserved address and identifies no machine: leave it out',
    ],
    ['notes', 'n'.repeat(10_001), 'notes must be at most 10000 characters'],
    ['ownerChatId', '4'.repeat(256), 'ownerChatId must be at most 255 characters'],
    ...badLimits('maxIPs'),
    ...badLimits('maxHWIDs'),
  ],
  [blacklists.name]: [
    ['productId', 999_999, 'productId 999999 does not exist'],
    ['productId', '1', 'productId must be an integer'],
    ['isForAllProducts', 'true', 'isForAllProducts must be true or false'],
    ['data', '', 'data must not be empty'],
    ['data', 5, 'data must be a string'],
    ['data', 'h'.repeat(513), 'data must be at most 512 characters'],
    ['reason', 5, 'reason must be a string'],
    ['reason', 'r'.repeat(1_001), 'reason must be at most 1000 characters'],
  ],
  [customers.name]: [
    ['email', 'no address', 'email must be an e-mail address'],
    ['email', '', 'email must be an e-mail address'],
    ['email', `${'a'.repeat(250)}@b.cd`, 'email must be at most 254 characters'],
    ['firstName', 5, 'firstName must be a string'],
    ['username', 'u'.repeat(256), 'username must be at most 255 characters'],
    ['profilePictureUrl', {}, 'profilePictureUrl must be a string'],
  ],
  [tokens.name]: [
    ['name', ' ', 'name must not be empty'],
    ['intents', [], 'intents must be at least 1 in number'],
    ['intents', 'ALL_READ', 'intents must be an array'],
    ['expiresAt', 'never', /^expiresAt must be an ISO 8601 timestamp/],
    ['token', 'my-own', 'token must not be sent'],
  ],
  [webhooks.name]: [
    ['url', '', 'url must not be empty'],
    ['url', 5, 'url must be a string'],
    ['url', 'http://shop.example/', 'url must begin with https://'],
    ['format', 'slack', 'format must be one of standard, discord'],
    ['types', 'license.*', 'types must be an array'],
    ['types', ['licenses.*'], /^types\[0\] must be one of product\.\*, license\.\*, /],
    ['enabled', 'true', 'enabled must be true or false'],
    ['description', 'd'.repeat(256), 'description must be at most 255 characters'],
    ['secret', 'whsec_my-own', 'secret must not be sent'],
  ],
  [markets.name]: [
    ['kind', 'steam', /^kind must be one of builtbybit, voxel, dynamic, /],
    ['name', ' ', 'name must not be empty'],
    ['enabled', 'true', 'enabled must be true or false'],
    ['products', {}, 'products must be an array'],
    ['products', [{ item: '1' }], 'products[0].productId is required'],
    ['products', [{ item: '1', productId: 1, maxIPs: -2 }], /^products\[0\]\.maxIPs must be 0 to/],
    ['onRefund', 'wait', 'onRefund must be one of deactivate, keep'],
    ['onDispute', 'ask', 'onDispute must be one of deactivate, wait, keep'],
    ['secrets', ['short'], 'secrets[0] must have at least 6 characters'],
    ['secrets', ['with blank'], 'secrets[0] must be visible characters without blanks'],
    ['apiToken', 5, 'apiToken must be a string'],
  ],
};

it.each<Resource & Partial<CreatableResource>>(UPDATABLE)(
  'a $name with a value that a field does not take returns 400 on create and on update [1.4.2, 3.1.3, 3.2.5, 3.2.6, 7.2.1, 9.1.1, 10.1.1, interface 2.7]',
  async ({ name, path, create, fullBody, changes }) => {
    const one = `${path}/${(await create()).id}`;
    const full = await fullBody?.();
    // The limits of a license of which the fields are full.
    const changed = { ...changes(), ...(path === licenses.path && { maxIPs: 2, maxHWIDs: 3 }) };
    const bad = BAD[name] ?? [];
    expect(bad).not.toEqual([]);
    await withoutChange(path, async () => {
      for (const [field, value, message] of bad) {
        if (full) {
          const body = { ...full, [field]: value };
          expectError(await call('POST', path, { body }), 400, message);
        }
        const body = { ...changed, [field]: value };
        expectError(await call('PUT', one, { body }), 400, message);
      }
    });
  },
);

const REQUIRED: Record<string, string[]> = {
  [products.name]: ['name', 'productType'],
  [licenses.name]: ['productId', 'licenseType'],
  [blacklists.name]: ['licenseDataType', 'data', 'isForAllProducts'],
  [tokens.name]: ['name', 'intents'],
  [webhooks.name]: ['url'],
  [markets.name]: ['kind', 'name'],
};

it.each(CREATABLE)('a $name without a required field returns 400', async (resource) => {
  const { name, path } = resource;
  for (const field of REQUIRED[name] ?? []) {
    const { [field]: _, ...body } = await resource.fullBody();
    const response = await withoutChange(path, () => call('POST', path, { body }));
    expectError(response, 400, `${field} is required`);
  }
  expect(REQUIRED).toHaveProperty([name]);
});
