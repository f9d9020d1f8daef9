import { env } from 'cloudflare:workers';
import { DYNAMIC_PRESETS } from '@licet/contract/dynamic-presets';
import { beforeEach, expect, it, vi } from 'vitest';
import { settled } from '../support/app.ts';
import { create } from '../support/client.ts';
import { captureConsole } from '../support/console.ts';
import { withFaults } from '../support/faults.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS, setNow } from '../support/history.ts';
import { type Market, MarketService, OLD_PATH, SECRET } from '../support/shop-market.ts';
import { hmac } from './samples.ts';

/** Requests without the right secret (9.2): at most 60 a minute of a client at an address, and an event of the others. */

const CLIENT = '203.0.113.5';
const FORM = 'application/x-www-form-urlencoded';

let service: MarketService;
let productId: number;
let market: Market;
beforeEach(async () => {
  await settled();
  await env.DB.batch(
    ['markets', 'purchases', 'market_deliveries', 'events', 'webhooks', 'deliveries'].map((table) =>
      env.DB.prepare(`delete from ${table}`),
    ),
  );
  // No minute begins within a test.
  setNow(Math.ceil(Date.now() / HOUR_MS) * HOUR_MS);
  service = new MarketService({ FAILED_TOKEN_LIMITER: 60 });
  ({ id: productId } = await create.product());
  market = await service.create({ name: 'Shop', products: [{ item: '7', productId }] });
});

/** A download by a client. */
async function download(to: Market | string, secret: string, client = CLIENT) {
  const fields = { builtbybit: 'true', user_id: '1', resource_id: '7', secret };
  const headers = { 'Content-Type': FORM, 'CF-Connecting-IP': client };
  return service.send(to, String(new URLSearchParams(fields)), { headers });
}

async function guess(to: Market | string, times = 61, client = CLIENT): Promise<number[]> {
  const statuses: number[] = [];
  for (let count = 0; count < times; count++) {
    statuses.push((await download(to, `wrong-secret-${count}`, client)).status);
  }
  return statuses;
}

const guessed = async () => {
  const { json } = await service.isolate.call('GET', '/api/v2/events?type=market.guessed');
  return Array.from(Object(json));
};

it.each(['the secret address', 'the old address of the product'])(
  'after 60 wrong secrets in a minute, nothing of the client counts at %s, and all else passes [1.7.17, 9.2.2, 9.2.5]',
  async (name) => {
    const to = name === 'the secret address' ? market : `${OLD_PATH}/${productId}`;
    const other = await service.create({ products: [{ item: '7', productId }] });
    expect(await guess(to)).toEqual([...Array(60).fill(401), 429]);
    const right = await download(to, SECRET);
    expect([right.status, right.headers.get('Retry-After')]).toEqual([429, '60']);
    expect(right.text).toBe('Too many requests were rejected, try again in a minute');
    expect((await download(to, SECRET, '203.0.113.6')).status).toBe(200);
    expect((await download(other, SECRET)).status).toBe(200);
    setNow(Date.now() + MINUTE_MS);
    expect((await download(to, SECRET)).status).toBe(200);
  },
);

it('made-up addresses are counted together, and the right one passes [1.7.18, 9.2.2]', async () => {
  const statuses: number[] = [];
  for (let count = 0; count < 62; count++) {
    const path = count % 2 === 0 ? `${OLD_PATH}/${900_000 + count}` : `/markets/${count}`;
    statuses.push((await download(path, SECRET)).status);
  }
  expect(statuses).toEqual([...Array(60).fill(404), 429, 429]);
  expect((await download(market, SECRET)).status).toBe(200);
});

it('requests that come from the market count for no limit, whatever becomes of them [1.7.16, 9.2.2, 9.2.4, 9.2.5]', async () => {
  for (let count = 0; count < 61; count++) {
    const headers = { 'Content-Type': FORM, 'CF-Connecting-IP': CLIENT };
    const { status } = await service.send(market, `secret=${SECRET}`, { headers });
    expect(status).toBe(400);
  }
  expect((await download(market, SECRET)).status).toBe(200);
});

it('a request with a right signature that is too old counts for no limit, and is listed with its body [9.2.4, 9.2.7, 9.2.9]', async () => {
  const shoppex = DYNAMIC_PRESETS.shoppex.settings;
  const old = (ago: number) => Math.floor((Date.now() - ago) / 1000);
  for (const [kind, sign] of [
    [
      'stripe',
      async (time: number, body: string) => ({
        'Stripe-Signature': `t=${time},v1=${await hmac(`${time}.${body}`, SECRET)}`,
      }),
    ],
    [
      'paynow',
      async (time: number, body: string) => ({
        'PayNow-Timestamp': `${time}000`,
        'PayNow-Signature': await hmac(`${time}000.${body}`, SECRET, 'base64'),
      }),
    ],
    [
      'voxel',
      async (_: number, body: string) => ({ 'X-Polymart-Signature': await hmac(body, SECRET) }),
    ],
    [
      'dynamic',
      async (time: number, body: string) => ({
        'X-Shoppex-Signature-V2': `v1,t=${time},h=${await hmac(`d1.${time}.${body}`, SECRET)}`,
        'X-Shoppex-Timestamp': String(time),
        'X-Shoppex-Delivery-Id': 'd1',
      }),
    ],
  ] as const) {
    const settings = kind === 'dynamic' ? { settings: shoppex } : {};
    const to = await service.create({ kind, ...settings });
    const statuses = [];
    for (let count = 0; count < 62; count++) {
      const time = old(6 * MINUTE_MS);
      const body = JSON.stringify({ type: 'ping', event: 'ping', time });
      const headers = { ...(await sign(time, body)), 'CF-Connecting-IP': CLIENT };
      statuses.push((await service.send(to, body, { headers })).status);
    }
    expect(statuses, kind).toEqual(Array(62).fill(401));
    expect((await service.arrived(to.id))[0], kind).toMatchObject({
      isFromMarket: true,
      isAccepted: false,
      status: 401,
      effect: 'NEEDS_PERSON',
      body: expect.stringContaining('ping'),
    });
  }
  expect(await guessed()).toEqual([]);
});

it('requests of a market that is switched off count for no limit, and are no guesses [9.2.4]', async () => {
  await service.update(market.id, { enabled: false });
  const statuses: number[] = [];
  for (let count = 0; count < 62; count++) statuses.push((await download(market, SECRET)).status);
  expect(statuses).toEqual(Array(62).fill(403));
  expect(await guessed()).toEqual([]);
  expect(await guess(market)).toEqual([...Array(60).fill(401), 429]);
});

it('a client over the limit is an event, once a day for each market, with its address [9.4.4]', async () => {
  const path = `${OLD_PATH}/${productId}`;
  await guess(path, 60);
  expect(await guessed()).toEqual([]);
  await guess(path, 2);
  await guess(path, 61, '203.0.113.6');
  const expected = {
    type: 'market.guessed',
    actor: { tokenName: 'service' },
    ip: CLIENT,
    resourceType: 'market',
    resourceId: market.id,
    changes: {
      reason: {
        after: `Too many requests to ${path} had a wrong secret or signature. Check the secret at the market`,
      },
    },
  };
  expect(await guessed()).toMatchObject([expected]);
  setNow(Date.now() + DAY_MS + MINUTE_MS);
  const body = { url: 'https://shop.example/licet', types: ['market.guessed'] };
  const asked = await service.isolate.call('POST', '/api/v2/webhooks', { body });
  expect(asked.status, asked.text).toBe(201);
  await guess(market);
  expect(await guessed()).toMatchObject([{ resourceId: market.id }, expected]);
  expect(JSON.stringify(await guessed())).not.toContain(
    new URL(market.addresses[0] ?? '').pathname,
  );
  const due = await env.DB.prepare('select type from deliveries').all();
  expect(due.results).toEqual([{ type: 'market.guessed' }]);
});

it('a client that guesses slowly, or over the end of a minute, is an event, too [9.4.4]', async () => {
  for (let minute = 0; minute < 2; minute++) {
    expect(await guess(market, 30)).toEqual(Array(30).fill(401));
    expect(await guessed()).toEqual([]);
    setNow(Date.now() + MINUTE_MS);
  }
  // Another client, and another market, count for themselves.
  await guess(market, 30, '203.0.113.6');
  await guess(await service.create({ name: 'Other' }), 30);
  await download(market, SECRET);
  expect(await guessed()).toEqual([]);
  expect(await guess(market, 1)).toEqual([401]);
  expect(await guessed()).toMatchObject([{ resourceId: market.id, ip: CLIENT }]);
  setNow(Date.now() + 10 * MINUTE_MS);
  await guess(market, 30);
  expect(await guessed()).toHaveLength(1);
});

it('a flood of guesses writes nothing but one event [9.4.4]', async () => {
  const path = `${OLD_PATH}/${productId}`;
  let writes = 0;
  const DB = withFaults(env.DB, (sql) => {
    if (/^(insert|update|delete) /m.test(sql)) writes++;
    return null;
  });
  service = new MarketService({ FAILED_TOKEN_LIMITER: 60, DB });
  for (let client = 1; client <= 5; client++) await guess(path, 70, `203.0.113.${client}`);
  expect(writes).toBe(1);
});

it('ten requests with a wrong secret an hour are listed, and all of the market [9.2.9]', async () => {
  for (let minute = 0; minute < 30; minute++) {
    await guess(market, 2);
    setNow(Date.now() + MINUTE_MS);
  }
  await download(market, SECRET);
  const listed = await service.arrived(market.id);
  expect(listed.map(({ status }) => status)).toEqual([200, ...Array(10).fill(401)]);
});

it('the form for 19 markets with one product is read once, and the secret of the last is enough [9.2.3]', async () => {
  const sold = { products: [{ item: '7', productId }] };
  for (let count = 0; count < 18; count++) {
    await service.create({ ...sold, secrets: [`the-secret-of-market-${count}`] });
  }
  const reads = vi.spyOn(Response.prototype, 'formData');
  const body = new FormData();
  body.set('builtbybit', 'true');
  body.set('user_id', '1');
  body.set('resource_id', '7');
  body.set('secret', 'the-secret-of-market-17');
  const sent = new Response(body);
  const headers = { 'Content-Type': sent.headers.get('Content-Type') ?? '' };
  const text = await sent.text();
  const { status } = await service.send(`${OLD_PATH}/${productId}`, text, { headers });
  expect(status).toBe(200);
  expect(reads).toHaveBeenCalledTimes(1);
});

it.each([
  ['a form', FORM, Array(65).fill('a=1').join('&')],
  ['a multipart form', 'multipart/form-data; boundary=b', `${'--b\r\n\r\n\r\n'.repeat(65)}--b--`],
])('%s with more than 64 fields is not read [9.2.3]', async (_, type, body) => {
  const { status, text } = await service.send(market, body, { headers: { 'Content-Type': type } });
  expect([status, text]).toEqual([400, 'The body is neither a form nor JSON']);
});

it('a multipart form with 64 fields is read', async () => {
  const body = new FormData();
  const fields = { builtbybit: 'true', user_id: '1', resource_id: '7', secret: SECRET };
  for (const [name, value] of Object.entries(fields)) body.set(name, value);
  for (let count = 4; count < 64; count++) body.set(`more-${count}`, 'x');
  const sent = new Response(body);
  const headers = { 'Content-Type': sent.headers.get('Content-Type') ?? '' };
  expect((await service.send(market, await sent.text(), { headers })).status).toBe(200);
});

it('while the database does not respond, markets get 503 with Retry-After, and the log one line of each kind [9.2.6, 9.2.10]', async () => {
  const lines = captureConsole();
  let isDown = false;
  let asked = 0;
  const DB = withFaults(env.DB, () => {
    asked++;
    return isDown ? 'fails' : null;
  });
  const failTenTimes = async () => {
    for (let count = 0; count < 10; count++) {
      const { status, headers, text } = await download(market, SECRET);
      expect([status, headers.get('Retry-After')]).toEqual([503, '5']);
      expect(text).toBe('The service is unavailable: try again');
    }
  };
  service = new MarketService({ DB });
  expect((await download(market, SECRET)).status).toBe(200);
  isDown = true;
  await failTenTimes();
  // Another isolate holds no markets, and tries to read them once a second.
  service = new MarketService({ DB });
  asked = 0;
  await failTenTimes();
  expect(asked).toBeLessThan(5);
  service = new MarketService({ DB });
  isDown = false;
  expect((await download(market, SECRET)).status).toBe(200);
  const messages = lines.map((line) => JSON.parse(line).message);
  expect(messages).toEqual([
    'Requests of markets failed: 1',
    'Requests of markets were not listed: 1',
    'Requests of markets failed: 1',
  ]);
});

it.each([
  ['builtbybit', null],
  ['dynamic', { signature: { kind: 'secret', header: 'X-Key' }, item: 'product', line: 'id' }],
] as const)(
  'a short secret that the seller chose for %s is rejected, unless it is stored already [9.1.4]',
  async (kind, settings) => {
    const body = { kind, name: 'Shop', settings, secrets: ['fifteen-letters'] };
    const rejected = await service.isolate.call('POST', '/api/v2/markets', { body });
    expect(rejected.status).toBe(400);
    expect(rejected.text).toContain('secrets[0] must have at least 16 characters');
    expect(rejected.headers.get('Error-Field')).toBe('secrets');
    const { id } = await service.create({ kind, settings });
    await env.DB.prepare(`update markets set secrets = '["hunter2"]' where id = ?`).bind(id).run();
    const secrets = ['hunter2', 'sixteen-letters!'];
    expect(await service.update(id, { secrets })).toMatchObject({ secretCount: 2 });
    const path = `/api/v2/markets/${id}`;
    const other = await service.isolate.call('PUT', path, { body: { secrets: ['hunter3'] } });
    expect(other.status).toBe(400);
  },
);

it('a short secret of a market that makes its own is taken [9.1.4]', async () => {
  const hmac = { signature: { kind: 'hmac', header: 'X-S' }, item: 'a', line: 'b' } as const;
  for (const fields of [{ kind: 'voxel' }, { kind: 'dynamic', settings: hmac }] as const) {
    expect(await service.create({ ...fields, secrets: ['a1b2c3d4'] })).toMatchObject({
      secretCount: 1,
    });
  }
});

it('a stored short secret still gets its key [9.1.4]', async () => {
  await env.DB.prepare(`update markets set secrets = '["hunter2"]'`).run();
  expect((await download(market, 'hunter2')).status).toBe(200);
});
