import { decimalsOf } from '@licet/contract/currencies';
import type { Incoming } from '../incoming.ts';
import { emailAt, listAt, numberAt, quantityAt, textAt, timeAt, valueAt } from '../json.ts';
import type {
  Accepted,
  Adapter,
  Buyer,
  Grant,
  Identity,
  MarketSettings,
  Notice,
  Rejection,
  Statement,
} from '../notice.ts';
import { minorPrice } from '../price.ts';
import type { Facts, Price } from '../schema.ts';
import { isRecent, isSigned, WRONG_SIGNATURE } from '../signature.ts';

/**
 * PayNow. Each delivery item of an order has one license; all items of a line of a subscription share one. Refunds and
 * chargebacks name the order, which is a payment of its subscription.
 */

const UNNAMED =
  'The event names no delivery item, no order, no subscription or no amount: look at the order, and change its license by hand';

function buyerOf(customer: unknown): Buyer {
  const name =
    textAt(customer, 'name') ??
    textAt(customer, 'profile.name') ??
    textAt(customer, 'minecraft.name') ??
    textAt(customer, 'steam.name');
  return { id: textAt(customer, 'id'), name, email: null };
}

/** A delivery item: its purchase, and its place in an order and a subscription. */
interface Item {
  identity: Identity;
  id: string;
  order: string | null;
  subscription: string | null;
  /** The order line, and the product for which a subscription is one purchase. */
  part: Pick<Facts, 'line' | 'product'>;
}

/** @returns undefined for an item that names no product */
function itemOf(body: unknown): Item | undefined {
  const [id, product] = [textAt(body, 'id'), textAt(body, 'product_id')];
  // The seller's metadata names the product, else its id does.
  const item = textAt(body, 'product.metadata.licet_product') ?? product;
  if (id === null || item === null) return undefined;
  const order = textAt(body, 'order_id');
  const subscription = textAt(body, 'subscription_id');
  const line = textAt(body, 'order_line_id');
  const isRenewed = subscription !== null && product !== null;
  return {
    identity: {
      item,
      reference: isRenewed ? `${subscription}:${product}` : id,
      // An earlier version knew the purchase by its first item.
      ...(isRenewed && { otherReferences: [id], onlyOf: 'item' as const }),
      isLine: true,
      order: subscription ?? order,
    },
    id,
    order,
    subscription,
    part: { ...(line !== null && { line }), ...(isRenewed && { product }) },
  };
}

/** The order of an item, as a payment of its subscription. */
const orderOf = ({ order, subscription }: Item, facts: Facts = {}): Statement[] =>
  order === null || subscription === null ? [] : [{ id: order, parent: subscription, facts }];

function grantItem(body: unknown, at: number): Notice[] {
  const item = itemOf(body);
  if (!item) return [];
  const { identity, subscription, order, part } = item;
  const [addedAt, until] = [timeAt(body, 'added_at') ?? at, timeAt(body, 'expires_at')];
  const isPayment = subscription !== null && order !== null;
  const grant: Grant = {
    do: 'grant',
    ...identity,
    buyer: buyerOf(valueAt(body, 'customer')),
    quantity: 1,
    isTest: false,
    facts: {
      boughtAt: addedAt,
      ...(isPayment && { continued: until ?? addedAt }),
      ...(!isPayment && until !== null && { paidUntil: until }),
      ...part,
    },
    about: isPayment ? orderOf(item, { paid: { at: addedAt, until, amount: null } }) : [],
  };
  return [grant];
}

/** Facts about a purchase. */
function aboutItem(body: unknown, facts: Facts): Notice[] {
  const item = itemOf(body);
  if (!item) return [];
  return [{ do: 'report', about: orderOf(item), purchase: { ...item.identity, facts } }];
}

/** An item that is taken back: that of a subscription, with its order's period and the time that it was renewed to. */
function removeItem(body: unknown, at: number): Notice[] {
  const item = itemOf(body);
  if (!item) return [];
  const { id, order, subscription, part, identity } = item;
  if (subscription === null) return aboutItem(body, { removed: at });
  const parent = order ?? subscription;
  const about = [{ id, parent, facts: { removed: at, ...part } }, ...orderOf(item)];
  const removedUntil = timeAt(body, 'expires_at');
  const purchase = removedUntil !== null && { ...identity, facts: { removedUntil } };
  return [{ do: 'report', about, ...(purchase && { purchase }) }];
}

/** Facts about an order or a subscription. */
const aboutSubject = (id: string | null, facts: Facts): Notice[] =>
  id === null ? [] : [{ do: 'report', about: [{ id, facts }] }];

/** The amount paid for each delivery item of a line. PayNow writes cents. */
function priceOf(order: unknown, line: unknown, at: number): { price?: Price } {
  const currency = textAt(order, 'currency');
  // Nothing says how PayNow writes a currency without cents.
  if (currency === null || decimalsOf(currency.toUpperCase()) !== 2) return {};
  const isOnly = listAt(order, 'lines').length === 1;
  const amount =
    numberAt(line, 'total_amount') ?? (isOnly ? numberAt(order, 'total_amount') : null);
  const paths = { amount: 'amount', currency: 'currency' };
  return minorPrice({ amount, currency }, paths, at, quantityAt(line, 'quantity'));
}

/** An order with its lines, what each of them costs, and the e-mail of the buyer. */
function orderCompleted(body: unknown, at: number): Notice[] {
  const id = textAt(body, 'id');
  if (id === null) return [];
  const lines = listAt(body, 'lines');
  const subscription =
    textAt(body, 'subscription_id') ??
    lines.map((line) => textAt(line, 'subscription_id')).find((one) => one !== null) ??
    null;
  const [total, email] = [numberAt(body, 'total_amount'), emailAt(body, 'billing_email')];
  const order: Statement = {
    id,
    ...(subscription !== null && { parent: subscription }),
    facts: {
      ...(total !== null && { total }),
      ...(email !== null && { email }),
      ...(lines.length === 1 && priceOf(body, lines[0], at)),
      // A coupon can pay for an order.
      ...(subscription !== null && { paid: { at, until: null, amount: total || null } }),
    },
  };
  const parts = lines.flatMap((line): Statement[] => {
    const [lineId, cost] = [textAt(line, 'id'), numberAt(line, 'total_amount')];
    const product = subscription === null ? null : textAt(line, 'product_id');
    if (lineId === null || (lines.length === 1 && product === null)) return [];
    const { price } = priceOf(body, line, at);
    const facts: Facts = {
      line: lineId,
      ...(product !== null && { product }),
      ...(cost !== null && { total: cost }),
      ...(price && { price: { ...price, line: lineId } }),
    };
    return [{ id: lineId, parent: id, facts }];
  });
  return [{ do: 'report', about: [order, ...parts] }];
}

/** A refund, of an order or of one of its lines. */
function refunded(body: unknown, at: number): Notice[] | string {
  const status = textAt(body, 'status')?.toLowerCase() ?? 'completed';
  if (status !== 'completed') return 'The refund is not completed';
  const [order, line] = [textAt(body, 'order_id'), textAt(body, 'order_line_id')];
  const amount = numberAt(body, 'amount');
  const refunds = amount !== null && { refunds: { [textAt(body, 'id') ?? '']: amount } };
  if (line !== null && order !== null) {
    // PayNow refunds lines in full. The amount counts for the order as well: all of it may be paid back by now.
    const about = [
      { id: line, parent: order, facts: { line, refunded: at } },
      { id: order, facts: { ...refunds } },
    ];
    return [{ do: 'report', about }];
  }
  return refunds ? aboutSubject(order, refunds) : [];
}

/** A chargeback. One that closes as anything but lost takes nothing. */
function chargeback(type: string, body: unknown): Notice[] | string {
  const status = (textAt(body, 'chargeback_status') ?? textAt(body, 'status') ?? '').toLowerCase();
  const id = textAt(body, 'id') ?? '';
  const order = textAt(body, 'order_id');
  if (/lost/.test(status)) return aboutSubject(order, { disputes: { [id]: 'lost' } });
  const isClosed = type === 'ON_CHARGEBACK_CLOSED';
  if (isClosed && status === 'pending') return 'The chargeback is not decided';
  const isWon = isClosed || /^(none|won)$/.test(status);
  return aboutSubject(order, { disputes: { [id]: isWon ? 'won' : 'opened' } });
}

function noticesOf(type: string, body: unknown, at: number): readonly Notice[] | string {
  switch (type) {
    case 'ON_DELIVERY_ITEM_ADDED':
    case 'ON_DELIVERY_ITEM_ACTIVATED':
    case 'ON_DELIVERY_ITEM_USED':
      return grantItem(body, at);
    // Renewals and expiries have no time of their own. The end that they name says which is later, in any order of arrival.
    case 'ON_DELIVERY_ITEM_RENEWED': {
      const until = timeAt(body, 'expires_at');
      return aboutItem(body, {
        continued: until ?? at,
        ...(until !== null && { paidUntil: until }),
      });
    }
    case 'ON_DELIVERY_ITEM_EXPIRED':
      return aboutItem(body, { ended: timeAt(body, 'expires_at') ?? at });
    case 'ON_DELIVERY_ITEM_REVOKED':
      return removeItem(body, at);
    case 'ON_ORDER_COMPLETED':
      return orderCompleted(body, at);
    case 'ON_SUBSCRIPTION_CANCELED': {
      const cancels = timeAt(body, 'current_period_end') ?? at;
      return aboutSubject(textAt(body, 'id'), { cancels });
    }
    case 'ON_REFUND':
      return refunded(body, at);
    case 'ON_CHARGEBACK':
    case 'ON_CHARGEBACK_CLOSED':
      return chargeback(type, body);
    default:
      return 'This event changes no purchase';
  }
}

async function authenticate(
  { bytes, headers, now }: Incoming,
  { secrets }: MarketSettings,
): Promise<Rejection | undefined> {
  const timestamp = headers.get('PayNow-Timestamp')?.trim() ?? '';
  const signatures = (headers.get('PayNow-Signature') ?? '')
    .split(',')
    .flatMap((one) => one.trim() || []);
  if (signatures.length === 0)
    return { status: 401, why: 'The header PayNow-Signature is missing' };
  if (!(await isSigned(secrets, signatures, 'base64', [`${timestamp}.`, bytes]))) {
    return { status: 401, why: WRONG_SIGNATURE };
  }
  // In milliseconds.
  if (!isRecent(timestamp.slice(0, -3), now)) {
    return {
      status: 401,
      why: 'The time of the request is more than five minutes off',
      isFromMarket: true,
    };
  }
  return undefined;
}

async function read({ json: sent, now }: Incoming): Promise<Accepted | Rejection> {
  if (!sent) return { status: 400, why: 'The body is not JSON' };
  const type = textAt(sent, 'event_type');
  const accepted: Accepted = {
    eventId: textAt(sent, 'event_id'),
    type,
    notices: [],
  };
  const body = sent.body;
  const at =
    timeAt(body, 'revoked_at') ??
    timeAt(body, 'completed_at') ??
    timeAt(body, 'chargeback_at') ??
    now;
  const notices = noticesOf(type ?? '', body, at);
  if (typeof notices === 'string') return { ...accepted, ignored: notices };
  if (notices.length === 0) {
    return { ...accepted, ignored: UNNAMED, needsPerson: true };
  }
  return { ...accepted, notices };
}

export const paynow: Adapter = { names: ['paynow'], mailsKey: true, authenticate, read };
