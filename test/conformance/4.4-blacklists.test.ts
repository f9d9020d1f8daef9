import { env } from 'cloudflare:workers';
import { expect, it } from 'vitest';
import { call, create, expectError, get, validate } from '../support/client.ts';
import { blacklists, idsOf, withoutChange } from '../support/resources.ts';

const post = (body: object) => call('POST', blacklists.path, { body });
const pathOf = ({ id }: { id: number }) => `${blacklists.path}/${id}`;
const put = (entry: { id: number }, body: object) => call('PUT', pathOf(entry), { body });

it('POST creates a blacklist entry for all products, whose productId is null [interface 2.3, interface 4.4]', async () => {
  const body = {
    licenseDataType: 'HWID',
    data: 'HW-1',
    isForAllProducts: true,
    reason: 'Leaked',
  };
  const response = await post(body);
  expect(response.status).toBe(201);
  expect(response.json).toMatchObject({ ...body, productId: null });
});

it('a hardware ID that many machines share is stored, and Warning says so on create and on update [3.80]', async () => {
  const body = { licenseDataType: 'HWID', data: 'Unknown', isForAllProducts: true, reason: '' };
  const warning = '299 - "Many machines share data: programs send it when their look-up fails"';
  const made = await post(body);
  expect(made.status).toBe(201);
  expect(made.headers.get('Warning')).toBe(warning);
  const entry: { id: number } = Object(made.json);
  expect((await put(entry, { reason: 'x' })).headers.get('Warning')).toBe(warning);
  expect((await put(entry, { data: 'board-9' })).headers.get('Warning')).toBeNull();
  await call('DELETE', pathOf(entry));
});

it.each([
  ['2002:909:909::1', '9.9.9.9'],
  ['64:ff9b::909:90a', '9.9.9.10'],
  ['::ffff:9.9.9.11', '9.9.9.11'],
])('an entry for %s blocks %s, which counts as itself at each door [1.2.28]', async (data, ip) => {
  const entry = await create.blacklist({ data });
  expect(entry).toMatchObject({ data: ip });
  const { licenseKey, productId } = await create.license();
  for (const sent of [data, ip]) {
    const { json } = await validate({ licenseKey, productId, ip: sent });
    expect(json).toEqual({ valid: false, message: 'IP address is blacklisted' });
  }
  const options = { connectingAddress: data };
  expect((await validate({ licenseKey, productId }, options)).status).toBe(400);
  await call('DELETE', pathOf(entry));
});

it.each([{}, { productId: null }])(
  'a blacklist entry needs a productId when isForAllProducts is false: %j [3.45]',
  async (fields) => {
    const body = { ...(await blacklists.fullBody()), productId: undefined, ...fields };
    const response = await withoutChange(blacklists.path, () => post(body));
    expectError(response, 400, 'productId is required when isForAllProducts is false');
  },
);

it.each([
  ['0.0.0.0/0', 8],
  ['11.0.0.0/7', 8],
  ['::ffff:0:0/96', 8],
  ['::/0', 19],
  ['2001::/18', 19],
])(
  '%s is wider than /%i and returns 400 on create and on update [3.47]',
  async (data, minPrefixBits) => {
    const entry = await create.blacklist({ data: `203.0.113.${minPrefixBits}` });
    const message = `data must be a range of /${minPrefixBits} or narrower: a wider one would block nearly everybody`;
    const body = { licenseDataType: 'IP', data, isForAllProducts: true, reason: '' };
    expectError(await withoutChange(blacklists.path, () => post(body)), 400, message);
    expectError(await withoutChange(pathOf(entry), () => put(entry, { data })), 400, message);
    await call('DELETE', pathOf(entry));
  },
);

it.each([
  ['0.0.0.0/0', '128.0.0.0/1'],
  ['::/0', '8000::/1'],
])(
  'PUT takes the stored range %s of an earlier version unchanged, and no other one as wide [3.48]',
  async (data, other) => {
    const productId = (await create.product()).id;
    const entry = await create.blacklist({
      data: '203.0.113.99',
      isForAllProducts: false,
      productId,
    });
    const store = (type: string) =>
      env.DB.prepare('update blacklists set data = ?, license_data_type = ? where id = ?')
        .bind(data, type, entry.id)
        .run();
    await store('IP');
    for (const body of [
      { reason: 'Changed' },
      { ...(await get.blacklist(entry.id)), reason: '' },
    ]) {
      expect(await put(entry, body)).toMatchObject({
        status: 200,
        json: { data, productId, reason: body.reason },
      });
    }
    expectError(await put(entry, { data: other }), 400, /^data must be a range of /);
    await store('HWID');
    expectError(await put(entry, { licenseDataType: 'IP' }), 400, /^data must be a range of /);
    await call('DELETE', pathOf(entry));
  },
);

it.each(['12.0.0.0/8', '2a00::/19'])('%s is narrow enough to be blocked [3.47]', async (data) => {
  await call('DELETE', pathOf(await create.blacklist({ data })));
});

it.each([
  ['192.0.2.1', '192.0.2.1'],
  [' 192.0.2.2 ', '192.0.2.2'],
  ['192.0.2.77/24', '192.0.2.0/24'],
  ['2001:DB8:0:0:0:0:0:1', '2001:db8::1'],
  ['2001:db8:1::ffff/48', '2001:db8:1::/48'],
  ['::ffff:192.0.2.9', '192.0.2.9'],
])('%s is stored in canonical form, %s [3.46]', async (data, canonical) => {
  const entry = await create.blacklist({ data });
  expect(entry.data).toBe(canonical);
  expect((await get.blacklist(entry.id)).data).toBe(canonical);
  const other = await create.blacklist({ licenseDataType: 'HWID', data: `HW for ${data}` });
  await call('DELETE', pathOf(entry));
  const changed = await put(other, { licenseDataType: 'IP', data });
  expect(changed.json).toMatchObject({ data: canonical });
  await call('DELETE', pathOf(other));
});

it.each(['localhost', '192.0.2', '192.0.2.0/33', '2001:db8::/129'])(
  '%s is neither an address nor a range and returns 400 [3.46]',
  async (data) => {
    const body = { licenseDataType: 'IP', data, isForAllProducts: true };
    const message = 'data must be an IP address or a CIDR range';
    expectError(await withoutChange(blacklists.path, () => post(body)), 400, message);
    const entry = await create.blacklist({ data: '233.252.0.0/24' });
    expectError(await withoutChange(pathOf(entry), () => put(entry, { data })), 400, message);
    await call('DELETE', pathOf(entry));
  },
);

it('an entry of hardware-ID data cannot become one of IP data [3.46]', async () => {
  const entry = await create.blacklist({ licenseDataType: 'HWID', data: 'HW-of-a-server' });
  const response = await withoutChange(pathOf(entry), () => put(entry, { licenseDataType: 'IP' }));
  expectError(response, 400, 'data must be an IP address or a CIDR range');
});

const CONFLICT = 'The same entry exists already';

it.each([
  ['an address for all products', { data: '203.0.113.1' }, { data: '::ffff:203.0.113.1' }],
  ['a range for all products', { data: '203.0.113.64/26' }, { data: '203.0.113.99/26' }],
  [
    'a hardware ID',
    { licenseDataType: 'HWID', data: 'HW-twice' },
    { licenseDataType: 'HWID', data: ' HW-twice ' },
  ],
])('the same blacklist entry twice returns 409: %s [3.1.3, 3.49]', async (_, first, again) => {
  const entry = await create.blacklist(first);
  const body = { licenseDataType: 'IP', isForAllProducts: true, ...again };
  const response = await withoutChange(blacklists.path, () => post({ ...body, reason: 'again' }));
  expectError(response, 409, CONFLICT);
  expect((await put(entry, again)).status).toBe(200);
});

it('the same blacklist entry returns 409 for the same product, and is another entry for another [3.49]', async () => {
  const data = '203.0.113.2';
  const one = await create.product();
  const two = await create.product();
  const body = { licenseDataType: 'IP', data, isForAllProducts: false, productId: one.id };
  await create.blacklist(body);
  expectError(await post(body), 409, CONFLICT);
  const other = await create.blacklist({ ...body, productId: two.id });
  await create.blacklist({ data });
  const update = () => put(other, { productId: one.id });
  expectError(await withoutChange(pathOf(other), update), 409, CONFLICT);
  const generalise = () => put(other, { isForAllProducts: true });
  expectError(await withoutChange(pathOf(other), generalise), 409, CONFLICT);
});

it('hardware IDs on the blacklist differ by case, and an address may be one', async () => {
  await create.blacklist({ licenseDataType: 'HWID', data: 'hw-case' });
  await create.blacklist({ licenseDataType: 'HWID', data: 'HW-CASE' });
  await create.blacklist({ licenseDataType: 'IP', data: '203.0.113.4' });
  await create.blacklist({ licenseDataType: 'HWID', data: '203.0.113.4' });
});

it('PUT makes a blacklist entry for one product one for all, and back [interface 4.4]', async () => {
  const { id: productId } = await create.product();
  const data = '203.0.113.5';
  const entry = await create.blacklist({ data, isForAllProducts: false, productId });
  const general = await put(entry, { isForAllProducts: true });
  expect(general.json).toMatchObject({ isForAllProducts: true, productId: null });
  expect((await put(entry, Object(general.json))).status).toBe(200);
  const refused = await withoutChange(pathOf(entry), () => put(entry, { isForAllProducts: false }));
  expectError(refused, 400, 'productId is required when isForAllProducts is false');
  const back = await put(entry, { isForAllProducts: false, productId });
  expect(back.json).toMatchObject({ isForAllProducts: false, productId });
});

it('PUT takes a productId alone for a blacklist entry that is for that product alone', async () => {
  const { id: productId } = await create.product();
  const entry = await create.blacklist({ data: '203.0.113.7' });
  const response = await put(entry, { productId });
  expect(response.json).toMatchObject({ isForAllProducts: false, productId });
});

it('PUT cannot clear the productId of a blacklist entry that is for one product', async () => {
  const entry = await blacklists.create();
  const response = await withoutChange(pathOf(entry), () => put(entry, { productId: null }));
  expectError(response, 400, 'productId is required when isForAllProducts is false');
});

it('a blacklist entry that is created, changed or deleted counts at the very next validation [1.5.1, interface 4.4]', async () => {
  const { licenseKey, productId } = await create.license({ maxIPs: -1 });
  const statuses = async () => {
    const responses = ['203.0.113.200', '203.0.113.9'].map((ip) =>
      validate({ licenseKey, productId, ip }),
    );
    return (await Promise.all(responses)).map(({ status }) => status);
  };
  expect(await statuses()).toEqual([200, 200]);
  const entry = await create.blacklist({
    data: '203.0.113.192/26',
    isForAllProducts: false,
    productId,
  });
  expect(await statuses()).toEqual([400, 200]);
  await put(entry, { data: '203.0.113.8/31' });
  expect(await statuses()).toEqual([200, 400]);
  await put(entry, { productId: (await create.product()).id });
  expect(await statuses()).toEqual([200, 200]);
  await put(entry, { isForAllProducts: true });
  expect(await statuses()).toEqual([200, 400]);
  await call('DELETE', pathOf(entry));
  expect(await statuses()).toEqual([200, 200]);
});

it('blacklist entries are filtered by licenseDataType and productId, and searched by q [3.30]', async () => {
  const { id: productId } = await create.product();
  const own = { isForAllProducts: false, productId };
  const address = await create.blacklist({ ...own, data: '233.252.0.1', reason: 'Leaked it' });
  const hwid = await create.blacklist({ ...own, licenseDataType: 'HWID', data: 'HW-leaky' });
  await create.blacklist({ data: '233.252.0.2', reason: 'leak' });

  const filtered = (filter: string) => idsOf(`${blacklists.path}?productId=${productId}&${filter}`);
  expect(await filtered('')).toEqual([address.id, hwid.id]);
  expect(await filtered('licenseDataType=IP')).toEqual([address.id]);
  expect(await filtered('licenseDataType=HWID')).toEqual([hwid.id]);
  expect(await filtered('q=LEAK')).toEqual([address.id, hwid.id]);
  expect(await filtered('q=252.0.1')).toEqual([address.id]);
});
