import { expect, it } from 'vitest';
import {
  call,
  create,
  expectError,
  get,
  type License,
  updateLicense,
  validate,
} from '../support/client.ts';
import { idsOf, licenses, withoutChange } from '../support/resources.ts';

const put = (id: number, body: object) => call('PUT', `${licenses.path}/${id}`, { body });
const listed = (path: string) => idsOf(`${licenses.path}/${path}`);

const setEmail = async ({ customer }: License, email: string) => {
  const response = await call('PUT', `/api/v2/customers/${customer?.id}`, { body: { email } });
  expect(response.status, response.text).toBe(200);
};

it.each([
  ['absent', {}],
  ['null', { maxIPs: null, maxHWIDs: null }],
])(
  "a new license with limits that are %s takes its product's [1.4.5, interface 2.1]",
  async (_, limits) => {
    const { id: productId } = await create.product({ defaultMaxIPs: 0, defaultMaxHWIDs: -1 });
    expect(await create.license({ productId, ...limits })).toMatchObject({
      maxIPs: 0,
      maxHWIDs: -1,
    });
  },
);

it('a license with its own limits keeps them whatever its product says', async () => {
  const { id: productId } = await create.product({ defaultMaxIPs: 3, defaultMaxHWIDs: 3 });
  const limits = { maxIPs: -1, maxHWIDs: 0 };
  const { id } = await create.license({ productId, ...limits });
  await call('PUT', `/api/v2/products/${productId}`, { body: { defaultMaxIPs: 9 } });
  expect(await get.license(id)).toMatchObject(limits);
});

it.each(['maxIPs', 'maxHWIDs', 'licenseType', 'licenseStatus', 'productId'])(
  '%s cannot be cleared [3.6]',
  async (field) => {
    const { id } = await create.license();
    const update = () => put(id, { notes: 'new', [field]: null });
    const response = await withoutChange(`${licenses.path}/${id}`, update);
    expectError(response, 400, new RegExp(`^${field} must be`));
  },
);

it('PUT moves a license to another product [interface 2.2]', async () => {
  const license = await create.license();
  const { id: productId } = await create.product();
  const moved = await updateLicense(license.id, { productId });
  expect(moved).toMatchObject({ productId, productIdString: String(productId) });
  const ask = (asked: number) => validate({ licenseKey: license.licenseKey, productId: asked });
  expect((await ask(productId)).status).toBe(200);
  expect((await ask(license.productId)).status).toBe(400);
});

it('PUT takes the addresses in canonical form, each once, in the order in which they were bound', async () => {
  const { id } = await create.license({
    ips: ['2001:DB8:0:0::1', '::ffff:192.0.2.1', '192.0.2.1'],
  });
  expect((await get.license(id)).ips).toEqual(['2001:db8::1', '192.0.2.1']);
  await updateLicense(id, { ips: ['203.0.113.1', '192.0.2.1', '2001:db8::1'] });
  expect((await get.license(id)).ips).toEqual(['2001:db8::1', '192.0.2.1', '203.0.113.1']);
  await updateLicense(id, { ips: ['203.0.113.1', '192.0.2.1'] });
  expect((await get.license(id)).ips).toEqual(['192.0.2.1', '203.0.113.1']);
});

it('PUT of a license takes its own licenseKey, compared as a validation compares [3.8]', async () => {
  const { id, licenseKey } = await create.license();
  expect((await put(id, { licenseKey: ` ${licenseKey.toLowerCase()} ` })).status).toBe(200);
  expect((await get.license(id)).licenseKey).toBe(licenseKey);
});

const byKey = (key: string) =>
  call('GET', `${licenses.path}/by-license-key/${encodeURIComponent(key)}`);

it('by-license-key returns the license, its key compared as a validation compares [1.2.9, 3.40, interface 4.3]', async () => {
  const license = await create.license();
  const { licenseKey, productId } = license;
  const forms = [licenseKey, licenseKey.toLowerCase(), ` ${licenseKey}\r\n`, `\uFEFF${licenseKey}`];
  for (const form of forms) {
    expect((await byKey(form)).json).toEqual({ ...license, totalRequests: expect.any(Number) });
    expect((await validate({ licenseKey: form, productId })).status).toBe(200);
  }
});

it.each(['0000-0000-0000-0000-0000', '%', 'a/b', '\0', "' or 1=1 --"])(
  'by-license-key of no license, %j, returns 404 [interface 4.3, interface 7]',
  async (key) => {
    expectError(await byKey(key), 404, 'License not found');
  },
);

it('by-customer-email gives the licenses of that customer, without regard to case [3.41, interface 4.3]', async () => {
  const first = await create.license({ ownerChatId: 'mail-1' });
  const second = await create.license({ ownerChatId: 'mail-1' });
  await create.license({ ownerChatId: 'mail-2' });
  await setEmail(first, 'Ada+Shop@Example.com');
  for (const email of ['Ada+Shop@Example.com', 'ada+shop@example.COM', 'ADA%2BSHOP@EXAMPLE.COM']) {
    expect(await listed(`by-customer-email/${email}`)).toEqual([first.id, second.id]);
  }
});

it('an e-mail is the same with characters that nobody sees, and with accents of either form [3.52]', async () => {
  const forms = [
    'jos\u00e9@shop.example',
    'jose\u0301@shop.example',
    'jos\u00e9@shop.example\u200b',
  ];
  const ids: number[] = [];
  for (const customerEmail of forms) ids.push((await create.license({ customerEmail })).id);
  for (const email of forms) {
    expect(await listed(`by-customer-email/${encodeURIComponent(email)}`)).toEqual(ids);
  }
});

it('by-platform gives the licenses of that account, on that platform alone [interface 4.3]', async () => {
  const owner = { licensePlatform: 'PLATFORM_B', ownerPlatformId: 'id/with %' };
  const first = await create.license(owner);
  const second = await create.license(owner);
  await create.license({ ...owner, licensePlatform: 'PLATFORM_C' });
  await create.license({ ...owner, ownerPlatformId: 'ID/with %' });
  const path = `by-platform/PLATFORM_B/${encodeURIComponent('id/with %')}`;
  expect(await listed(path)).toEqual([first.id, second.id]);
  expect(await listed(`${path}?productId=${second.productId}`)).toEqual([second.id]);
  expect(await listed(`${path}?productId=999999`)).toEqual([]);
});

it('by-customer-id gives the licenses of that customer [interface 4.3]', async () => {
  const first = await create.license({ ownerChatId: 'customer-1' });
  const second = await create.license({ ownerChatId: 'customer-1' });
  await create.license({ ownerChatId: 'customer-2' });
  expect(await listed(`by-customer-id/${first.customer?.id}`)).toEqual([first.id, second.id]);
});

it('by-product-id gives the licenses of that product [interface 4.3]', async () => {
  const { id, productId } = await create.license();
  await create.license();
  const { id: second } = await create.license({ productId });
  expect(await listed(`by-product-id/${productId}`)).toEqual([id, second]);
});

it('by-chat-id gives the licenses of that CHAT user, whichever field names them [interface 4.3]', async () => {
  const chatId = '123456789012345678';
  const onChat = { licensePlatform: 'CHAT', ownerPlatformId: chatId };
  const owned = [
    await create.license({ ownerChatId: chatId }),
    await create.license(onChat),
    await create.license({ ...onChat, ownerChatId: chatId }),
    await create.license({ ownerChatId: chatId, licensePlatform: 'PLATFORM_A' }),
  ];
  await create.license({ ownerChatId: '123456789012345679' });
  await create.license({ licensePlatform: 'CHAT', ownerPlatformId: '123456789012345679' });
  await create.license({ licensePlatform: 'PLATFORM_A', ownerPlatformId: chatId });
  expect(await listed(`by-chat-id/${chatId}`)).toEqual(owned.map(({ id }) => id));
});

it('by-discord-id is by-chat-id under the name that older clients use [3.42]', async () => {
  const ownerChatId = '223456789012345678';
  const { productId } = await create.license({ ownerChatId });
  await create.license({ ownerChatId });
  await create.license({ ownerChatId: '223456789012345679' });
  for (const query of ['', `?productId=${productId}`, '?limit=1', '?limit=0']) {
    const [older, current] = await Promise.all(
      ['by-discord-id', 'by-chat-id'].map((name) =>
        call('GET', `${licenses.path}/${name}/${ownerChatId}${query}`),
      ),
    );
    expect(older?.status).toBe(query === '?limit=0' ? 400 : 200);
    expect([older?.status, older?.json]).toEqual([current?.status, current?.json]);
    const next = `${licenses.path}/by-discord-id/${ownerChatId}?limit=1&after=`;
    if (query === '?limit=1') expect(older?.headers.get('Link')).toContain(next);
  }
  expect(await listed(`by-discord-id/${ownerChatId}`)).toHaveLength(2);
});

it.each([
  'by-customer-email/nobody@example.com',
  'by-customer-email/%00',
  'by-platform/PLATFORM_A/nobody',
  'by-customer-id/999999',
  'by-product-id/999999',
  'by-chat-id/nobody',
  'by-discord-id/nobody',
  'by-chat-id/%E0%A4%A',
])('%s returns [] when nothing matches [3.43]', async (path) => {
  const response = await call('GET', `${licenses.path}/${path}`);
  expect([response.status, response.json]).toEqual([200, []]);
});

it.each([
  ['by-customer-id/abc', 'customerId must be a positive integer'],
  ['by-product-id/9007199254740993', 'productId must be a positive integer'],
  ['by-platform/PLATFORM_A/5?productId=x', 'productId must be a positive integer'],
])('%s returns 400 [3.44]', async (path, message) => {
  expectError(await call('GET', `${licenses.path}/${path}`), 400, message);
});

it('licenseStatus, licenseType and productId leave the licenses that fit all of them [3.30, interface 4.9]', async () => {
  const { id: productId } = await create.product();
  const expiring = (expiryDate: string) => ({ productId, licenseType: 'TEMPORARY', expiryDate });
  const permanent = await create.license({ productId });
  const active = await create.license(expiring('2099-01-01'));
  const expired = await create.license(expiring('2001-01-01'));
  const deactivated = await create.license({ productId, licenseStatus: 'DEACTIVATED' });
  const deleted = await create.license({ productId, licenseStatus: 'DELETED' });
  await create.license();

  const filtered = (filter: string) => idsOf(`${licenses.path}?productId=${productId}&${filter}`);
  expect(await filtered('')).toEqual([permanent.id, active.id, expired.id, deactivated.id]);
  expect(await filtered('licenseStatus=ACTIVE')).toEqual([permanent.id, active.id]);
  expect(await filtered('licenseStatus=EXPIRED')).toEqual([expired.id]);
  expect(await filtered('licenseStatus=DEACTIVATED')).toEqual([deactivated.id]);
  expect(await filtered('licenseStatus=DELETED')).toEqual([deleted.id]);
  expect(await filtered('licenseType=TEMPORARY')).toEqual([active.id, expired.id]);
  expect(await filtered('licenseType=TEMPORARY&licenseStatus=ACTIVE')).toEqual([active.id]);
});

it.each([
  ['notes', { notes: 'asked for NEEDLE-1' }],
  ['ownerChatUsername', { ownerChatUsername: 'xNeedle-1x' }],
  ['ownerChatId', { ownerChatId: 'needle-1' }],
  ['ownerPlatformId', { licensePlatform: 'MARKET_A', ownerPlatformId: 'needle-1' }],
])('q finds a text in %s, without case [3.30]', async (_, fields) => {
  const { id, productId } = await create.license(fields);
  await create.license({ productId });
  expect(await idsOf(`${licenses.path}?productId=${productId}&q=needle-1`)).toEqual([id]);
});

it('q finds a part of a license key', async () => {
  const { id, licenseKey } = await create.license();
  const part = licenseKey.slice(3, 20).toLowerCase();
  expect(await idsOf(`${licenses.path}?q=${part}`)).toEqual([id]);
});
