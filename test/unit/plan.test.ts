import { DAY_MS } from '@licet/contract/durations';
import { dynamicSettings } from '@licet/contract/dynamic-market';
import { DYNAMIC_PRESETS } from '@licet/contract/dynamic-presets';
import { marketProduct } from '@licet/contract/markets';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Notice } from '../../src/channels/markets/notice.ts';
import { MarketWorld, NOW } from '../support/market-world.ts';

/** The plan of a notice, by the events of the markets themselves: given what came before, when one comes, then. */

const SECONDS = NOW / 1000;
const DAY = 86_400;
const GRACE_MS = 3 * DAY_MS;
const MONTH = 30 * DAY;

const MONTHLY = { item: 'guard', licenseType: 'TEMPORARY', expiresAfterDays: 30 } as const;

/** An event of Stripe. */
const stripe = (type: string, object: object, created = SECONDS) => ({
  id: `evt_${type}`,
  type,
  created,
  livemode: true,
  data: { object },
});

const session = (fields: object = {}) =>
  stripe('checkout.session.completed', {
    id: 'cs_1',
    object: 'checkout.session',
    mode: 'payment',
    payment_status: 'paid',
    payment_intent: 'pi_1',
    customer: 'cus_1',
    metadata: { licet_product: 'guard' },
    ...fields,
  });
const subscribed = (fields: object = {}) =>
  session({
    mode: 'subscription',
    payment_intent: null,
    subscription: 'sub_1',
    invoice: 'in_1',
    ...fields,
  });

/** The n-th invoice of a subscription, by months. */
const invoice = (month: number, fields: object = {}) =>
  stripe(
    'invoice.paid',
    {
      id: `in_${month}`,
      object: 'invoice',
      created: SECONDS + (month - 1) * MONTH,
      total: 500,
      parent: { subscription_details: { subscription: 'sub_1' } },
      lines: { data: [{ period: { end: SECONDS + month * MONTH } }] },
      ...fields,
    },
    SECONDS + (month - 1) * MONTH,
  );
/** An invoice of a subscription that names the product itself. */
const named = (month: number) =>
  invoice(month, {
    parent: {
      subscription_details: { subscription: 'sub_1', metadata: { licet_product: 'guard' } },
    },
  });
const payment = (month: number) =>
  stripe('invoice_payment.paid', {
    id: `inpay_${month}`,
    object: 'invoice_payment',
    invoice: `in_${month}`,
    payment: { type: 'payment_intent', payment_intent: `pi_${month}` },
  });
const refund = (month: number, fields: object = {}) =>
  stripe('charge.refunded', {
    id: `ch_${month}`,
    object: 'charge',
    amount: 500,
    amount_refunded: 500,
    payment_intent: `pi_${month}`,
    ...fields,
  });
const dispute = (type: string, status: string, month = 1) =>
  stripe(`charge.dispute.${type}`, {
    id: `dp_${month}`,
    object: 'dispute',
    payment_intent: `pi_${month}`,
    charge: `ch_${month}`,
    status,
  });
const subscription = (status: string, days = 0) =>
  stripe('customer.subscription.updated', { id: 'sub_1', status }, SECONDS + days * DAY);

const deleted = (days: number) =>
  stripe(
    'customer.subscription.deleted',
    { id: 'sub_1', status: 'canceled' },
    SECONDS + days * DAY,
  );
/** The second invoice, which is paid after the subscription was deleted. */
const paidLate = () => ({ ...invoice(2), created: SECONDS + 45 * DAY });

const GRANTED = { state: 'GRANTED', license: 'ACTIVE' };
const revoked = (reason: string) => ({ state: 'REVOKED', license: 'DEACTIVATED', reason });

interface Case {
  name: string;
  product?: { item: string };
  given: readonly object[];
  /** Days after the first event. */
  after?: number;
  expected: object;
}

/** The world after events, in their order. */
async function worldAfter(
  events: readonly object[],
  kind: 'stripe' | 'paynow' | 'tebex',
  days = 0,
  product: { item: string } = MONTHLY,
) {
  const world = new MarketWorld(kind, [product]);
  world.now = NOW + days * DAY_MS;
  for (const event of events) await world.receive(event);
  return world;
}

async function expectState(
  kind: 'stripe' | 'paynow' | 'tebex',
  { given, after: days, product, expected }: Case,
) {
  const orders = [given, [...given].reverse(), [...given, ...given]];
  for (const events of orders) {
    const world = await worldAfter(events, kind, days, product);
    const { purchase, license } = world.only();
    expect({ ...purchase, license: license.state }).toMatchObject(expected);
  }
}

/** The day for which the state is compared. */
const END = 70;

/** Expects the same state of a purchase after some of the events, whatever their order, their repetitions and their times. */
async function expectAnyOrder(
  kind: 'stripe' | 'paynow' | 'tebex' | 'dynamic',
  product: { item: string },
  [first = {}, ...others]: readonly object[],
  numRuns: number,
  fields: ConstructorParameters<typeof MarketWorld>[2] = {},
) {
  const reader = new MarketWorld(kind, [product], fields);
  const bought = await reader.read(first);
  const pool = await Promise.all(others.map((event) => reader.read(event)));
  const moments = fc.array(fc.nat({ max: END }), { minLength: 16, maxLength: 16 });
  const run = (events: readonly Notice[][], days: readonly number[]) => {
    const world = new MarketWorld(kind, [product], fields);
    for (const [index, notices] of events.entries()) {
      world.now = NOW + (days[index] ?? END) * DAY_MS;
      for (const notice of notices) world.apply(notice);
    }
    // The state at the end of all.
    world.now = NOW + END * DAY_MS;
    for (const notice of bought) world.apply(notice);
    return world.shown();
  };
  fc.assert(
    fc.property(
      fc.subarray(pool, { maxLength: 7 }),
      fc.infiniteStream(fc.nat()),
      moments,
      (chosen, random, days) => {
        const events = [bought, ...chosen];
        const shuffled = [...events, ...events]
          .map((event) => [random.next().value, event] as const)
          .sort(([one], [other]) => one - other)
          .map(([, event]) => event);
        const sorted = days.toSorted((one, other) => one - other);
        expect(run(shuffled, sorted)).toEqual(run(events, []));
      },
    ),
    { numRuns },
  );
}

const PERMANENT = { item: 'guard' };

describe('Stripe', () => {
  const first = [subscribed(), invoice(1), payment(1)];
  const second = [...first, invoice(2), payment(2)];
  const shared = [
    subscribed(),
    invoice(1, { amount_paid: 900 }),
    payment(1),
    stripe('invoice_payment.paid', { invoice: 'in_1', payment: { payment_intent: 'pi_9' } }),
  ];
  const cases: Case[] = [
    {
      name: 'a refund of a payment takes what it bought',
      given: [session(), refund(1)],
      expected: revoked('refunded'),
    },
    {
      name: 'a refund in full of a charge that was captured in part takes the license',
      given: [session(), refund(1, { amount: 900, amount_captured: 500, refunded: true })],
      expected: revoked('refunded'),
    },
    {
      name: 'a refund of one of two payments of an invoice takes nothing',
      given: [...shared, refund(1)],
      expected: GRANTED,
    },
    {
      name: 'the refunds of both payments of an invoice take the license',
      given: [...shared, refund(1), refund(9, { amount: 400, amount_refunded: 400 })],
      expected: revoked('refunded'),
    },
    {
      name: 'a refund of the only invoice of a subscription takes the license',
      given: [...first, refund(1)],
      expected: revoked('refunded'),
    },
    {
      name: 'a refund of the invoice that covers today takes the license',
      given: [...second, refund(2)],
      after: 40,
      expected: revoked('refunded'),
    },
    {
      name: 'a refund of an invoice whose period is over takes nothing',
      given: [...second, refund(1)],
      after: 40,
      expected: GRANTED,
    },
    {
      name: 'a refund of the renewal before its period begins takes nothing yet',
      given: [...second, refund(2)],
      after: 20,
      expected: GRANTED,
    },
    {
      name: 'a dispute of a subscription takes the license',
      given: [...first, dispute('created', 'needs_response')],
      expected: revoked('disputed'),
    },
    {
      name: 'a dispute of a subscription that is won gives it back',
      given: [...first, dispute('created', 'needs_response'), dispute('closed', 'won')],
      expected: GRANTED,
    },
    {
      name: 'the old interface names the invoice of a charge as text',
      given: [
        subscribed({ invoice: null }),
        invoice(1, { parent: null, subscription: 'sub_1' }),
        refund(1, { invoice: 'in_1' }),
      ],
      expected: revoked('refunded'),
    },
    {
      name: 'the old interface names the payment of an invoice',
      given: [
        subscribed({ invoice: null }),
        invoice(1, { payment_intent: 'pi_1', charge: 'ch_1' }),
        refund(1),
      ],
      expected: revoked('refunded'),
    },
    {
      name: 'the oldest interface names the charge of an invoice',
      given: [
        subscribed({ invoice: null }),
        invoice(1, { charge: 'ch_1' }),
        refund(1, { payment_intent: null }),
      ],
      expected: revoked('refunded'),
    },
    {
      name: 'an inquiry takes nothing',
      given: [session(), dispute('created', 'warning_needs_response')],
      expected: GRANTED,
    },
    {
      name: 'an inquiry that becomes a dispute takes the license',
      given: [
        session(),
        dispute('created', 'warning_needs_response'),
        dispute('updated', 'needs_response'),
      ],
      expected: revoked('disputed'),
    },
    ...['warning_closed', 'prevented', 'won'].map((status) => ({
      name: `a dispute that closes as ${status} gives the license back`,
      given: [session(), dispute('created', 'needs_response'), dispute('closed', status)],
      expected: GRANTED,
    })),
    {
      name: 'a dispute that is lost after it was won stays lost',
      given: [
        session(),
        dispute('created', 'needs_response'),
        dispute('closed', 'won'),
        dispute('closed', 'lost'),
      ],
      expected: revoked('dispute lost'),
    },
    {
      name: 'a subscription that is paused waits',
      given: [...first, subscription('paused', 1)],
      after: 2,
      expected: revoked('paused'),
    },
    {
      name: 'a subscription that goes on has its license again',
      given: [...first, subscription('paused', 1), subscription('active', 2)],
      after: 3,
      expected: GRANTED,
    },
    {
      name: 'a subscription that is unpaid waits',
      given: [...first, subscription('unpaid', 31)],
      after: 32,
      expected: revoked('unpaid'),
    },
    {
      name: 'a credit after the end of a subscription does not bring it back',
      given: [...first, subscription('canceled', 20), invoice(2, { total: -300 })],
      after: 40,
      expected: revoked('ended'),
    },
    {
      name: 'an old invoice that is paid late brings no deleted subscription back',
      product: { item: 'guard' },
      given: [...first, subscription('unpaid', 35), deleted(40), paidLate()],
      after: 46,
      expected: revoked('ended'),
    },
    {
      name: 'an old invoice of a deleted subscription brings a license that ends its period',
      given: [...first, subscription('unpaid', 35), deleted(40), paidLate()],
      after: 46,
      expected: GRANTED,
    },
    {
      name: 'an old invoice of a deleted subscription brings nothing after its period',
      given: [...first, subscription('unpaid', 35), deleted(40), paidLate()],
      after: 61,
      expected: revoked('ended'),
    },
    {
      name: 'a deleted subscription that its invoices name stays deleted',
      product: { item: 'guard' },
      given: [named(1), deleted(40), { ...named(2), created: SECONDS + 45 * DAY }],
      after: 46,
      expected: revoked('ended'),
    },
    {
      name: 'a deleted subscription whose time is left is over',
      given: [...first, deleted(20)],
      after: 21,
      expected: revoked('ended'),
    },
    {
      name: 'a subscription that is unpaid goes on with its payment',
      product: { item: 'guard' },
      given: [...first, subscription('unpaid', 35), paidLate()],
      after: 46,
      expected: GRANTED,
    },
    {
      name: 'a subscription that is late is still tried',
      given: [...first, subscription('past_due', 31)],
      after: 32,
      expected: GRANTED,
    },
    {
      name: 'two events of one session with other metadata are one purchase',
      given: [session(), session({ metadata: { licet_product: 'other' } })],
      expected: { state: 'GRANTED' },
    },
  ];

  it.each(cases)('$name [9.3.4, 9.3.17]', (one) => expectState('stripe', one));

  const end = async (events: readonly object[], days = 0) =>
    (await worldAfter(events, 'stripe', days)).only().license.expiresAt;
  const monthsPaid = (months: number) => NOW + months * MONTH * 1000 + GRACE_MS;

  it('a refund of the renewal takes the end back to the period before, and a later end by hand stays [9.3.8, 9.3.18]', async () => {
    expect(await end(second)).toBe(monthsPaid(2));
    expect(await end([...second, refund(2)])).toBe(monthsPaid(1));
    const world = await worldAfter(second, 'stripe');
    const { license } = world.only();
    world.licenses.splice(0, 1, { ...license, expiresAt: monthsPaid(9) });
    await world.receive(refund(2));
    expect(world.only().license.expiresAt).toBe(monthsPaid(9));
  });

  it('the latest invoice with an amount decides: a month after a year, and no change of the plan [9.3.18]', async () => {
    const yearly = invoice(1, { lines: { data: [{ period: { end: SECONDS + 12 * MONTH } }] } });
    const proration = invoice(3, { total: 0, id: 'in_zero' });
    for (const events of [
      [yearly, invoice(2)],
      [invoice(2), yearly],
    ]) {
      expect(await end([subscribed(), ...events])).toBe(monthsPaid(2));
      expect(await end([subscribed(), ...events, proration])).toBe(monthsPaid(2));
    }
    expect(await end([subscribed(), invoice(1, { total: 0 })])).toBe(monthsPaid(1));
  });

  it('a month that a coupon makes free is paid', async () => {
    const free = invoice(2, { total: 0, billing_reason: 'subscription_cycle' });
    expect(await end([...first, free])).toBe(monthsPaid(2));
  });

  it('a test of a subscription lasts one day, also when it is paid [9.3.10]', async () => {
    const tests = [subscribed(), invoice(1)].map((event) => ({ ...event, livemode: false }));
    const { license } = (await worldAfter(tests, 'stripe')).only();
    expect(license).toMatchObject({ expiresAt: NOW + DAY_MS, notes: 'Test of Market' });
  });

  it('a dispute counts by the setting of its time, and gives back what it took', async () => {
    const opened = dispute('created', 'needs_response');
    const world = await worldAfter([session()], 'stripe');
    const other = (onDispute: 'wait' | 'deactivate') => Object.assign(world.market, { onDispute });
    other('wait');
    await world.receive(opened);
    expect(world.only().license.state).toBe('ACTIVE');
    other('deactivate');
    await world.receive(opened);
    expect(world.only().license.state).toBe('DEACTIVATED');
    other('wait');
    await world.receive(dispute('closed', 'won'));
    expect(world.only().license.state).toBe('ACTIVE');
  });

  it('a license that the version before deactivated, since the migration, is given back', async () => {
    const events = [session(), dispute('created', 'needs_response')];
    const world = await worldAfter(events, 'stripe');
    const { purchase, license } = world.only();
    license.deactivatedBy = null;
    purchase.deactivatedRevision = license.revision;
    await world.receive(dispute('closed', 'won'));
    expect(world.only().license.state).toBe('ACTIVE');
  });

  it.each([deleted(40), payment(1), paidLate()])(
    'a license that an earlier version gave back for an old invoice ends with the next event: $type [9.3.20]',
    async (event) => {
      const world = await worldAfter(
        [subscribed(), invoice(1), payment(1)],
        'stripe',
        50,
        PERMANENT,
      );
      // The deletion and the late payment, as they were stored.
      const stored = world.subjects.get('sub_1') ?? expect.fail();
      const facts = { ended: NOW + 40 * DAY_MS, continued: NOW + 45 * DAY_MS };
      world.subjects.set('sub_1', { ...stored, facts });
      await world.receive(event);
      expect(world.shown()).toMatchObject([revoked('ended')]);
      await world.receive(event);
      expect(world.subjects.get('sub_1')?.facts).not.toHaveProperty('continued');
    },
  );

  it('a session that saves a card, or is not paid, makes nothing', async () => {
    const setup = session({ mode: 'setup', payment_status: 'no_payment_required' });
    const unpaid = session({ payment_status: 'unpaid' });
    expect((await worldAfter([setup, unpaid], 'stripe')).purchases).toEqual([]);
  });

  it('a paid session that names no product waits under its Payment Link, with one alert', async () => {
    const world = await worldAfter([], 'stripe');
    const nameless = session({ metadata: {}, payment_link: 'plink_1' });
    for (let times = 0; times < 2; times++) await world.receive(nameless);
    expect(world.purchases).toMatchObject([{ item: 'plink_1', state: 'UNMATCHED' }]);
    expect(world.events).toEqual(['purchase.unmatched']);
    const [first] = world.purchases;
    const mapped = {
      ...MONTHLY,
      productId: 1,
      maxIPs: null,
      maxHWIDs: null,
      quantity: 'licenses' as const,
    };
    world.apply({ do: 'choose', purchaseId: first?.id ?? 0, mapped });
    expect(world.only().purchase.state).toBe('GRANTED');
  });

  it('a session with optional items waits, and never makes a silent single license [9.3.21]', async () => {
    const world = await worldAfter(
      [session({ optional_items: [{ price: 'price_1', quantity: 1 }] })],
      'stripe',
    );
    expect(world.purchases).toMatchObject([
      { state: 'UNMATCHED', reason: expect.stringContaining('More may') },
    ]);
    expect(world.licenses).toEqual([]);
  });

  /** The first invoice of a subscription, with lines of one product. */
  const bought = (...quantities: readonly number[]) =>
    invoice(1, {
      billing_reason: 'subscription_create',
      lines: {
        data: quantities.map((quantity) => ({
          quantity,
          pricing: { price_details: { product: 'prod_1' } },
          period: { end: SECONDS + MONTH },
        })),
      },
    });
  const three = bought(3);

  it('the first invoice of a subscription says how many were bought [9.3.21]', async () => {
    for (const events of [
      [subscribed(), three],
      [three, subscribed()],
      [subscribed(), three, three, subscribed()],
    ]) {
      expect((await worldAfter(events, 'stripe')).shown()).toHaveLength(3);
    }
  });

  it('an invoice with more than licet_quantity says never makes a silent single license [9.3.21]', async () => {
    const one = subscribed({ metadata: { licet_product: 'guard', licet_quantity: '1' } });
    const world = await worldAfter([one, three, three, one], 'stripe');
    expect(world.licenses).toHaveLength(1);
    expect(world.events).toEqual(['purchase.granted', 'purchase.unmatched']);
    const other = await worldAfter([three, one], 'stripe');
    expect(other.licenses).toEqual([]);
    expect(other.purchases).toMatchObject([
      { state: 'UNMATCHED', reason: expect.stringContaining('More may') },
    ]);
    const data = [{ id: 'li_1', quantity: 5, price: { product: 'guard' } }];
    const lines = { ...one, data: { object: { ...one.data.object, line_items: { data } } } };
    expect((await worldAfter([lines], 'stripe')).licenses).toEqual([]);
    const thrice = subscribed({ metadata: { licet_product: 'guard', licet_quantity: '3' } });
    expect((await worldAfter([three, thrice], 'stripe')).licenses).toHaveLength(3);
  });

  it('a purchase that another of its ids maps gets all its licenses, whichever event comes first', async () => {
    const byLink = subscribed({ payment_link: 'plink_1' });
    for (const [events, mapsLater] of [
      [[byLink, three], false],
      [[three, byLink], false],
      [[byLink, three], true],
    ] as const) {
      const product = { item: 'plink_1', licenseType: 'TEMPORARY', expiresAfterDays: 30 } as const;
      const world = new MarketWorld('stripe', mapsLater ? [] : [product]);
      for (const event of events) {
        await world.receive(event);
        if (mapsLater) {
          const products = [marketProduct.parse({ ...product, productId: 1 })];
          Object.assign(world.market, { products });
        }
      }
      expect(world.shown()).toHaveLength(3);
      expect(new Set(world.shown().map(({ state }) => state))).toEqual(new Set(['GRANTED']));
    }
  });

  it('an invoice with more licenses than one purchase may have needs a person', async () => {
    const world = await worldAfter([subscribed(), bought(101)], 'stripe');
    expect(world.licenses).toHaveLength(1);
    expect(world.events).toEqual(['purchase.granted', 'purchase.unmatched']);
    const other = await worldAfter([bought(101), subscribed()], 'stripe');
    expect(other.licenses).toEqual([]);
    expect(other.purchases).toMatchObject([{ state: 'UNMATCHED' }]);
  });

  it('an invoice with more than the limits of its one license needs a person', async () => {
    const world = new MarketWorld('stripe', [{ ...MONTHLY, quantity: 'limits' }]);
    for (const event of [subscribed(), three, three]) await world.receive(event);
    expect(world.only().license.maxIPs).toBe(3);
    expect(world.events).toEqual(['purchase.granted', 'purchase.unmatched']);
  });

  it('the lines of a session count before the quantity of an invoice', async () => {
    const data = ['li_1', 'li_2'].map((id) => ({ id, quantity: 1, price: { product: 'guard' } }));
    const lines = subscribed({ line_items: { data } });
    for (const events of [
      [lines, bought(1, 1)],
      [bought(1, 1), lines],
    ]) {
      expect((await worldAfter(events, 'stripe')).licenses).toHaveLength(2);
    }
  });

  it('a person who chooses the product later sells the quantity of the first invoice', async () => {
    const world = new MarketWorld('stripe', []);
    for (const event of [subscribed(), three]) await world.receive(event);
    const mapped = marketProduct.parse({ ...MONTHLY, productId: 1 });
    const purchaseId = world.purchases[0]?.id ?? 0;
    world.apply({ do: 'choose', purchaseId, mapped });
    expect(world.licenses).toHaveLength(3);
  });

  it('a quantity whose buyer was forgotten gets no more licenses', async () => {
    const world = await worldAfter([subscribed(), three], 'stripe');
    for (const one of world.purchases) one.reference = `forgotten-${one.id}`;
    await world.receive(subscription('active', 2));
    expect(world.licenses).toHaveLength(3);
  });

  it('a quantity that comes after one license with its limits was made is an alert, once [9.3.21]', async () => {
    const bought = (quantity: number) =>
      invoice(1, {
        billing_reason: 'subscription_create',
        lines: { data: [{ quantity, period: { end: SECONDS + MONTH } }] },
      });
    const sellLimits = async (...events: object[]) => {
      const world = new MarketWorld('stripe', [{ ...MONTHLY, quantity: 'limits' }]);
      const results = [];
      for (const event of events) results.push(...(await world.receive(event)));
      const effect = results.at(-1)?.effect;
      return { events: world.events, effect, maxIPs: world.only().license.maxIPs };
    };
    expect(await sellLimits(bought(3), subscribed())).toEqual({
      events: ['purchase.granted'],
      effect: 'CHANGED',
      maxIPs: 9,
    });
    const [granted, alert] = ['purchase.granted', 'purchase.unmatched'];
    expect(await sellLimits(subscribed(), bought(3))).toEqual({
      events: [granted, alert],
      effect: 'NEEDS_PERSON',
      maxIPs: 3,
    });
    const again = await sellLimits(subscribed(), bought(3), bought(3), subscribed());
    expect(again.events).toEqual([granted, alert]);
    expect((await sellLimits(subscribed(), bought(1))).events).not.toContain(alert);
    const many = await worldAfter([subscribed(), bought(101)], 'stripe');
    expect(many.events).toContain(alert);
    expect(many.licenses).toHaveLength(1);
  });

  it('a subscription without Checkout is granted by its invoice, and is one with its session', async () => {
    for (const events of [
      [named(1)],
      [named(1), invoice(2)],
      [named(1), subscribed()],
      [subscribed(), named(1)],
    ]) {
      expect((await worldAfter(events, 'stripe')).only().purchase).toMatchObject({
        state: 'GRANTED',
        orderId: 'sub_1',
      });
    }
  });

  it.each([MONTHLY, PERMANENT])(
    'any order of events makes the same state: %j [9.3.4]',
    async (product) => {
      const monthOf = (month: number) => [invoice(month), payment(month), refund(month)];
      const events = [
        subscribed(),
        ...[1, 2, 3].flatMap(monthOf),
        dispute('created', 'needs_response', 2),
        dispute('closed', 'won', 2),
        dispute('closed', 'lost', 3),
        invoice(4, { total: 0 }),
        subscription('paused', 20),
        subscription('active', 25),
        subscription('unpaid', 95),
        deleted(80),
        deleted(40),
        paidLate(),
        { ...named(2), created: SECONDS + 45 * DAY },
      ];
      await expectAnyOrder('stripe', product, events, 600);
    },
  );
});

describe('PayNow', () => {
  const paynow = (event_type: string, body: object) => ({ event_type, event_id: '1', body });
  const day = (days: number) => new Date(NOW + days * DAY_MS).toISOString();
  const order = (id: string, days: number, fields: object = {}) =>
    paynow('ON_ORDER_COMPLETED', {
      id,
      total_amount: 7500,
      billing_email: 'ada@shop.example',
      completed_at: day(days),
      ...fields,
    });
  const item = (fields: object = {}) => ({
    id: 'd1',
    order_id: 'o1',
    order_line_id: 'l1',
    product_id: 'guard',
    customer: { id: 'c1', name: 'Ada' },
    added_at: day(0),
    ...fields,
  });
  const added = (fields: object = {}) => paynow('ON_DELIVERY_ITEM_ADDED', item(fields));
  const back = (id: string, amount: number, fields: object = {}) =>
    paynow('ON_REFUND', { id, order_id: 'o1', amount, status: 'completed', ...fields });
  const chargeback = (closed: boolean, chargeback_status: string) =>
    paynow(closed ? 'ON_CHARGEBACK_CLOSED' : 'ON_CHARGEBACK', {
      id: 'pay_1',
      order_id: 'o1',
      chargeback_status,
    });
  const monthly = (month: number) => [
    order(`o${month}`, (month - 1) * 30, { subscription_id: 's1' }),
    added({
      id: `d${month}`,
      order_id: `o${month}`,
      subscription_id: 's1',
      added_at: day((month - 1) * 30),
      expires_at: day(month * 30),
    }),
  ];
  const lines = {
    lines: [
      { id: 'l1', total_amount: 5000 },
      { id: 'l2', total_amount: 2500 },
    ],
  };

  const cases: Case[] = [
    {
      name: 'a refund in full takes the license',
      given: [order('o1', 0), added(), back('r1', 7500)],
      expected: revoked('refunded'),
    },
    {
      name: 'a refund in part takes nothing',
      given: [order('o1', 0), added(), back('r1', 2500)],
      expected: GRANTED,
    },
    {
      name: 'two refunds in part are one in full',
      given: [order('o1', 0), added(), back('r1', 2500), back('r2', 5000)],
      expected: revoked('refunded'),
    },
    {
      name: 'a refund that is not completed takes nothing',
      given: [order('o1', 0), added(), back('r1', 7500, { status: 'pending' })],
      expected: GRANTED,
    },
    {
      name: 'a refund of the line takes its license',
      given: [order('o1', 0, lines), added(), back('r1', 5000, { order_line_id: 'l1' })],
      expected: revoked('refunded'),
    },
    {
      name: 'a refund of another line takes nothing',
      given: [order('o1', 0, lines), added(), back('r1', 2500, { order_line_id: 'l2' })],
      expected: GRANTED,
    },
    {
      name: 'a pending chargeback takes the license',
      given: [added(), chargeback(false, 'pending')],
      expected: revoked('disputed'),
    },
    ...['won', 'none', 'withdrawn'].map((status) => ({
      name: `a chargeback that closes as ${status} gives the license back`,
      given: [added(), chargeback(false, 'pending'), chargeback(true, status)],
      expected: GRANTED,
    })),
    {
      name: 'a chargeback that is lost takes the license',
      given: [added(), chargeback(true, 'lost')],
      expected: revoked('dispute lost'),
    },
    {
      name: 'a new item of the subscription is the same purchase',
      given: [...monthly(1), ...monthly(2)],
      after: 40,
      expected: { ...GRANTED, reference: 's1:guard' },
    },
    {
      name: 'the end of the first item does not end the subscription',
      given: [
        ...monthly(1),
        ...monthly(2),
        paynow('ON_DELIVERY_ITEM_EXPIRED', item({ subscription_id: 's1', expires_at: day(30) })),
        paynow('ON_DELIVERY_ITEM_REVOKED', item({ subscription_id: 's1', revoked_at: day(30) })),
      ],
      after: 40,
      expected: GRANTED,
    },
    {
      name: 'a refund of the renewal takes its own period',
      given: [...monthly(1), ...monthly(2), back('r2', 7500, { order_id: 'o2' })],
      after: 40,
      expected: revoked('refunded'),
    },
    {
      name: 'a refund of a month that is over takes nothing',
      given: [...monthly(1), ...monthly(2), back('r1', 7500)],
      after: 40,
      expected: GRANTED,
    },
    {
      name: 'an item that is renewed survives the refund of its first month',
      given: [
        ...monthly(1),
        paynow('ON_DELIVERY_ITEM_RENEWED', item({ subscription_id: 's1', expires_at: day(60) })),
        back('r1', 7500),
      ],
      after: 40,
      expected: GRANTED,
    },
    {
      name: 'a refund of the renewal also takes the end that an item was renewed to',
      given: [
        ...monthly(1),
        ...monthly(2),
        paynow('ON_DELIVERY_ITEM_RENEWED', item({ subscription_id: 's1', expires_at: day(60) })),
        back('r2', 7500, { order_id: 'o2' }),
      ],
      after: 40,
      expected: revoked('refunded'),
    },
    {
      name: 'an item that was renewed and is revoked takes the time that it was renewed to',
      given: [
        ...monthly(1),
        order('o2', 30, { subscription_id: 's1' }),
        paynow('ON_DELIVERY_ITEM_RENEWED', item({ subscription_id: 's1', expires_at: day(60) })),
        paynow(
          'ON_DELIVERY_ITEM_REVOKED',
          item({ subscription_id: 's1', expires_at: day(60), revoked_at: day(35) }),
        ),
      ],
      after: 40,
      expected: revoked('removed'),
    },
    {
      name: 'a refund of the line of a renewal takes its period',
      given: [
        ...monthly(1),
        order('o2', 30, {
          subscription_id: 's1',
          lines: [{ id: 'l2', product_id: 'guard', total_amount: 7500 }],
        }),
        paynow('ON_DELIVERY_ITEM_RENEWED', item({ subscription_id: 's1', expires_at: day(60) })),
        back('r2', 7500, { order_id: 'o2', order_line_id: 'l2' }),
      ],
      after: 40,
      expected: revoked('refunded'),
    },
    {
      name: 'an end that is repeated after the renewal takes nothing',
      given: [
        added({ expires_at: day(1) }),
        paynow('ON_DELIVERY_ITEM_EXPIRED', item({ expires_at: day(1) })),
        paynow('ON_DELIVERY_ITEM_RENEWED', item({ expires_at: day(31) })),
        paynow('ON_DELIVERY_ITEM_EXPIRED', item({ expires_at: day(1) })),
      ],
      after: 2,
      expected: GRANTED,
    },
    {
      name: 'the metadata of the product can change',
      given: [added(), added({ product: { metadata: { licet_product: 'other' } } })],
      expected: { state: 'GRANTED' },
    },
  ];

  it.each(cases)('$name [9.3.4, 9.3.5, 9.3.17]', (one) => expectState('paynow', one));

  it('an item of a subscription that is revoked takes nothing of the other products in it [9.3.17]', async () => {
    const both = [
      added({ subscription_id: 's1', expires_at: day(30) }),
      added({
        id: 'd2',
        order_line_id: 'l2',
        product_id: 'other',
        subscription_id: 's1',
        expires_at: day(30),
      }),
    ];
    const removed = paynow(
      'ON_DELIVERY_ITEM_REVOKED',
      item({ subscription_id: 's1', expires_at: day(30), revoked_at: day(1) }),
    );
    for (const events of [
      [...both, removed],
      [removed, ...both],
    ]) {
      const world = new MarketWorld('paynow', [{ item: 'guard' }, { item: 'other' }]);
      for (const event of events) await world.receive(event);
      expect(world.shown()).toMatchObject([
        { reference: 'guard 0', state: 'REVOKED', reason: 'removed' },
        { reference: 'other 0', state: 'GRANTED' },
      ]);
    }
  });

  it('the amount of a subscription with several products stays that of its first order [9.3.24]', async () => {
    const world = new MarketWorld('paynow', [{ item: 'guard' }]);
    for (const month of [1, 2]) {
      const sold = ['guard', 'other'].map((product_id, index) => ({
        id: `l${month}${index}`,
        product_id,
        total_amount: 1000 * month + index,
      }));
      const time = day((month - 1) * 30);
      const fields = { subscription_id: 's1', order_id: `o${month}`, order_line_id: `l${month}0` };
      await world.receive(added({ ...fields, id: `d${month}`, added_at: time }));
      const paid = { subscription_id: 's1', currency: 'usd', lines: sold };
      await world.receive(order(`o${month}`, (month - 1) * 30, paid));
      expect(world.only().purchase).toMatchObject({ amount: '10.00', currency: 'USD' });
    }
  });

  describe('an order of two lines', () => {
    const sold = [
      order('o1', 0, lines),
      added(),
      added({ id: 'd2', order_line_id: 'l2', product_id: 'other' }),
    ];
    const ofLine = back('r1', 5000, { order_line_id: 'l1' });
    const statesAfter = async (events: readonly object[]) => {
      const world = new MarketWorld('paynow', [PERMANENT, { item: 'other' }]);
      for (const event of events) await world.receive(event);
      return world.shown().map(({ reference, state, license }) => [reference, state, license]);
    };
    const expectInAnyOrder = async (events: readonly object[], expected: readonly string[][]) => {
      for (const [index] of events.entries()) {
        const turned = [...events.slice(index), ...events.slice(0, index)];
        expect(await statesAfter(turned)).toEqual(expected);
        expect(await statesAfter(turned.toReversed())).toEqual(expected);
      }
    };

    it('loses the license of the line that is refunded, also before its sale arrives [9.3.4, 9.3.5]', () =>
      expectInAnyOrder(
        [...sold, ofLine, ofLine],
        [
          ['guard 0', 'REVOKED', 'DEACTIVATED'],
          ['other 0', 'GRANTED', 'ACTIVE'],
        ],
      ));

    it('is refunded in full by the refund of a line and one of the rest [9.3.5]', () =>
      expectInAnyOrder(
        [...sold, ofLine, back('r2', 2500)],
        [
          ['guard 0', 'REVOKED', 'DEACTIVATED'],
          ['other 0', 'REVOKED', 'DEACTIVATED'],
        ],
      ));
  });

  it('an item says until when its order is paid, also if the order is completed later', async () => {
    const [, item] = monthly(1);
    const completed = order('o1', 1, { subscription_id: 's1' });
    for (const events of [
      [item ?? {}, completed],
      [completed, item ?? {}],
    ]) {
      const { license } = (await worldAfter(events, 'paynow')).only();
      expect(license.expiresAt).toBe(NOW + MONTH * 1000 + GRACE_MS);
    }
  });

  it('the end of a license follows the paid time, also if nothing was paid meanwhile [9.3.18]', async () => {
    const removed = paynow(
      'ON_DELIVERY_ITEM_REVOKED',
      item({ id: 'd2', order_id: 'o2', subscription_id: 's1', revoked_at: day(60) }),
    );
    const [, first = {}] = monthly(1);
    const [, second = {}] = monthly(2);
    for (const events of [
      [first, second, removed],
      [second, removed, first],
    ]) {
      const { license } = (await worldAfter(events, 'paynow', 20)).only();
      expect(license.expiresAt).toBe(NOW + MONTH * 1000 + GRACE_MS);
    }
  });

  it('a purchase that an earlier version stored by its order becomes one of the subscription', async () => {
    const [, first] = monthly(1);
    const world = await worldAfter([added()], 'paynow');
    world.now = NOW + 40 * DAY_MS;
    for (const event of [first ?? {}, ...monthly(2)]) await world.receive(event);
    expect(world.only().purchase).toMatchObject({ reference: 'd1', orderId: 's1' });
    await world.receive(back('r2', 7500, { order_id: 'o2' }));
    expect(world.only().purchase).toMatchObject({ state: 'REVOKED', reason: 'refunded' });
  });

  it('the license has the e-mail of the order, whichever comes first [9.3.3]', async () => {
    const world = await worldAfter([order('o1', 0), added()], 'paynow');
    expect(world.buyers).toMatchObject([{ email: 'ada@shop.example' }]);
    const other = await worldAfter([added(), order('o1', 0)], 'paynow');
    expect(other.completions).toMatchObject([{ email: 'ada@shop.example' }]);
  });

  it.each([MONTHLY, PERMANENT])(
    'any order of events makes the same state: %j [9.3.4]',
    async (product) => {
      const about = (type: string, month: number) =>
        paynow(
          `ON_DELIVERY_ITEM_${type}`,
          item({
            id: `d${month}`,
            order_id: `o${month}`,
            subscription_id: 's1',
            added_at: day((month - 1) * 30),
            expires_at: day(month * 30),
            revoked_at: day(month * 30),
          }),
        );
      const [, first = {}] = monthly(1);
      const events = [
        first,
        ...[1, 2, 3].flatMap((month) => [
          ...monthly(month),
          ...['USED', 'RENEWED', 'EXPIRED', 'REVOKED'].map((type) => about(type, month)),
          back(`r${month}`, 7500, { order_id: `o${month}` }),
          back(`l${month}`, 5000, { order_id: `o${month}`, order_line_id: 'l1' }),
        ]),
        chargeback(false, 'pending'),
        chargeback(true, 'won'),
      ];
      await expectAnyOrder('paynow', product, events, 250);
    },
  );
});

describe('Tebex', () => {
  const at = (days: number) => new Date(NOW + days * DAY_MS).toISOString();
  const tebex = (type: string, subject: object, days = 0) => ({
    id: type,
    type,
    date: at(days),
    subject,
  });
  const paid = (month: number, fields: object = {}) => ({
    transaction_id: `tbx-${month}`,
    created_at: at((month - 1) * 30),
    recurring_payment_reference: 'tbx-r-1',
    price: { amount: 5 },
    customer: { username: { id: '25', username: 'Steve' } },
    products: [{ id: 'guard', quantity: 1, expires_at: at(month * 30) }],
    ...fields,
  });
  const completed = (month: number, fields: object = {}) =>
    tebex('payment.completed', paid(month, fields), (month - 1) * 30);
  const about = (type: string, month: number, fields: object = {}) =>
    tebex(`payment.${type}`, paid(month, fields), 50);
  const recurring = (type: string, month: number, payments: object = {}) =>
    tebex(
      `recurring-payment.${type}`,
      { reference: 'tbx-r-1', next_payment_at: at(month * 30), ...payments },
      (month - 1) * 30,
    );
  const oneOff = { recurring_payment_reference: null, products: [{ id: 'guard', quantity: 1 }] };

  const cases: Case[] = [
    {
      name: 'a refund takes the license',
      given: [completed(1, oneOff), about('refunded', 1, oneOff)],
      expected: revoked('refunded'),
    },
    {
      name: 'a dispute that is closed gives the license back',
      given: [
        completed(1, oneOff),
        about('dispute.opened', 1, oneOff),
        about('dispute.closed', 1, oneOff),
      ],
      expected: GRANTED,
    },
    {
      name: 'a refund of the payment that covers today takes the license',
      given: [completed(1), completed(2), about('refunded', 2)],
      after: 40,
      expected: revoked('refunded'),
    },
    {
      name: 'a refund of a payment whose period is over takes nothing',
      given: [completed(1), completed(2), about('refunded', 1)],
      after: 40,
      expected: GRANTED,
    },
    {
      name: 'a refund of a renewal takes its period',
      given: [
        recurring('started', 1, { initial_payment: paid(1) }),
        recurring('renewed', 2, { last_payment: paid(2) }),
        about('refunded', 2),
      ],
      after: 40,
      expected: revoked('refunded'),
    },
    {
      name: 'a subscription that has started is granted by its first payment',
      given: [
        recurring('started', 1, {
          initial_payment: paid(1, { products: [{ id: 'guard', quantity: 1 }] }),
        }),
      ],
      expected: GRANTED,
    },
    {
      name: 'a subscription that has started is one with its payment',
      given: [recurring('started', 1, { initial_payment: paid(1) }), completed(1)],
      expected: GRANTED,
    },
    {
      name: 'a payment after the end of the subscription goes on with it',
      given: [
        completed(1),
        tebex('recurring-payment.ended', { reference: 'tbx-r-1' }, 29),
        completed(2),
      ],
      after: 32,
      expected: GRANTED,
    },
    {
      name: 'an end of the subscription takes the license',
      given: [completed(1), tebex('recurring-payment.ended', { reference: 'tbx-r-1' }, 31)],
      after: 32,
      expected: revoked('ended'),
    },
  ];

  it.each(cases)('$name [9.3.4, 9.3.17]', (one) => expectState('tebex', one));

  it('a package beside a subscription survives its end, and a renewal grants nothing', async () => {
    const beside = { id: 'other', quantity: 1 };
    const [monthly] = paid(1).products;
    const basket = { payment_sequence: 'mixed', products: [beside, monthly] };
    const ended = tebex('recurring-payment.ended', { reference: 'tbx-r-1' }, 31);
    const events = [completed(1, basket), completed(2, { payment_sequence: 'mixed' }), ended];
    for (const given of [events, events.toReversed()]) {
      const world = new MarketWorld('tebex', [MONTHLY, { item: 'other' }]);
      world.now = NOW + 32 * DAY_MS;
      for (const event of given) await world.receive(event);
      expect(world.shown()).toMatchObject([
        { reference: 'guard 0' },
        { reference: 'other 0', state: 'GRANTED' },
      ]);
    }
  });

  it.each([MONTHLY, PERMANENT])(
    'any order of events makes the same state: %j [9.3.4]',
    async (product) => {
      const events = [
        completed(1),
        ...[1, 2, 3].flatMap((month) => [
          completed(month),
          about('refunded', month),
          about('dispute.opened', month),
          about('dispute.won', month),
          recurring('renewed', month, { last_payment: paid(month) }),
          tebex('recurring-payment.ended', { reference: 'tbx-r-1' }, month * 30 - 1),
        ]),
        recurring('started', 1, { initial_payment: paid(1) }),
      ];
      await expectAnyOrder('tebex', product, events, 150);
    },
  );
});

describe('a dynamic market', () => {
  const bought = (order: number, fields: object = {}) => ({
    order_id: order,
    product_id: 'guard',
    customer: { id: `c${order}` },
    customer_email: 'ada@shop.example',
    ...fields,
  });

  it.each([MONTHLY, PERMANENT])(
    'any order of events makes the same state: %j [9.3.4]',
    async (product) => {
      const events = [1, 2, 3].flatMap((order) => [
        bought(order),
        bought(order, { variant_id: 1, quantity: 2 }),
        bought(order, { product_id: 'other' }),
      ]);
      const settings = dynamicSettings.parse(DYNAMIC_PRESETS.sellapp.settings);
      await expectAnyOrder('dynamic', product, events, 100, { settings });
    },
  );
});

describe('BuiltByBit', () => {
  const download = { builtbybit: 'true', user_id: '1', resource_id: 'guard' };
  const purchase = (days: number) => ({
    user_id: '1',
    resource_id: 'guard',
    purchase_date: String(SECONDS + days * DAY),
  });
  const daysAfter = async (days: number, notice: object) => {
    const world = new MarketWorld('builtbybit', [MONTHLY]);
    await world.receive(download);
    world.now = NOW + days * DAY_MS;
    await world.receive(notice);
    return world.only().license.expiresAfterDays;
  };

  it('a purchase after the license of a download extends it, and the one before it does not [9.3.9]', async () => {
    expect(await daysAfter(20, purchase(20))).toBe(60);
    expect(await daysAfter(20, purchase(-1))).toBe(30);
    expect(await daysAfter(0, purchase(0))).toBe(30);
  });
});

describe.each(['builtbybit', 'voxel'] as const)('a buyer who pays again at %s', (kind) => {
  const paidOn = (day: number) =>
    kind === 'builtbybit'
      ? { user_id: '1', resource_id: 'guard', purchase_date: String(SECONDS + day * DAY) }
      : {
          event: 'product.user.purchase',
          time: SECONDS + day * DAY,
          payload: { product: { id: 'guard' }, user: { id: 1 } },
        };
  /** The days of the license after payments that arrive on some day. */
  const daysOf = async (world: MarketWorld, arrival: number, ...paid: readonly number[]) => {
    world.now = NOW + arrival * DAY_MS;
    for (const day of paid) await world.receive(paidOn(day));
    return world.only().license.expiresAfterDays;
  };
  const newWorld = () => new MarketWorld(kind, [MONTHLY]);

  it('each payment extends the license once, in any order and with any repetition [9.3.9]', async () => {
    const days = fc.array(fc.integer({ min: 0, max: 40 }), { minLength: 1, maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(days, async (paid) => {
        expect(await daysOf(newWorld(), 40, ...paid)).toBe(30 * new Set(paid).size);
      }),
      { numRuns: 200 },
    );
  });

  it('the payment of a license that a download made does not extend it, also after a later one [9.3.9]', async () => {
    const download =
      kind === 'builtbybit'
        ? { builtbybit: 'true', user_id: '1', resource_id: 'guard' }
        : { user: 1, product: 'guard', time: SECONDS };
    for (const paid of [
      [0, 20, 35],
      [35, 20, 0, 20],
    ]) {
      const world = newWorld();
      await world.receive(download);
      expect(await daysOf(world, 35, ...paid)).toBe(90);
    }
  });

  it('a payment that an earlier version may have counted extends nothing', async () => {
    const world = newWorld();
    await daysOf(world, 10, 10);
    const { purchase } = world.only();
    purchase.facts = { boughtAt: NOW + 10 * DAY_MS };
    expect(await daysOf(world, 30, 5, 10, 20, 30, 20)).toBe(90);
    expect(await daysOf(world, 30, 5, 10)).toBe(90);
  });

  it('a purchase lists its newest payments only, and an older one extends nothing', async () => {
    const world = newWorld();
    const paid = Array.from({ length: 60 }, (_, day) => day + 1);
    const days = await daysOf(world, 60, ...paid);
    expect(world.only().purchase.facts.payments?.times).toHaveLength(50);
    expect(await daysOf(world, 60, ...paid, 0)).toBe(days);
  });
});
