import { MAX_QUANTITY } from '@licet/contract/limits';
import { mergeFacts } from '../facts.ts';
import type { Incoming } from '../incoming.ts';
import {
  emailAt,
  listAt,
  numberAt,
  quantityAt,
  secondsAt,
  textAt,
  textOf,
  valueAt,
} from '../json.ts';
import type { Accepted, Adapter, MarketSettings, Rejection, Report, Statement } from '../notice.ts';
import { minorPrice } from '../price.ts';
import type { Facts } from '../schema.ts';
import { isSigned, WRONG_SIGNATURE } from '../signature.ts';
import { readLines, readSession } from './stripe-checkout.ts';
import { countIn, type Event, idAt, link, type Read, subscriptionOf } from './stripe-event.ts';

/**
 * Stripe: Checkout and Payment Links with the product in the metadata `licet_product`, subscriptions, refunds and
 * disputes. A purchase belongs to its subscription, or else to its payment intent. Several events link payments to
 * invoices, and invoices to subscriptions.
 */

const TOLERANCE_SECONDS = 300;

/** The parts of a header such as `t=1,v1=ab,v1=cd`. */
function partsOf(header: string): { time: string; signatures: string[] } {
  const parts = header.split(',').map((part) => part.trim().split('='));
  const values = (name: string) =>
    parts.flatMap(([key, value]) => (key === name && value !== undefined ? value : []));
  return { time: values('t')[0] ?? '', signatures: values('v1') };
}

const report = (about: readonly Statement[]): Report => ({ do: 'report', about });

/** The lines of an invoice that were bought: a change of the plan only moves money. */
function boughtLines(invoice: unknown) {
  return listAt(invoice, 'lines.data').filter(
    (line) =>
      valueAt(line, 'proration') !== true &&
      valueAt(line, 'parent.subscription_item_details.proration') !== true,
  );
}

function invoicePaid({ object, at, isTest }: Event): Read {
  const [id, subscription] = [textAt(object, 'id'), subscriptionOf(object)];
  if (subscription === null) return { ignored: 'The invoice belongs to no subscription' };
  const ends = listAt(object, 'lines.data').flatMap((line) => secondsAt(line, 'period.end') ?? []);
  const sold = boughtLines(object);
  const products = new Set(
    sold.map(
      (line) => textAt(line, 'pricing.price_details.product') ?? idAt(line, 'price.product') ?? '',
    ),
  );
  const quantity = sold.reduce<number>((sum, line) => sum + quantityAt(line, 'quantity'), 0);
  const isUnclear = products.size > 1 || quantity > MAX_QUANTITY;
  const reason = textAt(object, 'billing_reason');
  const isFirst = reason === 'subscription_create';
  const collected = numberAt(object, 'amount_paid');
  const amount = numberAt(object, 'total') ?? collected;
  // The last invoice of a canceled subscription, of which time is left.
  const isCredit = amount !== null && amount < 0;
  const facts: Facts = {
    paid: {
      at: secondsAt(object, 'created') ?? at,
      until: ends.length === 0 ? null : Math.max(...ends),
      // A coupon can make a month free, which is no trial.
      amount: reason === 'subscription_cycle' && amount === 0 ? null : amount,
    },
    ...(collected !== null && { total: collected }),
    ...(isFirst && !isUnclear && quantity > 1 && { quantity }),
    ...(isFirst && isUnclear && { unclear: 1 }),
  };
  // Events of old versions can lack the id of the invoice.
  const invoice = id ?? `${subscription}:${at}`;
  const about = [
    { id: invoice, parent: subscription, facts },
    // Stripe takes back no end: an old invoice can be paid after it.
    { id: subscription, ...(!isCredit && { facts: { active: at } }) },
    ...link(idAt(object, 'payment_intent') ?? idAt(object, 'charge'), invoice),
  ];
  const metadata =
    valueAt(object, 'parent.subscription_details.metadata') ??
    valueAt(object, 'subscription_details.metadata');
  const item = textAt(metadata, 'licet_product');
  if (item === null || isCredit) return [report(about)];
  const counted = countIn(metadata);
  return [
    {
      do: 'grant',
      item,
      reference: subscription,
      isLine: true,
      order: subscription,
      onlyOf: 'order',
      buyer: {
        id: idAt(object, 'customer'),
        name: textAt(object, 'customer_name'),
        email: emailAt(object, 'customer_email'),
      },
      quantity: counted ?? 1,
      isTest,
      facts: {
        boughtAt: at,
        ...(counted !== null && { counted: 1, stated: counted }),
        ...minorPrice(object, { amount: 'total', currency: 'currency' }, at),
      },
      about,
    },
  ];
}

/** The facts that follow from the status of a subscription. Stripe still tries a payment that is late. */
function statusFacts(status: string, at: number): Facts | undefined {
  switch (status) {
    case 'active':
    case 'trialing':
      return { active: at };
    case 'paused':
      return { paused: at };
    case 'unpaid':
      return { unpaid: at };
    case 'canceled':
    case 'incomplete_expired':
      return { ended: at };
    default:
      return undefined;
  }
}

function subscriptionChanged({ type, object, at }: Event): Read {
  const id = textAt(object, 'id');
  const status = type.endsWith('.deleted') ? 'canceled' : (textAt(object, 'status') ?? '');
  const facts = statusFacts(status, at);
  if (id === null || !facts) return { ignored: 'The subscription goes on' };
  const isCanceled =
    valueAt(object, 'cancel_at_period_end') === true || secondsAt(object, 'cancel_at') !== null;
  const cancels = facts.active !== undefined && isCanceled ? { cancels: at } : {};
  return [report([{ id, facts: { ...facts, ...cancels } }])];
}

/** The facts about the payment of a charge or a dispute, and its links. */
function aboutPayment(object: unknown, facts: Facts): Read {
  const charge = textAt(object, 'object') === 'charge' ? object : valueAt(object, 'charge');
  const payment =
    idAt(object, 'payment_intent') ??
    idAt(charge, 'payment_intent') ??
    textOf(charge) ??
    textAt(charge, 'id');
  if (payment === null) {
    return {
      ignored: 'The event names no payment: find the purchase, and change its license by hand',
      needsPerson: true,
    };
  }
  const invoice = valueAt(object, 'invoice') ?? valueAt(charge, 'invoice');
  const invoiceId = textOf(invoice) ?? textAt(invoice, 'id');
  return [
    report([
      { id: payment, ...(invoiceId !== null && { parent: invoiceId }), facts },
      ...link(invoiceId, subscriptionOf(invoice)),
    ]),
  ];
}

function refund({ object }: Event): Read {
  const amount = numberAt(object, 'amount');
  const total = numberAt(object, 'amount_refunded') ?? 0;
  // A charge can be captured in part.
  const isFull = valueAt(object, 'refunded') === true || (amount !== null && total >= amount);
  if (total <= 0 || !isFull) {
    return { ignored: 'The charge is refunded in part, which changes nothing' };
  }
  // An invoice can have several payments: its own amount is larger than this one.
  const facts = { total, refunds: { [textAt(object, 'id') ?? '']: total } };
  return aboutPayment({ object: 'charge', ...Object(object) }, facts);
}

/** The step of a dispute; undefined for an inquiry, which moves no money. */
function stepOf(type: string, status: string | null): 'opened' | 'won' | 'lost' | undefined {
  if (status === 'lost') return 'lost';
  if (status === 'won' || status === 'warning_closed' || status === 'prevented') return 'won';
  if (type === 'charge.dispute.closed') return 'won';
  return status?.startsWith('warning_') ? undefined : 'opened';
}

function dispute({ type, object }: Event): Read {
  const step = stepOf(type, textAt(object, 'status'));
  if (!step) return { ignored: 'An inquiry changes nothing: no money has moved' };
  return aboutPayment(object, { disputes: { [textAt(object, 'id') ?? '']: step } });
}

function paymentOfInvoice({ object }: Event): Read {
  const payment = idAt(object, 'payment.payment_intent') ?? idAt(object, 'payment.charge');
  const about = link(payment, idAt(object, 'invoice'));
  return about.length === 0
    ? { ignored: 'The event names no payment of an invoice' }
    : [report(about)];
}

const READERS: Readonly<Record<string, (event: Event) => Read>> = {
  'checkout.session.completed': readSession,
  'checkout.session.async_payment_succeeded': readSession,
  'invoice.paid': invoicePaid,
  'invoice_payment.paid': paymentOfInvoice,
  'customer.subscription.updated': subscriptionChanged,
  'customer.subscription.paused': subscriptionChanged,
  'customer.subscription.resumed': subscriptionChanged,
  'customer.subscription.deleted': subscriptionChanged,
  'charge.refunded': refund,
  'charge.dispute.created': dispute,
  'charge.dispute.updated': dispute,
  'charge.dispute.closed': dispute,
};

async function authenticate(
  { bytes, headers, now }: Incoming,
  { secrets }: MarketSettings,
): Promise<Rejection | undefined> {
  const { time, signatures } = partsOf(headers.get('Stripe-Signature') ?? '');
  if (signatures.length === 0 || !/^\d{1,12}$/.test(time)) {
    return { status: 401, why: 'The header Stripe-Signature is missing' };
  }
  if (!(await isSigned(secrets, signatures, 'hex', [`${time}.`, bytes]))) {
    return { status: 401, why: WRONG_SIGNATURE };
  }
  if (now / 1000 - Number(time) > TOLERANCE_SECONDS) {
    return { status: 401, why: 'The signature is older than five minutes', isFromMarket: true };
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
  const type = textAt(body, 'type') ?? '';
  const reader = Object.hasOwn(READERS, type) ? READERS[type] : undefined;
  const said = reader?.({
    type,
    object: valueAt(body, 'data.object'),
    at: secondsAt(body, 'created') ?? now,
    isTest: body.livemode === false,
  }) ?? { ignored: 'This event changes no purchase' };
  const accepted = { eventId: textAt(body, 'id'), type: textAt(body, 'type') };
  return 'ignored' in said ? { ...accepted, notices: [], ...said } : { ...accepted, notices: said };
}

/** An earlier version read the payment of an invoice, also of an old one, as the end of a deletion. */
const currentFacts = ({ continued, ...facts }: Facts): Facts =>
  continued === undefined ? facts : mergeFacts(facts, { active: continued });

export const stripe: Adapter = {
  names: ['stripe'],
  mailsKey: true,
  authenticate,
  currentFacts,
  read,
  lines: readLines,
};
