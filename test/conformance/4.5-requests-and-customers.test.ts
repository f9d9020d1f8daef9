import { env } from 'cloudflare:workers';
import { expect, it, vi } from 'vitest';
import * as z from 'zod';
import { REQUEST_TYPE_CODES, RESPONSE_TYPE_CODES } from '../../src/db/codes.ts';
import { bucketOf } from '../../src/lib/time-id.ts';
import {
  type Customer,
  call,
  create,
  expectError,
  get,
  historyOf,
  readPagesFrom,
  updateLicense,
  validate,
} from '../support/client.ts';
import { customers, idsOf, read, readList, withoutChange } from '../support/resources.ts';

const REQUESTS = '/api/v2/requests';
const put = (id: number, body: object) => call('PUT', `${customers.path}/${id}`, { body });

/** Four requests on four days: two addresses, two hardware IDs, the last with a wrong key. */
async function recordFour() {
  const { licenseKey, productId } = await create.license();
  const unknownKey = `unknown-${productId}`;
  const asked = [
    { licenseKey, ip: '203.0.113.1', hwid: `HW-A-${productId}` },
    { licenseKey, ip: '203.0.113.2', hwid: `HW-A-${productId}` },
    { licenseKey, ip: '203.0.113.1', hwid: `HW-B-${productId}` },
    { licenseKey: unknownKey, ip: '203.0.113.2', hwid: `HW-B-${productId}` },
  ];
  vi.useFakeTimers({ toFake: ['Date'] });
  for (const [index, body] of asked.entries()) {
    vi.setSystemTime(new Date(`2026-05-0${index + 1}T12:00:00.500Z`));
    await validate({ ...body, productId });
  }
  vi.useRealTimers();
  const newestFirst = await historyOf({ productId: String(productId) }, 4);
  return { productId, licenseKey, unknownKey, records: newestFirst.toReversed() };
}

it('GET requests lists requests newest first, and GET of one shows it [3.29, interface 1, interface 4.5]', async () => {
  const { productId, records } = await recordFour();
  const list = await readList(`${REQUESTS}?productId=${productId}`);
  expect(list).toEqual(records.toReversed());
  expect(records.map(({ requestDate }) => requestDate)).toEqual([
    '2026-05-01T12:00:00.500+00:00',
    '2026-05-02T12:00:00.500+00:00',
    '2026-05-03T12:00:00.500+00:00',
    '2026-05-04T12:00:00.500+00:00',
  ]);
  for (const record of records) expect(await read(`${REQUESTS}/${record.id}`)).toEqual(record);
});

it('GET of one record sends an ETag, which stays: a record never changes [3.10]', async () => {
  const { records } = await recordFour();
  const etag = async () => (await call('GET', `${REQUESTS}/${records[0]?.id}`)).headers.get('ETag');
  expect(await etag()).toMatch(/^"[^"]+"$/);
  expect(await etag()).toBe(await etag());
});

it('requests come in pages, each linked to the next, without X-Total-Count [1.6.22, 3.29]', async () => {
  const { productId, records } = await recordFour();
  const start = `${REQUESTS}?productId=${productId}&valid=true&limit=2`;
  const first = await call('GET', start);
  expect(first.json).toEqual([records[2], records[1]]);
  expect(first.headers.has('X-Total-Count')).toBe(false);
  expect(first.headers.get('Link')).toBe(
    `<https://licet.test${start}&after=${records[1]?.id}>; rel="next"`,
  );
  const last = await call('GET', `${start}&after=${records[1]?.id}`);
  expect(last.json).toEqual([records[0]]);
  expect(last.headers.has('Link')).toBe(false);
  expect(await idsOf(`${REQUESTS}?productId=${productId}&after=${records[2]?.id}`)).toEqual([
    records[1]?.id,
    records[0]?.id,
  ]);
});

it.each([
  ['productId=x', 'productId must be a positive integer'],
  ['ip=localhost', 'ip must be an IP address'],
  ['valid=yes', 'valid must be one of true, false'],
  ['from=yesterday', /^from must be an ISO 8601 timestamp/],
  ['limit=1001', 'limit must be an integer from 1 to 1000'],
  ['key=1', 'key is not a known query parameter (did you mean licenseKey?)'],
])('GET requests?%s returns 400 [3.29]', async (search, message) => {
  expectError(await call('GET', `${REQUESTS}?${search}`), 400, message);
});

it('GET requests without a limit returns the newest 1000 of them, and a link to the next ones [3.29]', async () => {
  const firstId = 900_000_000_000_000;
  const bucket = bucketOf(firstId);
  await env.DB.batch([
    env.DB.prepare('insert into buckets (bucket) values (?)').bind(bucket),
    env.DB.prepare(
      `with recursive n(i) as (select 0 union all select i + 1 from n where i < 1499)
       insert into requests (bucket, product_id, installation_id, id, nonce, type, outcome, details)
       select ?1, 0, 0, ?2 + i, 0, ?3, ?4, '{"hwid":"many"}' from n`,
    ).bind(bucket, firstId, REQUEST_TYPE_CODES.V1_VALIDATE, RESPONSE_TYPE_CODES.LICENSE_NOT_FOUND),
  ]);
  const pages = await readPagesFrom(`${REQUESTS}?hwid=many`);
  const ids = pages.map(({ json }) => z.object({ id: z.int() }).array().parse(json));
  expect(ids.map(({ length }) => length)).toEqual([1000, 500]);
  expect(ids.flat()).toEqual(
    Array.from({ length: 1500 }, (_, index) => ({ id: firstId + 1499 - index })),
  );
});

/** The customer of a new license. */
const ownerOf = async (fields: object): Promise<Customer | null> =>
  (await create.license({ ...fields })).customer;

it('customers are searched by q in names, e-mail and accounts, without case [3.30]', async () => {
  const one = await customers.create();
  for (const [field, value] of [
    ['firstName', 'Xaver-1'],
    ['lastName', 'Yps-2'],
    ['username', 'zett-3'],
    ['email', 'q-4@example.com'],
    ['chatId', '555000111'],
    ['platformAUsername', 'Forum-5'],
  ]) {
    expect((await put(one.id, { [`${field}`]: value })).status).toBe(200);
    expect(await idsOf(`${customers.path}?q=${value?.toUpperCase()}`)).toEqual([one.id]);
  }
});

it('a license that names no owner has customer null [3.50]', async () => {
  const count = async () => (await idsOf(customers.path)).length;
  const before = await count();
  expect(await ownerOf({})).toBeNull();
  expect(await ownerOf({ ownerChatId: ' \n', ownerPlatformId: '' })).toBeNull();
  expect(await ownerOf({ ownerChatUsername: 'nobody' })).toBeNull();
  expect(await ownerOf({ ownerPlatformId: 'id without platform' })).toBeNull();
  expect(await ownerOf({ licensePlatform: 'PLATFORM_A' })).toBeNull();
  expect(await count()).toBe(before);
});

it('a license with an ownerChatId creates the customer with it, once [3.50, interface 2.2]', async () => {
  const first = await ownerOf({ ownerChatId: 'chat-1', ownerChatUsername: 'steve' });
  const again = await ownerOf({ ownerChatId: 'chat-1', ownerChatUsername: 'steve' });
  const other = await ownerOf({ ownerChatId: 'chat-2' });
  expect(first).toMatchObject({ chatId: 'chat-1', chatUsername: 'steve' });
  expect(again).toEqual(first);
  expect(other?.id).not.toBe(first?.id);
  expect(await get.customer(first?.id ?? 0)).toEqual(first);
});

it.each([
  ['PLATFORM_A', 'platformAId'],
  ['PLATFORM_B', 'platformBId'],
  ['PLATFORM_C', 'platformCId'],
  ['MARKET_A', 'marketAId'],
  ['MARKET_B', 'marketBId'],
  ['CHAT', 'chatId'],
])(
  'a license with an account on %s alone creates the customer with it, once [3.50]',
  async (platform, field) => {
    const owner = { licensePlatform: platform, ownerPlatformId: 'account-1' };
    const first = await ownerOf(owner);
    expect(first).toMatchObject({ [field]: 'account-1' });
    expect(await ownerOf(owner)).toEqual(first);
    const other = await ownerOf({ ...owner, ownerPlatformId: 'account-2' });
    expect(other?.id).not.toBe(first?.id);
  },
);

it('an account on a platform OTHER belongs to that platform by its name', async () => {
  const account = { licensePlatform: 'OTHER', ownerPlatformId: '1' };
  const one = await ownerOf({ ...account, licensePlatformOther: 'Forum' });
  const again = await ownerOf({ ...account, licensePlatformOther: 'Forum' });
  const two = await ownerOf({ ...account, licensePlatformOther: 'Shop' });
  expect(one).not.toBeNull();
  expect(again).toEqual(one);
  expect(two?.id).not.toBe(one?.id);
});

it.each(['PLATFORM_A', 'CHAT'])(
  'the ownerChatId goes before the platform: %s [3.50]',
  async (licensePlatform) => {
    const ownerChatId = `first-1-${licensePlatform}`;
    const account = { licensePlatform, ownerPlatformId: `first-a-${licensePlatform}` };
    const byChat = await ownerOf({ ownerChatId });
    const byAccount = await ownerOf(account);
    expect(byAccount?.id).not.toBe(byChat?.id);
    expect(await ownerOf({ ...account, ownerChatId })).toEqual(byChat);
  },
);

it.each([
  ['chat', 'both', 'account'],
  ['account', 'both', 'chat'],
  ['both', 'chat', 'account'],
  ['both', 'account', 'chat'],
] as const)('purchases by %s, %s and %s have one customer [3.50]', async (...order) => {
  const name = order.join('-');
  const account = { licensePlatform: 'MARKET_A', ownerPlatformId: name };
  const chat = { ownerChatId: name };
  const fields = { chat, account, both: { ...chat, ...account } };
  const owners = [];
  for (const purchase of order) owners.push(await ownerOf(fields[purchase]));
  expect(new Set(owners.map((owner) => owner?.id)).size).toBe(1);
  expect(owners.at(-1)).toMatchObject({ chatId: name, marketAId: name });
});

it.each([
  ['chat id', { ownerChatId: 'learn-1' }],
  ['account', { licensePlatform: 'MARKET_A', ownerPlatformId: 'learn-2' }],
])('a license that adds to a customer known by %s moves their ETag', async (_, known) => {
  const customer = await ownerOf(known);
  const path = `${customers.path}/${customer?.id}`;
  const etag = async () => (await call('GET', path)).headers.get('ETag');
  const before = await etag();
  await ownerOf({
    licensePlatform: 'MARKET_A',
    ownerPlatformId: 'learn-of-1',
    ownerChatId: 'learn-of-2',
    ...known,
  });
  expect(await etag()).not.toBe(before);
});

it('a customer keeps the account that they have when a license shows another', async () => {
  const chat = { ownerChatId: 'keeps-1', licensePlatform: 'PLATFORM_A' };
  const owner = await ownerOf({ ...chat, ownerPlatformId: 'keeps-a' });
  expect(await ownerOf({ ...chat, ownerPlatformId: 'keeps-b' })).toEqual(owner);
  expect(owner).toMatchObject({ platformAId: 'keeps-a' });
});

it('a license that shows no chat name does not erase the one that is stored', async () => {
  const account = { licensePlatform: 'MARKET_B', ownerPlatformId: 'named-a' };
  const known = await ownerOf(account);
  await put(known?.id ?? 0, { chatUsername: 'alex' });
  expect(await ownerOf({ ...account, ownerChatId: 'named-1' })).toEqual({
    ...known,
    chatId: 'named-1',
    chatUsername: 'alex',
  });
});

it.each([
  ['licensePlatform', 'MARKET_B'],
  ['licensePlatformOther', 'Shop'],
  ['ownerPlatformId', 'renewed-b'],
])('a license is linked again by another %s [3.50]', async (field, value) => {
  const license = await create.license({
    licensePlatform: 'OTHER',
    licensePlatformOther: 'Forum',
    ownerPlatformId: `renewed-${field}`,
  });
  const renewed = await updateLicense(license.id, { [field]: value });
  expect(renewed.customer).not.toBeNull();
  expect(renewed.customer?.id).not.toBe(license.customer?.id);
});

it.each([
  ['chat id first', ['chat', 'account']],
  ['account first', ['account', 'chat']],
] as const)('two customers do not become one, %s [3.50]', async (name, order) => {
  const account = { licensePlatform: 'MARKET_A', ownerPlatformId: `two-${name}` };
  const chat = { ownerChatId: `two-${name}` };
  const known = new Map<string, Customer | null>();
  for (const one of order) known.set(one, await ownerOf(one === 'chat' ? chat : account));
  const byChat = known.get('chat');
  expect(await ownerOf({ ...account, ...chat })).toEqual(byChat);
  expect(byChat?.marketAId).toBeNull();
  expect(await ownerOf(account)).toEqual(known.get('account'));
});

it('an account of a customer with another chat id is not taken from them', async () => {
  const account = { licensePlatform: 'PLATFORM_A', ownerPlatformId: 'taken-a' };
  const owner = await ownerOf({ ...account, ownerChatId: 'taken-1' });
  const other = await ownerOf({ ...account, ownerChatId: 'taken-2' });
  expect(other).toMatchObject({ chatId: 'taken-2', platformAId: null });
  expect(other?.id).not.toBe(owner?.id);
  expect(await ownerOf(account)).toEqual(owner);
});

it('a license stays with its customer when their account changes, until its owner does [3.50]', async () => {
  const { id, customer } = await create.license({ ownerChatId: 'cleared-1' });
  await put(customer?.id ?? 0, { chatId: null });
  const read = await get.license(id);
  expect(read.customer).toEqual({ ...customer, chatId: null });
  expect(await updateLicense(id, read)).toMatchObject({ customer: read.customer });
});

it('a license is linked again when its owner changes, and to no customer when it names none [3.50]', async () => {
  const license = await create.license({ ownerChatId: 'moved-1' });
  const moved = await updateLicense(license.id, { ownerChatId: 'moved-2' });
  expect(moved.customer).toMatchObject({ chatId: 'moved-2' });
  expect(moved.customer?.id).not.toBe(license.customer?.id);
  expect((await updateLicense(license.id, { ownerChatId: 'moved-1' })).customer).toEqual(
    license.customer,
  );
  expect((await updateLicense(license.id, { ownerChatId: null })).customer).toBeNull();
});

it.each([
  ['a chat id', { ownerChatId: 'parallel-1' }],
  ['an account', { licensePlatform: 'MARKET_A', ownerPlatformId: 'parallel-2' }],
  [
    'both',
    { ownerChatId: 'parallel-3', licensePlatform: 'MARKET_A', ownerPlatformId: 'parallel-4' },
  ],
])(
  'ten parallel licenses of one new owner with %s share one customer [3.50]',
  async (_, fields) => {
    const { id: productId } = await create.product();
    const before = await idsOf(customers.path);
    const created = await Promise.all(
      Array.from({ length: 10 }, () => create.license({ productId, ...fields })),
    );
    const owners = new Set(created.map(({ customer }) => customer?.id));
    expect(await idsOf(customers.path)).toEqual([...before, ...owners]);
    expect(owners.size).toBe(1);
  },
);

const SECRETS = ['passwordHash', 'chatAccessToken', 'chatRefreshToken'];
const noSecrets = Object.fromEntries(SECRETS.map((name) => [name, null]));

it.each(SECRETS)('%s of a customer is taken as null only [3.51]', async (field) => {
  const { id } = await customers.create();
  const response = await withoutChange(`${customers.path}/${id}`, () =>
    put(id, { firstName: 'Eve', [field]: 'secret' }),
  );
  expectError(response, 400, `${field} must not be sent`);
  expect((await put(id, { [field]: null })).json).toMatchObject(noSecrets);
});

it('secrets of a customer are not even stored [3.51]', async () => {
  const columns = await env.DB.prepare(`select name from pragma_table_info('customers')`).all();
  const names = columns.results.map(({ name }) => String(name));
  expect(names).toContain('chat_username');
  expect(names.filter((name) => /password|token|secret/i.test(name))).toEqual([]);
});

it('PUT of an e-mail that another customer has, in any case, returns 409 and changes nothing [3.52]', async () => {
  const { id: other } = await customers.create();
  const { id } = await customers.create();
  expect((await put(other, { email: 'Grace@Example.com' })).status).toBe(200);
  for (const email of ['Grace@Example.com', 'gRACE@eXAMPLE.COM']) {
    const response = await withoutChange(`${customers.path}/${id}`, () =>
      put(id, { firstName: 'Eve', email }),
    );
    expectError(response, 409, 'The e-mail or an account belongs to another customer');
  }
  expect((await put(other, { email: 'GRACE@example.com' })).json).toMatchObject({
    email: 'GRACE@example.com',
  });
  expect((await put(other, { email: null })).status).toBe(200);
  expect((await put(id, { email: 'grace@example.com' })).status).toBe(200);
});

it.each(['chatId', 'platformAId', 'platformBId', 'platformCId', 'marketAId', 'marketBId'])(
  'PUT of a %s that another customer has returns 409 and changes nothing [3.1.3]',
  async (field) => {
    const other = await customers.create();
    const { id } = await customers.create();
    const response = await withoutChange(`${customers.path}/${id}`, () =>
      put(id, { firstName: 'Eve', [field]: other[field] }),
    );
    expectError(response, 409, 'The e-mail or an account belongs to another customer');
  },
);
