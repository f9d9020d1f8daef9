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
  it('that is paid grants the product in its metadata [9.2.1]', async () => {
    expect((await read('checkout.session.completed', session)).notices).toEqual([
      {
        do: 'grant',
        item: 'guard',
        reference: 'cs_1',
        order: 'pi_1',
        buyer: { id: 'cus_1', name: 'Ada', email: 'a@b.c' },
        quantity: 1,
        isTest: false,
        boughtAt: AT,
        paidUntil: null,
      },
    ]);
  });

  it.each(['paid', 'no_payment_required'])('with the status %s is paid', async (status) => {
    const sent = { ...session, payment_status: status };
    expect((await read('checkout.session.completed', sent)).notices).toHaveLength(1);
  });

  it('that is not paid yet grants nothing before its payment', async () => {
    const sent = { ...session, payment_status: 'unpaid' };
    expect(await read('checkout.session.completed', sent)).toMatchObject({
      notices: [],
      ignored: 'It is not paid yet: the license comes with the payment',
    });
    expect((await read('checkout.session.async_payment_succeeded', session)).notices).toHaveLength(
      1,
    );
  });

  it('without a product says what to set', async () => {
    const { ignored } = await read('checkout.session.completed', { ...session, metadata: {} });
    expect(ignored).toMatch('set it at the Payment Link');
  });

  it('in test mode is a test', async () => {
    const { notices } = await read('checkout.session.completed', session, false);
    expect(notices).toMatchObject([{ isTest: true }]);
  });
});

describe('a subscription', () => {
  const subscribed = { ...session, payment_intent: null, subscription: 'sub_1' };

  it('is the order, and each paid invoice extends it', async () => {
    expect((await read('checkout.session.completed', subscribed)).notices).toMatchObject([
      { order: 'sub_1' },
    ]);
    for (const invoice of [
      { subscription: 'sub_1' },
      { parent: { subscription_details: { subscription: 'sub_1' } } },
    ]) {
      const lines = {
        data: [{ period: { end: 1_790_500_000 } }, { period: { end: 1_790_600_000 } }],
      };
      expect((await read('invoice.paid', { ...invoice, lines })).notices).toEqual([
        { do: 'extend', target: { order: 'sub_1' }, at: AT, until: 1_790_600_000_000 },
      ]);
    }
  });

  it.each([
    ['customer.subscription.deleted', 'canceled', true],
    ['customer.subscription.updated', 'unpaid', true],
    ['customer.subscription.updated', 'past_due', false],
    ['customer.subscription.updated', 'active', false],
  ])('%s with the status %s ends it: %s', async (type, status, isOver) => {
    const { notices } = await read(type, { id: 'sub_1', status });
    expect(notices).toEqual(
      isOver ? [{ do: 'revoke', reason: 'ended', target: { order: 'sub_1' }, at: AT }] : [],
    );
  });
});

it.each([
  [1000, 1000, 1],
  [1000, 999, 0],
  [1000, 0, 0],
  [0, 0, 0],
  [undefined, 1000, 0],
])('a refund of a charge of %s with %s back gives %d notices', async (amount, back, count) => {
  const charge = { payment_intent: 'pi_1', amount, amount_refunded: back };
  const { notices } = await read('charge.refunded', charge);
  expect(notices).toEqual(
    Array(count).fill({ do: 'revoke', reason: 'refunded', target: { order: 'pi_1' }, at: AT }),
  );
});

it.each([
  ['charge.dispute.created', 'needs_response', { do: 'revoke', reason: 'disputed' }],
  ['charge.dispute.closed', 'lost', { do: 'revoke', reason: 'dispute lost' }],
  ['charge.dispute.closed', 'won', { do: 'restore' }],
])('%s with the status %s', async (type, status, fact) => {
  const { notices } = await read(type, { id: 'dp_1', payment_intent: 'pi_1', status });
  expect(notices).toEqual([{ ...fact, target: { order: 'pi_1' }, at: AT, id: 'dp_1' }]);
});

it('a dispute that is closed with a warning changes nothing', async () => {
  const dispute = { id: 'dp_1', payment_intent: 'pi_1', status: 'warning_closed' };
  expect((await read('charge.dispute.closed', dispute)).ignored).toBe('The dispute is not decided');
});

it('a dispute without a payment is shown, and changes nothing', async () => {
  const { ignored } = await read('charge.dispute.created', { id: 'dp_1', payment_intent: null });
  expect(ignored).toBe('It names no payment that can be joined');
});

it('a thin event is rejected with the setting to switch', async () => {
  const thin = { id: 'evt_1', object: 'v2.core.event', type: 'v1.checkout.session.completed' };
  expect(await readBody(thin)).toEqual({
    status: 422,
    why: 'This is a thin event: at Stripe, choose events with the payload style Snapshot',
  });
});
