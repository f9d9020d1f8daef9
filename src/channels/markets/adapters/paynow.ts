import type { Incoming } from '../incoming.ts';
import { listAt, textAt, timeAt } from '../json.ts';
import type {
  Accepted,
  Adapter,
  Buyer,
  Fact,
  Grant,
  MarketSettings,
  Notice,
  Rejection,
} from '../notice.ts';
import { isRecent, isSigned } from '../signature.ts';

/**
 * PayNow. The delivery items of an order cover its life: each has one license, from its purchase to its end. Refunds
 * and chargebacks name the order.
 */

function buyerOf(customer: unknown): Buyer {
  const name =
    textAt(customer, 'name') ??
    textAt(customer, 'profile.name') ??
    textAt(customer, 'minecraft.name') ??
    textAt(customer, 'steam.name');
  return { id: textAt(customer, 'id'), name, email: null };
}

/** The product: by the seller's own data, else its id. */
const itemOf = (line: unknown): string | null =>
  textAt(line, 'product.metadata.licet_product') ?? textAt(line, 'product_id');

function itemGrant(item: unknown, at: number): Grant[] {
  const [id, product] = [textAt(item, 'id'), itemOf(item)];
  if (id === null || product === null) return [];
  return [
    {
      do: 'grant',
      item: product,
      reference: id,
      order: textAt(item, 'order_id'),
      buyer: buyerOf(Object(item).customer),
      quantity: 1,
      isTest: false,
      boughtAt: timeAt(item, 'added_at') ?? at,
      paidUntil: timeAt(item, 'expires_at'),
    },
  ];
}

/** Facts about a delivery item. */
function aboutItem(item: unknown, fact: (target: Fact['target']) => Fact): Fact[] {
  const [id, product] = [textAt(item, 'id'), itemOf(item)];
  return id === null || product === null ? [] : [fact({ item: product, reference: id })];
}

function aboutOrder(body: unknown, fact: (target: Fact['target']) => Fact): Fact[] {
  const order = textAt(body, 'order_id');
  return order === null ? [] : [fact({ order })];
}

function chargebackOf(body: unknown, at: number): Notice[] | string {
  const status = (textAt(body, 'chargeback_status') ?? textAt(body, 'status') ?? '').toLowerCase();
  const id = textAt(body, 'id') ?? '';
  if (/won|reversed/.test(status)) {
    return aboutOrder(body, (target) => ({ do: 'restore', target, at, id }));
  }
  if (/lost/.test(status)) {
    return aboutOrder(body, (target) => ({ do: 'revoke', target, at, id, reason: 'dispute lost' }));
  }
  return 'The chargeback is not decided';
}

function noticesOf(type: string, body: unknown, at: number): readonly Notice[] | string {
  switch (type) {
    case 'ON_DELIVERY_ITEM_ADDED':
    case 'ON_DELIVERY_ITEM_ACTIVATED':
    case 'ON_DELIVERY_ITEM_USED':
      return itemGrant(body, at);
    // Neither has a time of its own: the end that they name says which is later, in any order of arrival.
    case 'ON_DELIVERY_ITEM_RENEWED': {
      const until = timeAt(body, 'expires_at');
      return aboutItem(body, (target) => ({ do: 'extend', target, at: until ?? at, until }));
    }
    case 'ON_DELIVERY_ITEM_EXPIRED': {
      const end = timeAt(body, 'expires_at') ?? at;
      return aboutItem(body, (target) => ({ do: 'revoke', target, at: end, reason: 'ended' }));
    }
    case 'ON_DELIVERY_ITEM_REVOKED':
      return aboutItem(body, (target) => ({ do: 'revoke', target, at, reason: 'removed' }));
    case 'ON_REFUND':
      // It names what was paid back, and not what was paid.
      return 'The delivery items that it revokes come on their own';
    case 'ON_CHARGEBACK': {
      const id = textAt(body, 'id') ?? '';
      return aboutOrder(body, (target) => ({ do: 'revoke', target, at, id, reason: 'disputed' }));
    }
    case 'ON_CHARGEBACK_CLOSED':
      return chargebackOf(body, at);
    case 'ON_ORDER_COMPLETED':
      return `Its ${listAt(body, 'lines').length} lines come as delivery items`;
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
    return { status: 401, why: 'The signature is wrong' };
  }
  // In milliseconds.
  if (!isRecent(timestamp.slice(0, -3), now)) {
    return { status: 401, why: 'The time of the request is more than five minutes off' };
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
  if (notices.length === 0) return { ...accepted, ignored: 'It names no item or no order' };
  return { ...accepted, notices };
}

export const paynow: Adapter = { authenticate, read };
