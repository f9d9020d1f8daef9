import { env } from 'cloudflare:workers';
import fc from 'fast-check';
import { beforeEach, expect, it, onTestFinished, vi } from 'vitest';
import { Arrivals } from '../../src/channels/markets/received.ts';
import { openDatabase } from '../../src/db/client.ts';
import { settled } from '../support/app.ts';
import { create } from '../support/client.ts';
import { interceptDatabase } from '../support/d1-intercept.ts';
import { spyOnDatabase } from '../support/d1-spy.ts';
import { type Market, MarketService } from '../support/shop-market.ts';
import { asStripe, asTebex } from './samples.ts';

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

it('downloads that arrive together get their own keys', async () => {
  const sent = await Promise.all(BUYERS.map((user_id) => service.download(market, { user_id })));
  const purchases = await service.purchases();
  for (const [index, buyer] of BUYERS.entries()) {
    const licenseId = purchases.find(({ buyerId }) => buyerId === buyer)?.licenseId ?? null;
    expect(sent[index]?.text).toContain((await service.license(licenseId)).licenseKey);
  }
});

it('a request that takes seconds to be listed is listed once', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const { promise: isFree, resolve: free } = Promise.withResolvers<void>();
  let inserts = 0;
  const slow = interceptDatabase(env.DB, async (_statements, send) => {
    inserts++;
    await isFree;
    return send();
  });
  const arrivals = new Arrivals(openDatabase(slow), true);
  const kept: Promise<unknown>[] = [];
  const arrived = { marketId: market.id, isAccepted: true, status: 200, result: 'OK', body: '{}' };
  // Two requests can be the same.
  const eventIds = ['evt_1', 'evt_2', 'evt_2'];
  const now = Date.now();
  const listed = eventIds.map((eventId) =>
    arrivals.list({ ...arrived, eventId }, now, (work) => void kept.push(work)),
  );
  await vi.advanceTimersByTimeAsync(8_100);
  expect(inserts).toBe(2);
  free();
  await Promise.all([...listed, ...kept]);
  const { results } = await env.DB.prepare(
    `select event_id from market_deliveries where event_id like 'evt%' order by id`,
  ).all();
  expect(results.map(({ event_id }) => event_id)).toEqual(eventIds);
});

/** A purchase at Stripe or its subscription, by its number. Each has its own buyer, of whom one has no account. */
const buyerOf = (one: number) => ({
  customer: [null, 'cus_1', 'cus_2'][one] ?? null,
  customer_details: { email: one === 2 ? null : `${one}@shop.example` },
});
const DAY = 86_400;
const TODAY = Math.floor(Date.now() / 1000);
const number = fc.integer({ min: 0, max: 2 });

/**
 * Events about three payments, which are also those of the first invoices of three subscriptions. Two events about one
 * purchase say the same of it: where they differ, the first one decides.
 */
const event = fc.oneof(
  number.map((one) => ({
    type: 'checkout.session.completed',
    object: {
      ...{ id: `cs_${one}`, payment_status: 'paid', payment_intent: `pi_${one}` },
      ...{ metadata: { licet_product: one === 0 ? 'unknown' : 'many' }, ...buyerOf(one) },
      line_items: { data: [{ id: 'li_1', quantity: one + 1, price: {} }] },
    },
  })),
  number.map((one) => ({
    type: 'checkout.session.completed',
    object: {
      ...{ id: `cs_s${one}`, payment_status: 'paid', subscription: `sub_${one}` },
      ...{ invoice: `in_${one}0`, metadata: { licet_product: 'monthly' }, ...buyerOf(one) },
    },
  })),
  fc.tuple(number, number).map(([one, month]) => ({
    type: 'invoice.paid',
    object: {
      ...{ id: `in_${one}${month}`, total: 500, subscription: `sub_${one}` },
      ...{ payment_intent: `pi_${one}${month || ''}`, created: TODAY + month },
      lines: { data: [{ period: { end: TODAY + (month + 1) * 30 * DAY } }] },
    },
  })),
  number.map((one) => ({
    type: 'charge.refunded',
    object: { amount: 500, amount_refunded: 500, payment_intent: `pi_${one}` },
  })),
  fc.tuple(number, fc.constantFrom('won', 'lost')).map(([one, status]) => ({
    type: 'charge.dispute.closed',
    object: { id: `dp_${one}`, payment_intent: `pi_${one}`, status },
  })),
  fc.tuple(number, fc.constantFrom('active', 'unpaid')).map(([one, status]) => ({
    type: 'customer.subscription.updated',
    object: { id: `sub_${one}`, status },
  })),
);

it('any notices that arrive together end like one after the other', {
  timeout: 60_000,
}, async () => {
  const { id: productId } = await create.product();
  const stripe = await service.create({
    kind: 'stripe',
    products: [
      { item: 'many', productId, quantity: 'licenses' },
      { item: 'monthly', productId, licenseType: 'TEMPORARY', expiresAfterDays: 30 },
    ],
  });
  const send = async ({ body, headers }: Awaited<ReturnType<typeof asStripe>>) =>
    (await service.send(stripe, body, { headers })).status;
  const rowsOf = async (sql: string) => (await env.DB.prepare(sql).all()).results;
  const end = async () => [
    await rowsOf(`select p.item, p.reference, p.unit, p.order_id, p.quantity, p.state, p.reason, p.facts, l.state as license,
      l.expires_at, l.deactivated_by = p.id as is_ours, c.email, c.other_account_id,
      (select group_concat(type) from events where resource_type = 'license' and resource_id = l.id
        and type = 'license.created') as created
      from purchases p left join licenses l on l.id = p.license_id left join customers c on c.id = l.customer_id
      order by p.item, p.reference, p.unit`),
    await rowsOf('select order_id, parent, facts from market_orders order by order_id'),
    await rowsOf('select count(*) as customers from customers'),
    await rowsOf('select count(*) as licenses from licenses'),
  ];
  await fc.assert(
    fc.asyncProperty(fc.array(event, { minLength: 2, maxLength: 12 }), async (events) => {
      const requests = await Promise.all(events.map(({ type, object }) => asStripe(type, object)));
      const empty = ['purchases', 'market_orders', 'licenses', 'customers', 'events'];
      await env.DB.batch(empty.map((table) => env.DB.prepare(`delete from ${table}`)));
      for (const request of requests) await send(request);
      const expected = await end();
      await env.DB.batch(empty.map((table) => env.DB.prepare(`delete from ${table}`)));
      const statuses = await Promise.all(requests.map(send));
      expect(new Set(statuses)).toEqual(new Set([200]));
      expect(await end()).toEqual(expected);
    }),
    { numRuns: 12 },
  );
});
