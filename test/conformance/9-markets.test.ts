import { env } from 'cloudflare:workers';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { sha256Hex } from '../../src/lib/sha256.ts';
import { hmac } from '../markets/samples.ts';
import { settled } from '../support/app.ts';
import { call, create, expectError } from '../support/client.ts';
import { takeClock } from '../support/clock.ts';
import { interceptDatabase } from '../support/d1-intercept.ts';
import { spyOnDatabase, sumRows } from '../support/d1-spy.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS, setNow } from '../support/history.ts';
import { type Market, MarketService, OLD_PATH, SECRET } from '../support/shop-market.ts';

/** Markets and purchases (9), by the requests of BuiltByBit. The tests of other markets are in test/markets. */

const PATH = '/api/v2/markets';

let service: MarketService;
let productId: number;
let market: Market;
beforeEach(async () => {
  await settled();
  await env.DB.batch(
    ['markets', 'purchases', 'market_orders', 'market_deliveries', 'events'].map((table) =>
      env.DB.prepare(`delete from ${table}`),
    ),
  );
  service = new MarketService();
  ({ id: productId } = await create.product({ defaultMaxIPs: 3 }));
  market = await service.create({ products: [{ item: 62494, productId }] });
});

const eventTypes = async (): Promise<string[]> => {
  const { json } = await service.isolate.call('GET', '/api/v2/events?actor=service');
  return Array.from(Object(json), ({ type }) => type);
};

describe('a download', () => {
  it('a download makes the license, and delivers its bare key [8.5.3, 9.2.1, 9.3.2]', async () => {
    const { status, text, headers } = await service.download(market);
    const { licenseId, ...purchase } = await service.purchase();
    const license = await service.license(licenseId);
    expect({ status, text }).toEqual({ status: 200, text: license.licenseKey });
    expect(headers.get('Content-Type')).toBe('text/plain; charset=utf-8');
    expect(headers.get('Cache-Control')).toBe('no-store');
    expect(purchase).toMatchObject({
      marketId: market.id,
      item: '62494',
      reference: '540773',
      unit: 0,
      order: null,
      buyerId: '540773',
      isTest: false,
      state: 'GRANTED',
      reason: null,
      productId,
    });
    expect(license).toMatchObject({
      licenseType: 'PERMANENT',
      licenseStatus: 'ACTIVE',
      maxIPs: 3,
      licensePlatform: 'OTHER',
      licensePlatformOther: 'Market',
      ownerPlatformId: '540773',
    });
    expect(await eventTypes()).toEqual(['purchase.granted', 'license.created']);
  });

  it('a repeated download delivers the same key, and writes nothing but what arrived [9.3.1]', async () => {
    const first = await service.download(market);
    const again = await service.download(market);
    expect(again.text).toBe(first.text);
    expect(await service.purchases()).toHaveLength(1);
    expect(await eventTypes()).toHaveLength(2);
    expect((await service.arrived(market.id)).map(({ result }) => result)).toEqual([
      'Already granted: the same license',
      'Granted a license',
    ]);
  });

  it('a download delivers the key of the purchase notice, which came before [9.3.1]', async () => {
    expect(await service.bought(market)).toMatchObject({ status: 200, text: 'OK' });
    const { licenseId, buyerName } = await service.purchase();
    expect(buyerName).toBe('kas');
    const { licenseKey, customer } = await service.license(licenseId);
    expect((await service.download(market)).text).toBe(licenseKey);
    expect(customer).toMatchObject({ username: 'kas' });
  });

  it('ten downloads and ten notices in four isolates at once are of one license [9.3.1]', async () => {
    const isolates = [1, 2, 3, 4].map(() => service.newIsolate());
    const sent = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        index % 2 === 0
          ? service.download(market, {}, isolates[index % 4])
          : service.bought(market, {}, isolates[index % 4]),
      ),
    );
    expect(sent.map(({ status }) => status)).toEqual(Array(20).fill(200));
    const { licenseKey } = await service.license((await service.purchase()).licenseId);
    const keys = sent.map(({ text }) => text).filter((text) => text !== 'OK');
    expect(keys).toEqual(Array(10).fill(licenseKey));
    const count = await env.DB.prepare('select count(*) as n from licenses where product_id = ?')
      .bind(productId)
      .first();
    expect(count).toEqual({ n: 1 });
  });

  it('a download at the old address of the product takes a resource that is mapped nowhere [9.2.1]', async () => {
    const { status, text } = await service.download(`/api/v1/bbb/${productId}`, {
      resource_id: '99',
    });
    expect(status).toBe(200);
    expect(text).toBe((await service.license((await service.purchase()).licenseId)).licenseKey);
    expect(market.addresses).toContain(`https://licet.test/api/v1/bbb/${productId}`);
  });

  it.each([
    ['another secret', { secret: 'wrong-secret' }, 401],
    ['no secret', { secret: '' }, 401],
    ['no buyer', { user_id: '' }, 400],
    ['an unknown product', { resource_id: '1' }, 404],
  ])('a download with %s is never 200, and makes no license [9.2.2]', async (_, fields, status) => {
    for (const to of [market, `/api/v1/bbb/${productId}`]) {
      const isOld = to !== market;
      const sent = await service.download(to, fields);
      expect(sent.status).toBe(isOld && status === 404 ? 200 : status);
      if (sent.status !== 200) expect(sent.text).not.toMatch(/[0-9A-Z]{4}-/);
    }
  });

  it.each(['/markets/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA', '/api/v1/bbb/999999', '/api/v1/bbb/x'])(
    'to %s is 404 [9.2.1]',
    async (path) => {
      const sent = await service.download(path);
      expect(sent).toMatchObject({ status: 404, text: 'There is no market at this address' });
    },
  );

  it('a download from a market that is off, or without a secret, is rejected [9.1.7]', async () => {
    await service.update(market.id, { enabled: false });
    expect((await service.download(market)).status).toBe(403);
    await service.update(market.id, { enabled: true, secrets: [] });
    expect((await service.download(market)).status).toBe(401);
    expect(await service.purchases()).toEqual([]);
  });
});

describe('a purchase without a product', () => {
  it('a purchase without a product is kept and reported once, and granted by one action [9.3.11, 9.4.1]', async () => {
    for (let time = 0; time < 3; time++) {
      expect(await service.download(market, { resource_id: '7' })).toMatchObject({
        status: 404,
        text: 'No product is chosen for 7: add it to the products of the market',
      });
    }
    const { id, ...purchase } = await service.purchase();
    expect(purchase).toMatchObject({ state: 'UNMATCHED', licenseId: null, item: '7' });
    expect(await eventTypes()).toEqual(['purchase.unmatched']);
    const granted = await service.isolate.call('POST', `/api/v2/purchases/${id}/grant`, {
      body: { productId },
    });
    expect(granted.status, granted.text).toBe(200);
    expect(granted.json).toMatchObject({ id, state: 'GRANTED', productId });
    const { licenseKey } = await service.license(Object(granted.json).licenseId);
    expect((await service.download(market, { resource_id: '7' })).text).toBe(licenseKey);
  });

  it('a purchase without a product gets its license by the next download, once its product is chosen [9.3.11, 9.4.1]', async () => {
    await service.download(market, { resource_id: '7' });
    await service.update(market.id, { products: [{ item: '7', productId }] });
    expect((await service.download(market, { resource_id: '7' })).status).toBe(200);
    expect(await service.purchase()).toMatchObject({ state: 'GRANTED' });
  });
});

it('a person gives a purchase another license, whose key the market then delivers [9.3.13]', async () => {
  await service.download(market);
  const { id } = await service.purchase();
  const other = await create.license({ productId, licenseType: 'PERMANENT' });
  const path = `/api/v2/purchases/${id}/grant`;
  const response = await service.isolate.call('POST', path, { body: { licenseId: other.id } });
  expect(response.json).toMatchObject({ id, licenseId: other.id, state: 'GRANTED' });
  expect((await service.download(market)).text).toBe(other.licenseKey);
  expectError(
    await call('POST', path, { body: { licenseId: 999_999 } }),
    400,
    'licenseId 999999 does not exist',
  );
  expectError(
    await call('POST', path, { body: { productId } }),
    409,
    'The purchase has a license: send licenseId to change it',
  );
});

it('purchases are filtered by market, license, state and text [9.3.13]', async () => {
  const other = await service.create({ name: 'Other', products: [{ item: 62494, productId }] });
  await service.download(market);
  await service.download(market, { user_id: '7700', resource_id: '1' });
  await service.download(other, { user_id: '7700' });
  const licenseId = (await service.purchases()).at(-1)?.licenseId;
  const found = async (query: string) =>
    (await service.purchases(query)).map(({ marketId, reference }) => [marketId, reference]);
  const [granted, waiting, elsewhere] = [
    [market.id, '540773'],
    [market.id, '7700'],
    [other.id, '7700'],
  ];
  expect(await found('')).toEqual([granted, waiting, elsewhere]);
  expect(await found(`?marketId=${market.id}`)).toEqual([granted, waiting]);
  expect(await found(`?licenseId=${licenseId}`)).toEqual([elsewhere]);
  expect(await found('?state=UNMATCHED')).toEqual([waiting]);
  expect(await found('?q=7700')).toEqual([waiting, elsewhere]);
  expect(await found(`?q=7700&state=GRANTED&marketId=${other.id}`)).toEqual([elsewhere]);
});

it('a purchase from before is entered with its license, once [9.3.13, 9.4.2]', async () => {
  const { id: licenseId, licenseKey } = await create.license({
    productId,
    licenseType: 'PERMANENT',
  });
  const body = { marketId: market.id, item: 62494, reference: 540773, licenseId };
  const made = await service.isolate.call('POST', '/api/v2/purchases', { body });
  expect(made.status, made.text).toBe(201);
  expect((await service.download(market)).text).toBe(licenseKey);
  const again = await service.isolate.call('POST', '/api/v2/purchases', { body });
  expectError(again, 409, 'The purchase is known: change its license');
});

describe('what arrived', () => {
  it('the requests that arrived are listed newest first, accepted or not and why, without secrets and persons [9.2.9]', async () => {
    await service.bought(market, { username: 'kas', note: 'mail ada@shop.example' });
    await service.download(market, { secret: 'wrong-secret' });
    const [wrong, good] = await service.arrived(market.id);
    expect(wrong).toMatchObject({
      isAccepted: false,
      status: 401,
      result: 'The secret is wrong: store the secret of the market in Licet again',
      body: null,
    });
    expect(good).toMatchObject({ isAccepted: true, status: 200, type: 'purchase' });
    const kept = JSON.parse(good?.body ?? '');
    expect(kept).toMatchObject({ secret: '***', username: '***', user_id: '540773' });
    expect(good?.body).not.toMatch(/ada@|f3b9c2d1e0a45b6c7d8e9f00|kas/);
  });

  it('the list of what arrived has the body of each request from the market, also of those that were not understood [9.2.9]', async () => {
    for (let count = 0; count < 11; count++) await service.download(market, { user_id: '' });
    const arrived = await service.arrived(market.id);
    expect(arrived).toHaveLength(11);
    for (const { body, ...one } of arrived) {
      expect(one).toMatchObject({ isFromMarket: true, isAccepted: false, status: 400 });
      expect(JSON.parse(body ?? '')).toMatchObject({ resource_id: '62494', secret: '***' });
    }
  });

  it('the list of what arrived has the body of a request to a market that is off [9.2.9]', async () => {
    await service.update(market.id, { enabled: false });
    await service.download(market);
    const [off] = await service.arrived(market.id);
    expect(off).toMatchObject({ isFromMarket: true, isAccepted: false, status: 403 });
    expect(off?.body).toContain('62494');
  });

  it('a request that arrived is kept for 30 days [9.2.9]', async () => {
    await service.download(market);
    setNow(Date.now() + 30 * DAY_MS - 1000);
    await service.isolate.runScheduled();
    expect(await service.arrived(market.id)).toHaveLength(1);
    setNow(Date.now() + 2000);
    await service.isolate.runScheduled();
    expect(await service.arrived(market.id)).toEqual([]);
    expect(await service.purchases()).toHaveLength(1);
  });
});

describe('a market whose last requests were all rejected', () => {
  it('a market whose last requests were all rejected is an event, once a day, with the last reason [9.4.3]', async () => {
    for (let count = 0; count < 4; count++) await service.download(market, { secret: 'wrong-one' });
    await service.isolate.runScheduled();
    expect(await eventTypes()).toEqual([]);
    await service.download(market, { resource_id: '7' });
    for (let run = 0; run < 2; run++) await service.isolate.runScheduled();
    const { json } = await service.isolate.call('GET', '/api/v2/events?type=market.failing');
    expect(json).toMatchObject([
      {
        resourceId: market.id,
        changes: {
          reason: { after: 'No product is chosen for 7: add it to the products of the market' },
        },
      },
    ]);
    setNow(Date.now() + DAY_MS);
    await service.isolate.runScheduled();
    expect((await eventTypes()).filter((type) => type === 'market.failing')).toHaveLength(2);
  });

  it('a market is not failing after a request that was accepted [9.4.3]', async () => {
    for (let count = 0; count < 6; count++) {
      await service.download(market, count === 3 ? {} : { secret: 'wrong-one' });
    }
    await service.isolate.runScheduled();
    expect(await eventTypes()).not.toContain('market.failing');
  });

  it('samples of the doctor are rejected like others, but not listed, and no reason to call a market failing [9.2.14]', async () => {
    const headers = {
      'Content-Type': 'application/x-www-form-urlencoded',
      'Licet-Doctor': '1',
    };
    const sample = (secret: string, others = {}) =>
      service.send(
        market,
        String(
          new URLSearchParams({ builtbybit: 'true', resource_id: '62494', secret, ...others }),
        ),
        { headers },
      );
    for (let count = 0; count < 5; count++) {
      expect(await sample('wrong-one')).toMatchObject({ status: 401 });
    }
    expect(await sample(SECRET)).toMatchObject({ status: 400 });
    await service.isolate.runScheduled();
    expect(await service.arrived(market.id)).toEqual([]);
    expect(await eventTypes()).not.toContain('market.failing');
    expect(await sample(SECRET, { user_id: '540773' })).toMatchObject({ status: 200 });
    expect(await service.arrived(market.id)).toMatchObject([{ effect: 'CHANGED' }]);
  });
});

describe('the resource', () => {
  it('a market of a later version is unknown to this one, and all others work [9.1.12]', async () => {
    const later = await service.create({ products: [{ item: 1, productId }] });
    await env.DB.prepare(`update markets set kind = 'later', api_token = 'token' where id = ?`)
      .bind(later.id)
      .run();
    // The service holds markets for a moment.
    service = new MarketService();
    const { json, headers } = await service.isolate.call('GET', `${PATH}?limit=10`);
    expect(Array.from(Object(json), ({ id }) => id)).toEqual([market.id]);
    expect(headers.get('X-Total-Count')).toBe('1');
    for (const [method, body] of [['GET'], ['PUT', { name: 'Shop' }], ['DELETE']] as const) {
      const { status } = await service.isolate.call(method, `${PATH}/${later.id}`, { body });
      expect(status, method).toBe(404);
    }
    expect(await service.download(later)).toMatchObject({ status: 404 });
    expect(await service.download(`${OLD_PATH}/${productId}`)).toMatchObject({ status: 200 });
    await service.isolate.runScheduled();
    const stored = await env.DB.prepare('select comparison_due_at as due from markets where id = ?')
      .bind(later.id)
      .first();
    expect(stored).toEqual({ due: null });
  });

  it('a market has these fields unless they are set [9.1.1]', async () => {
    const body = { kind: 'tebex', name: 'Shop' };
    const { status, json } = await service.isolate.call('POST', PATH, { body });
    expect(status).toBe(201);
    expect(json).toEqual({
      ...body,
      id: expect.any(Number),
      enabled: true,
      products: [],
      onRefund: 'deactivate',
      onDispute: 'deactivate',
      settings: null,
      mailsKey: true,
      addresses: [expect.stringMatching(/\/markets\/[\w-]{32}$/)],
      isPublic: expect.any(Boolean),
      secretCount: 0,
      hasApiToken: false,
      createdAt: expect.any(String),
      updatedAt: expect.any(String),
      state: 'NEEDS_SECRET',
      sales: 0,
      lastSaleAt: null,
      reconciledAt: null,
    });
  });

  it('a market takes requests with each of its secrets, and a PUT replaces all of them [9.1.3]', async () => {
    const secrets = Array.from({ length: 10 }, (_, index) => `a-secret-of-ten-${index}`);
    await service.update(market.id, { secrets });
    const statuses = async (tried: readonly string[]) =>
      Promise.all(tried.map(async (secret) => (await service.download(market, { secret })).status));
    expect(await statuses(secrets)).toEqual(Array(10).fill(200));
    const body = { secrets: [...secrets, 'a-secret-beyond-ten'] };
    expect((await call('PUT', `${PATH}/${market.id}`, { body })).status).toBe(400);
    await service.update(market.id, { secrets: [SECRET] });
    expect(await statuses([...secrets, SECRET])).toEqual([...Array(10).fill(401), 200]);
  });

  it('a market shows no secret, in no response and no event [9.1.3, 9.1.5]', async () => {
    const { id } = await service.create({
      secrets: ['top-secret-of-before'],
      apiToken: 'token-secret-2',
    });
    await service.update(id, { secrets: ['top-secret-of-now'] });
    const reader = await create.token(['ALL_READ']);
    const paths = [PATH, `${PATH}/${id}`, '/api/v2/events', `${PATH}/${id}/deliveries`];
    for (const path of paths) {
      const { text } = await service.isolate.call('GET', path);
      expect(text).not.toMatch(/top-secret|token-secret/);
      const read = await service.isolate.call('GET', path, { token: reader.token });
      expect(read.text).not.toContain('/markets/');
    }
    expect(await service.update(id, {})).toMatchObject({ secretCount: 1, hasApiToken: true });
    expect(await service.update(id, { apiToken: null })).toMatchObject({ hasApiToken: false });
  });

  it.each([
    [{ kind: 'tebex' }, 'kind does not change: create another market'],
    [{ secrets: ['short'] }, /secrets\[0\] must have at least 6 characters/],
    [
      { settings: { signature: { kind: 'secret', field: 's' }, item: 'a', line: 'b' } },
      'settings is for a dynamic market only',
    ],
  ])('a PUT of %j is rejected [9.1.1]', async (body, message) => {
    expectError(await call('PUT', `${PATH}/${market.id}`, { body }), 400, message);
  });

  it('a change counts in an isolate that holds the market after ten seconds [9.1.6]', async () => {
    const other = service.newIsolate();
    expect((await service.download(market, {}, other)).status).toBe(200);
    await settled();
    const clock = takeClock();
    await service.update(market.id, { enabled: false });
    clock.elapse(10_001);
    expect((await service.download(market, {}, other)).status).toBe(403);
  });

  it('there are at most 20 markets [9.1.6]', async () => {
    const make = (name: string) => call('POST', PATH, { body: { kind: 'tebex', name } });
    // One is there.
    for (let count = 2; count <= 20; count++) {
      expect((await make(`Shop ${count}`)).status).toBe(201);
    }
    expectError(await make('One more'), 409, 'There are at most 20 markets: delete one first');
  });

  it('a dynamic market needs its settings [9.1.1]', async () => {
    const body = { kind: 'dynamic', name: 'Shop' };
    expectError(
      await call('POST', PATH, { body }),
      400,
      'settings is required for a dynamic market',
    );
  });

  it('the deletion of a market keeps the purchases and their licenses, and ends its address [9.1.7]', async () => {
    await service.download(market);
    await service.isolate.call('DELETE', `${PATH}/${market.id}`);
    expect((await service.download(market)).status).toBe(404);
    const { licenseId } = await service.purchase();
    expect(await service.license(licenseId)).toMatchObject({ licenseStatus: 'ACTIVE' });
  });
});

it('a purchase whose license was deleted with its product gets no other license by itself [9.3.1]', async () => {
  await service.download(market);
  const { licenseId } = await service.purchase();
  const { id: otherId } = await create.product();
  await service.isolate.call('DELETE', `/api/v2/licenses/${licenseId}`);
  await service.update(market.id, {
    ...market,
    products: [{ item: '62494', productId: otherId }],
  });
  const deleted = await service.isolate.call('DELETE', `/api/v2/products/${productId}`);
  expect(deleted.status).toBe(204);
  expect((await service.download(market)).status).toBe(404);
  expect(await service.purchase()).toMatchObject({ licenseId, state: 'GRANTED' });
});

it('a flood of wrong secrets costs a query a second, and the right one still passes [9.2.10, 9.2.11]', async () => {
  await service.download(market);
  const { DB } = env;
  let statements = 0;
  const counting = new Proxy(DB, {
    get(target, name) {
      if (name === 'prepare') statements++;
      const value = Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  const flooded = service.newIsolate({ DB: counting });
  for (let count = 0; count < 200; count++) {
    expect((await service.download(market, { secret: `wrong-${count}` }, flooded)).status).toBe(
      401,
    );
  }
  // Each of ten is listed; the markets are read at first, and about once a second.
  expect(statements).toBeLessThan(10 + 1 + 10);
  expect((await service.download(market, {}, flooded)).status).toBe(200);
  expect((await service.arrived(market.id)).filter((one) => !one.isAccepted)).toHaveLength(10);
});

describe('the purchases that a market lists', () => {
  interface Buyer {
    id: string;
    active?: boolean;
    permanent?: boolean;
    end_date?: number;
  }
  let listed: Buyer[] = [];
  let sent: { url: string; authorization: string | null; body: string }[] = [];
  let fault: number | undefined;
  /** The interfaces of the markets, in the place of the network. */
  const OUTBOUND = {
    fetch: async (input: RequestInfo | URL, init?: RequestInit) => {
      const request = new Request(input, init);
      const { url, headers } = request;
      const authorization = headers.get('Authorization');
      const body = await request.text();
      sent.push({ url, authorization, body });
      if (fault) return Response.json({ result: 'error' }, { status: fault });
      if (url.startsWith('https://api.voxel.shop/v1/listBuyers')) {
        const start = Number(new URLSearchParams(body).get('start'));
        const next = start + 6_000;
        const buyers = listed.slice(start, next).map(({ id, active = true }) => ({
          userID: Number(id),
          valid: active,
        }));
        const more = listed.length > next;
        return Response.json({ response: { more, next_start: next, buyers } });
      }
      if (authorization?.startsWith('Token')) {
        return Response.json({ result: 'error' }, { status: 401 });
      }
      const page = Number(new URL(url).searchParams.get('page'));
      const shown = listed.slice((page - 1) * 2, page * 2);
      return Response.json({
        result: 'success',
        data: {
          stats: { page, max_page: Math.ceil(listed.length / 2) || 1 },
          licenses: shown.map(({ id, ...fields }) => ({
            content_type: 'resource',
            content_id: 62494,
            buyer_id: Number(id),
            permanent: true,
            active: true,
            ...fields,
          })),
        },
      });
    },
  };
  let logged: ReturnType<typeof vi.spyOn>;
  beforeEach(async () => {
    [listed, sent, fault] = [[], [], undefined];
    logged = vi.spyOn(console, 'error').mockImplementation(() => undefined);
    service = new MarketService({ OUTBOUND });
    market = await service.update(market.id, { apiToken: 'api-token-1' });
  });

  async function passHour(): Promise<void> {
    setNow(Date.now() + HOUR_MS);
    await service.isolate.runScheduled();
  }
  const states = async () =>
    Object.fromEntries((await service.purchases()).map((one) => [one.reference, one.state]));

  it('purchases are compared hourly at BuiltByBit: one that is missing twice in a row is revoked, and comes back when it is listed [9.3.12]', async () => {
    for (const id of ['1', '2', '3']) await service.bought(market, { user_id: id });
    listed = [{ id: '1' }, { id: '2' }, { id: '3' }];
    await passHour();
    expect(sent.map(({ authorization }) => authorization)).toEqual([
      'Token api-token-1',
      'Private api-token-1',
      'Private api-token-1',
    ]);
    listed = [{ id: '1' }, { id: '2', active: false }, { id: '3' }];
    await passHour();
    expect(await states()).toEqual({ 1: 'GRANTED', 2: 'GRANTED', 3: 'GRANTED' });
    await passHour();
    expect(await states()).toEqual({ 1: 'GRANTED', 2: 'REVOKED', 3: 'GRANTED' });
    const revoked = (await service.purchases()).find(({ reference }) => reference === '2');
    expect(await service.license(revoked?.licenseId ?? 0)).toMatchObject({
      licenseStatus: 'DEACTIVATED',
      notes: expect.stringMatching(/Market: missing$/),
    });
    listed = [{ id: '1' }, { id: '2' }, { id: '3' }];
    await passHour();
    expect(await states()).toEqual({ 1: 'GRANTED', 2: 'GRANTED', 3: 'GRANTED' });
    expect((await service.isolate.call('GET', `${PATH}/${market.id}`)).json).toMatchObject({
      reconciledAt: expect.any(String),
    });
  });

  it('a purchase that is listed again is still extended by its notice, which comes later [9.3.9]', async () => {
    const products = [{ item: '62494', productId, licenseType: 'TEMPORARY', expiresAfterDays: 30 }];
    await service.update(market.id, { products });
    const at = () => String(Math.floor(Date.now() / 1000));
    for (const id of ['1', '2']) await service.bought(market, { user_id: id, purchase_date: at() });
    listed = [{ id: '2' }];
    for (let hour = 0; hour < 2; hour++) await passHour();
    expect(await states()).toEqual({ 1: 'REVOKED', 2: 'GRANTED' });
    setNow(Date.now() + MINUTE_MS);
    const purchase_date = at();
    listed = [{ id: '1' }, { id: '2' }];
    await passHour();
    await service.bought(market, { user_id: '1', purchase_date });
    const [first] = (await service.purchases()).filter(({ reference }) => reference === '1');
    expect(await service.license(first?.licenseId ?? 0)).toMatchObject({ expiresAfterDays: 60 });
  });

  it('a purchase that is missing once, then listed, then missing once, is kept [9.3.12]', async () => {
    await service.bought(market, { user_id: '1' });
    for (const buyers of [[], [{ id: '1' }], []]) {
      listed = buyers;
      await passHour();
    }
    expect(await states()).toEqual({ 1: 'GRANTED' });
  });

  it.each([
    [{ id: '1', permanent: false, end_date: 1 }, 'REVOKED'],
    [{ id: '1', permanent: false, end_date: 4_000_000_000 }, 'GRANTED'],
  ])('a license that ends is over after its end: %j', async (buyer, state) => {
    await service.bought(market, { user_id: '1' });
    listed = [buyer];
    for (let hour = 0; hour < 2; hour++) await passHour();
    expect(await states()).toEqual({ 1: state });
  });

  it('a list that fails, or is suddenly short, revokes nothing [9.3.12]', async () => {
    for (const id of ['1', '2', '3', '4']) await service.bought(market, { user_id: id });
    listed = [{ id: '1' }];
    for (let hour = 0; hour < 3; hour++) await passHour();
    expect(logged).toHaveBeenCalledWith(expect.stringContaining('A market was not compared'));
    fault = 500;
    for (let hour = 0; hour < 3; hour++) await passHour();
    expect(new Set(Object.values(await states()))).toEqual(new Set(['GRANTED']));
    const { json } = await service.isolate.call('GET', '/api/v2/events?type=market.failing');
    // The first failure of a day, for webhooks and people.
    expect(json).toMatchObject([
      {
        resourceId: market.id,
        changes: { reason: { after: expect.stringContaining('The market lists less than half') } },
      },
    ]);
  });

  it('an empty list, and the list of resources for an add-on, revoke nothing [9.3.12]', async () => {
    const products = ['62494', 'addon-9'].map((item) => ({ item, productId }));
    await service.update(market.id, { products });
    await service.bought(market, { user_id: '1' });
    await service.bought(market, { user_id: '2', addon_id: '9' });
    for (let hour = 0; hour < 3; hour++) await passHour();
    listed = [{ id: '1' }];
    for (let hour = 0; hour < 3; hour++) await passHour();
    expect(await states()).toEqual({ 1: 'GRANTED', 2: 'GRANTED' });
    expect(sent[0]?.url).toContain('resource_ids=62494&');
  });

  it('a comparison that goes on in the next minute counts no purchase as missing again [9.3.12]', async () => {
    const all = Array.from({ length: 12 }, (_, index) => ({ id: String(index + 1) }));
    for (const { id } of all) await service.bought(market, { user_id: id });
    listed = all.slice(4);
    await passHour();
    listed = all.slice(5);
    await passHour();
    const revoked = async () =>
      Object.entries(await states()).flatMap(([id, state]) => (state === 'REVOKED' ? id : []));
    // One run has too few queries for all.
    expect((await revoked()).length).toBeLessThan(4);
    for (let minute = 0; minute < 5; minute++) {
      setNow(Date.now() + MINUTE_MS);
      await service.isolate.runScheduled();
    }
    expect(await revoked()).toEqual(['1', '2', '3', '4']);
    await passHour();
    expect(await revoked()).toEqual(['1', '2', '3', '4', '5']);
  });

  it('a purchase that the market reported as removed is not granted by its list [9.3.12]', async () => {
    const voxel = await service.create({
      kind: 'voxel',
      apiToken: 'voxel-token-1',
      products: [{ item: '1', productId }],
    });
    await service.update(market.id, { enabled: false });
    for (const [nonce, event] of ['purchase', 'purchaseRemoved'].entries()) {
      const body = JSON.stringify({
        event: `product.user.${event}`,
        time: Math.floor(Date.now() / 1000),
        nonce: String(nonce),
        payload: { product: { id: '1' }, user: { id: 7 } },
      });
      const headers = { 'X-Polymart-Signature': await hmac(body, SECRET) };
      expect((await service.send(voxel, body, { headers })).status).toBe(200);
    }
    listed = [{ id: '7' }];
    await passHour();
    expect(await states()).toEqual({ 7: 'REVOKED' });
  });

  it('a download without a purchase is compared with nothing [9.3.2, 9.3.12]', async () => {
    await service.download(market, { user_id: '9' });
    for (let hour = 0; hour < 3; hour++) await passHour();
    expect(await states()).toEqual({ 9: 'GRANTED' });
  });

  it('a forgotten buyer is missing in no list [9.3.12, 9.3.15]', async () => {
    for (const user_id of ['1', '2']) await service.bought(market, { user_id });
    const [first] = await service.purchases();
    const { customer } = await service.license(first?.licenseId ?? null);
    await service.isolate.call('DELETE', `/api/v2/customers/${customer?.id}`);
    listed = [{ id: '2' }];
    for (let hour = 0; hour < 3; hour++) await passHour();
    expect(Object.values(await states())).toEqual(['GRANTED', 'GRANTED']);
  });

  it('a market that keeps the licenses of refunds stores nothing about missing purchases [9.3.12]', async () => {
    await service.update(market.id, { onRefund: 'keep' });
    for (const user_id of ['1', '2']) await service.bought(market, { user_id });
    listed = [{ id: '2' }];
    const rows = async () => (await env.DB.prepare('select * from purchases').all()).results;
    const before = await rows();
    for (let hour = 0; hour < 3; hour++) await passHour();
    expect(await rows()).toEqual(before);
    await service.update(market.id, { onRefund: 'deactivate' });
    for (let hour = 0; hour < 2; hour++) await passHour();
    expect(await states()).toEqual({ 1: 'REVOKED', 2: 'GRANTED' });
  });

  it('a comparison reads the purchases that change, not all of them [9.3.12]', async () => {
    const products = [{ item: '1', productId }];
    const voxel = await service.create({ kind: 'voxel', apiToken: 'voxel-token-1', products });
    await service.update(market.id, { enabled: false });
    const { id: licenseId } = await create.license({ productId });
    await env.DB.prepare(
      `with recursive n(i) as (select 1 union all select i + 1 from n where i < 3000)
       insert into purchases (market_id, item, reference, unit, quantity, is_test, state, license_id, facts, misses,
         created_at, updated_at, revision)
       select ?, '1', i, 0, 1, 0, 'GRANTED', ?, '{"boughtAt":1}', 0, 1, 1, 1 from n`,
    )
      .bind(voxel.id, licenseId)
      .run();
    let largest = 0;
    const boundLists = new Set<number>();
    const isList = (param: unknown): boolean => typeof param === 'string' && param.length > 10_000;
    const DB = interceptDatabase(env.DB, async (statements, sendNow) => {
      for (const { params } of statements) boundLists.add(params.filter(isList).length);
      const result = await sendNow();
      const isOfPurchases = statements.some(({ sql }) => sql.includes('purchases'));
      if (isOfPurchases) largest = Math.max(largest, JSON.stringify(result).length);
      return result;
    });
    const isolate = service.newIsolate({ DB });
    listed = Array.from({ length: 2_999 }, (_, index) => ({ id: String(index + 2) }));
    const revoked = async () => {
      const sql = "select reference from purchases where state = 'REVOKED'";
      const { results } = await env.DB.prepare(sql).all();
      return results.map(({ reference }) => reference);
    };
    const compareHourly = async () => {
      setNow(Date.now() + HOUR_MS);
      await isolate.runScheduled();
    };
    // A run may have too much other work.
    for (let hour = 0; hour < 5 && (await revoked()).length === 0; hour++) await compareHourly();
    expect(await revoked()).toEqual(['1']);
    expect(largest).toBeLessThan(20_000);
    expect(Math.max(...boundLists)).toBe(1);
    listed = Array.from({ length: 50_001 }, (_, index) => ({ id: String(index + 3) }));
    for (let hour = 0; hour < 2; hour++) await compareHourly();
    expect(logged).toHaveBeenCalledWith(expect.stringContaining('A market was not compared'));
    expect(await revoked()).toEqual(['1']);
  });

  it('purchases are compared at Voxel Shop, too [9.3.12]', async () => {
    const voxel = await service.create({
      kind: 'voxel',
      apiToken: 'voxel-token-1',
      products: [{ item: '1', productId }],
    });
    await service.update(market.id, { enabled: false });
    const body = JSON.stringify({
      event: 'product.user.purchase',
      time: Math.floor(Date.now() / 1000),
      nonce: 'n',
      payload: { product: { id: '1' }, user: { id: 90579 } },
    });
    const headers = { 'X-Polymart-Signature': await hmac(body, SECRET) };
    expect((await service.send(voxel, body, { headers })).status).toBe(200);
    listed = [{ id: '90579' }];
    await passHour();
    expect(sent[0]?.body).toBe('api_key=voxel-token-1&resource_id=1&start=0');
    listed = [{ id: '90579', active: false }];
    for (let hour = 0; hour < 2; hour++) await passHour();
    expect(await states()).toEqual({ 90579: 'REVOKED' });
  });
});

it('forgetting a customer erases the buyer of its purchases [6.24, 9.3.15]', async () => {
  await service.bought(market);
  const { licenseId } = await service.purchase();
  const { customer } = await service.license(licenseId);
  const [{ order, body } = expect.fail()] = await service.arrived(market.id);
  expect(body).toContain(`"user_id":"${order}"`);
  await call('DELETE', `/api/v2/customers/${customer?.id}`);
  const [arrived] = await service.arrived(market.id);
  expect(arrived).toMatchObject({ order: null, body: '', isFromMarket: true });
  const { id, ...forgotten } = await service.purchase();
  expect(forgotten).toMatchObject({
    buyerId: null,
    buyerName: null,
    reference: `forgotten-${id}`,
    licenseId,
    state: 'GRANTED',
  });
  await service.download(market);
  expect(await service.purchases()).toHaveLength(2);
});

describe('refunds, disputes and subscriptions', () => {
  const TRANSACTION = 'tbx-1';
  const payment = (fields: object = {}) => ({
    transaction_id: TRANSACTION,
    created_at: '2026-08-04T07:00:00Z',
    payment_method: { name: 'PayPal' },
    customer: { email: 'ada@shop.example', username: { id: '25', username: 'Steve' } },
    products: [{ id: 127, quantity: 1 }],
    recurring_payment_reference: null,
    ...fields,
  });
  let tebex: Market;
  let minute = 0;
  beforeEach(async () => {
    minute = 0;
    tebex = await service.create({
      kind: 'tebex',
      name: 'Tebex',
      products: [{ item: '127', productId }],
    });
  });

  /** A notice of Tebex, a minute after the one before. */
  async function notice(type: string, subject: object = payment()) {
    minute += 1;
    const date = new Date(Date.UTC(2026, 7, 4, 8, minute)).toISOString();
    const body = JSON.stringify({ id: `event-${minute}`, type, date, subject });
    return send(body);
  }
  async function send(body: string) {
    const signature = await hmac(await sha256Hex(body), SECRET);
    const headers = { 'Content-Type': 'application/json', 'X-Signature': signature };
    const sent = await service.send(tebex, body, { headers });
    expect(sent.status, sent.text).toBe(200);
    return body;
  }
  const status = async () => {
    const { licenseId, state } = await service.purchase();
    return [state, (await service.license(licenseId)).licenseStatus];
  };

  it('a payment makes a license of the customer with its e-mail, and a refund deactivates it with a note [9.3.5]', async () => {
    await notice('payment.completed');
    const { licenseId, order } = await service.purchase();
    expect(order).toBe(TRANSACTION);
    expect(await service.license(licenseId)).toMatchObject({
      licenseStatus: 'ACTIVE',
      customer: { email: 'ada@shop.example', username: 'Steve' },
    });
    await notice('payment.refunded');
    expect(await status()).toEqual(['REVOKED', 'DEACTIVATED']);
    expect((await service.license(licenseId)).notes).toMatch(/^\d{4}-\d\d-\d\d, Tebex: refunded$/);
    expect(await eventTypes()).toEqual([
      'purchase.revoked',
      'license.updated',
      'purchase.granted',
      'license.created',
    ]);
    expect((await service.arrived(tebex.id))[0]?.result).toBe(
      'Revoked (refunded): the license is deactivated',
    );
  });

  it('a purchase with the e-mail of a customer changes nothing of that customer, because an e-mail that is typed proves nothing [9.3.3]', async () => {
    const email = `${crypto.randomUUID()}@shop.example`;
    const known = await call('POST', '/api/v2/customers', { body: { email } });
    const username = { id: '66', username: 'Mallory' };
    const typed = email.toUpperCase();
    await notice('payment.completed', payment({ customer: { email: typed, username } }));
    const { licenseId, buyerName } = await service.purchase();
    expect(buyerName).toBe('Mallory');
    expect((await service.license(licenseId)).customer).toEqual(known.json);
  });

  it('a program is refused within the moment after a chargeback [9.3.5]', async () => {
    await notice('payment.completed');
    const { licenseKey } = await service.license((await service.purchase()).licenseId);
    const validate = async () =>
      (await service.isolate.validate({ licenseKey, productId, ip: '192.0.2.1' })).json;
    expect(await validate()).toMatchObject({ valid: true });
    await notice('payment.dispute.opened');
    expect(await validate()).toMatchObject({ valid: false });
    await notice('payment.dispute.won');
    expect(await validate()).toMatchObject({ valid: true });
  });

  it('a refund that comes first is found by its purchase [9.3.4, 9.3.7]', async () => {
    await notice('payment.refunded');
    expect(await service.purchases()).toEqual([]);
    await notice('payment.completed');
    expect(await status()).toEqual(['REVOKED', 'DEACTIVATED']);
  });

  it('a license that a person reactivated stays so until a notice of another kind [9.3.6]', async () => {
    await notice('payment.completed');
    await notice('payment.refunded');
    const { licenseId } = await service.purchase();
    await call('PUT', `/api/v2/licenses/${licenseId}`, { body: { licenseStatus: 'ACTIVE' } });
    await notice('payment.refunded');
    expect(await status()).toEqual(['REVOKED', 'ACTIVE']);
    await notice('payment.dispute.lost');
    expect(await status()).toEqual(['REVOKED', 'DEACTIVATED']);
  });

  it('a won dispute restores no license whose status a person has changed [9.3.6]', async () => {
    await notice('payment.completed');
    const { licenseId } = await service.purchase();
    await notice('payment.dispute.opened');
    for (const licenseStatus of ['ACTIVE', 'DEACTIVATED']) {
      await call('PUT', `/api/v2/licenses/${licenseId}`, { body: { licenseStatus } });
    }
    await notice('payment.dispute.won');
    expect(await status()).toEqual(['GRANTED', 'DEACTIVATED']);
    expect((await service.arrived(tebex.id))[0]?.result).toMatch('changed by hand since');
  });

  it.each([
    ['keep', 'deactivate', 'payment.refunded', 'GRANTED'],
    ['deactivate', 'keep', 'payment.dispute.lost', 'GRANTED'],
    ['deactivate', 'wait', 'payment.dispute.opened', 'GRANTED'],
    ['deactivate', 'wait', 'payment.dispute.lost', 'REVOKED'],
  ] as const)(
    'onRefund %s and onDispute %s: after %s it is %s [9.3.5]',
    async (onRefund, onDispute, type, state) => {
      await service.update(tebex.id, { onRefund, onDispute });
      await notice('payment.completed');
      await notice(type);
      expect((await service.purchase()).state).toBe(state);
    },
  );

  it('a subscription ends, and a renewal goes on with the same license to the paid day [9.3.8]', async () => {
    await service.update(tebex.id, {
      products: [{ item: '127', productId, licenseType: 'TEMPORARY', expiresAfterDays: 30 }],
    });
    const subscription = { reference: 'tbx-r-1', next_payment_at: '2036-09-04T00:00:00Z' };
    await notice('recurring-payment.started', subscription);
    await notice('payment.completed', payment({ recurring_payment_reference: 'tbx-r-1' }));
    const { licenseId } = await service.purchase();
    // Three days of grace.
    expect((await service.license(licenseId)).expiryDate).toBe('2036-09-07T00:00:00.000+00:00');
    await notice('recurring-payment.ended', subscription);
    expect(await status()).toEqual(['REVOKED', 'DEACTIVATED']);
    const renewed = { ...subscription, next_payment_at: '2036-10-04T00:00:00Z' };
    await notice('recurring-payment.renewed', renewed);
    expect(await status()).toEqual(['GRANTED', 'ACTIVE']);
    expect((await service.license(licenseId)).expiryDate).toBe('2036-10-07T00:00:00.000+00:00');
    expect(await service.purchases()).toHaveLength(1);
  });

  it('a quantity makes so many licenses, or one with larger limits [9.1.2]', async () => {
    const products = [{ id: 127, quantity: 3 }];
    await notice('payment.completed', payment({ products }));
    const made = await service.purchases();
    expect(made.map(({ unit }) => unit)).toEqual([0, 1, 2]);
    expect(new Set(made.map(({ licenseId }) => licenseId)).size).toBe(3);
    await notice('payment.refunded');
    for (const { licenseId } of made) {
      expect(await service.license(licenseId)).toMatchObject({ licenseStatus: 'DEACTIVATED' });
    }
    await service.update(tebex.id, { products: [{ item: '127', productId, quantity: 'limits' }] });
    await notice('payment.completed', payment({ transaction_id: 'tbx-2', products }));
    const [one] = (await service.purchases()).slice(3);
    expect(await service.license(one?.licenseId ?? 0)).toMatchObject({ maxIPs: 9 });
    await notice(
      'payment.completed',
      payment({ transaction_id: 'tbx-3', products: [{ id: 127, quantity: 101 }] }),
    );
    expect((await service.purchases('?state=UNMATCHED'))[0]?.reason).toBe(
      'The quantity 101 is larger than 100: make the licenses by hand',
    );
  });

  it('a quantity that waits for its product gets all its licenses by one action [9.1.2, 9.3.11]', async () => {
    await notice('payment.completed', payment({ products: [{ id: 999, quantity: 3 }] }));
    const { id, quantity } = await service.purchase();
    expect(quantity).toBe(3);
    const path = `/api/v2/purchases/${id}/grant`;
    const granted = await service.isolate.call('POST', path, { body: { productId } });
    expect(granted.status, granted.text).toBe(200);
    const made = await service.purchases();
    expect(made.map(({ unit, state }) => `${unit} ${state}`)).toEqual(
      [0, 1, 2].map((unit) => `${unit} GRANTED`),
    );
    expect(made[0]?.id).toBe(id);
    expect(new Set(made.map(({ licenseId }) => licenseId)).size).toBe(3);
  });

  it('a test payment makes a license for a day, with a note, beside the real one [9.3.10]', async () => {
    await notice('payment.completed', payment({ payment_method: { name: 'Test Payments' } }));
    const test = await service.purchase();
    const { notes, expiryDate } = await service.license(test.licenseId);
    expect(test.isTest).toBe(true);
    expect(notes).toBe('Test of Tebex');
    expect(Date.parse(expiryDate ?? '') - Date.now()).toBeLessThanOrEqual(DAY_MS);
    await notice('payment.completed');
    expect(await service.purchases()).toHaveLength(2);
  });

  it('the same notice twenty times, in four isolates at once, is one license [9.3.1]', async () => {
    const date = '2026-08-04T08:00:00Z';
    const body = JSON.stringify({ id: '1', type: 'payment.completed', date, subject: payment() });
    const signature = await hmac(await sha256Hex(body), SECRET);
    const headers = { 'Content-Type': 'application/json', 'X-Signature': signature };
    const isolates = [1, 2, 3, 4].map(() => service.newIsolate());
    const sent = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        service.send(tebex, body, { headers, isolate: isolates[index % 4] ?? expect.fail() }),
      ),
    );
    expect(new Set(sent.map((one) => one.status))).toEqual(new Set([200]));
    expect(await status()).toEqual(['GRANTED', 'ACTIVE']);
    const made = await env.DB.prepare('select count(*) as n from licenses where product_id = ?')
      .bind(productId)
      .first();
    expect(made).toEqual({ n: 1 });
  });

  it('a fault of the database at any statement makes the market repeat, and one license is made [9.3.4]', async () => {
    const body = JSON.stringify({
      id: 'event',
      type: 'payment.completed',
      date: '2026-08-04T08:00:00Z',
      subject: payment(),
    });
    const signature = await hmac(await sha256Hex(body), SECRET);
    const headers = { 'Content-Type': 'application/json', 'X-Signature': signature };
    vi.spyOn(console, 'error').mockImplementation(() => undefined);
    for (let faulty = 0; faulty < 8; faulty++) {
      let trips = 0;
      const failing = interceptDatabase(env.DB, async (_, sendNow) => {
        const isBefore = faulty % 2 === 0;
        const isFaulty = trips++ === Math.floor(faulty / 2);
        if (isFaulty && isBefore) throw new Error('D1_ERROR: lost');
        const result = await sendNow();
        if (isFaulty) throw new Error('D1_ERROR: lost');
        return result;
      });
      const isolate = service.newIsolate({ DB: failing });
      const { status: code } = await service.send(tebex, body, { headers, isolate });
      expect([200, 500, 503]).toContain(code);
    }
    await send(body);
    expect(await status()).toEqual(['GRANTED', 'ACTIVE']);
    const made = await env.DB.prepare('select count(*) as n from licenses where product_id = ?')
      .bind(productId)
      .first();
    expect(made).toEqual({ n: 1 });
  });

  it('a grant and a repetition cost few statements and rows [9.3.1]', async () => {
    const { spy: DB, roundTrips } = spyOnDatabase(env.DB);
    const isolate = service.newIsolate({ DB });
    await service.download(market, {}, isolate);
    const made = await sumRows(roundTrips.flat());
    // The markets, all that the notice is about, the change; then two to publish it, and the list of what arrived.
    expect(roundTrips.length).toBeLessThanOrEqual(6);
    expect(roundTrips.flat().length).toBeLessThanOrEqual(17);
    expect(made.written).toBeLessThanOrEqual(32);
    roundTrips.length = 0;
    await service.download(market, {}, isolate);
    // One round trip reads, and one lists what arrived.
    expect(roundTrips).toHaveLength(2);
    expect(roundTrips.flat().length).toBeLessThanOrEqual(5);
    // The entry, and its place in the index by which forgetting a customer finds it.
    expect((await sumRows(roundTrips.flat())).written).toBe(2);
  });
});
