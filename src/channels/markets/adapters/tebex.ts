import { sha256Bytes } from '../../../lib/sha256.ts';
import type { Incoming } from '../incoming.ts';
import { emailAt, listAt, numberAt, quantityAt, textAt, timeAt, valueAt } from '../json.ts';
import type {
  Accepted,
  Adapter,
  Buyer,
  Grant,
  MarketSettings,
  Notice,
  Rejection,
  Statement,
} from '../notice.ts';
import { decimalPrice } from '../price.ts';
import type { Facts, Price } from '../schema.ts';
import { isSigned, WRONG_SIGNATURE } from '../signature.ts';

/**
 * Tebex: payments with their packages, refunds, disputes and subscriptions. A subscription has a reference, to which its
 * payments belong: a renewal grants nothing again.
 */

/** Shops set up tests with this method. */
const TEST_METHOD = 'Test Payments';
const UNNAMED =
  'The event names no transaction, no package or no subscription: look at the payment, and change its license by hand';

const subscriptionOf = (payment: unknown): string | null =>
  textAt(payment, 'recurring_payment_reference');

function buyerOf(payment: unknown, product: unknown): Buyer {
  const username = ['id', 'username'].map(
    (name) => textAt(product, `username.${name}`) ?? textAt(payment, `customer.username.${name}`),
  );
  const [id = null, name = null] = username;
  const plain = textAt(product, 'username') ?? textAt(payment, 'customer.username');
  return { id, name: name ?? plain, email: emailAt(payment, 'customer.email') };
}

/** A package; a line without one can name it in its own data. */
function itemOf(product: unknown): string {
  const id = textAt(product, 'id');
  if (id !== null && id !== '0') return id;
  const variable = listAt(product, 'variables').find(
    (one) => textAt(one, 'identifier') === 'licet',
  );
  return textAt(product, 'custom.licet') ?? textAt(variable, 'option') ?? '0';
}

/** Whether a line is of no subscription, beside others that are: it does not end with them. */
const isOneOff = (payment: unknown, product: unknown): boolean =>
  textAt(payment, 'payment_sequence') === 'mixed' && timeAt(product, 'expires_at') === null;

/**
 * A payment, as one of its subscription.
 *
 * @param until when the subscription is paid, if the event says it
 */
function paymentOf(
  payment: unknown,
  subscription: string | null,
  facts: Facts = {},
  until: number | null = null,
): Statement[] {
  const id = textAt(payment, 'transaction_id');
  if (id === null) return [];
  if (subscription === null) return [{ id, facts }];
  const ends = listAt(payment, 'products').flatMap((one) => timeAt(one, 'expires_at') ?? []);
  const at = timeAt(payment, 'created_at');
  const paid = at !== null && {
    paid: {
      at,
      until: until ?? (ends.length === 0 ? null : Math.max(...ends)),
      amount: numberAt(payment, 'price.amount'),
    },
  };
  return [{ id, parent: subscription, facts: { ...facts, ...paid } }];
}

/** The amount paid for a line: the whole payment, or the line of one license. */
function priceOf(payment: unknown, product: unknown, at: number | null): { price?: Price } {
  const isOnly = listAt(payment, 'products').length === 1;
  if (isOnly) {
    return decimalPrice(payment, { amount: 'price.amount', currency: 'price.currency' }, at);
  }
  // Tebex does not say whether this price is of one or of all.
  if (quantityAt(product, 'quantity') > 1) return {};
  const paths = { amount: 'paid_price.amount', currency: 'paid_price.currency' };
  return decimalPrice(product, paths, at);
}

function grantsOf(payment: unknown, subscription: string | null, about: Statement[]): Grant[] {
  const transaction = textAt(payment, 'transaction_id');
  const seen = new Map<string, number>();
  return listAt(payment, 'products').flatMap((product) => {
    const item = itemOf(product);
    const own = isOneOff(payment, product) ? transaction : null;
    const order = own ?? subscription ?? transaction;
    if (order === null) return [];
    // Counted for each item and not by the place of the line, because a renewal lists other lines.
    const before = seen.get(item) ?? 0;
    seen.set(item, before + 1);
    const [boughtAt, paidUntil] = [timeAt(payment, 'created_at'), timeAt(product, 'expires_at')];
    const isOfPayment = order !== subscription;
    return {
      do: 'grant' as const,
      item,
      reference: `${order}:${item}${before === 0 ? '' : `:${before}`}`,
      order,
      // A payment may not name its subscription.
      ...(before === 0 && { onlyOf: 'item' as const }),
      buyer: buyerOf(payment, product),
      quantity: quantityAt(product, 'quantity'),
      isTest: textAt(payment, 'payment_method.name') === TEST_METHOD,
      facts: {
        ...(boughtAt !== null && { boughtAt }),
        ...priceOf(payment, product, boughtAt),
        // Tebex takes a payment of a subscription by itself: the subscription goes on.
        ...(!isOfPayment && boughtAt !== null && { continued: boughtAt }),
        ...(isOfPayment && paidUntil !== null && { paidUntil }),
      },
      about,
    };
  });
}

const report = (about: Statement[]): Notice[] =>
  about.length === 0 ? [] : [{ do: 'report', about }];

/** The step of a dispute, by the type of its event. One that closes as anything but lost takes nothing. */
const STEPS = {
  'payment.dispute.opened': 'opened',
  'payment.dispute.lost': 'lost',
  'payment.dispute.won': 'won',
  'payment.dispute.closed': 'won',
} as const;

const isDispute = (type: string): type is keyof typeof STEPS => Object.hasOwn(STEPS, type);

function aboutPayment(type: string, subject: unknown, at: number): Notice[] | undefined {
  const subscription = subscriptionOf(subject);
  if (type === 'payment.completed') {
    const about = subscription === null ? [] : paymentOf(subject, subscription);
    return grantsOf(subject, subscription, about);
  }
  if (type === 'payment.refunded') {
    return report(paymentOf(subject, subscription, { refunded: at }));
  }
  if (!isDispute(type)) return undefined;
  const disputes = { [textAt(subject, 'transaction_id') ?? '']: STEPS[type] };
  return report(paymentOf(subject, subscription, { disputes }));
}

/** The facts of the events of a subscription that are no payments. */
const STOPS: Readonly<Record<string, (at: number) => Facts>> = {
  'recurring-payment.ended': (ended) => ({ ended }),
  'recurring-payment.cancellation.requested': (cancels) => ({ cancels }),
  'recurring-payment.cancellation.aborted': (continued) => ({ continued }),
};

/** A subscription: the first payment grants it, another one goes on with it. */
function aboutSubscription(type: string, subject: unknown, at: number): Notice[] | undefined {
  const id = textAt(subject, 'reference');
  const stop = Object.hasOwn(STOPS, type) ? STOPS[type] : undefined;
  const isFirst = type === 'recurring-payment.started';
  if (!stop && !isFirst && type !== 'recurring-payment.renewed') return undefined;
  if (id === null) return [];
  if (stop) return report([{ id, facts: stop(at) }]);
  const payment = valueAt(subject, isFirst ? 'initial_payment' : 'last_payment');
  const until = timeAt(subject, 'next_payment_at');
  const paid = paymentOf(payment, id, {}, until);
  const isNamed = paid.some(({ facts }) => facts?.paid);
  const facts = { continued: at, ...(!isNamed && until !== null && { paidUntil: until }) };
  const about = [...paid, { id, facts }];
  const grants = isFirst ? grantsOf(payment, id, about) : [];
  return grants.length > 0 ? grants : report(about);
}

const noticesOf = (type: string, subject: unknown, at: number): Notice[] | undefined =>
  aboutPayment(type, subject, at) ?? aboutSubscription(type, subject, at);

async function authenticate(
  { bytes, headers }: Incoming,
  { secrets }: MarketSettings,
): Promise<Rejection | undefined> {
  const signature = headers.get('X-Signature')?.trim() ?? '';
  if (signature === '') return { status: 401, why: 'The header X-Signature is missing' };
  const digest = (await sha256Bytes(bytes)).toHex();
  if (!(await isSigned(secrets, [signature], 'hex', [digest]))) {
    return { status: 401, why: WRONG_SIGNATURE };
  }
  return undefined;
}

async function read({ json: body, now }: Incoming): Promise<Accepted | Rejection> {
  if (!body) return { status: 400, why: 'The body is not JSON' };
  const id = textAt(body, 'id');
  const type = textAt(body, 'type');
  const accepted: Accepted = { eventId: id, type, notices: [] };
  if (type === 'validation.webhook') {
    return {
      ...accepted,
      ignored: 'The address is confirmed',
      respond: () => ({ body: JSON.stringify({ id }), contentType: 'application/json' }),
    };
  }
  const notices = noticesOf(type ?? '', body.subject, timeAt(body, 'date') ?? now);
  if (!notices) return { ...accepted, ignored: 'This event changes no purchase' };
  if (notices.length === 0) {
    return { ...accepted, ignored: UNNAMED, needsPerson: true };
  }
  return { ...accepted, notices };
}

export const tebex: Adapter = { names: ['tebex'], mailsKey: true, authenticate, read };
