import { DAY_MS } from '@licet/contract/durations';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
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

const GRANTED = { state: 'GRANTED', license: 'ACTIVE' };
const revoked = (reason: string) => ({ state: 'REVOKED', license: 'DEACTIVATED', reason });

interface Case {
  name: string;
  given: readonly object[];
  /** Days after the first event. */
  after?: number;
  then: object;
}

/** The world after events, in their order. */
async function after(events: readonly object[], kind: 'stripe' | 'paynow' | 'tebex', days = 0) {
  const world = new MarketWorld(kind, [MONTHLY]);
  world.now = NOW + days * DAY_MS;
  for (const event of events) await world.receive(event);
  return world;
}

async function expectState(kind: 'stripe' | 'paynow' | 'tebex', { given, after: days, then }: Case) {
  const orders = [given, [...given].reverse(), [...given, ...given]];
  for (const events of orders) {
    const world = await after(events, kind, days);
    const { purchase, license } = world.only();
    expect({ ...purchase, license: license.state }).toMatchObject(then);
  }
}

describe('Stripe', () => {
  const first = [subscribed(), invoice(1), payment(1)];
  const second = [...first, invoice(2), payment(2)];
  const cases: Case[] = [
    { name: 'a refund of a payment takes what it bought', given: [session(), refund(1)], then: revoked('refunded') },
    {
      name: 'a refund of the only invoice of a subscription takes the license',
      given: [...first, refund(1)],
      then: revoked('refunded'),
    },
    {
      name: 'a refund of the invoice that covers today takes the license',
      given: [...second, refund(2)],
      after: 40,
      then: revoked('refunded'),
    },
    {
      name: 'a refund of an invoice whose period is over takes nothing',
      given: [...second, refund(1)],
      after: 40,
      then: GRANTED,
    },
    {
      name: 'a refund of the renewal before its period begins takes nothing yet',
      given: [...second, refund(2)],
      after: 20,
      then: GRANTED,
    },
    {
      name: 'a dispute of a subscription takes the license',
      given: [...first, dispute('created', 'needs_response')],
      then: revoked('disputed'),
    },
    {
      name: 'a dispute of a subscription that is won gives it back',
      given: [...first, dispute('created', 'needs_response'), dispute('closed', 'won')],
      then: GRANTED,
    },
    {
      name: 'the old interface names the invoice of a charge as text',
      given: [subscribed({ invoice: null }), invoice(1, { parent: null, subscription: 'sub_1' }), refund(1, { invoice: 'in_1' })],
      then: revoked('refunded'),
    },
    {
      name: 'the old interface names the payment of an invoice',
      given: [subscribed({ invoice: null }), invoice(1, { payment_intent: 'pi_1', charge: 'ch_1' }), refund(1)],
      then: revoked('refunded'),
    },
    {
      name: 'the oldest interface names the charge of an invoice',
      given: [subscribed({ invoice: null }), invoice(1, { charge: 'ch_1' }), refund(1, { payment_intent: null })],
      then: revoked('refunded'),
    },
    {
      name: 'an inquiry takes nothing',
      given: [session(), dispute('created', 'warning_needs_response')],
      then: GRANTED,
    },
    {
      name: 'an inquiry that becomes a dispute takes the license',
      given: [session(), dispute('created', 'warning_needs_response'), dispute('updated', 'needs_response')],
      then: revoked('disputed'),
    },
    ...['warning_closed', 'prevented', 'won'].map((status) => ({
      name: `a dispute that closes as ${status} gives the license back`,
      given: [session(), dispute('created', 'needs_response'), dispute('closed', status)],
      then: GRANTED,
    })),
    {
      name: 'a dispute that is lost after it was won stays lost',
      given: [session(), dispute('created', 'needs_response'), dispute('closed', 'won'), dispute('closed', 'lost')],
      then: revoked('dispute lost'),
    },
    {
      name: 'a subscription that is paused waits',
      given: [...first, subscription('paused', 1)],
      after: 2,
      then: revoked('paused'),
    },
    {
      name: 'a subscription that goes on has its license again',
      given: [...first, subscription('paused', 1), subscription('active', 2)],
      after: 3,
      then: GRANTED,
    },
    {
      name: 'a subscription that is unpaid waits',
      given: [...first, subscription('unpaid', 31)],
      after: 32,
      then: revoked('unpaid'),
    },
    {
      name: 'a subscription that is late is still tried',
      given: [...first, subscription('past_due', 31)],
      after: 32,
      then: GRANTED,
    },
    {
      name: 'two events of one session with other metadata are one purchase',
      given: [session(), session({ metadata: { licet_product: 'other' } })],
      then: { state: 'GRANTED' },
    },
  ];

  it.each(cases)('$name', (one) => expectState('stripe', one));

  const end = async (events: readonly object[], days = 0) =>
    (await after(events, 'stripe', days)).only().license.expiresAt;
  const monthsPaid = (months: number) => NOW + months * MONTH * 1000 + GRACE_MS;

  it('a refund of the renewal takes the end back to the period before, and a later end by hand stays', async () => {
    expect(await end(second)).toBe(monthsPaid(2));
    expect(await end([...second, refund(2)])).toBe(monthsPaid(1));
    const world = await after(second, 'stripe');
    const { license } = world.only();
    world.licenses.splice(0, 1, { ...license, expiresAt: monthsPaid(9) });
    await world.receive(refund(2));
    expect(world.only().license.expiresAt).toBe(monthsPaid(9));
  });

  it('the latest invoice with an amount decides: a month after a year, and no change of the plan', async () => {
    const yearly = invoice(1, { lines: { data: [{ period: { end: SECONDS + 12 * MONTH } }] } });
    const proration = invoice(3, { total: 0, id: 'in_zero' });
    for (const events of [[yearly, invoice(2)], [invoice(2), yearly]]) {
      expect(await end([subscribed(), ...events])).toBe(monthsPaid(2));
      expect(await end([subscribed(), ...events, proration])).toBe(monthsPaid(2));
    }
    expect(await end([subscribed(), invoice(1, { total: 0 })])).toBe(monthsPaid(1));
  });

  it('a session that saves a card, or is not paid, makes nothing', async () => {
    const setup = session({ mode: 'setup', payment_status: 'no_payment_required' });
    const unpaid = session({ payment_status: 'unpaid' });
    expect((await after([setup, unpaid], 'stripe')).purchases).toEqual([]);
  });

  it('a paid session that names no product waits under its Payment Link, with one alert', async () => {
    const world = await after([], 'stripe');
    const nameless = session({ metadata: {}, payment_link: 'plink_1' });
    for (let times = 0; times < 2; times++) await world.receive(nameless);
    expect(world.purchases).toMatchObject([{ item: 'plink_1', state: 'UNMATCHED' }]);
    expect(world.events).toEqual(['purchase.unmatched']);
    const [first] = world.purchases;
    const mapped = { ...MONTHLY, productId: 1, maxIPs: null, maxHWIDs: null, quantity: 'licenses' as const };
    world.apply({ do: 'choose', purchaseId: first?.id ?? 0, mapped });
    expect(world.only().purchase.state).toBe('GRANTED');
  });

  it('a session with optional items waits, and never makes a silent single license', async () => {
    const world = await after([session({ optional_items: [{ price: 'price_1', quantity: 1 }] })], 'stripe');
    expect(world.purchases).toMatchObject([{ state: 'UNMATCHED', reason: expect.stringContaining('More may') }]);
    expect(world.licenses).toEqual([]);
  });

  it('the first invoice of a subscription says how many were bought', async () => {
    const three = invoice(1, {
      billing_reason: 'subscription_create',
      lines: { data: [{ quantity: 3, pricing: { price_details: { product: 'prod_1' } }, period: { end: SECONDS + MONTH } }] },
    });
    for (const events of [[subscribed(), three], [three, subscribed()], [subscribed(), three, three, subscribed()]]) {
      expect((await after(events, 'stripe')).shown()).toHaveLength(3);
    }
  });

  it('a subscription without Checkout is granted by its invoice, and is one with its session', async () => {
    const named = invoice(1, {
      parent: { subscription_details: { subscription: 'sub_1', metadata: { licet_product: 'guard' } } },
    });
    for (const events of [[named], [named, invoice(2)], [named, subscribed()], [subscribed(), named]]) {
      expect((await after(events, 'stripe')).only().purchase).toMatchObject({ state: 'GRANTED', orderId: 'sub_1' });
    }
  });
});
