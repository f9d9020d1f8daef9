import { env } from 'cloudflare:workers';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { newIsolate, settled } from '../support/app.ts';
import { call, create, expectError, get, type ReadResponse } from '../support/client.ts';
import { HOUR_MS } from '../support/history.ts';
import {
  blacklists,
  customers,
  type Fields,
  idsOf,
  licenses,
  markets,
  newPurchase,
  products,
  tokens,
  webhooks,
} from '../support/resources.ts';

/** POSTs with an `Idempotency-Key` (3). */

afterEach(settled);

let keys = 0;
const nextKey = () => `order ${++keys}`;

const post = (
  path: string,
  body: unknown,
  key: string,
  options: object = {},
): Promise<ReadResponse> =>
  call('POST', path, { body, headers: { 'Idempotency-Key': key }, ...options });

/** The parts of a response that a repetition has to have. */
const partsOf = ({ status, text, headers }: ReadResponse) => ({
  ...{ status, text },
  location: headers.get('Location'),
  etag: headers.get('ETag'),
});

const BATCH = `${licenses.path}/batch`;
const CREATES: { path: string; list: string; fullBody: () => Promise<Fields> }[] = [
  ...[products, licenses, blacklists, customers].map(({ path, fullBody }) => ({
    ...{ path, fullBody },
    list: path,
  })),
  {
    path: BATCH,
    list: licenses.path,
    fullBody: async () => ({ ...(await licenses.fullBody()), ips: [], hwids: [], count: 3 }),
  },
];

describe.each(CREATES)('POST $path', ({ path, list, fullBody }) => {
  it('a repetition with the same key and body gets the same objects and creates nothing again [3.63]', async () => {
    const [body, key] = [await fullBody(), nextKey()];
    const first = await post(path, body, key);
    expect(first.status, first.text).toBe(201);
    const stored = await idsOf(list);
    expect(partsOf(await post(path, body, key))).toEqual(partsOf(first));
    // Blanks are not part of the body.
    const spaced = await post(path, JSON.stringify(body, null, 2), key);
    expect(partsOf(spaced)).toEqual(partsOf(first));
    expect(await idsOf(list)).toEqual(stored);
  });

  it('a repetition gets the objects as they are now, in the same order [3.63, 3.69]', async () => {
    const [body, key] = [await fullBody(), nextKey()];
    const first = await post(path, body, key);
    const ids = [first.json].flat().map((object) => Object(object).id);
    const changes = path === customers.path ? { firstName: 'Eve' } : {};
    const changed = await call('PUT', `${list}/${ids.at(-1)}`, { body: changes });
    expect(changed.status, changed.text).toBe(200);
    const again = await post(path, body, key);
    expect(again.status, again.text).toBe(201);
    const stored = await Promise.all(ids.map((id) => call('GET', `${list}/${id}`)));
    expect([again.json].flat()).toEqual(stored.map(({ json }) => json));
    expect(again.text).not.toBe(first.text);
    expect(again.headers.get('Location')).toBe(first.headers.get('Location'));
    expect(again.headers.get('ETag')).toBe(path === BATCH ? null : changed.headers.get('ETag'));
  });

  it('a repetition returns 409 for a key of the version before, and creates nothing [3.71]', async () => {
    const [body, key] = [await fullBody(), nextKey()];
    const first = await post(path, body, key);
    // It kept the row as JSON, and no ids.
    await env.DB.prepare('update idempotency_keys set ids = null, created = ?')
      .bind(JSON.stringify([first.json]))
      .run();
    const stored = await idsOf(list);
    expectError(await post(path, body, key), 409, /or is of an earlier version: find what/);
    expect(await idsOf(list)).toEqual(stored);
  });

  it('ten requests at once with one key create once, and get the same response [3.63]', async () => {
    const [body, key] = [await fullBody(), nextKey()];
    const before = await idsOf(list);
    const responses = await Promise.all(
      Array.from({ length: 10 }, () =>
        newIsolate().call('POST', path, { body, headers: { 'Idempotency-Key': key } }),
      ),
    );
    const [first] = responses;
    expect(first?.status, first?.text).toBe(201);
    for (const response of responses) expect(partsOf(response)).toEqual(first && partsOf(first));
    expect((await idsOf(list)).length - before.length).toBe(path === BATCH ? 3 : 1);
  });

  it('a request with the same key and another body returns 422 and creates nothing [3.64]', async () => {
    const [body, key] = [await fullBody(), nextKey()];
    await post(path, body, key);
    const stored = await idsOf(list);
    const response = await post(path, await fullBody(), key);
    expectError(response, 422, 'Idempotency-Key was sent with another request: use a new key');
    expect(await idsOf(list)).toEqual(stored);
  });
});

it('an Idempotency-Key of another path is the key of another request [3.64]', async () => {
  const key = nextKey();
  const { id: productId } = await create.product();
  const body = { productId, licenseType: 'PERMANENT' };
  expect((await post(licenses.path, body, key)).status).toBe(201);
  expect((await post(BATCH, { ...body, count: 1 }, key)).status).toBe(422);
});

it('an Idempotency-Key of another token is another key [3.63]', async () => {
  const key = nextKey();
  const body = await products.fullBody();
  const [one, other] = [
    await create.token(['ALL_READ_WRITE']),
    await create.token(['ALL_READ_WRITE']),
  ];
  const locations = new Set<string | null>();
  for (const options of [{}, { token: one.token }, { token: other.token }]) {
    const response = await post(products.path, body, key, options);
    expect(response.status).toBe(201);
    locations.add(response.headers.get('Location'));
  }
  expect(locations.size).toBe(3);
});

it.each([
  ['1 character', 'k'.repeat(1), 201],
  ['255 characters', 'k'.repeat(255), 201],
  ['256 characters', 'k'.repeat(256), 400],
  ['no character', '', 400],
])('an Idempotency-Key of %s is taken or rejected [3.63]', async (_, key, status) => {
  const response = await post(products.path, await products.fullBody(), key);
  expect(response.status).toBe(status);
  if (status === 400) {
    expectError(response, 400, 'Idempotency-Key must have 1 to 255 characters');
  }
});

it('an Idempotency-Key of a request that failed may be used again [3.65]', async () => {
  const [key, good] = [nextKey(), await products.fullBody()];
  expect((await post(products.path, { ...good, name: '' }, key)).status).toBe(400);
  expect((await post(products.path, good, key)).status).toBe(201);
});

it.each([
  { name: 'a license', count: 1 },
  { name: 'one of two licenses', count: 2 },
])(
  'a repetition returns 409 and creates nothing after $name was deleted [3.70]',
  async ({ count }) => {
    const [{ id: productId }, other] = [await create.product(), await create.product()];
    const [key, body] = [nextKey(), { productId, licenseType: 'PERMANENT', count }];
    const [gone, moved] = [(await post(BATCH, body, key)).json].flat().map(Object);
    const kept = { body: { productId: other.id } };
    if (moved) expect((await call('PUT', `${licenses.path}/${moved.id}`, kept)).status).toBe(200);
    expect((await call('DELETE', `${licenses.path}/${gone.id}`)).status).toBe(204);
    const marked = await post(BATCH, body, key);
    expect([marked.json].flat()[0]).toMatchObject({ id: gone.id, licenseStatus: 'DELETED' });
    // Its DELETED licenses go with the product.
    expect((await call('DELETE', `${products.path}/${productId}`)).status).toBe(204);
    const stored = await idsOf(licenses.path);
    expectError(
      await post(BATCH, body, key),
      409,
      'A request with this Idempotency-Key has succeeded, but what it created was deleted since: use a new key to create it again',
    );
    expect(await idsOf(licenses.path)).toEqual(stored);
  },
);

it('an Idempotency-Key counts for 24 hours, and is removed by the scheduled handler then [3.63]', async () => {
  const [key, body] = [nextKey(), await products.fullBody()];
  const countKeys = env.DB.prepare('select count(*) n from idempotency_keys');
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() - 10 * 24 * HOUR_MS });
  await env.DB.prepare('delete from idempotency_keys').run();
  const first = await post(products.path, body, key);
  vi.setSystemTime(Date.now() + 24 * HOUR_MS - 1);
  expect(partsOf(await post(products.path, body, key))).toEqual(partsOf(first));
  await newIsolate().runScheduled();
  expect(await countKeys.first('n')).toBe(1);

  vi.setSystemTime(Date.now() + 1);
  const second = await post(products.path, body, key);
  expect(second.status).toBe(201);
  expect(second.headers.get('Location')).not.toBe(first.headers.get('Location'));
  expect(partsOf(await post(products.path, body, key))).toEqual(partsOf(second));
  vi.setSystemTime(Date.now() + 24 * HOUR_MS);
  await newIsolate().runScheduled();
  expect(await countKeys.first('n')).toBe(0);
});

it.each([tokens, webhooks])(
  'the secret of a $name is not kept for a repetition: 409, no second one, and no secret in the database [3.66, 8.1.7]',
  async ({ path, fullBody }) => {
    const [key, body] = [nextKey(), await fullBody()];
    const first = await post(path, body, key);
    expect(first.status).toBe(201);
    const stored = await idsOf(path);
    const response = await post(path, body, key);
    expectError(response, 409, /because it had a secret or/);
    expect(await idsOf(path)).toEqual(stored);
    expect((await post(path, await fullBody(), key)).status).toBe(422);
    const { results } = await env.DB.prepare('select * from idempotency_keys').all();
    const { token = 'none', secret = token } = Object(first.json);
    expect(secret).toMatch(/^(licet|whsec)_/);
    expect(JSON.stringify(results)).not.toContain(secret);
  },
);

it('the addresses of a market are not kept for a repetition: 409, and no second market [3.66]', async () => {
  const [key, body] = [nextKey(), await markets.fullBody()];
  expect((await post(markets.path, body, key)).status).toBe(201);
  const stored = await idsOf(markets.path);
  expectError(await post(markets.path, body, key), 409, /because it had a secret or/);
  expect(await idsOf(markets.path)).toEqual(stored);
});

it('a purchase that is entered again with the same key gets the same purchase', async () => {
  const [key, body] = [nextKey(), await newPurchase()];
  const first = await post('/api/v2/purchases', body, key);
  expect(first.status, first.text).toBe(201);
  expect(partsOf(await post('/api/v2/purchases', body, key))).toEqual(partsOf(first));
});

it("a repetition of a link to the customer's page makes another link, which works as well [3.67]", async () => {
  const [key, { id: customerId }] = [nextKey(), await customers.create()];
  const links = [
    await post('/api/v2/portal-links', { customerId }, key),
    await post('/api/v2/portal-links', { customerId }, key),
  ];
  const codes = links.map(({ json }) => new URL(Object(json).url).hash.replace('#code=', ''));
  expect(links.map(({ status }) => status)).toEqual([201, 201]);
  expect(new Set(codes).size).toBe(2);
  for (const code of codes) {
    const headers = { Origin: 'http://licet.test', 'Content-Type': 'application/json' };
    const opened = await call('POST', '/my/session', { body: { code }, token: null, headers });
    expect(opened.status, opened.text).toBe(204);
  }
});

it('a repetition shows a forgotten customer as it is, and the key holds nothing of the person [3.70, 6.23]', async () => {
  const [key, other] = [nextKey(), nextKey()];
  const email = 'forgotten@example.com';
  const first = await post(customers.path, { email }, key);
  const { id: productId } = await create.product();
  const owner = { customerEmail: email, ownerChatId: '280497242714931777' };
  const body = { productId, licenseType: 'PERMANENT', ...owner };
  const { json } = await post(licenses.path, body, other);
  expect((await call('DELETE', first.headers.get('Location') ?? '')).status).toBe(204);
  const again = await post(customers.path, { email }, key);
  expect(again.status, again.text).toBe(201);
  expect(again.json).toMatchObject({ id: Object(first.json).id, email: null });
  const license = await post(licenses.path, body, other);
  expect(license.json).toEqual(await get.license(Object(json).id));
  expect(license.text).not.toContain('2804972427149317');
  const { results } = await env.DB.prepare('select * from idempotency_keys').all();
  expect(JSON.stringify(results)).not.toMatch(/forgotten@|2804972427149317/);
  expect((await create.license({ productId, customerEmail: email })).customer).not.toBeNull();
});
