import { env } from 'cloudflare:workers';
import { FIELDS } from '@licet/cli/import/fields';
import { entryFields } from '@licet/contract/blacklists';
import { customerFields } from '@licet/contract/customers';
import type { ImportKind } from '@licet/contract/enums';
import { customerItem, entryItem, licenseItem, productItem } from '@licet/contract/import';
import { licenseFields } from '@licet/contract/licenses';
import { productFields } from '@licet/contract/products';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { newIsolate, settled } from '../support/app.ts';
import {
  call,
  create,
  expectError,
  get,
  historyOf,
  type License,
  restart,
  updateLicense,
  validate,
} from '../support/client.ts';
import { spyOnDatabase } from '../support/d1-spy.ts';
import { beforeFirstWrite, withFaults } from '../support/faults.ts';
import { importItems, importOne, postImport } from '../support/import.ts';
import { emptyKv } from '../support/published.ts';
import { type Fields, products } from '../support/resources.ts';

/** POST /api/v2/import: what another service has is stored as it is, once, and nothing is overwritten. */

const LISTS: Record<ImportKind, readonly string[]> = {
  products: ['/api/v2/products'],
  customers: ['/api/v2/customers'],
  licenses: ['/api/v2/licenses', '/api/v2/licenses?licenseStatus=DELETED'],
  blacklists: ['/api/v2/blacklists'],
};

const KINDS: readonly ImportKind[] = ['products', 'customers', 'licenses', 'blacklists'];

/** All that GET shows of a kind. */
async function listOf(kind: ImportKind): Promise<Fields[]> {
  const lists = await Promise.all(LISTS[kind].map((path) => call('GET', path)));
  return lists.flatMap(({ text }) => {
    const items: Fields[] = JSON.parse(text);
    return items;
  });
}

/** All that can be imported, as GET shows it. */
async function everything(): Promise<Record<ImportKind, Fields[]>> {
  const [products = [], customers = [], licenses = [], blacklists = []] = await Promise.all(
    KINDS.map(listOf),
  );
  return { products, customers, licenses, blacklists };
}

/** Everything that an import stores, and the history of it. */
const TABLES = [
  ...['bindings', 'replaced_keys', 'licenses', 'blacklists', 'customers', 'products'],
  ...['requests', 'buckets', 'installations', 'rollups', 'deleted_ids'],
];

/** Leaves a service as it is before its first use, but for its tokens. The Worker is a cold isolate. */
async function emptyService(): Promise<void> {
  await settled();
  await env.DB.batch([
    ...TABLES.map((table) => env.DB.prepare(`delete from ${table}`)),
    env.DB.prepare(
      `delete from sqlite_sequence where name in ('licenses', 'customers', 'products')`,
    ),
    env.DB.prepare('delete from outbox'),
  ]);
  await emptyKv();
  restart();
}

beforeEach(emptyService);
afterEach(settled);

const CREATED = '2019-05-06T07:08:09.123+00:00';
const UPDATED = '2021-02-03T04:05:06.789+00:00';

const product: Fields = {
  id: 602,
  name: 'Chunk Guard',
  description: 'Protects regions',
  productType: 'GAME_JAVA_PLUGIN',
  productTypeOther: '',
  createdDate: CREATED,
  updatedDate: UPDATED,
  defaultMaxIPs: 2,
  defaultMaxHWIDs: -1,
  roleId: '1187492034471100416',
  purchaseRoleId: null,
  url: 'https://shop.example/chunk-guard',
  imageUrl: null,
  offlineDays: 7,
};

const ada: Fields = {
  id: 17,
  firstName: 'Ada',
  email: 'Ada@shop.example',
  createdAt: CREATED,
  chatId: '280497242714931202',
  chatUsername: 'ada',
  platformAId: '48213',
};

const license: Fields = {
  id: 7341,
  licenseKey: 'Old-Key-1',
  productId: 602,
  licenseType: 'TEMPORARY',
  licensePlatform: 'PLATFORM_A',
  licensePlatformOther: '',
  ownerPlatformId: '48213',
  createdDate: CREATED,
  updatedDate: UPDATED,
  expiryDate: '2099-12-31T23:59:59.000+00:00',
  maxIPs: 2,
  maxHWIDs: -1,
  totalRequests: 128,
  ownerChatId: '280497242714931202',
  ownerChatUsername: 'ada',
  licenseStatus: 'ACTIVE',
  hwids: ['HW 1'],
  ips: ['192.0.2.10', '2001:db8::7'],
  notes: 'Bought in the summer sale',
  customer: ada,
};

const entry: Fields = {
  id: 5,
  licenseDataType: 'IP',
  data: '192.0.2.0/24',
  isForAllProducts: false,
  productId: 602,
  reason: 'Leaked keys',
  createdAt: CREATED,
  updatedAt: UPDATED,
};

const EXAMPLES: Record<ImportKind, Fields> = {
  products: product,
  customers: ada,
  licenses: license,
  blacklists: entry,
};

const importAll = async (all: Record<ImportKind, readonly Fields[]>) => {
  for (const kind of KINDS) if (all[kind].length > 0) await importItems(kind, all[kind]);
};

const byKey = async (licenseKey: string): Promise<unknown> =>
  (await call('GET', `/api/v2/licenses/by-license-key/${encodeURIComponent(licenseKey)}`)).json;

const count = async (table: string): Promise<number> =>
  (await env.DB.prepare(`select count(*) as n from ${table}`).first<number>('n')) ?? 0;

/** A shop in which everything is used, made by the interface itself. */
async function fillShop(): Promise<void> {
  const { id: productId } = await create.product({
    ...(await products.fullBody()),
    defaultMaxIPs: 5,
  });
  const other = await create.product({ name: 'Other', productType: 'OTHER', defaultMaxIPs: 1 });
  const lowered = await create.license({
    productId,
    ownerChatId: '1',
    ownerChatUsername: 'ada',
    ips: ['192.0.2.2', '192.0.2.1', '2001:db8::1'],
    hwids: ['b', 'a'],
    notes: 'Ä "quoted"\n😀',
  });
  await updateLicense(lowered.id, { maxIPs: 1, maxHWIDs: 0 });
  await create.license({
    productId,
    licenseType: 'TEMPORARY',
    expiryDate: '2001-01-01',
    licensePlatform: 'OTHER',
    licensePlatformOther: 'Forum',
    ownerPlatformId: 'x',
  });
  await create.license({
    productId: other.id,
    licenseStatus: 'DEACTIVATED',
    licensePlatform: 'MARKET_A',
    ownerPlatformId: '9007199254740993',
    ownerChatId: '1',
  });
  const deleted = await create.license({ productId: other.id, licensePlatform: 'CHAT' });
  await call('DELETE', `/api/v2/licenses/${deleted.id}`);
  const gone = await create.license({ productId });
  await create.license({ productId, licenseType: 'TEMPORARY', expiryDate: '2099-01-01' });
  await env.DB.prepare('delete from licenses where id = ?').bind(gone.id).run();
  const [customer] = await listOf('customers');
  await call('PUT', `/api/v2/customers/${customer?.id}`, {
    body: { firstName: 'Ada', email: 'Ada@Shop.example', platformBId: '7', role: 'VIP' },
  });
  await create.blacklist({ data: '198.51.100.0/24', reason: 'Proxies' });
  await create.blacklist({ data: '203.0.113.1', isForAllProducts: false, productId });
  await create.blacklist({ licenseDataType: 'HWID', data: 'cracked' });
  await validate({ licenseKey: lowered.licenseKey, productId, ip: '192.0.2.1', hwid: 'a' });
  await historyOf({ licenseKey: lowered.licenseKey }, 1);
}

it('an import of all that GET shows into an empty service makes GET show the same, and again changes nothing', async () => {
  await fillShop();
  const shop = await everything();
  expect(shop.licenses).toHaveLength(5);
  await emptyService();
  await importAll(shop);
  expect(await everything()).toStrictEqual(shop);

  for (const kind of KINDS) {
    const { results } = await importItems(kind, shop[kind]);
    expect(results.map(({ outcome, id }) => [outcome, id])).toEqual(
      shop[kind].map(({ id }) => ['unchanged', id]),
    );
  }
  expect(await everything()).toStrictEqual(shop);
});

it('a former key is in nothing that GET shows, and unknown where that is imported [7.3.11]', async () => {
  await fillShop();
  const [{ id, licenseKey: former } = {}] = await listOf('licenses');
  const rotated = await call('POST', `/api/v2/licenses/${id}/rotate`);
  expect(rotated.status, rotated.text).toBe(200);
  const find = async () => (await call('GET', `/api/v2/licenses?q=${former}`)).json;
  expect(await find()).toMatchObject([{ id }]);
  const shop = await everything();
  expect(JSON.stringify(shop)).not.toContain(former);
  await emptyService();
  await importAll(shop);
  expect(await find()).toEqual([]);
});

const ALL = { products: [product], customers: [ada], licenses: [license], blacklists: [entry] };

it('an item that is there is not changed by an import, and the response names what differs', async () => {
  const cases: [kind: ImportKind, item: Fields, differences: string[]][] = [
    [
      'products',
      { ...product, description: 'Changed', defaultMaxIPs: 9 },
      ['description', 'defaultMaxIPs'],
    ],
    ['products', { ...product, name: 'Renamed' }, ['name']],
    ['products', { id: 602, name: 'Chunk Guard', productType: 'GAME_JAVA_PLUGIN' }, []],
    ['customers', { ...ada, firstName: 'Eve', email: null }, ['firstName', 'email']],
    ['customers', { ...ada, email: 'ADA@shop.example' }, ['email']],
    ['customers', { id: 3, email: ' Ada@shop.example ' }, []],
    ['customers', { platformAId: 48213, createdAt: null }, []],
    [
      'licenses',
      { ...license, licenseKey: ' old-KEY-1 ', notes: '', ips: [], hwids: ['x'], maxIPs: 1 },
      ['licenseKey', 'maxIPs', 'hwids', 'ips', 'notes'],
    ],
    [
      'licenses',
      {
        ...{ ...license, licenseType: 'PERMANENT', expiryDate: null },
        ...{ licenseStatus: 'DEACTIVATED', ownerChatId: '9' },
      },
      ['licenseType', 'expiryDate', 'ownerChatId', 'licenseStatus'],
    ],
    [
      'licenses',
      { ...license, createdDate: UPDATED, updatedDate: CREATED },
      ['createdDate', 'updatedDate'],
    ],
    [
      'licenses',
      { ...license, totalRequests: 1, maxIPs: null, createdDate: null, customer: null },
      [],
    ],
    ['licenses', { ...license, id: 9, ips: ['::ffff:192.0.2.10', '2001:DB8::7'] }, []],
    ['blacklists', { ...entry, reason: 'Another', updatedAt: CREATED }, ['reason', 'updatedAt']],
    ['blacklists', { ...entry, data: '192.0.2.77/24', id: 1 }, []],
  ];
  await importAll(ALL);
  const before = await everything();
  for (const [kind, item, differences] of cases) {
    const outcome = differences.length > 0 ? 'kept' : 'unchanged';
    const { id } = EXAMPLES[kind];
    expect(await importOne(kind, item)).toEqual({ outcome, id, differences, reason: null });
  }
  expect(await everything()).toStrictEqual(before);
});

const TOO_LARGE = 'must be at most 281474976710656';
const CASES: Record<ImportKind, [Fields, string][]> = {
  products: [
    [{ id: null }, 'id is required'],
    [{ id: 2 ** 48 + 1 }, `id ${2 ** 48 + 1} ${TOO_LARGE}`],
    [
      { createdDate: UPDATED },
      `id 602 belongs to another product, "Chunk Guard", created ${CREATED}`,
    ],
    [{ name: 'Another', createdDate: null }, 'id 602 belongs to another product, "Chunk Guard"'],
    [{ id: 604, productType: 'PLUGIN' }, 'productType "PLUGIN" must be one of GAME_JAVA_PLUGIN,'],
    [
      { id: 604, createdDate: 'yesterday' },
      'createdDate "yesterday" must be an ISO 8601 timestamp',
    ],
    [{ id: 604, colour: 3, Shape: '' }, 'colour is not a known field; Shape is not a known field'],
  ],
  customers: [
    [{ id: 2 ** 53 - 1 }, TOO_LARGE],
    [{ email: 'nowhere' }, 'email "nowhere" must be an e-mail address'],
  ],
  licenses: [
    [{ licenseKey: 'new', id: 2 ** 48 + 1 }, TOO_LARGE],
    [{ licenseKey: 'new', id: '7' }, 'id "7" must be an integer'],
    [{ licenseKey: 'new', ips: ['Unknown'] }, 'ips[0] "Unknown" must be an IP address'],
    [{ licenseKey: 'new', maxIPs: 1_001 }, 'maxIPs 1001 must be 0 to 1000; use -1 for unlimited'],
    [{ licenseKey: 'new', licenseType: 'PERMANENT' }, 'expiryDate needs licenseType TEMPORARY'],
    [{ licenseKey: 'new', licensePlatform: '' }, 'licensePlatform "" must be one of'],
    [{ licenseKey: 'new', customer: { coins: 5 } }, 'coins is not a known field'],
    [{ licenseKey: ' ' }, 'licenseKey must not be empty'],
    [{ licenseKey: 'a\0b' }, 'licenseKey must not contain NUL'],
    [{ licenseKey: 'new', productId: 999 }, 'productId 999 does not exist'],
    [
      { licenseKey: 'new', expiryDate: null },
      'expiryDate or expiresAfterDays is required for a TEMPORARY',
    ],
    [
      { licenseKey: 'new', licenseStatus: 'EXPIRED' },
      'licenseStatus EXPIRED needs an expiryDate in the past, not 2099-',
    ],
    [
      { licenseKey: 'new', expiryDate: '31.12.2030' },
      'expiryDate "31.12.2030" must be an ISO 8601',
    ],
    [{ licenseKey: 'new', expiryDate: 1924991999 }, 'expiryDate 1924991999 must be an ISO 8601'],
    [
      { licenseKey: 'new', licenseType: `FOREVER${'!'.repeat(9_000)}` },
      `licenseType "FOREVER${'!'.repeat(33)}…" must be one of TEMPORARY, PERMANENT`,
    ],
    [
      { licenseKey: 'new', maxIPs: -2, maxHWIDs: 1.5 },
      'maxIPs -2 must be 0 to 1000; use -1 for unlimited; maxHWIDs 1.5 must be an integer',
    ],
    [{ licenseKey: 'new', ips: [{ ip: '192.0.2.1' }] }, 'ips[0] must be a string'],
    [{ licenseKey: 'new', customer: { email: '@' } }, 'customer.email "@" must be an e-mail'],
    [
      { licenseKey: 'new', customer: { ...ada, id: 2 ** 48 + 1 } },
      `customer.id ${2 ** 48 + 1} ${TOO_LARGE}`,
    ],
    [{ productId: 603 }, 'licenseKey belongs to a license of product 602'],
  ],
  blacklists: [
    [{ data: '192.0.2.0/40' }, 'data "192.0.2.0/40" must be an IP address or a CIDR range'],
    [{ data: '198.51.100.1', productId: 999 }, 'productId 999 does not exist'],
    [{ data: '198.51.100.1', productId: null }, 'productId is required when isForAllProducts is'],
    [{ isForAllProducts: 'TRUE' }, 'isForAllProducts "TRUE" must be true or false'],
  ],
};
const GOOD: Record<ImportKind, Fields> = {
  products: { id: 700, name: 'Good' },
  customers: { id: 700, email: 'good@shop.example', chatId: '700', platformAId: '700' },
  licenses: { id: 700, licenseKey: 'good' },
  blacklists: { id: 700, data: '203.0.113.0/24', isForAllProducts: true, productId: null },
};

it.each(KINDS)('an invalid item of %s is refused with the reason, and no other', async (kind) => {
  const second = { ...product, id: 603, name: 'Second' };
  await importAll({
    ...{ products: [product, second], customers: [], licenses: [license], blacklists: [] },
  });
  const before = await listOf(kind);
  const bad = CASES[kind].map(([fields]) => ({ ...EXAMPLES[kind], ...fields }));
  const good = { ...EXAMPLES[kind], ...GOOD[kind] };
  const { results } = await importItems(kind, [...bad, good, 'nonsense']);
  expect(results).toEqual([
    ...CASES[kind].map(([, reason]) => ({
      outcome: 'refused',
      id: null,
      differences: [],
      reason: expect.stringContaining(reason),
    })),
    { outcome: 'created', id: good.id, differences: [], reason: null },
    { outcome: 'refused', id: null, differences: [], reason: 'must be an object' },
  ]);
  expect((await listOf(kind)).filter(({ id }) => id !== good.id)).toStrictEqual(before);
});

it('an import responds with 200 whatever its items hold', async () => {
  await importOne('products', product);
  const nasty = fc.oneof(
    fc.constantFrom('\0', '\uD800', '', ' ', '1e3', '-0', '9'.repeat(20), '٣', 'x'.repeat(5_000)),
    fc.constantFrom(0, -0, -1, 0.5, 1e308, 2 ** 31, 2 ** 53, true, null, [], {}, [null], [[]]),
    fc.constantFrom(['\0'], ['\uD800'], [1], { id: '\0' }, { email: [] }, { chatId: '\uD800' }),
    fc.constantFrom('0000-01-01', '9999-12-31T23:59:59.999Z', '+275760-09-13T00:00:00Z', '::1/0'),
    fc.jsonValue({ maxDepth: 2 }),
  );
  for (const kind of KINDS) {
    const names = [...Object.keys(EXAMPLES[kind]), '__proto__', 'constructor', '\uD800'];
    const item = fc
      .array(fc.tuple(fc.constantFrom(...names), nasty), { minLength: 1, maxLength: 3 })
      .map((fields) => {
        // Written by hand: an object would take `__proto__` for its prototype.
        const members = Object.entries(EXAMPLES[kind]).concat(fields);
        return members.map((member) => member.map((part) => JSON.stringify(part)).join(':'));
      });
    const [items = []] = fc.sample(fc.array(item, { minLength: 200, maxLength: 200 }), {
      numRuns: 1,
      seed: 20_261_120,
    });
    const body = `{"kind":"${kind}","items":[${items.map((members) => `{${members}}`)}]}`;
    const response = await postImport(body);
    expect(response.status, response.text).toBe(200);
    expect(response.text).toContain('refused');
    expect(response.text).toContain('created');
  }
});

it.each([
  ['kind', { kind: 'requests', items: [{}] }, /^kind must be one of products, customers, lic/],
  ['no item', { kind: 'licenses', items: [] }, 'items must be at least 1 in number'],
  ['201', { kind: 'licenses', items: Array(201).fill({}) }, 'items must be at most 200 in number'],
  ['no items', { kind: 'licenses' }, 'items is required'],
  [
    'field',
    { kind: 'licenses', items: [{}], dryrun: true },
    'dryrun is not a known field (did you mean dryRun?)',
  ],
  ['body', '[', /JSON/],
])('an import with a bad %s gets 400', async (_, body, message) => {
  expectError(await postImport(body), 400, message, ['ALL_READ_WRITE']);
});

it('an import keeps ids that are free; else the database gives new ones, above all others', async () => {
  await importOne('products', product);
  const items = [
    license,
    { ...license, licenseKey: 'second' },
    { ...license, licenseKey: 'third', id: 12 },
    { ...license, licenseKey: 'fourth', id: null },
  ];
  const { results } = await importItems('licenses', items);
  expect(results).toEqual([
    { outcome: 'created', id: 7341, differences: [], reason: null },
    {
      outcome: 'created',
      id: 7342,
      differences: ['id'],
      reason: 'id 7341 is, or was, in use',
    },
    { outcome: 'created', id: 12, differences: [], reason: null },
    { outcome: 'created', id: 7343, differences: [], reason: null },
  ]);
  expect(await get.license(7342)).toMatchObject({ licenseKey: 'second', ips: license.ips });
  const again = await importItems('licenses', items);
  expect(again.results.map(({ outcome, id }) => [outcome, id])).toEqual([
    ['unchanged', 7341],
    ['unchanged', 7342],
    ['unchanged', 12],
    ['unchanged', 7343],
  ]);
  expect((await create.license({ productId: 602 })).id).toBe(7344);
  expect((await create.product()).id).toBe(603);
});

/** All that is stored, and deleted again. */
async function deleteAll(): Promise<void> {
  await call('DELETE', `/api/v2/licenses/${license.id}`);
  for (const [path, { id }] of [
    ['blacklists', entry],
    ['products', product],
  ] as const) {
    expect((await call('DELETE', `/api/v2/${path}/${id}`)).status).toBe(204);
  }
  expect(await everything()).toMatchObject({ products: [], licenses: [], blacklists: [] });
}

it('the id of a deleted object is free for the same object, as it was', async () => {
  await importAll(ALL);
  const before = await everything();
  await deleteAll();
  await importAll(ALL);
  expect(await everything()).toStrictEqual(before);
});

it('the id of a deleted product is free for no other product: programs are compiled with it', async () => {
  await importAll(ALL);
  await deleteAll();
  for (const createdDate of [UPDATED, null]) {
    expect(await importOne('products', { ...product, createdDate })).toMatchObject({
      outcome: 'refused',
      reason: 'id belonged to a deleted product and cannot be used again',
    });
  }
  expect(await listOf('products')).toEqual([]);
});

it.each(['licenses', 'blacklists'] as const)('new %s get no id of deleted ones', async (kind) => {
  await importAll(ALL);
  await deleteAll();
  await importOne('products', product);
  const moment = kind === 'licenses' ? 'createdDate' : 'createdAt';
  const result = await importOne(kind, {
    ...EXAMPLES[kind],
    customer: null,
    [moment]: UPDATED,
  });
  expect(result).toMatchObject({ outcome: 'created', differences: ['id'] });
  expect(result.id).toBeGreaterThan(Number(EXAMPLES[kind].id));
});

it('a product that was renamed here is known by when it was created', async () => {
  await importOne('products', product);
  await call('PUT', '/api/v2/products/602', { body: { name: 'Mine', productType: 'OTHER' } });
  expect(await importOne('products', product)).toMatchObject({
    outcome: 'kept',
    differences: ['name', 'productType', 'updatedDate'],
  });
});

it('a product of the same name with another id is another product', async () => {
  await importOne('products', product);
  expect(await importOne('products', { ...product, id: 8 })).toMatchObject({
    outcome: 'created',
  });
  expect(await get.product(8)).toMatchObject({ name: 'Chunk Guard', createdDate: CREATED });
});

describe('a license', () => {
  beforeEach(() => importOne('products', product).then(() => undefined));

  const store = async (fields: Fields): Promise<License> => {
    const { id, outcome } = await importOne('licenses', { ...license, ...fields });
    expect(outcome).toBe('created');
    return get.license(id ?? 0);
  };

  it('an imported license validates with what was bound, counts on, and binds no more than its limit', async () => {
    const { licenseKey, id } = await store({ maxHWIDs: 1 });
    const ask = (ip: string, hwid = 'HW 1') =>
      validate({ licenseKey: 'oLD-kEY-1', productId: 602, ip, hwid });
    expect((await ask('192.0.2.10')).json).toMatchObject({ valid: true, totalRequests: 129 });
    expect((await ask('192.0.2.99')).json).toMatchObject({ message: 'Max IPs reached' });
    expect((await ask('192.0.2.10', 'HW 2')).json).toMatchObject({ message: 'Max HWIDs reached' });
    await historyOf({ licenseKey }, 3);
    expect(await get.license(id)).toMatchObject({ totalRequests: 131, hwids: ['HW 1'] });
  });

  it('an imported license takes its product’s limits, and the defaults of the other missing fields', async () => {
    const { id } = await importOne('licenses', {
      licenseKey: 'bare',
      productId: 602,
      licenseType: 'PERMANENT',
    });
    expect(await get.license(id ?? 0)).toMatchObject({
      maxIPs: 2,
      maxHWIDs: -1,
      licenseStatus: 'ACTIVE',
      totalRequests: 0,
      ips: [],
      notes: '',
      customer: null,
      createdDate: expect.stringMatching(/^20/),
    });
  });

  it('an import counts each customer that is created as an owner once, also in a dry run', async () => {
    const items = ['81', '81', '82'].map((ownerChatId, index) => ({
      ...{ ...license, id: undefined, customer: undefined, licenseKey: `OWNED-${index}` },
      ownerChatId,
    }));
    const before = await count('customers');
    const dry = await importItems('licenses', items, { dryRun: true });
    expect(dry.createdOwners).toBe(2);
    expect((await importItems('licenses', items)).createdOwners).toBe(2);
    expect(await count('customers')).toBe(before + 2);
    expect((await importItems('licenses', items)).createdOwners).toBe(0);
  });

  it('a license whose key is another’s but for its case is refused, in the same import and later', async () => {
    const first = { ...license, id: null };
    const second = { ...license, id: 8, licenseKey: 'OLD-KEY-1', notes: 'Other' };
    const refusal = { outcome: 'refused', id: null };
    const sameKey = 'the same licenseKey, apart from case, but other values';
    for (const outcome of ['created', 'unchanged']) {
      const { results } = await importItems('licenses', [first, second]);
      expect(results).toMatchObject([
        { outcome, id: 1 },
        {
          ...refusal,
          reason: `another license of this import has ${sameKey}`,
        },
      ]);
    }
    expect(await importOne('licenses', second)).toMatchObject({
      ...refusal,
      reason: `license 1 has ${sameKey}`,
    });
    expect(await importOne('licenses', { ...second, id: 1 })).toMatchObject({ outcome: 'kept' });
    expect(await count('licenses')).toBe(1);
  });
});

describe('the customer of a license', () => {
  beforeEach(() => importOne('products', product).then(() => undefined));

  const customerOf = async (fields: Fields): Promise<Fields | null> => {
    const licenseKey = crypto.randomUUID();
    const { id, outcome } = await importOne('licenses', {
      ...license,
      ...{ id: null, licenseKey, licensePlatform: null, ownerPlatformId: '', ownerChatId: '' },
      ...fields,
    });
    expect(outcome).toBe('created');
    return (await get.license(id ?? 0)).customer;
  };

  it('a license without an imported customer creates the customer, with all that is known, and once', async () => {
    const items = [1, 2, 3].map((n) => ({ ...license, id: n, licenseKey: `key ${n}` }));
    await importItems('licenses', items);
    expect(await listOf('customers')).toMatchObject([ada]);
    expect(await importOne('customers', ada)).toMatchObject({ outcome: 'unchanged' });
    expect(await get.license(3)).toMatchObject({ customer: ada });
  });

  it('the customer of a license gets another id where theirs is taken, and keeps the license', async () => {
    await importOne('customers', { id: 17, email: 'eve@shop.example' });
    expect(await customerOf({ customer: ada })).toMatchObject({ id: 18, chatId: ada.chatId });
    expect(await customerOf({ customer: ada })).toMatchObject({ id: 18 });
    expect(await count('customers')).toBe(2);
  });

  it.each([
    ['id and moment of creation', { id: 17, createdAt: CREATED, email: 'new@shop.example' }],
    ['chat id', { chatId: ada.chatId }],
    ['account', { id: 3, platformAId: '48213' }],
    ['e-mail', { email: 'ADA@shop.example', createdAt: UPDATED }],
  ])('the customer of an imported license is known by their %s', async (_, customer) => {
    await importOne('customers', ada);
    expect(await customerOf({ customer })).toMatchObject({ id: 17, email: ada.email });
    expect(await count('customers')).toBe(1);
  });

  it('an existing customer gets the account that GET shows with their licenses only', async () => {
    await importOne('customers', ada);
    const other = { licensePlatform: 'OTHER', ownerPlatformId: 'ada-1815' };
    expect(await customerOf({ customer: ada, ...other })).toMatchObject({ id: 17 });
    expect(await customerOf({ customer: null, ...other })).toMatchObject({ id: 17 });
    expect(await count('customers')).toBe(1);
  });

  it('a customer with another chat id is another customer, and takes nothing from the existing one', async () => {
    await importOne('customers', ada);
    const eve = { id: 3, chatId: '5', email: ada.email, platformAId: '48213', createdAt: CREATED };
    expect(await importOne('customers', eve)).toMatchObject({
      outcome: 'created',
      differences: ['email', 'platformAId'],
      reason:
        'email "Ada@shop.example" belongs to another customer; platformAId "48213" belongs to another customer',
    });
    expect(await get.customer(3)).toMatchObject({ chatId: '5', email: null, platformAId: null });
    expect(await get.customer(17)).toMatchObject({ email: ada.email, platformAId: '48213' });
  });

  it.each([
    ['chat id', { ownerChatId: ada.chatId }],
    ['account', { licensePlatform: 'PLATFORM_A', ownerPlatformId: '48213' }],
    ['chat id as an account', { licensePlatform: 'CHAT', ownerPlatformId: ada.chatId }],
  ])('a license without a customer gets its owner, known by their %s', async (_, fields) => {
    await importOne('customers', ada);
    expect(await customerOf({ customer: null, ...fields })).toMatchObject({ id: 17 });
    expect(await customerOf({ customer: { firstName: 'A' }, ...fields })).toMatchObject({ id: 17 });
  });

  it('the customer of an imported license is made of the owner fields, as by POST', async () => {
    const fields = {
      customer: null,
      ...{ licensePlatform: 'MARKET_B', ownerPlatformId: '6', ownerChatId: '7' },
    };
    expect(await customerOf(fields)).toMatchObject({
      chatId: '7',
      chatUsername: 'ada',
      marketBId: '6',
    });
    expect(await customerOf({ customer: null })).toBeNull();
    expect(await count('customers')).toBe(1);
  });
});

it('a dry run reports the same as an import and changes nothing', async () => {
  for (const kind of KINDS) {
    const items = [EXAMPLES[kind], { ...EXAMPLES[kind], id: 'x' }];
    const before = await everything();
    const dry = await importItems(kind, items, { dryRun: true });
    expect(await everything()).toStrictEqual(before);
    const real = await importItems(kind, items);
    expect(real).toEqual(dry);
    expect(real.results.map(({ outcome }) => outcome)).toEqual(['created', 'refused']);
  }
});

it('a dry run takes products that are to be imported before as existing; a real run does not', async () => {
  const assumed = { assumedProductIds: [602] };
  for (const kind of ['licenses', 'blacklists'] as const) {
    const dry = await importOne(kind, EXAMPLES[kind], { dryRun: true, ...assumed });
    expect(dry.outcome).toBe('created');
    const real = await importOne(kind, EXAMPLES[kind], assumed);
    expect(real.reason).toBe('productId 602 does not exist');
  }
});

it('many simultaneous imports of the same store it once, and each item is created by one of them', async () => {
  await importOne('products', product);
  const items = Array.from({ length: 20 }, (_, n) => ({
    ...license,
    id: n % 3 === 0 ? null : n,
    licenseKey: `key ${n}`,
    customer: { chatId: `chat ${n % 7}` },
  }));
  const responses = await Promise.all(
    Array.from({ length: 5 }, () => postImport({ kind: 'licenses', items })),
  );
  const outcomes = responses.flatMap(({ status, text, json }) => {
    expect(status, text).toBe(200);
    const { results } = Object(json);
    return results.map(({ outcome }: { outcome: string }) => outcome);
  });
  expect(outcomes.filter((outcome) => outcome === 'created')).toHaveLength(20);
  expect(outcomes.filter((outcome) => outcome === 'unchanged')).toHaveLength(80);
  expect(await count('licenses')).toBe(20);
  expect(await count('customers')).toBe(7);
  expect(await count('bindings')).toBe(60);
});

it.each([
  ['the license', () => importOne('licenses', { ...license, notes: 'First' }), 'kept'],
  ['its id', () => importOne('licenses', { ...license, licenseKey: 'other' }), 'created'],
  ['its customer', () => importOne('customers', ada), 'created'],
  ['the deletion of its product', () => call('DELETE', '/api/v2/products/602'), 'refused'],
] as const)('an import begins again where %s comes between', async (_, happen, outcome) => {
  await importOne('products', product);
  const DB = beforeFirstWrite(env.DB, happen);
  const body = { kind: 'licenses', items: [license] };
  const response = await newIsolate({ DB }).call('POST', '/api/v2/import', { body });
  expect(response.status, response.text).toBe(200);
  expect(response.json).toMatchObject({ results: [{ outcome }] });
  expect(await count('customers')).toBeLessThan(2);
});

it('an import gives up with 409 when each attempt meets another change, and has stored nothing', async () => {
  await importOne('products', product);
  await importOne('customers', { chatId: '7' });
  let taken = 0;
  const removeAll = () =>
    env.DB.batch(
      ['licenses', 'deleted_ids'].map((table) => env.DB.prepare(`delete from ${table}`)),
    );
  const disturbed = withFaults(env.DB, async (sql) => {
    if (sql.includes('insert into "customers"')) {
      taken++;
      await removeAll();
      await env.DB.prepare(
        `insert into licenses (id, license_key, license_key_normalized, product_id, license_type, max_ips, max_hwids, created_at, updated_at, revision)
           values (7341, ?1, ?1, 602, 'PERMANENT', 1, 1, 0, 0, 1)`,
      )
        .bind(`IN THE WAY ${taken}`)
        .run();
      return null;
    }
    if (sql.includes('from "licenses" where "licenses"."license_key_normalized"')) {
      await removeAll();
    }
    return null;
  });
  const learning = { id: null, licenseKey: 'second', ownerChatId: '7', ownerPlatformId: '6' };
  const items = [license, { ...license, ...learning, customer: null }];
  const { spy: DB, roundTrips } = spyOnDatabase(disturbed);
  const body = { kind: 'licenses', items };
  const response = await newIsolate({ DB }).call('POST', '/api/v2/import', { body });
  expectError(response, 409, 'Another import is changing the same objects; try again', [
    'ALL_READ_WRITE',
  ]);
  expect(await byKey('Old-Key-1')).toMatchObject({ message: 'License not found' });
  expect(await listOf('customers')).toMatchObject([{ chatId: '7', platformAId: null }]);
  const queries = roundTrips.flat().map(({ sql }) => sql);
  expect(queries).toContainEqual(expect.stringMatching(/^update "customers"/));
  // The Free plan has 50 a request: a look at new ids takes four more, and a token of its own two.
  expect(queries.length).toBeLessThanOrEqual(44);
});

it.each(['fails', 'response is lost'] as const)(
  'an import gets 500 when its write has a fault (%s): all or nothing is stored, and a second import completes it',
  async (fault) => {
    vi.spyOn(console, 'error').mockImplementation(() => undefined);
    await importOne('products', product);
    const DB = withFaults(env.DB, (sql) => (sql.includes('insert into "licenses"') ? fault : null));
    const body = { kind: 'licenses', items: [license, { ...license, licenseKey: 'b', id: 2 }] };
    const response = await newIsolate({ DB }).call('POST', '/api/v2/import', { body });
    expect(response.status).toBe(500);
    expect([await count('licenses'), await count('customers'), await count('bindings')]).toEqual(
      fault === 'fails' ? [0, 0, 0] : [2, 1, 6],
    );
    await importItems('licenses', body.items);
    expect([await count('licenses'), await count('customers'), await count('bindings')]).toEqual([
      2, 1, 6,
    ]);
  },
);

/** Fields of GET that are always null. An import ignores logins and their secrets (3). */
const SECRETS = [
  'passwordHash',
  'lastLoginAt',
  'chatAccessToken',
  'chatRefreshToken',
  'chatTokenExpiry',
];

it.each([
  ['products', productItem, productFields],
  ['customers', customerItem, customerFields],
  ['licenses', licenseItem, licenseFields],
  ['blacklists', entryItem, entryFields],
] as const)(
  'an import takes each field of %s that GET shows, and suggests its name [3.72]',
  (kind, item, fields) => {
    const taken = Object.keys(item.shape);
    const shown = Object.entries(fields).flatMap(([name, field]) => ('wire' in field ? name : []));
    expect(taken.toSorted()).toEqual(shown.filter((name) => !SECRETS.includes(name)).toSorted());
    const suggested = FIELDS[kind].filter((name) => !name.includes('.'));
    expect(suggested.toSorted()).toEqual(
      taken
        .filter(
          (name) =>
            !['productIdString', 'customer', 'metadata', 'effectiveEntitlements'].includes(name),
        )
        .toSorted(),
    );
  },
);

it('an import suggests the name of each field of the customer of a license', () => {
  const suggested = FIELDS.licenses.filter((name) => name.includes('.'));
  expect(suggested).toEqual(FIELDS.customers.map((name) => `customer.${name}`));
});
