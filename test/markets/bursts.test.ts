import { env } from 'cloudflare:workers';
import { beforeEach, expect, it, onTestFinished } from 'vitest';
import { settled } from '../support/app.ts';
import { create } from '../support/client.ts';
import { spyOnDatabase } from '../support/d1-spy.ts';
import { type Market, MarketService } from '../support/shop-market.ts';
import { asTebex } from './samples.ts';

/** Notices that arrive at the same time, on one machine. */

const BUYERS = Array.from({ length: 8 }, (_, index) => String(100 + index));

const { spy: DB, roundTrips } = spyOnDatabase(env.DB);
let service: MarketService;
let market: Market;

beforeEach(async () => {
  await settled();
  await env.DB.batch(
    ['markets', 'purchases', 'market_orders', 'market_deliveries', 'events'].map((table) =>
      env.DB.prepare(`delete from ${table}`),
    ),
  );
  service = new MarketService({
    DB,
    SNAPSHOTS: undefined,
    ONE_MACHINE: 'true',
    TRUSTED_PROXIES: '127.0.0.1',
  });
  const { id: productId } = await create.product();
  market = await service.create({ products: [{ item: '62494', productId }] });
  // The service knows its markets.
  await service.bought(market, { user_id: '1' });
  roundTrips.length = 0;
});

const buyAtOnce = (buyers: readonly string[]) =>
  Promise.all(buyers.map((user_id) => service.bought(market, { user_id })));

const granted = async () => {
  const purchases = await service.purchases();
  return purchases.filter(({ state }) => state === 'GRANTED').map(({ buyerId }) => buyerId);
};

it('notices that arrive together share transactions, and each has its purchase, license, events and entry', async () => {
  const sent = await buyAtOnce(BUYERS);
  expect(sent.map(({ status }) => status)).toEqual(BUYERS.map(() => 200));
  // Each alone is read, stored and listed: three round trips of 16 statements. A busy machine makes several groups of them.
  expect(roundTrips.length).toBeLessThan(2 * BUYERS.length);
  expect(roundTrips.flat().length).toBeLessThan(10 * BUYERS.length);
  const purchases = await service.purchases();
  const all = ['1', ...BUYERS];
  expect(purchases.map(({ buyerId }) => buyerId).sort()).toEqual(all);
  expect(new Set(purchases.map(({ licenseId }) => licenseId)).size).toBe(all.length);
  for (const { id, buyerId, licenseId } of purchases) {
    expect((await service.license(licenseId)).ownerPlatformId).toBe(buyerId);
    for (const [type, resourceId] of [
      ['license.created', licenseId],
      ['purchase.granted', id],
    ]) {
      const path = `/api/v2/events?type=${type}&resourceId=${resourceId}`;
      expect((await service.isolate.call('GET', path)).json).toHaveLength(1);
    }
  }
  expect(await service.arrived(market.id)).toHaveLength(all.length);
});

it('a notice that cannot be stored fails alone, and the market sends it again', async () => {
  const [failing = '', ...others] = BUYERS;
  await env.DB.prepare(
    `create trigger failing before insert on purchases when new.buyer_id = '${failing}'
      begin select raise(abort, 'fails'); end`,
  ).run();
  const repair = () => env.DB.prepare('drop trigger if exists failing').run();
  onTestFinished(async () => void (await repair()));
  const sent = await buyAtOnce(BUYERS);
  expect(sent.map(({ status }) => status)).toEqual([503, ...others.map(() => 200)]);
  expect((await granted()).sort()).toEqual(['1', ...others]);
  await repair();
  expect((await service.bought(market, { user_id: failing })).status).toBe(200);
  expect((await granted()).sort()).toEqual(['1', ...BUYERS]);
});

it('a purchase and its refund that arrive together end as in any order, beside other purchases', async () => {
  const { id: productId } = await create.product();
  const tebex = await service.create({ kind: 'tebex', products: [{ item: 'guard', productId }] });
  const ids = BUYERS.map((buyer) => `tbx-${buyer}`);
  const notices = ids.flatMap((id) =>
    ['payment.completed', 'payment.refunded'].map((type) =>
      asTebex(type, {
        transaction_id: id,
        created_at: new Date().toISOString(),
        customer: { username: { id, username: id } },
        products: [{ id: 'guard', quantity: 1 }],
      }),
    ),
  );
  const requests = await Promise.all(notices);
  const sent = await Promise.all(
    requests.map(({ body, headers }) => service.send(tebex, body, { headers })),
  );
  expect(new Set(sent.map(({ status }) => status))).toEqual(new Set([200]));
  const purchases = await service.purchases(`?marketId=${tebex.id}`);
  expect(purchases.map(({ state, reason }) => `${state} ${reason}`)).toEqual(
    ids.map(() => 'REVOKED refunded'),
  );
  for (const { licenseId } of purchases) {
    expect((await service.license(licenseId)).licenseStatus).toBe('DEACTIVATED');
  }
});

it('notices about one purchase that arrive together make one license', async () => {
  const [buyer = ''] = BUYERS;
  const sent = await buyAtOnce([buyer, ...BUYERS, buyer]);
  expect(new Set(sent.map(({ status }) => status))).toEqual(new Set([200]));
  expect((await granted()).sort()).toEqual(['1', ...BUYERS]);
});
