import type { Incoming } from '../incoming.ts';
import { numberAt, secondsAt, textAt, valueAt } from '../json.ts';
import type { Accepted, Adapter, Fact, MarketSettings, Notice, Rejection } from '../notice.ts';
import { isSigned } from '../signature.ts';

/**
 * Stripe, without a call to it: Checkout and Payment Links with the product in the metadata `licet_product`,
 * subscriptions, refunds and disputes. The order is the subscription, or else the payment intent.
 */

const TOLERANCE_SECONDS = 300;
/** Statuses of a subscription that is over. Others are still retried, or paused. */
const OVER = ['canceled', 'unpaid', 'incomplete_expired'];

/** The parts of a header such as `t=1,v1=ab,v1=cd`. */
function partsOf(header: string): { time: string; signatures: string[] } {
  const parts = header.split(',').map((part) => part.trim().split('='));
  const values = (name: string) =>
    parts.flatMap(([key, value]) => (key === name && value !== undefined ? value : []));
  return { time: values('t')[0] ?? '', signatures: values('v1') };
}

/** An id, also of an object that was put in the place of its id. */
const idAt = (value: unknown, path: string): string | null =>
  textAt(value, path) ?? textAt(value, `${path}.id`);

function bought(session: unknown, at: number, isTest: boolean): Notice[] | string {
  const status = textAt(session, 'payment_status');
  if (status !== 'paid' && status !== 'no_payment_required') {
    return 'It is not paid yet: the license comes with the payment';
  }
  const item = textAt(session, 'metadata.licet_product');
  const id = textAt(session, 'id');
  if (item === null) {
    return 'It has no metadata licet_product: set it at the Payment Link or the Checkout session';
  }
  if (id === null) return 'The session has no id';
  return [
    {
      do: 'grant',
      item,
      reference: id,
      order: idAt(session, 'subscription') ?? idAt(session, 'payment_intent') ?? id,
      buyer: {
        id: idAt(session, 'customer') ?? textAt(session, 'client_reference_id'),
        name: textAt(session, 'customer_details.name'),
        email: textAt(session, 'customer_details.email') ?? textAt(session, 'customer_email'),
      },
      quantity: Math.max(1, Math.floor(numberAt(session, 'metadata.licet_quantity') ?? 1)),
      isTest,
      boughtAt: at,
      paidUntil: null,
    },
  ];
}

/** The subscription of an invoice, which newer versions of the interface hold elsewhere. */
const subscriptionOf = (invoice: unknown): string | null =>
  idAt(invoice, 'subscription') ?? idAt(invoice, 'parent.subscription_details.subscription');

function paidUntilOf(invoice: unknown): number | null {
  const lines = valueAt(invoice, 'lines.data');
  const ends = Array.isArray(lines)
    ? lines.flatMap((line) => secondsAt(line, 'period.end') ?? [])
    : [];
  return ends.length === 0 ? null : Math.max(...ends);
}

/** Facts about all orders that an object names. */
const about = (orders: readonly (string | null)[], fact: (order: string) => Fact): Fact[] =>
  orders.flatMap((order) => (order === null ? [] : [fact(order)]));

function noticesOf(
  type: string,
  object: unknown,
  at: number,
  isTest: boolean,
): readonly Notice[] | string {
  const subscription = textAt(object, 'id');
  const orders = [idAt(object, 'payment_intent'), subscriptionOf(valueAt(object, 'invoice'))];
  switch (type) {
    case 'checkout.session.completed':
    case 'checkout.session.async_payment_succeeded':
      return bought(object, at, isTest);
    case 'invoice.paid': {
      const until = paidUntilOf(object);
      const order = subscriptionOf(object);
      return about([order], (one) => ({ do: 'extend', target: { order: one }, at, until }));
    }
    case 'customer.subscription.deleted':
    case 'customer.subscription.updated': {
      const isOver = type.endsWith('deleted') || OVER.includes(textAt(object, 'status') ?? '');
      if (!isOver) return 'The subscription is not over';
      return about([subscription], (order) => ({
        do: 'revoke',
        target: { order },
        at,
        reason: 'ended',
      }));
    }
    case 'charge.refunded': {
      const amount = numberAt(object, 'amount');
      const refunded = numberAt(object, 'amount_refunded');
      // An amount of zero is no payment that could be refunded in full.
      if (amount === null || refunded === null || amount <= 0 || refunded < amount) {
        return 'It is refunded in part, which changes nothing';
      }
      return about(orders, (order) => ({
        do: 'revoke',
        target: { order },
        at,
        reason: 'refunded',
      }));
    }
    case 'charge.dispute.created':
    case 'charge.dispute.closed': {
      const id = textAt(object, 'id') ?? '';
      const status = textAt(object, 'status');
      const isClosed = type.endsWith('closed');
      if (isClosed && status !== 'won' && status !== 'lost') return 'The dispute is not decided';
      return about(orders, (order) =>
        isClosed && status === 'won'
          ? { do: 'restore', target: { order }, at, id }
          : {
              do: 'revoke',
              target: { order },
              at,
              id,
              reason: isClosed ? 'dispute lost' : 'disputed',
            },
      );
    }
    default:
      return 'This event changes no purchase';
  }
}

async function authenticate(
  { bytes, headers, now }: Incoming,
  { secrets }: MarketSettings,
): Promise<Rejection | undefined> {
  const { time, signatures } = partsOf(headers.get('Stripe-Signature') ?? '');
  if (signatures.length === 0 || !/^\d{1,12}$/.test(time)) {
    return { status: 401, why: 'The header Stripe-Signature is missing' };
  }
  if (!(await isSigned(secrets, signatures, 'hex', [`${time}.`, bytes]))) {
    return { status: 401, why: 'The signature is wrong' };
  }
  if (now / 1000 - Number(time) > TOLERANCE_SECONDS) {
    return { status: 401, why: 'The signature is older than five minutes' };
  }
  return undefined;
}

async function read({ json: body, now }: Incoming): Promise<Accepted | Rejection> {
  if (!body) return { status: 400, why: 'The body is not JSON' };
  if (textAt(body, 'object') === 'v2.core.event') {
    return {
      status: 422,
      why: 'This is a thin event: at Stripe, choose events with the payload style Snapshot',
    };
  }
  const type = textAt(body, 'type');
  const accepted: Accepted = {
    eventId: textAt(body, 'id'),
    type,
    notices: [],
  };
  const at = secondsAt(body, 'created') ?? now;
  const isTest = body.livemode === false;
  const notices = noticesOf(type ?? '', valueAt(body, 'data.object'), at, isTest);
  if (typeof notices === 'string') return { ...accepted, ignored: notices };
  if (notices.length === 0)
    return { ...accepted, ignored: 'It names no payment that can be joined' };
  return { ...accepted, notices };
}

export const stripe: Adapter = { authenticate, read };
