import { describe, expect, it } from 'vitest';
import { stripe } from '../../src/channels/markets/adapters/stripe.ts';
import { accepted, hmac, incoming, NOW, readBy, settingsOf } from './samples.ts';

/** Stripe: its events, without a call to it. */

const CREATED = NOW / 1000 - 10;
const AT = CREATED * 1000;

async function readBody(body: object) {
  const text = JSON.stringify(body);
  const signature = await hmac(`${NOW / 1000}.${text}`);
  const headers = { 'Stripe-Signature': `t=${NOW / 1000},v1=${'00'.repeat(32)},v1=${signature}` };
  return readBy(stripe, incoming(text, headers), settingsOf('stripe'));
}
const read = async (type: string, object: object, livemode = true) =>
  accepted(await readBody({ id: 'evt_1', type, created: CREATED, livemode, data: { object } }));

const session = {
  id: 'cs_1',
  payment_status: 'paid',
  payment_intent: 'pi_1',
  subscription: null,
  customer: 'cus_1',
  customer_details: { email: 'a@b.c', name: 'Ada' },
  metadata: { licet_product: 'guard' },
  amount_total: 999,
  currency: 'xyz',
};

describe('a Checkout session', () => {
  it('a paid Checkout session grants the product in its metadata [9.2.1]', async () => {
    expect((await read('checkout.session.completed', session)).notices).toEqual([
      {
        do: 'grant',
        item: 'guard',
        reference: 'cs_1',
        isLine: true,
        order: 'pi_1',
        onlyOf: 'order',
        buyer: { id: 'cus_1', name: 'Ada', email: 'a@b.c' },
        quantity: 1,
        isTest: false,
        facts: { boughtAt: AT, price: { at: AT, amount: '9.99', currency: 'XYZ' } },
        about: [],
        caveat: expect.stringContaining('does not say how many'),
      },
    ]);
  });

  it.each(['paid', 'no_payment_required'])(
    'a Checkout session with the status %s is paid',
    async (status) => {
      const sent = { ...session, payment_status: status };
      expect((await read('checkout.session.completed', sent)).notices).toHaveLength(1);
    },
  );

  it('a Checkout session that is not paid yet grants nothing before its payment', async () => {
    const sent = { ...session, payment_status: 'unpaid' };
    expect(await read('checkout.session.completed', sent)).toMatchObject({
      notices: [],
      ignored: 'The session is not paid yet: the license comes with the payment',
    });
    expect((await read('checkout.session.async_payment_succeeded', session)).notices).toHaveLength(
      1,
    );
  });

  it.each([
    ['plink_1', 'plink_1'],
    [null, 'checkout'],
  ])(
    'a Checkout session without a product is known by its Payment Link %s',
    async (payment_link, item) => {
      const sent = { ...session, metadata: {}, payment_link };
      expect((await read('checkout.session.completed', sent)).notices).toMatchObject([{ item }]);
    },
  );

  it('a Checkout session that saves a card sells nothing', async () => {
    const sent = { ...session, mode: 'setup', payment_status: 'no_payment_required' };
    expect((await read('checkout.session.completed', sent)).notices).toEqual([]);
  });

  it('a Checkout session with its lines in the event sells all of them', async () => {
    const line = (id: string, quantity: number) => ({
      id,
      quantity,
      price: { id: `price_${id}`, product: `prod_${id}` },
    });
    const sold = async (...data: object[]) =>
      (await read('checkout.session.completed', { ...session, line_items: { data } })).notices;
    expect(await sold(line('li_1', 3))).toMatchObject([
      { item: 'guard', otherItems: ['prod_li_1', 'price_li_1'], quantity: 3 },
    ]);
    expect(await sold(line('li_2', 1), line('li_1', 2))).toMatchObject([
      { item: 'prod_li_1', reference: 'cs_1', quantity: 2 },
      { item: 'prod_li_2', reference: 'cs_1:li_2', quantity: 1 },
    ]);
  });

  it('in test mode is a test', async () => {
    const { notices } = await read('checkout.session.completed', session, false);
    expect(notices).toMatchObject([{ isTest: true }]);
  });
});

describe('a subscription', () => {
  const subscribed = { ...session, payment_intent: null, subscription: 'sub_1', invoice: 'in_1' };

  it('a subscription is the order, to which its invoices and their payments belong', async () => {
    expect((await read('checkout.session.completed', subscribed)).notices).toMatchObject([
      { order: 'sub_1', about: [{ id: 'in_1', parent: 'sub_1' }] },
    ]);
    for (const invoice of [
      { subscription: 'sub_1' },
      { parent: { subscription_details: { subscription: 'sub_1' } } },
    ]) {
      const lines = {
        data: [{ period: { end: 1_790_500_000 } }, { period: { end: 1_790_600_000 } }],
      };
      const sent = { id: 'in_1', total: 500, payment_intent: 'pi_1', ...invoice, lines };
      const paid = { at: AT, until: 1_790_600_000_000, amount: 500 };
      expect((await read('invoice.paid', sent)).notices).toEqual([
        {
          do: 'report',
          about: [
            { id: 'in_1', parent: 'sub_1', facts: { paid } },
            { id: 'sub_1', facts: { active: AT } },
            { id: 'pi_1', parent: 'in_1' },
          ],
        },
      ]);
    }
    const payment = { invoice: 'in_1', payment: { payment_intent: 'pi_1' } };
    expect((await read('invoice_payment.paid', payment)).notices).toEqual([
      { do: 'report', about: [{ id: 'pi_1', parent: 'in_1' }] },
    ]);
  });

  it.each([
    ['customer.subscription.deleted', 'canceled', { ended: AT }],
    ['customer.subscription.updated', 'unpaid', { unpaid: AT }],
    ['customer.subscription.updated', 'paused', { paused: AT }],
    ['customer.subscription.updated', 'active', { active: AT }],
    ['customer.subscription.updated', 'past_due', null],
  ])('%s with the status %s says %j', async (type, status, facts) => {
    const { notices } = await read(type, { id: 'sub_1', status });
    expect(notices).toEqual(facts ? [{ do: 'report', about: [{ id: 'sub_1', facts }] }] : []);
  });
});

it.each([
  [1000, 1000, 1],
  [1000, 999, 0],
  [1000, 0, 0],
  [0, 0, 0],
  [undefined, 1000, 0],
])('a refund of a charge of %s with %s back gives %d notices', async (amount, back, count) => {
  const charge = { id: 'ch_1', payment_intent: 'pi_1', amount, amount_refunded: back };
  const { notices } = await read('charge.refunded', charge);
  const about = [{ id: 'pi_1', facts: { total: back, refunds: { ch_1: back } } }];
  expect(notices).toEqual(Array(count).fill({ do: 'report', about }));
});

it.each([
  ['charge.dispute.created', 'needs_response', 'opened'],
  ['charge.dispute.created', 'warning_needs_response', null],
  ['charge.dispute.updated', 'warning_under_review', null],
  ['charge.dispute.closed', 'lost', 'lost'],
  ['charge.dispute.closed', 'won', 'won'],
  ['charge.dispute.closed', 'warning_closed', 'won'],
  ['charge.dispute.closed', 'prevented', 'won'],
])('%s with the status %s is %s', async (type, status, step) => {
  const { notices } = await read(type, { id: 'dp_1', payment_intent: 'pi_1', status });
  const about = [{ id: 'pi_1', facts: { disputes: { dp_1: step } } }];
  expect(notices).toEqual(step === null ? [] : [{ do: 'report', about }]);
});

it('a charge of the old interface names its invoice', async () => {
  const charge = { amount: 1, amount_refunded: 1, id: 'ch_1' };
  const aboutOf = async (fields: object) =>
    (await read('charge.refunded', { ...charge, ...fields })).notices[0]?.about;
  expect(await aboutOf({ payment_intent: 'pi_1', invoice: 'in_1' })).toMatchObject([
    { id: 'pi_1', parent: 'in_1' },
  ]);
  expect(await aboutOf({ invoice: { id: 'in_1', subscription: 'sub_1' } })).toMatchObject([
    { id: 'ch_1', parent: 'in_1' },
    { id: 'in_1', parent: 'sub_1' },
  ]);
});

it('a dispute without a payment is shown, and changes nothing', async () => {
  const { ignored } = await read('charge.dispute.created', { id: 'dp_1', payment_intent: null });
  expect(ignored).toBe(
    'The event names no payment: find the purchase, and change its license by hand',
  );
});

it('a thin event is rejected with the setting to switch', async () => {
  const thin = { id: 'evt_1', object: 'v2.core.event', type: 'v1.checkout.session.completed' };
  expect(await readBody(thin)).toEqual({
    status: 422,
    why: 'This is a thin event: at Stripe, choose events with the payload style Snapshot',
  });
});
