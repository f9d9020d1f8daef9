import { sha256Bytes } from '../../../lib/sha256.ts';
import type { Incoming } from '../incoming.ts';
import { listAt, quantityAt, textAt, timeAt } from '../json.ts';
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
import { isSigned } from '../signature.ts';

/**
 * Tebex: payments with their packages, refunds, disputes and subscriptions. A subscription has a reference, which stands
 * for the order of all its payments: a renewal grants nothing again.
 */

/** Shops set up tests with this method. */
const TEST_METHOD = 'Test Payments';

const orderOf = (payment: unknown): string | null =>
  textAt(payment, 'recurring_payment_reference') ?? textAt(payment, 'transaction_id');

function buyerOf(payment: unknown, product: unknown): Buyer {
  const username = ['id', 'username'].map(
    (name) => textAt(product, `username.${name}`) ?? textAt(payment, `customer.username.${name}`),
  );
  const [id = null, name = null] = username;
  const plain = textAt(product, 'username') ?? textAt(payment, 'customer.username');
  return { id, name: name ?? plain, email: textAt(payment, 'customer.email') };
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

/** Whether a payment has packages of a subscription beside others, which do not end with it. */
const isMixed = (payment: unknown): boolean => textAt(payment, 'payment_sequence') === 'mixed';

function grantsOf(payment: unknown): Grant[] {
  const order = orderOf(payment);
  const transaction = textAt(payment, 'transaction_id');
  if (order === null) return [];
  const seen = new Map<string, number>();
  return listAt(payment, 'products').map((product) => {
    const item = itemOf(product);
    const isOneOff = isMixed(payment) && timeAt(product, 'expires_at') === null;
    const own = isOneOff && transaction !== null ? transaction : order;
    // Not the place of the line: a renewal lists other lines.
    const before = seen.get(item) ?? 0;
    seen.set(item, before + 1);
    return grantOf(payment, product, own, `${own}:${item}${before === 0 ? '' : `:${before}`}`);
  });
}

function grantOf(payment: unknown, product: unknown, order: string, reference: string): Grant {
  return {
    do: 'grant',
    item: itemOf(product),
    reference,
    order,
    buyer: buyerOf(payment, product),
    quantity: quantityAt(product, 'quantity'),
    isTest: textAt(payment, 'payment_method.name') === TEST_METHOD,
    boughtAt: timeAt(payment, 'created_at'),
    paidUntil: timeAt(product, 'expires_at'),
  };
}

/** Facts about the payment, and about its subscription. */
function factsOf(payment: unknown, fact: (order: string) => Fact): Fact[] {
  const orders = [orderOf(payment), isMixed(payment) ? textAt(payment, 'transaction_id') : null];
  return orders.flatMap((order) => (order === null ? [] : [fact(order)]));
}

function noticesOf(type: string, subject: unknown, at: number): Notice[] | undefined {
  const dispute = { at, id: textAt(subject, 'transaction_id') ?? '' };
  switch (type) {
    case 'payment.completed':
      return grantsOf(subject);
    case 'payment.refunded':
      return factsOf(subject, (order) => ({
        do: 'revoke',
        target: { order },
        at,
        reason: 'refunded',
      }));
    case 'payment.dispute.opened':
      return factsOf(subject, (order) => ({
        ...dispute,
        do: 'revoke',
        target: { order },
        reason: 'disputed',
      }));
    case 'payment.dispute.lost':
      return factsOf(subject, (order) => ({
        ...dispute,
        do: 'revoke',
        target: { order },
        reason: 'dispute lost',
      }));
    case 'payment.dispute.won':
      return factsOf(subject, (order) => ({ ...dispute, do: 'restore', target: { order } }));
    default:
      break;
  }
  const order = textAt(subject, 'reference');
  if (order === null) return undefined;
  const until = timeAt(subject, 'next_payment_at');
  switch (type) {
    case 'recurring-payment.started':
    case 'recurring-payment.renewed':
      return [{ do: 'extend', target: { order }, at, until }];
    case 'recurring-payment.ended':
      return [{ do: 'revoke', target: { order }, at, reason: 'ended' }];
    default:
      return undefined;
  }
}

async function authenticate(
  { bytes, headers }: Incoming,
  { secrets }: MarketSettings,
): Promise<Rejection | undefined> {
  const signature = headers.get('X-Signature')?.trim() ?? '';
  if (signature === '') return { status: 401, why: 'The header X-Signature is missing' };
  const digest = (await sha256Bytes(bytes)).toHex();
  if (!(await isSigned(secrets, [signature], 'hex', [digest]))) {
    return { status: 401, why: 'The signature is wrong' };
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
  if (notices.length === 0) return { ...accepted, ignored: 'It has no transaction or no package' };
  return { ...accepted, notices };
}

export const tebex: Adapter = { authenticate, read };
