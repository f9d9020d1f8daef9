import { env } from 'cloudflare:workers';
import { market as marketWire } from '@licet/contract/markets';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { settled } from '../support/app.ts';
import { create } from '../support/client.ts';
import { interceptDatabase } from '../support/d1-intercept.ts';
import { spyOnDatabase, sumRows } from '../support/d1-spy.ts';
import { DAY_MS, setNow } from '../support/history.ts';
import { type Market, MarketService, SECRET } from '../support/shop-market.ts';
import { asPaynow, asStripe, asTebex } from './samples.ts';

/** Payments, invoices and subscriptions, by the requests of their markets (9). */

let service: MarketService;
let productId: number;
let market: Market;
/** The lines of a session at Stripe's interface, and its status. */
let stripeLines: object[];
let stripeStatus: number;
let asked: string[];
beforeEach(async () => {
  await settled();
  await env.DB.batch(
    ['markets', 'purchases', 'market_orders', 'market_deliveries', 'events'].map((table) =>
      env.DB.prepare(`delete from ${table}`),
    ),
  );
  [stripeLines, stripeStatus, asked] = [[], 200, []];
  const fetch = async (input: RequestInfo | URL, init?: RequestInit) => {
    const { url, headers } = new Request(input, init);
    asked.push(`${url} ${headers.get('Authorization')}`);
    return Response.json({ data: stripeLines }, { status: stripeStatus });
  };
  service = new MarketService({ OUTBOUND: { fetch } });
  ({ id: productId } = await create.product({ defaultMaxIPs: 3 }));
});

const start = async (kind: 'stripe' | 'paynow' | 'tebex', fields: object = {}): Promise<void> => {
  const products = [{ item: 'guard', productId }];
  market = await service.create({ kind, name: kind, products, ...fields });
};
const send = async ({ body, headers }: { body: string; headers: Record<string, string> }) => {
  const sent = await service.send(market, body, { headers });
  expect(sent.status, sent.text).toBe(200);
};
const stripe = async (type: string, object: object) => send(await asStripe(type, object));
const paynow = async (type: string, body: object) => send(await asPaynow(type, body));
const tebex = async (type: string, subject: object) => send(await asTebex(type, subject));

const states = async () => {
  const { licenseId, state } = await service.purchase();
  return [state, (await service.license(licenseId)).licenseStatus];
};
const last = async () => (await service.arrived(market.id))[0];
const eventTypes = async (): Promise<string[]> => {
  const { json } = await service.isolate.call('GET', '/api/v2/events?actor=service');
  return Array.from(Object(json), ({ type }) => type);
};

const session = {
  id: 'cs_1',
  object: 'checkout.session',
  mode: 'payment',
  payment_status: 'paid',
  payment_intent: 'pi_1',
  customer: 'cus_1',
  metadata: { licet_product: 'guard' },
};
const seconds = () => Math.floor(Date.now() / 1000);

const charge = {
  id: 'ch_1',
  object: 'charge',
  amount: 500,
  amount_refunded: 500,
  payment_intent: 'pi_1',
};

describe('Stripe', () => {
  const subscribed = {
    ...session,
    mode: 'subscription',
    payment_intent: null,
    subscription: 'sub_1',
    invoice: 'in_1',
  };
  const invoice = () => ({
    id: 'in_1',
    object: 'invoice',
    created: seconds(),
    total: 500,
    parent: { subscription_details: { subscription: 'sub_1' } },
    lines: { data: [{ period: { end: seconds() + 2_592_000 } }] },
  });
  const payment = { invoice: 'in_1', payment: { type: 'payment_intent', payment_intent: 'pi_1' } };

  it.each(['first', 'last'])(
    'a refund of a subscription payment that comes %s revokes [9.3.17]',
    async (place) => {
      await start('stripe');
      if (place === 'first') await stripe('charge.refunded', charge);
      await stripe('invoice_payment.paid', payment);
      await stripe('invoice.paid', invoice());
      await stripe('checkout.session.completed', subscribed);
      if (place === 'last') await stripe('charge.refunded', charge);
      expect(await states()).toEqual(['REVOKED', 'DEACTIVATED']);
    },
  );

  it('a chargeback of a subscription payment revokes, and a won one restores [9.3.17]', async () => {
    await start('stripe');
    await stripe('invoice.paid', invoice());
    await stripe('invoice_payment.paid', payment);
    await stripe('checkout.session.completed', subscribed);
    const dispute = { id: 'dp_1', object: 'dispute', payment_intent: 'pi_1' };
    await stripe('charge.dispute.created', { ...dispute, status: 'needs_response' });
    expect(await states()).toEqual(['REVOKED', 'DEACTIVATED']);
    await stripe('charge.dispute.closed', { ...dispute, status: 'won' });
    expect(await states()).toEqual(['GRANTED', 'ACTIVE']);
  });

  it('the facts about a payment of a subscription are kept as long as its purchase [9.3.17]', async () => {
    await start('stripe');
    await stripe('invoice_payment.paid', payment);
    await stripe('invoice.paid', invoice());
    await stripe('invoice.paid', { ...invoice(), id: 'in_9', subscription: 'sub_9', parent: null });
    await stripe('checkout.session.completed', subscribed);
    setNow(Date.now() + 31 * DAY_MS);
    await service.isolate.runScheduled();
    const { results } = await env.DB.prepare('select order_id, parent from market_orders').all();
    expect(results).toEqual([
      { order_id: 'in_1', parent: 'sub_1' },
      { order_id: 'pi_1', parent: 'in_1' },
      { order_id: 'sub_1', parent: null },
    ]);
  });

  it('an inquiry that ends well leaves the license [9.3.5]', async () => {
    await start('stripe');
    await stripe('checkout.session.completed', session);
    const dispute = { id: 'dp_1', object: 'dispute', payment_intent: 'pi_1' };
    await stripe('charge.dispute.created', { ...dispute, status: 'warning_needs_response' });
    expect(await states()).toEqual(['GRANTED', 'ACTIVE']);
    await stripe('charge.dispute.closed', { ...dispute, status: 'warning_closed' });
    expect(await states()).toEqual(['GRANTED', 'ACTIVE']);
  });

  it('a license that waits for its subscription comes back, unless a person has changed it [9.3.20, 9.3.6]', async () => {
    await start('stripe');
    await stripe('checkout.session.completed', subscribed);
    const at = (status: string) => stripe('customer.subscription.updated', { id: 'sub_1', status });
    setNow(Date.now() + 2_000);
    await at('paused');
    expect(await states()).toEqual(['REVOKED', 'DEACTIVATED']);
    setNow(Date.now() + 2_000);
    await at('active');
    expect(await states()).toEqual(['GRANTED', 'ACTIVE']);
  });

  it('a license that was transferred since is not given back [9.3.6]', async () => {
    await start('stripe');
    await stripe('checkout.session.completed', session);
    const dispute = { id: 'dp_1', object: 'dispute', payment_intent: 'pi_1' };
    await stripe('charge.dispute.created', { ...dispute, status: 'needs_response' });
    const { licenseId } = await service.purchase();
    const body = { customerEmail: `${crypto.randomUUID()}@shop.example` };
    const path = `/api/v2/licenses/${licenseId}/transfer`;
    expect((await service.isolate.call('POST', path, { body })).status).toBe(200);
    await stripe('charge.dispute.closed', { ...dispute, status: 'won' });
    expect(await states()).toEqual(['GRANTED', 'DEACTIVATED']);
  });

  it('the licenses that a subscription lacks are made when its first invoice names more [9.3.21]', async () => {
    await start('stripe');
    await stripe('checkout.session.completed', subscribed);
    const [period] = invoice().lines.data;
    const first = {
      ...invoice(),
      billing_reason: 'subscription_create',
      lines: { data: [{ ...period, quantity: 4 }] },
    };
    for (let times = 0; times < 2; times++) await stripe('invoice.paid', first);
    const made = await service.purchases();
    expect(made.map(({ unit, state }) => `${unit} ${state}`)).toEqual(
      [0, 1, 2, 3].map((unit) => `${unit} GRANTED`),
    );
    expect(new Set(made.map(({ licenseId }) => licenseId)).size).toBe(4);
  });

  it('a session without a key says that its quantity is not known', async () => {
    await start('stripe');
    await stripe('checkout.session.completed', session);
    expect((await last())?.result).toBe(
      'Granted a license; Stripe does not say how many were bought: store a restricted key as API token, or look at the order',
    );
  });

  it('a session that only saves a card makes nothing [9.3.22]', async () => {
    await start('stripe');
    const setup = { ...session, mode: 'setup', payment_status: 'no_payment_required' };
    await stripe('checkout.session.completed', setup);
    expect(await service.purchases()).toEqual([]);
  });

  it('a paid session that names no product waits under its Payment Link, which can be mapped [9.3.11]', async () => {
    await start('stripe');
    const nameless = { ...session, metadata: {}, payment_link: 'plink_1' };
    await stripe('checkout.session.completed', nameless);
    expect(await service.purchase()).toMatchObject({ state: 'UNMATCHED', item: 'plink_1' });
    expect(await eventTypes()).toEqual(['purchase.unmatched']);
    expect(await last()).toMatchObject({ effect: 'NEEDS_PERSON', isAccepted: true });
    await service.update(market.id, { products: [{ item: 'plink_1', productId }] });
    await stripe('checkout.session.completed', nameless);
    expect(await states()).toEqual(['GRANTED', 'ACTIVE']);
  });

  it('two events of one session under other names, and another mapping, are one license [9.3.16]', async () => {
    await start('stripe', { products: ['guard', 'other'].map((item) => ({ item, productId })) });
    await stripe('checkout.session.completed', session);
    const renamed = { ...session, metadata: { licet_product: 'other' } };
    await stripe('checkout.session.async_payment_succeeded', renamed);
    await service.update(market.id, { products: [{ item: 'third', productId }] });
    await stripe('checkout.session.completed', {
      ...session,
      metadata: { licet_product: 'third' },
    });
    expect(await states()).toEqual(['GRANTED', 'ACTIVE']);
  });

  it('a restricted key reads how many of which products a session sold [9.3.21]', async () => {
    const products = ['guard', 'prod_b'].map((item) => ({ item, productId }));
    await start('stripe', { products, apiToken: 'rk_1' });
    const line = (id: string, quantity: number) => ({
      id: `li_${id}`,
      quantity,
      price: { id: `price_${id}`, product: `prod_${id}` },
    });
    stripeLines = [line('a', 3)];
    await stripe('checkout.session.completed', session);
    expect(asked).toEqual([
      'https://api.stripe.com/v1/checkout/sessions/cs_1/line_items?limit=100 Bearer rk_1',
    ]);
    expect(await service.purchases()).toHaveLength(3);
    stripeLines = [line('a', 1), line('b', 2)];
    const other = { ...session, id: 'cs_2', payment_intent: 'pi_2' };
    await stripe('checkout.session.completed', other);
    const sold = (await service.purchases('?q=cs_2')).map(({ item, state }) => `${item} ${state}`);
    expect(sold).toEqual(['prod_a UNMATCHED', 'prod_b GRANTED', 'prod_b GRANTED']);
    await stripe('charge.refunded', { ...charge, payment_intent: 'pi_2' });
    const after = await service.purchases('?q=cs_2');
    expect(new Set(after.map(({ state }) => state))).toEqual(new Set(['REVOKED']));
  });

  it.each(['first', 'last'])(
    'a subscription that names its product sells each line of its session once, if its invoice comes %s [9.3.21]',
    async (place) => {
      const products = ['prod_a', 'prod_b'].map((item) => ({ item, productId }));
      await start('stripe', { products, apiToken: 'rk_1' });
      stripeLines = ['a', 'b'].map((id) => ({
        id: `li_${id}`,
        quantity: 1,
        price: { id: `price_${id}`, product: `prod_${id}` },
      }));
      const paid = () =>
        stripe('invoice.paid', {
          ...invoice(),
          billing_reason: 'subscription_create',
          parent: {
            subscription_details: { subscription: 'sub_1', metadata: { licet_product: 'guard' } },
          },
          lines: {
            data: ['prod_a', 'prod_b'].map((product) => ({
              quantity: 1,
              period: { end: seconds() + 2_592_000 },
              pricing: { price_details: { product } },
            })),
          },
        });
      if (place === 'first') await paid();
      await stripe('checkout.session.completed', subscribed);
      if (place === 'last') await paid();
      await stripe('checkout.session.completed', subscribed);
      const sold = await service.purchases();
      expect(sold.map(({ state }) => state)).toEqual(['GRANTED', 'GRANTED']);
    },
  );

  it('a session whose lines the key may not read waits with its reason, and a failure is repeated [9.3.21]', async () => {
    await start('stripe', { apiToken: 'rk_1' });
    stripeStatus = 500;
    const { body, headers } = await asStripe('checkout.session.completed', session);
    expect((await service.send(market, body, { headers })).status).toBe(503);
    expect(await last()).toMatchObject({ effect: null, isAccepted: true });
    stripeStatus = 403;
    await stripe('checkout.session.completed', session);
    expect(await service.purchase()).toMatchObject({
      state: 'UNMATCHED',
      reason: expect.stringContaining('More may have been bought'),
    });
    expect(await eventTypes()).toEqual(['purchase.unmatched']);
    stripeStatus = 200;
    stripeLines = [{ id: 'li_1', quantity: 2, price: { product: 'prod_a' } }];
    await stripe('checkout.session.completed', session);
    expect(await service.purchases()).toHaveLength(2);
  });

  it('a subscription that was made without Checkout is granted by its invoice', async () => {
    await start('stripe');
    const details = { subscription: 'sub_1', metadata: { licet_product: 'guard' } };
    await stripe('invoice.paid', { ...invoice(), parent: { subscription_details: details } });
    expect(await service.purchase()).toMatchObject({ state: 'GRANTED', order: 'sub_1' });
  });
});

describe('PayNow', () => {
  const item = (fields: object = {}) => ({
    id: 'd1',
    product_id: 'guard',
    order_id: 'o1',
    customer: { id: 'c1', name: 'Ada' },
    added_at: new Date().toISOString(),
    ...fields,
  });
  const order = (fields: object = {}) => ({
    id: 'o1',
    total_amount: 7500,
    completed_at: new Date().toISOString(),
    ...fields,
  });
  const refund = (order_id: string, amount: number) => ({
    id: `r-${order_id}-${amount}`,
    order_id,
    amount,
    status: 'completed',
  });

  it('a refund in full revokes, whichever event comes first, and one in part does not [9.3.5]', async () => {
    await start('paynow');
    await paynow('ON_DELIVERY_ITEM_ADDED', item());
    await paynow('ON_REFUND', refund('o1', 2500));
    await paynow('ON_ORDER_COMPLETED', order());
    expect(await states()).toEqual(['GRANTED', 'ACTIVE']);
    await paynow('ON_REFUND', refund('o1', 5000));
    expect(await states()).toEqual(['REVOKED', 'DEACTIVATED']);
  });

  it('a refund of the renewal of a subscription takes its own period [9.3.18]', async () => {
    await start('paynow');
    const until = (days: number) => new Date(Date.now() + days * DAY_MS).toISOString();
    const sub = { subscription_id: 's1' };
    await paynow('ON_ORDER_COMPLETED', order(sub));
    await paynow('ON_DELIVERY_ITEM_ADDED', item({ ...sub, expires_at: until(30) }));
    setNow(Date.now() + 30 * DAY_MS);
    await paynow('ON_ORDER_COMPLETED', order({ ...sub, id: 'o2' }));
    const renewed = { ...sub, id: 'd2', order_id: 'o2', expires_at: until(30) };
    await paynow('ON_DELIVERY_ITEM_ADDED', item(renewed));
    await paynow('ON_REFUND', refund('o1', 7500));
    expect(await states()).toEqual(['GRANTED', 'ACTIVE']);
    await paynow('ON_REFUND', refund('o2', 7500));
    expect(await states()).toEqual(['REVOKED', 'DEACTIVATED']);
  });

  it('a purchase that an earlier version stored by its delivery item is renewed, and made once', async () => {
    await start('paynow');
    await paynow('ON_DELIVERY_ITEM_ADDED', item());
    const until = new Date(Date.now() + 60 * DAY_MS).toISOString();
    const renewed = item({ subscription_id: 's1', expires_at: until });
    await paynow('ON_DELIVERY_ITEM_RENEWED', renewed);
    await paynow('ON_DELIVERY_ITEM_USED', renewed);
    expect(await service.purchase()).toMatchObject({ reference: 'd1', state: 'GRANTED' });
  });

  it.each(['before', 'after'])(
    'the customer has the e-mail of an order that comes %s [9.3.3]',
    async (when) => {
      await start('paynow');
      const email = `${crypto.randomUUID()}@shop.example`;
      const [buyer, id] = [crypto.randomUUID(), crypto.randomUUID()];
      const completed = () => paynow('ON_ORDER_COMPLETED', order({ id, billing_email: email }));
      if (when === 'before') await completed();
      await paynow('ON_DELIVERY_ITEM_ADDED', item({ order_id: id, customer: { id: buyer } }));
      if (when === 'after') await completed();
      const { licenseId } = await service.purchase();
      const { customer } = await service.license(licenseId);
      expect(customer?.email).toBe(email);
      await service.isolate.call('DELETE', `/api/v2/customers/${customer?.id}`);
      const { results } = await env.DB.prepare('select facts from market_orders').all();
      expect(JSON.stringify(results)).not.toContain(email);
    },
  );
});

describe('Tebex', () => {
  const payment = (id: string, fields: object = {}) => ({
    transaction_id: id,
    recurring_payment_reference: 'tbx-r-1',
    created_at: new Date().toISOString(),
    customer: { email: 'ada@shop.example', username: { id: '25', username: 'Steve' } },
    products: [
      { id: 'guard', quantity: 1, expires_at: new Date(Date.now() + 30 * DAY_MS).toISOString() },
    ],
    ...fields,
  });

  it('a refund of a renewal takes its own period [9.3.17]', async () => {
    await start('tebex');
    const first = payment('tbx-1');
    await tebex('payment.completed', first);
    setNow(Date.now() + 30 * DAY_MS);
    const second = payment('tbx-2');
    await tebex('payment.completed', second);
    await tebex('payment.refunded', first);
    expect(await states()).toEqual(['GRANTED', 'ACTIVE']);
    await tebex('payment.refunded', second);
    expect(await states()).toEqual(['REVOKED', 'DEACTIVATED']);
  });

  it('a subscription that has started is granted, also without its payment', async () => {
    await start('tebex');
    const subject = {
      reference: 'tbx-r-1',
      next_payment_at: new Date(Date.now() + 30 * DAY_MS).toISOString(),
      initial_payment: payment('tbx-1'),
    };
    await tebex('recurring-payment.started', subject);
    await tebex('payment.completed', payment('tbx-1'));
    expect(await states()).toEqual(['GRANTED', 'ACTIVE']);
  });

  it.each(['first', 'last'])(
    'a payment that does not name its subscription is no second purchase, if it comes %s [9.3.1]',
    async (place) => {
      await start('tebex');
      const first = payment('tbx-1');
      const subject = {
        reference: 'tbx-r-1',
        next_payment_at: first.products[0]?.expires_at,
        initial_payment: first,
      };
      const unnamed = { ...first, recurring_payment_reference: null };
      if (place === 'first') await tebex('payment.completed', unnamed);
      await tebex('recurring-payment.started', subject);
      if (place === 'last') await tebex('payment.completed', unnamed);
      expect(await states()).toEqual(['GRANTED', 'ACTIVE']);
      await tebex('payment.refunded', unnamed);
      expect(await states()).toEqual(['REVOKED', 'DEACTIVATED']);
    },
  );

  it('a dispute that is closed gives the license back [9.3.6]', async () => {
    await start('tebex');
    for (const type of ['completed', 'dispute.opened', 'dispute.closed']) {
      await tebex(`payment.${type}`, payment('tbx-1'));
    }
    expect(await states()).toEqual(['GRANTED', 'ACTIVE']);
  });

  describe('a basket of twelve packages', () => {
    const items = Array.from({ length: 12 }, (_, index) => `package-${index}`);
    const basket = {
      ...payment('tbx-1'),
      recurring_payment_reference: null,
      products: items.map((id) => ({ id, quantity: 1 })),
    };
    const startBasket = () =>
      start('tebex', { products: items.map((item) => ({ item, productId })) });

    it('a basket that is repeated costs the queries of one notice [9.3.1]', async () => {
      await startBasket();
      const { spy: DB, roundTrips } = spyOnDatabase(env.DB);
      const isolate = service.newIsolate({ DB });
      const { body, headers } = await asTebex('payment.completed', basket);
      const queriesOfRequest = async () => {
        roundTrips.length = 0;
        expect((await service.send(market, body, { headers, isolate })).status).toBe(200);
        return roundTrips.flat().length;
      };
      // The markets, 15 for each license, and the list of what arrived.
      expect(await queriesOfRequest()).toBeLessThanOrEqual(12 * 15 + 2);
      expect(await queriesOfRequest()).toBeLessThanOrEqual(5);
      expect(await service.purchases()).toHaveLength(12);
    });

    it('a basket gets all its licenses by repetitions, each of which may make 50 queries', async () => {
      await startBasket();
      let left = 0;
      const DB = interceptDatabase(env.DB, async (statements, send) => {
        left -= statements.length;
        if (left >= 0) return send();
        // The work after the response would try again for seconds.
        left = Number.POSITIVE_INFINITY;
        throw new Error('D1_ERROR: too many queries');
      });
      vi.spyOn(console, 'error').mockImplementation(() => undefined);
      const isolate = service.newIsolate({ DB });
      const { body, headers } = await asTebex('payment.completed', basket);
      const statuses: number[] = [];
      while (statuses.at(-1) !== 200 && statuses.length < 12) {
        left = 50;
        statuses.push((await service.send(market, body, { headers, isolate })).status);
      }
      expect(statuses).toEqual([503, 503, 503, 200]);
      expect(await service.purchases()).toHaveLength(12);
    });

    it('a request without queries for the list is listed beside a later one, with the reason, and at most 20 are [9.2.9]', async () => {
      await startBasket();
      let left = 0;
      const DB = interceptDatabase(env.DB, async (statements, send) => {
        const isOver = left < 0;
        left -= statements.length;
        const isListing = statements.some(({ sql }) => sql.includes('into "market_deliveries"'));
        // The work after the response would try again for seconds.
        if (left >= 0 || (isOver && !isListing)) return send();
        throw new Error('D1_ERROR: Too many API requests by single worker invocation.');
      });
      vi.spyOn(console, 'error').mockImplementation(() => undefined);
      const isolate = service.newIsolate({ DB });
      const { body, headers } = await asTebex('payment.completed', basket);
      const send = async (queries: number) => {
        left = queries;
        const { status } = await service.send(market, body, { headers, isolate });
        await settled();
        return status;
      };
      await send(50);
      expect(await service.arrived(market.id)).toEqual([]);
      // A repetition lists the one before, and has a place for its own list if it ends.
      expect([await send(50), await send(50), await send(50)]).toEqual([503, 503, 200]);
      const unfinished = { status: 503, effect: null, isFromMarket: true };
      const why = expect.stringContaining('the market sends it again, and the rest follows');
      expect(await service.arrived(market.id)).toMatchObject([
        { status: 200, effect: 'CHANGED' },
        ...Array.from({ length: 3 }, () => ({ ...unfinished, result: why })),
      ]);
      for (let times = 0; times < 25; times++) await send(0);
      for (let times = 0; times < 25; times++) await send(50);
      expect(await service.arrived(market.id)).toHaveLength(4 + 20 + 25);
    });
  });
});

describe('what arrived', () => {
  it('a refund without its amount, and an end without its subscription, need a person [9.2.9]', async () => {
    await start('paynow');
    await paynow('ON_REFUND', { id: 'r1', order_id: 'o1', status: 'completed' });
    expect(await last()).toMatchObject({ effect: 'NEEDS_PERSON' });
    await start('tebex');
    await tebex('recurring-payment.ended', { next_payment_at: null });
    expect(await last()).toMatchObject({ effect: 'NEEDS_PERSON' });
  });

  it('the list of what arrived shows the body of each request from the market, and whether a person is needed [9.2.9]', async () => {
    market = await service.create({ products: [{ item: '62494', productId }] });
    await service.download(market, { user_id: '', note: `secret ${SECRET}` });
    await service.download(market, { secret: 'another-secret-12' });
    await service.download(market, { resource_id: '7' });
    await service.download(market);
    await service.download(market);
    const arrived = await service.arrived(market.id);
    expect(
      arrived.map(({ isFromMarket, isAccepted, status, effect }) => ({
        isFromMarket,
        isAccepted,
        status,
        effect,
      })),
    ).toEqual([
      { isFromMarket: true, isAccepted: true, status: 200, effect: 'NOTHING' },
      { isFromMarket: true, isAccepted: true, status: 200, effect: 'CHANGED' },
      { isFromMarket: true, isAccepted: true, status: 404, effect: 'NEEDS_PERSON' },
      { isFromMarket: false, isAccepted: false, status: 401, effect: null },
      { isFromMarket: true, isAccepted: false, status: 400, effect: 'NEEDS_PERSON' },
    ]);
    const notUnderstood = arrived.at(-1);
    expect(notUnderstood).toMatchObject({ result: 'The body has no user_id' });
    expect(notUnderstood?.body).toContain('"resource_id":"62494"');
    expect(arrived.map(({ body }) => body).join()).not.toContain(SECRET);
    expect(arrived.at(-2)?.body).toBeNull();
  });
});

it.each([
  [{ productId: 999_999 }, 'products[0].productId'],
  [{ licenseType: 'TEMPORARY' }, 'products[0].expiresAfterDays'],
])('a mapping that can sell nothing is rejected: %j [9.1.9]', async (fields, name) => {
  const body = { kind: 'voxel', name: 'Shop', products: [{ item: '1', productId, ...fields }] };
  const { id } = await service.create({ kind: 'voxel' });
  for (const [method, path] of [
    ['POST', '/api/v2/markets'],
    ['PUT', `/api/v2/markets/${id}`],
  ] as const) {
    const { status, headers } = await service.isolate.call(method, path, { body });
    expect([status, headers.get('Error-Field')]).toEqual([400, name]);
  }
  const { id: other } = await create.product({ defaultExpiresAfterDays: 30 });
  const temporary = { item: '1', productId: other, licenseType: 'TEMPORARY' as const };
  await service.update(id, { products: [temporary] });
});

it('a PUT of what GET returned takes a mapping that can sell nothing any more, and no other one [3.9, 9.1.9]', async () => {
  const [days, gone] = [
    await create.product({ defaultExpiresAfterDays: 30 }),
    await create.product(),
  ];
  const products = [
    { item: '1', productId: days.id, licenseType: 'TEMPORARY' as const },
    { item: '2', productId: gone.id },
  ];
  const { id } = await service.create({ kind: 'voxel', products });
  await service.isolate.call('PUT', `/api/v2/products/${days.id}`, {
    body: { defaultExpiresAfterDays: null },
  });
  await service.isolate.call('DELETE', `/api/v2/products/${gone.id}?evenIfSold=true`);
  const { json } = await service.isolate.call('GET', `/api/v2/markets/${id}`);
  const stored = marketWire.parse(json);
  expect((await service.update(id, stored)).products).toEqual(stored.products);
  const body = { products: [...stored.products, { item: '3', productId: gone.id }] };
  const { status, headers } = await service.isolate.call('PUT', `/api/v2/markets/${id}`, { body });
  expect([status, headers.get('Error-Field')]).toEqual([400, 'products[2].productId']);
});

it('another name of the market splits no buyers [9.3.16]', async () => {
  market = await service.create({ products: ['1', '2'].map((item) => ({ item, productId })) });
  await service.download(market, { resource_id: '1' });
  await service.update(market.id, { name: 'Renamed' });
  await service.download(market, { resource_id: '2' });
  const [one, other] = await Promise.all(
    (await service.purchases()).map(({ licenseId }) => service.license(licenseId)),
  );
  expect(other?.customer?.id).toBe(one?.customer?.id);
});

it('the notice of a purchase names the customer whose download came before [9.3.3]', async () => {
  market = await service.create({ products: [{ item: '62494', productId }] });
  const user_id = crypto.randomUUID();
  await service.download(market, { user_id });
  await service.bought(market, { user_id });
  const { licenseId } = await service.purchase();
  expect((await service.license(licenseId)).customer).toMatchObject({ username: 'kas' });
});

describe('a later notice of a purchase', () => {
  const request = async (kind: 'stripe' | 'tebex' | 'dynamic', id: string, about: object) => {
    const [customer, time] = [{ ...about, username: { id, ...about } }, new Date().toISOString()];
    switch (kind) {
      case 'stripe':
        return asStripe('checkout.session.completed', {
          ...session,
          customer: id,
          customer_details: about,
        });
      case 'tebex':
        return asTebex('payment.completed', {
          transaction_id: id,
          created_at: time,
          customer,
          products: [{ id: 'guard', quantity: 1 }],
        });
      case 'dynamic': {
        const body = JSON.stringify({ order: id, product: 'guard', ...about });
        return { body, headers: { 'Content-Type': 'application/json', 'X-Key': SECRET } };
      }
    }
  };
  const settings = {
    signature: { kind: 'secret', header: 'X-Key' },
    item: 'product',
    line: 'order',
    buyer: 'order',
    email: 'email',
    buyerName: 'name',
  } as const;
  const customerOf = async () =>
    (await service.license((await service.purchase()).licenseId)).customer;

  it.each(['stripe', 'tebex', 'dynamic'] as const)(
    'a later e-mail and name go to the customer who has none, at %s [9.3.3]',
    async (kind) => {
      const id = crypto.randomUUID();
      const email = `${id}@shop.example`;
      const products = [{ item: 'guard', productId }];
      market = await service.create({ kind, products, ...(kind === 'dynamic' && { settings }) });
      await send(await request(kind, id, {}));
      expect(await customerOf()).toMatchObject({ email: null, username: null });
      await send(await request(kind, id, { email, name: 'Ada', username: 'Ada' }));
      expect(await customerOf()).toMatchObject({ email, username: 'Ada' });
      const other = { email: `other-${email}`, name: 'Eve', username: 'Eve' };
      await send(await request(kind, id, other));
      expect(await customerOf()).toMatchObject({ email, username: 'Ada' });
    },
  );

  it('a later e-mail and name do not go to the customer to whom the license was transferred [9.3.3]', async () => {
    const id = crypto.randomUUID();
    const products = [{ item: 'guard', productId }];
    market = await service.create({ kind: 'dynamic', products, settings });
    await send(await request('dynamic', id, {}));
    const { licenseId } = await service.purchase();
    const post = (path: string, body: object) => service.isolate.call('POST', path, { body });
    const { json } = await post('/api/v2/customers', { firstName: 'Eve' });
    const path = `/api/v2/licenses/${licenseId}/transfer`;
    expect((await post(path, { customerId: Object(json).id })).status).toBe(200);
    await send(await request('dynamic', id, { email: `${id}@shop.example`, name: 'Ada' }));
    const eve = { firstName: 'Eve', email: null, username: null };
    expect(await customerOf()).toMatchObject(eve);
  });
});

it('a purchase that is known is reported as known, also after a refund [9.3.13]', async () => {
  await start('stripe');
  await stripe('checkout.session.completed', session);
  await stripe('charge.refunded', {
    object: 'charge',
    amount: 1,
    amount_refunded: 1,
    payment_intent: 'pi_1',
  });
  const { id: licenseId } = await create.license({ productId });
  const body = { marketId: market.id, item: 'guard', reference: 'cs_1', order: 'pi_1', licenseId };
  const { status, text } = await service.isolate.call('POST', '/api/v2/purchases', { body });
  expect(status).toBe(409);
  expect(text).toContain('The purchase is known');
});

describe('a purchase that was entered with its order', () => {
  const enter = async (order: string) => {
    const { id: licenseId } = await create.license({ productId });
    const body = { marketId: market.id, item: 'guard', reference: 'by hand', order, licenseId };
    expect((await service.isolate.call('POST', '/api/v2/purchases', { body })).status).toBe(201);
  };

  it('a later notice of an entered purchase makes no second license, at Tebex [9.3.13]', async () => {
    await start('tebex');
    await enter('tbx-r-1');
    const renewal = {
      transaction_id: 'tbx-2',
      recurring_payment_reference: 'tbx-r-1',
      created_at: new Date().toISOString(),
      products: [{ id: 'guard', quantity: 1 }],
    };
    await tebex('payment.completed', renewal);
    expect(await states()).toEqual(['GRANTED', 'ACTIVE']);
    await tebex('payment.refunded', renewal);
    expect(await states()).toEqual(['REVOKED', 'DEACTIVATED']);
  });

  it('a later notice of an entered purchase makes no second license, at PayNow [9.3.13]', async () => {
    await start('paynow');
    await enter('o1');
    const item = { id: 'd1', product_id: 'guard', order_id: 'o1' };
    await paynow('ON_DELIVERY_ITEM_USED', { ...item, added_at: new Date().toISOString() });
    expect(await states()).toEqual(['GRANTED', 'ACTIVE']);
    await paynow('ON_DELIVERY_ITEM_REVOKED', item);
    expect(await states()).toEqual(['REVOKED', 'DEACTIVATED']);
  });
});

it('a notice reads no more rows at a market with thousands of purchases', async () => {
  await start('stripe');
  await stripe('checkout.session.completed', session);
  const numbers = 'with recursive n(i) as (select 1 union all select i + 1 from n where i < 3000)';
  await env.DB.batch(
    [
      `${numbers} insert into purchases (market_id, item, reference, unit, order_id, buyer_id, quantity, is_test, state,
         facts, misses, created_at, updated_at, revision)
       select market_id, item, 'old-' || i, unit, 'old-' || i, buyer_id, quantity, is_test, 'REVOKED', facts, 0,
         created_at, updated_at, 1 from purchases, n`,
      `${numbers} insert into market_orders (market_id, order_id, facts, revision, parent)
       select ${market.id}, 'old-' || i, '{}', 1, 'parent-' || i from n`,
    ].map((sql) => env.DB.prepare(sql)),
  );
  const { spy: DB, roundTrips } = spyOnDatabase(env.DB);
  const isolate = service.newIsolate({ DB });
  const paid = { ...session, id: 'cs_2', payment_intent: 'pi_2' };
  const purchase = await asStripe('checkout.session.completed', paid);
  const refund = await asStripe('charge.refunded', { ...charge, payment_intent: 'pi_2' });
  for (const { body, headers } of [purchase, refund, purchase]) {
    roundTrips.length = 0;
    expect((await service.send(market, body, { headers, isolate })).status).toBe(200);
    expect((await sumRows(roundTrips.flat())).read).toBeLessThanOrEqual(200);
  }
  const { results } = await env.DB.prepare(
    `select state from purchases where reference not like 'old-%' order by id`,
  ).all();
  expect(results.map(({ state }) => state)).toEqual(['GRANTED', 'REVOKED']);
});

describe('a notice about many licenses', () => {
  it('the name and the e-mail of a buyer of 60 licenses come later, by a request that makes few queries [9.3.3]', async () => {
    market = await service.create({
      kind: 'dynamic',
      products: [{ item: 'guard', productId }] as never,
      settings: {
        signature: { kind: 'secret', header: 'X-Key' },
        item: 'product',
        line: 'id',
        buyer: 'buyer',
        buyerName: 'name',
        email: 'email',
        quantity: 'quantity',
      } as never,
    });
    const { spy: DB, roundTrips } = spyOnDatabase(env.DB);
    const isolate = service.newIsolate({ DB });
    const queriesOf = async (fields: object) => {
      roundTrips.length = 0;
      const body = { product: 'guard', id: '1', buyer: 'b-60', quantity: 60, ...fields };
      const headers = { 'Content-Type': 'application/json', 'X-Key': SECRET };
      const sent = await service.send(market, JSON.stringify(body), { headers, isolate });
      expect(sent.status, sent.text).toBe(200);
      return roundTrips.flat().length;
    };
    expect(await queriesOf({})).toBeLessThanOrEqual(50);
    expect(await queriesOf({ name: 'kas', email: 'buyer-of-60@shop.example' })).toBeLessThanOrEqual(
      30,
    );
    const [{ licenseId } = { licenseId: 0 }] = await service.purchases();
    const { customer } = await service.license(licenseId);
    expect(customer).toMatchObject({ username: 'kas', email: 'buyer-of-60@shop.example' });
  });
});

describe('a text in the place of an e-mail', () => {
  it.each(['none', 'n/a', '\u200b', 'x\r\nBcc: eve@shop.example', '@', 'Not given'])(
    "joins no two buyers, and becomes nobody's e-mail: %j [9.3.3]",
    async (email) => {
      await start('tebex');
      for (const id of ['1', '2']) {
        await tebex('payment.completed', {
          transaction_id: `tbx-${id}`,
          created_at: new Date().toISOString(),
          customer: { email, username: { id: crypto.randomUUID(), username: `buyer-${id}` } },
          products: [{ id: 'guard', quantity: 1 }],
        });
      }
      const sold = await service.purchases();
      const customers = await Promise.all(
        sold.map(async ({ licenseId }) => (await service.license(licenseId)).customer),
      );
      expect(sold).toHaveLength(2);
      expect(new Set(customers.map((one) => one?.id)).size).toBe(2);
      expect(customers.map((one) => one?.email)).toEqual([null, null]);
    },
  );
});
