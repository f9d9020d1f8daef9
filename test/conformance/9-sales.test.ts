import { env } from 'cloudflare:workers';
import { purchase as purchaseWire } from '@licet/contract/purchases';
import { beforeEach, describe, expect, it } from 'vitest';
import { asPaynow, asStripe, asTebex } from '../markets/samples.ts';
import { newIsolate, settled } from '../support/app.ts';
import { create, expectError } from '../support/client.ts';
import { spyOnDatabase } from '../support/d1-spy.ts';
import { DAY_MS, setNow } from '../support/history.ts';
import { type Market, MarketService } from '../support/shop-market.ts';

/** From a sale to a person and back (9): the list of purchases, their amounts, and the states of markets. */

const PURCHASES = '/api/v2/purchases';
const MARKETS = '/api/v2/markets';

let service: MarketService;
let productId: number;
let market: Market;
beforeEach(async () => {
  await settled();
  await env.DB.batch(
    ['markets', 'purchases', 'market_orders', 'market_deliveries', 'events', 'licenses'].map(
      (table) => env.DB.prepare(`delete from ${table}`),
    ),
  );
  service = new MarketService();
  ({ id: productId } = await create.product({ name: 'Guard' }));
  market = await service.create({ products: [{ item: 62494, productId }] });
});

const eventTypes = async (): Promise<string[]> => {
  const { json } = await service.isolate.call('GET', '/api/v2/events?resourceType=purchase');
  return Array.from(Object(json), ({ type }) => type);
};

const ignore = async (id: number, isIgnored = true) => {
  const body = { isIgnored };
  const sent = await service.isolate.call('POST', `${PURCHASES}/${id}/ignore`, { body });
  expect(sent.status, sent.text).toBe(200);
  return purchaseWire.parse(sent.json);
};

const marketNow = async (id = market.id): Promise<Market> =>
  Object(await service.isolate.call('GET', `${MARKETS}/${id}`)).json;

const send = async (to: Market, request: Promise<{ body: string; headers: object }>) => {
  const { body, headers } = await request;
  const sent = await service.send(to, body, { headers: { ...headers } });
  expect(sent.status, sent.text).toBe(200);
};

const atStripe = (): Promise<Market> =>
  service.create({ kind: 'stripe', name: 'Stripe', products: [{ item: 'guard', productId }] });

const session = (fields: object = {}) =>
  asStripe('checkout.session.completed', {
    id: 'cs_1',
    object: 'checkout.session',
    mode: 'payment',
    payment_status: 'paid',
    payment_intent: 'pi_3',
    customer_details: { email: 'ada.buyer@example.com', name: 'Ada' },
    metadata: { licet_product: 'guard' },
    amount_total: 999,
    currency: 'eur',
    ...fields,
  });

describe('the list of purchases', () => {
  it('purchases are listed with the newest first, and page by page [9.3.23]', async () => {
    for (const user_id of ['1', '2', '3']) await service.download(market, { user_id });
    const ids = (await service.purchases()).map(({ id }) => id);
    expect((await service.purchases('?sort=-id')).map(({ id }) => id)).toEqual(ids.toReversed());
    const page = await service.isolate.call('GET', `${PURCHASES}?sort=-id&limit=2`);
    const [, next = ''] = /<https:\/\/[^/]*([^>]*)>/.exec(page.headers.get('Link') ?? '') ?? [];
    expect(page.headers.get('X-Total-Count')).toBe('3');
    const rest = await service.isolate.call('GET', next);
    const pages = [page, rest].map(({ json }) => purchaseWire.array().parse(json));
    expect(pages.flat().map(({ id }) => id)).toEqual(ids.toReversed());
  });

  it('a purchase is found by the e-mail and the name of its buyer, before and after its license [9.3.23]', async () => {
    const stripe = await atStripe();
    await send(stripe, session());
    await send(stripe, session({ id: 'cs_2', payment_intent: 'pi_4', metadata: {} }));
    const found = async (q: string) =>
      (await service.purchases(`?q=${encodeURIComponent(q)}`)).map(({ order }) => order);
    expect(await found('ADA.BUYER@')).toEqual(['pi_3', 'pi_4']);
    expect(await found('ada')).toEqual(['pi_3', 'pi_4']);
    expect(await found('pi_4')).toEqual(['pi_4']);
    const [first, second] = await service.purchases();
    expect([first?.email, second?.email]).toEqual([null, 'ada.buyer@example.com']);
    expect(await service.purchases(`?customerId=${first?.customerId}`)).toEqual([first]);
  });

  it('a purchase of a subscription is found by a payment of it [9.3.23]', async () => {
    const stripe = await atStripe();
    await send(stripe, session({ payment_intent: null, subscription: 'sub_1', invoice: 'in_1' }));
    await send(
      stripe,
      asStripe('invoice_payment.paid', { invoice: 'in_1', payment: { payment_intent: 'pi_9' } }),
    );
    expect(await service.purchases('?q=pi_9')).toMatchObject([{ order: 'sub_1' }]);
    expect(await service.purchases('?q=pi_8')).toEqual([]);
  });

  it('a purchase names its market, its product and the key of its license [9.3.27]', async () => {
    await service.download(market);
    const { licenseId, ...purchase } = await service.purchase();
    const { licenseKey, customer } = await service.license(licenseId);
    expect(purchase).toMatchObject({
      marketName: 'Market',
      productName: 'Guard',
      licenseKey,
      customerId: customer?.id,
      revokedAt: null,
    });
  });
});

describe('the amount of a purchase', () => {
  const paid = async () => (await service.purchases()).map((one) => [one.amount, one.currency]);

  it('a purchase has the amount that the market reports, and the currency if it names one [9.3.24]', async () => {
    await service.bought(market);
    expect(await paid()).toEqual([['9.99', null]]);
    await send(await atStripe(), session({ amount_total: 1000, currency: 'jpy' }));
    const tebex = await service.create({ kind: 'tebex', products: [{ item: '127', productId }] });
    const payment = {
      transaction_id: 'tbx-101',
      created_at: '2026-11-26T10:00:00Z',
      price: { amount: 26.5, currency: 'USD' },
      products: [{ id: 127, quantity: 3 }],
    };
    await send(tebex, asTebex('payment.completed', payment));
    expect(await paid()).toEqual([
      ['9.99', null],
      ['1000', 'JPY'],
      ['26.50', 'USD'],
      // The further licenses of a quantity: the amount is of all.
      [null, null],
      [null, null],
    ]);
  });

  it('the amount that the order names is that of the purchase, whichever arrives first [9.3.24]', async () => {
    const paynow = await service.create({ kind: 'paynow', products: [{ item: '1', productId }] });
    const added = (id: string) =>
      asPaynow('ON_DELIVERY_ITEM_ADDED', {
        id,
        order_id: `order ${id}`,
        order_line_id: `line ${id}`,
        product_id: '1',
        added_at: '2026-11-26T10:00:00Z',
      });
    const completed = (id: string) =>
      asPaynow('ON_ORDER_COMPLETED', {
        id: `order ${id}`,
        currency: 'usd',
        total_amount: 7500,
        completed_at: '2026-11-26T10:00:00Z',
        lines: [
          { id: `line ${id}`, total_amount: 5000, quantity: 2 },
          { id: `other ${id}`, total_amount: 2500, quantity: 1 },
        ],
      });
    for (const request of [added('a'), completed('a'), completed('b'), added('b')]) {
      await send(paynow, request);
    }
    expect(await paid()).toEqual([
      ['25.00', 'USD'],
      ['25.00', 'USD'],
    ]);
  });

  it('an amount that is not clear is left out [9.3.24]', async () => {
    await service.bought(market, { final_price: '{final_price}' });
    await service.bought(market, { user_id: '2', final_price: '-1' });
    await service.download(market, { user_id: '3' });
    expect(await paid()).toEqual(Array(3).fill([null, null]));
  });
});

describe('a purchase that nobody wants', () => {
  const unwanted = { resource_id: '7' };
  const waiting = async () => {
    await service.bought(market, unwanted);
    return (await service.purchase()).id;
  };

  it('an ignored purchase is kept without a license and without another alert, also if a product is chosen later [9.3.25]', async () => {
    const id = await waiting();
    expect(await ignore(id)).toMatchObject({ isIgnored: true, state: 'UNMATCHED' });
    expect(await ignore(id)).toMatchObject({ isIgnored: true });
    await service.update(market.id, { products: [{ item: '7', productId }] });
    await service.bought(market, { ...unwanted, purchase_date: '1790001000' });
    expect(await service.download(market, unwanted)).toMatchObject({
      status: 404,
      text: 'The purchase is ignored: choose its product in the list of purchases to license it',
    });
    expect(await service.purchase()).toMatchObject({ isIgnored: true, licenseId: null });
    expect(await eventTypes()).toEqual(['purchase.updated', 'purchase.unmatched']);
    const [download] = await service.arrived(market.id);
    expect(download).toMatchObject({ effect: 'NOTHING' });
    expect(await service.purchases('?isIgnored=false')).toEqual([]);
    expect(await service.purchases('?isIgnored=true')).toHaveLength(1);
  });

  it('an ignored purchase waits for a product again, or gets its license, when a person says so [9.3.25]', async () => {
    const id = await waiting();
    await ignore(id);
    expect(await ignore(id, false)).toMatchObject({ isIgnored: false, state: 'UNMATCHED' });
    await ignore(id);
    const { json } = await service.isolate.call('POST', `${PURCHASES}/${id}/grant`, {
      body: { productId },
    });
    expect(json).toMatchObject({ state: 'GRANTED', isIgnored: false, productId });
    const again = await service.isolate.call('POST', `${PURCHASES}/${id}/ignore`, { body: {} });
    expectError(again, 409, 'The purchase does not wait for a product: there is nothing to ignore');
  });
});

describe('the sales of a period', () => {
  const day = (now: number) =>
    `?from=${new Date(now - DAY_MS / 2).toISOString()}&to=${new Date(now).toISOString()}`;
  const sales = async (query = '') => {
    const { status, json, text } = await service.isolate.call(
      'GET',
      `${PURCHASES}/statistics${query}`,
    );
    expect(status, text).toBe(200);
    return Object(json);
  };

  it('sales are counted with their amounts by currency, and refunds by the time of the refund [9.3.26]', async () => {
    const start = Date.UTC(2026, 10, 26, 10);
    setNow(start);
    const stripe = await atStripe();
    await send(stripe, session());
    await send(stripe, session({ id: 'cs_2', payment_intent: 'pi_4', amount_total: 1001 }));
    // One without a product, with three decimals.
    const dinars = { id: 'cs_3', payment_intent: 'pi_5', metadata: {}, currency: 'kwd' };
    await send(stripe, session(dinars));
    await service.download(market);
    const entered = await create.license({ productId, licenseType: 'PERMANENT' });
    const body = { marketId: market.id, item: 62494, reference: 1, licenseId: entered.id };
    expect((await service.isolate.call('POST', PURCHASES, { body })).status).toBe(201);
    expect(await sales()).toMatchObject({
      sold: 4,
      amounts: [
        { currency: 'EUR', amount: '20.00' },
        { currency: 'KWD', amount: '0.999' },
      ],
      refunded: 0,
      disputed: 0,
    });
    const next = start + DAY_MS;
    setNow(next);
    const charge = { object: 'charge', amount: 999, amount_refunded: 999 };
    await send(stripe, asStripe('charge.refunded', { ...charge, payment_intent: 'pi_3' }));
    const dispute = { id: 'dp_1', status: 'needs_response', payment_intent: 'pi_4' };
    await send(stripe, asStripe('charge.dispute.created', dispute));
    expect(await sales(day(next))).toMatchObject({
      sold: 0,
      amounts: [],
      refunded: 1,
      disputed: 1,
    });
    expect(await sales(day(start))).toMatchObject({ sold: 4, refunded: 0, disputed: 0 });
    expect(await service.purchases('?q=pi_3')).toMatchObject([
      { reason: 'refunded', revokedAt: new Date(next).toISOString().replace('Z', '+00:00') },
    ]);
  });

  it('refunds of purchases that a person entered, and those of deleted markets, do not count [9.3.26]', async () => {
    const stripe = await atStripe();
    const { id: licenseId } = await create.license({ productId, licenseType: 'PERMANENT' });
    const entered = {
      marketId: stripe.id,
      item: 'guard',
      reference: 'pi_3',
      order: 'pi_3',
      licenseId,
    };
    const sent = await service.isolate.call('POST', PURCHASES, { body: entered });
    expect(sent.status, sent.text).toBe(201);
    await send(stripe, session({ id: 'cs_2', payment_intent: 'pi_4' }));
    const charge = { object: 'charge', amount: 999, amount_refunded: 999 };
    for (const payment_intent of ['pi_3', 'pi_4']) {
      await send(stripe, asStripe('charge.refunded', { ...charge, payment_intent }));
    }
    expect((await service.purchases()).map(({ state }) => state)).toEqual(['REVOKED', 'REVOKED']);
    expect(await sales()).toMatchObject({ sold: 1, refunded: 1 });
    const { status } = await service.isolate.call('DELETE', `${MARKETS}/${stripe.id}`);
    expect(status).toBe(204);
    expect(await sales()).toMatchObject({ sold: 0, refunded: 0 });
  });

  it('an amount that no sale has is left out, and leaves the sums right [9.3.24]', async () => {
    const stripe = await atStripe();
    await send(stripe, session());
    for (const id of ['cs_2', 'cs_3']) {
      const amount_total = Number.MAX_SAFE_INTEGER;
      await send(stripe, session({ id, payment_intent: id, amount_total, currency: 'jpy' }));
    }
    expect((await service.purchases()).map(({ amount }) => amount)).toEqual(['9.99', null, null]);
    expect((await sales()).amounts).toEqual([{ currency: 'EUR', amount: '9.99' }]);
  });

  it('a period of sales has at most 31 days [9.3.26]', async () => {
    const rejected = await service.isolate.call(
      'GET',
      `${PURCHASES}/statistics?from=2026-01-01&to=2026-02-02`,
    );
    expectError(rejected, 400, 'from must be at most 31 days before to');
  });
});

it('the statistics read the revoked purchases of their time, not all of the markets [9.3.26]', async () => {
  const { spy, roundTrips } = spyOnDatabase(env.DB);
  await newIsolate({ DB: spy }).call('GET', `${PURCHASES}/statistics`);
  const revoked = roundTrips.flat().filter(({ sql }) => sql.includes('revoked_at between'));
  expect(revoked).toHaveLength(1);
  for (const { sql, params } of revoked) {
    const plan = env.DB.prepare(`explain query plan ${sql}`).bind(...params);
    const { results } = await plan.all<{ detail: string }>();
    expect(results.map(({ detail }) => detail)).toContain(
      'SEARCH purchases USING INDEX purchases_revoked (revoked_at>? AND revoked_at<?)',
    );
  }
});

describe('the state of a market', () => {
  const stateNow = async () => (await marketNow()).state;

  it('a market reads what it needs, and whether its last request was right [9.1.10]', async () => {
    expect(market).toMatchObject({ state: 'WAITING', sales: 0, lastSaleAt: null });
    await service.download(market);
    expect(await marketNow()).toMatchObject({
      state: 'WORKS',
      sales: 1,
      lastSaleAt: (await service.purchase()).createdAt,
    });
    await service.download(market, { secret: 'wrong-secret' });
    expect(await stateNow()).toBe('FAILING');
    await service.download(market, { resource_id: '7' });
    expect(await stateNow()).toBe('NEEDS_PRODUCT');
    const [waiting] = await service.purchases('?state=UNMATCHED');
    await ignore(waiting?.id ?? 0);
    expect(await stateNow()).toBe('WORKS');
    expect((await service.update(market.id, { enabled: false })).state).toBe('OFF');
    expect((await service.update(market.id, { enabled: true, secrets: [] })).state).toBe(
      'NEEDS_SECRET',
    );
    const { json } = await service.isolate.call('GET', MARKETS);
    expect(json).toMatchObject([{ state: 'NEEDS_SECRET', sales: 1 }]);
  });

  it('the sales of a market are the purchases with a license, and an index counts them [9.1.10]', async () => {
    await service.download(market, { user_id: '1' });
    await service.download(market, { user_id: '2', resource_id: '7' });
    const [{ createdAt, licenseId } = expect.fail()] = await service.purchases('?state=GRANTED');
    const body = { marketId: market.id, item: '62494', reference: '3', licenseId };
    const entered = await service.isolate.call('POST', PURCHASES, { body });
    expect(entered.status, entered.text).toBe(201);
    expect(await marketNow()).toMatchObject({ sales: 1, lastSaleAt: createdAt });
    const { spy, roundTrips } = spyOnDatabase(env.DB);
    await newIsolate({ DB: spy }).call('GET', `${MARKETS}/${market.id}`);
    const counting = roundTrips
      .flat()
      .filter(({ sql }) => sql.includes('select count(*) from purchases'));
    expect(counting).toHaveLength(1);
    for (const { sql, params } of counting) {
      const plan = env.DB.prepare(`explain query plan ${sql}`).bind(...params);
      const { results } = await plan.all<{ detail: string }>();
      const read = results.map(({ detail }) => detail);
      expect(read.filter((detail) => /^SEARCH purchases .*\(market_id/.test(detail))).toEqual([
        'SEARCH purchases USING INDEX purchases_sold (market_id=? AND created_at>?)',
        'SEARCH purchases USING INDEX purchases_sold (market_id=?)',
      ]);
    }
  });

  it('a product that a market sells is deleted only if that is said, and the market then needs a product [9.1.11]', async () => {
    const path = `/api/v2/products/${productId}`;
    expectError(
      await service.isolate.call('DELETE', path),
      409,
      'The product is sold at "Market": remove it there first, or send evenIfSold=true (--even-if-sold)',
    );
    const { status } = await service.isolate.call('DELETE', `${path}?evenIfSold=true`);
    expect([status, await stateNow()]).toEqual([204, 'NEEDS_PRODUCT']);
    expect((await service.download(market)).status).toBe(404);
    expect(await service.purchase()).toMatchObject({ state: 'UNMATCHED' });
  });

  it('a product with licenses is rejected for these, sold or not [3.21]', async () => {
    await service.download(market);
    expectError(
      await service.isolate.call('DELETE', `/api/v2/products/${productId}`),
      409,
      'Product has licenses, cannot delete',
    );
  });
});

describe('what arrived', () => {
  it('a request that arrived names its product and order, by which purchases are found [9.2.12]', async () => {
    await service.download(market);
    const stripe = await atStripe();
    await send(stripe, session());
    const charge = { object: 'charge', amount: 999, amount_refunded: 999, payment_intent: 'pi_3' };
    await send(stripe, asStripe('charge.refunded', charge));
    expect(await service.arrived(market.id)).toMatchObject([{ item: '62494', order: '540773' }]);
    expect(await service.arrived(stripe.id)).toMatchObject([
      { item: null, order: 'pi_3' },
      { item: 'guard', order: 'pi_3' },
    ]);
  });

  it('a test of the webhook at BuiltByBit, whose fields are not filled in, makes no purchase [9.2.13]', async () => {
    const template = {
      user_id: '{user_id}',
      username: '{username}',
      resource_id: '{resource_id}',
      addon_id: '{addon_id}',
    };
    expect(await service.bought(market, template)).toMatchObject({ status: 200 });
    expect(await service.purchases()).toEqual([]);
    expect(await eventTypes()).toEqual([]);
    expect(await service.arrived(market.id)).toMatchObject([
      {
        type: 'test',
        isAccepted: true,
        effect: 'NOTHING',
        result: 'A test, whose fields are not filled in: it changes no purchase',
      },
    ]);
    expect((await marketNow()).state).toBe('WORKS');
  });
});
