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
import type {
  Accepted,
  Adapter,
  Grant,
  MarketInterface,
  MarketSettings,
  Notice,
  Rejection,
  Report,
  Statement,
} from '../notice.ts';
import { fetchJson, isRefusedBy } from '../outgoing.ts';
import { minorPrice } from '../price.ts';
import type { Facts } from '../schema.ts';
import { isSigned, WRONG_SIGNATURE } from '../signature.ts';

/**
 * Stripe: Checkout and Payment Links with the product in the metadata `licet_product`, subscriptions, refunds and
 * disputes. A purchase belongs to its subscription, or else to its payment intent. Several events link payments to
 * invoices, and invoices to subscriptions.
 */

const TOLERANCE_SECONDS = 300;
/** The name of a product that neither the metadata nor a Payment Link names. */
const UNNAMED = 'checkout';
const MAX_LINES = 100;
const UNCOUNTED =
  'Stripe does not say how many were bought: store a restricted key as API token, or look at the order';

/** The notices of an event, or the reason for none. */
type Read = readonly Notice[] | { ignored: string; needsPerson?: boolean };

/** An event with its object. */
interface Event {
  type: string;
  object: unknown;
  /** When it was made, in milliseconds since 1970. */
  at: number;
  isTest: boolean;
}

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

const report = (about: readonly Statement[]): Report => ({ do: 'report', about });

/** A link between two subjects, if both are named. */
const link = (id: string | null, parent: string | null): Statement[] =>
  id === null || parent === null ? [] : [{ id, parent }];

/** The subscription of an invoice, which newer versions of the interface hold elsewhere. */
const subscriptionOf = (invoice: unknown): string | null =>
  idAt(invoice, 'subscription') ?? idAt(invoice, 'parent.subscription_details.subscription');

/** The number that the seller has put into the metadata; null without one. */
const countIn = (metadata: unknown): number | null =>
  numberAt(metadata, 'licet_quantity') === null ? null : quantityAt(metadata, 'licet_quantity');

function session({ object, at, isTest }: Event): Read {
  if (textAt(object, 'mode') === 'setup')
    return { ignored: 'The session saves a card, and sells nothing' };
  const status = textAt(object, 'payment_status');
  if (status !== 'paid' && status !== 'no_payment_required') {
    return { ignored: 'The session is not paid yet: the license comes with the payment' };
  }
  const id = textAt(object, 'id');
  if (id === null)
    return { ignored: 'The session has no id: make the license by hand', needsPerson: true };
  const [subscription, invoice] = [idAt(object, 'subscription'), idAt(object, 'invoice')];
  const paymentLink = idAt(object, 'payment_link');
  const counted = countIn(valueAt(object, 'metadata'));
  const grant: Grant = {
    do: 'grant',
    item: textAt(object, 'metadata.licet_product') ?? paymentLink ?? UNNAMED,
    ...(paymentLink !== null && { otherItems: [paymentLink] }),
    reference: id,
    isLine: true,
    order: subscription ?? idAt(object, 'payment_intent') ?? invoice ?? id,
    onlyOf: 'order',
    buyer: {
      id: idAt(object, 'customer') ?? textAt(object, 'client_reference_id'),
      name: textAt(object, 'customer_details.name'),
      email: emailAt(object, 'customer_details.email') ?? emailAt(object, 'customer_email'),
    },
    quantity: counted ?? 1,
    isTest,
    facts: {
      boughtAt: at,
      ...(counted !== null && { counted: 1, stated: counted }),
      // A buyer may have added them. The event has no lines.
      ...(listAt(object, 'optional_items').length > 0 && { unclear: 1 }),
      ...minorPrice(object, { amount: 'amount_total', currency: 'currency' }, at),
    },
    about: link(invoice, subscription),
    // The first invoice of a subscription has the quantity.
    ...(counted === null && subscription === null && { caveat: UNCOUNTED }),
  };
  return withLines(grant, listAt(object, 'line_items.data'));
}

/** The purchases of the lines of a session: as the event names it, or one for each of several products. */
function withLines(grant: Grant, lines: readonly unknown[]): Grant[] {
  const sold = lines
    .map((line) => ({
      id: textAt(line, 'id') ?? '',
      quantity: quantityAt(line, 'quantity'),
      paid: minorPrice(
        line,
        { amount: 'amount_total', currency: 'currency' },
        grant.facts.boughtAt ?? 0,
      ),
      items: [
        textAt(line, 'price.metadata.licet_product'),
        textAt(line, 'price.product.metadata.licet_product'),
        idAt(line, 'price.product'),
        idAt(line, 'price'),
      ].filter((item) => item !== null),
    }))
    .sort((one, other) => (one.id < other.id ? -1 : 1));
  const [first, ...others] = sold;
  if (!first) return [grant];
  const {
    onlyOf,
    caveat: _,
    ...counted
  } = {
    ...grant,
    facts: { ...grant.facts, counted: 1 },
  };
  if (others.length === 0) {
    const { stated = first.quantity } = grant.facts;
    return [
      {
        ...counted,
        ...(onlyOf && { onlyOf }),
        facts: { ...counted.facts, quantity: first.quantity },
        otherItems: [...(grant.otherItems ?? []), ...first.items],
        quantity: stated,
      },
    ];
  }
  const { stated: _stated, price: _price, ...facts } = counted.facts;
  return sold.map(({ id, quantity, paid, items: [item = UNNAMED, ...otherItems] }, index) => ({
    ...counted,
    // The first invoice may have come before, and waits for the lines.
    ...(index === 0 && onlyOf && { onlyOf }),
    facts: { ...facts, ...paid },
    item,
    otherItems,
    reference: index === 0 ? grant.reference : `${grant.reference}:${id}`,
    quantity,
  }));
}

/** Reads the lines of a session, with a restricted key. */
async function lines(grant: Grant, { outbound, token }: MarketInterface): Promise<Grant[]> {
  if (!grant.reference.startsWith('cs_') || grant.onlyOf !== 'order') return [grant];
  const id = encodeURIComponent(grant.reference);
  try {
    const json = await fetchJson(
      outbound,
      `https://api.stripe.com/v1/checkout/sessions/${id}/line_items?limit=${MAX_LINES}`,
      { method: 'GET', headers: { Authorization: `Bearer ${token}` } },
    );
    return withLines(grant, listAt(json, 'data'));
  } catch (error) {
    // Stripe repeats the event; a wrong key stays wrong.
    if (!isRefusedBy(error)) throw error;
    return [{ ...grant, facts: { ...grant.facts, unclear: 1 } }];
  }
}

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
  'checkout.session.completed': session,
  'checkout.session.async_payment_succeeded': session,
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
  lines,
};
