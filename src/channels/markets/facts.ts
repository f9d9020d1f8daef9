import type { DisputeAction, RefundAction } from '@licet/contract/enums';
import type { RevokeReason } from './notice.ts';
import type { Facts, PaidPeriod, PaymentTimes, Price } from './schema.ts';

/** The facts about a purchase and its subjects, merged, and the state that follows from them (9). */

/** Facts of which the largest value is kept: times, amounts and marks. */
const LARGEST = [
  'boughtAt',
  'refunded',
  'removed',
  'removedUntil',
  'missing',
  'ended',
  'continued',
  'paidUntil',
  'paused',
  'unpaid',
  'active',
  'cancels',
  'total',
  'quantity',
  'unclear',
  'counted',
  'stated',
  'entered',
] as const satisfies readonly (keyof Facts)[];
const TEXTS = ['line', 'product', 'email'] as const satisfies readonly (keyof Facts)[];
const STEPS = { opened: 0, won: 1, lost: 2 } as const;

/** Orders two payments by their time; the rest makes the order the same for all. */
function isLater(one: PaidPeriod, other: PaidPeriod): boolean {
  if (one.at !== other.at) return one.at > other.at;
  if (one.until !== other.until) return (one.until ?? 0) > (other.until ?? 0);
  return (one.amount ?? -1) > (other.amount ?? -1);
}

function mergeAmounts(known: Record<string, number>, added: Record<string, number>) {
  const merged = { ...known };
  for (const [id, amount] of Object.entries(added)) {
    merged[id] = Math.max(merged[id] ?? amount, amount);
  }
  return merged;
}

/** The last step of each dispute: its end counts also if its begin arrives later. */
function mergeDisputes(
  known: NonNullable<Facts['disputes']>,
  added: NonNullable<Facts['disputes']>,
) {
  const merged = { ...known };
  for (const [id, step] of Object.entries(added)) {
    const before = merged[id];
    if (before === undefined || STEPS[step] > STEPS[before]) merged[id] = step;
  }
  return merged;
}

const larger = (one: number | null, other: number | null): number | null =>
  one === null || other === null ? (one ?? other) : Math.max(one, other);

/** A payment with all that was said of it: an order and its items each say a part. */
const mergePaid = (one: PaidPeriod, other: PaidPeriod): PaidPeriod => ({
  at: Math.max(one.at, other.at),
  until: larger(one.until, other.until),
  amount: larger(one.amount, other.amount),
});

/** The price of the first payment; the rest makes the choice the same for any order. */
function firstPrice(one: Price, other: Price): Price {
  if (one.at !== other.at) return one.at < other.at ? one : other;
  return JSON.stringify(one) < JSON.stringify(other) ? one : other;
}

/**
 * The amount paid for a purchase, by its facts and those of its subjects.
 *
 * @param own the facts of the purchase itself: if they name its line, the price of no other line is among the facts
 */
export function paidFor(
  { price }: Facts,
  own: Facts,
): Record<'amount' | 'currency', string | null> {
  const isOwn = price && (price.line === undefined || own.line !== undefined);
  return isOwn
    ? { amount: price.amount, currency: price.currency }
    : { amount: null, currency: null };
}

/** Payments that a purchase lists. */
const MAX_PAYMENTS = 50;

/** The payments of a purchase. An earlier version kept the time of the last one only. */
export const paymentsOf = ({ payments, boughtAt = 0 }: Facts): PaymentTimes =>
  payments ?? { times: [], since: boughtAt };

function mergePayments(known: PaymentTimes, added: PaymentTimes): PaymentTimes {
  const before = Math.max(known.since, added.since);
  const all = [...new Set([...known.times, ...added.times])]
    .filter((time) => time > before)
    .sort((one, other) => other - one);
  return { times: all.slice(0, MAX_PAYMENTS), since: all[MAX_PAYMENTS] ?? before };
}

/** The longer one of two lists of ids; the rest makes the choice the same for any order. */
function longer(one: readonly string[], other: readonly string[]): readonly string[] {
  if (one.length !== other.length) return one.length > other.length ? one : other;
  return JSON.stringify(one) > JSON.stringify(other) ? one : other;
}

/** Merges facts. Neither order nor repetition counts. */
export function mergeFacts(known: Facts, added: Facts): Facts {
  const merged: Facts = { ...known };
  for (const name of LARGEST) {
    const value = added[name];
    if (value !== undefined) merged[name] = Math.max(merged[name] ?? value, value);
  }
  for (const name of TEXTS) {
    const text = added[name];
    if (text !== undefined && text > (merged[name] ?? '')) merged[name] = text;
  }
  if (added.disputes) merged.disputes = mergeDisputes(known.disputes ?? {}, added.disputes);
  if (added.payments) merged.payments = mergePayments(paymentsOf(known), added.payments);
  if (added.items) merged.items = longer(known.items ?? [], added.items);
  if (added.refunds) merged.refunds = mergeAmounts(known.refunds ?? {}, added.refunds);
  if (added.price) merged.price = known.price ? firstPrice(known.price, added.price) : added.price;
  if (added.paid) merged.paid = known.paid ? mergePaid(known.paid, added.paid) : added.paid;
  return merged;
}

/** The order in which reasons are shown. */
const REASONS: readonly RevokeReason[] = [
  'refunded',
  'removed',
  'missing',
  'dispute lost',
  'disputed',
  'ended',
  'paused',
  'unpaid',
];

/** The effects of refunds and disputes that the seller has chosen for a market (9). */
export interface Policy {
  onRefund: RefundAction;
  onDispute: DisputeAction;
}

/** A subject of a market, with what is known about it. */
export interface Subject {
  id: string;
  parent: string | null;
  facts: Facts;
}

/** A purchase whose state is sought. */
export interface Bought {
  orderId: string | null;
  facts: Facts;
  /** Whether its license ends by itself. */
  isTemporary?: boolean;
}

/** The state of a purchase. */
export interface Standing {
  /** The reasons for which the license is not to be active; none if it is. */
  reasons: readonly RevokeReason[];
  /** The time until which it is paid, or was before all of it was taken back; null without a subscription. */
  paidUntil: number | null;
  /** The ends of all periods that the market has named, also if they are taken back. */
  ends: readonly number[];
  /** Its own facts with those of its subjects. */
  facts: Facts;
}

/** The subjects of a market as a forest. A market may send links that form a circle. */
export class Forest {
  readonly #byId: ReadonlyMap<string, Subject>;
  readonly #children = new Map<string, Subject[]>();

  constructor(subjects: Iterable<Subject>) {
    this.#byId = new Map([...subjects].map((one) => [one.id, one]));
    for (const one of this.#byId.values()) {
      if (one.parent === null) continue;
      this.#children.set(one.parent, [...(this.#children.get(one.parent) ?? []), one]);
    }
  }

  all(): Iterable<Subject> {
    return this.#byId.values();
  }

  get(id: string): Subject | undefined {
    return this.#byId.get(id);
  }

  childrenOf(id: string): readonly Subject[] {
    return this.#children.get(id) ?? [];
  }

  /** The subjects above one, the nearest first. */
  above(id: string): Subject[] {
    const found = new Set<Subject>();
    for (let parent = this.get(id)?.parent; parent; parent = this.get(parent)?.parent) {
      const subject = this.get(parent);
      if (!subject || found.has(subject)) break;
      found.add(subject);
    }
    return [...found];
  }

  /** Whether a subject belongs to another one. */
  isWithin(id: string, top: string): boolean {
    const ids = [id, ...this.above(id).map((one) => one.id)];
    return ids.some((one) => this.get(one)?.parent === top);
  }

  /** The facts of a subject and of all below it. */
  within(top: Subject, isPart: (facts: Facts) => boolean): Facts {
    const found = new Set([top]);
    for (const one of found) {
      for (const child of this.childrenOf(one.id)) if (isPart(child.facts)) found.add(child);
    }
    return [...found].map(({ facts }) => facts).reduce(mergeFacts);
  }

  /** The ids in the tree of a subject, with its own. */
  treeOf(id: string): Set<string> {
    const top = this.above(id).at(-1);
    const found = new Set([top?.parent ?? top?.id ?? this.get(id)?.parent ?? id, id]);
    for (const one of found) for (const child of this.childrenOf(one)) found.add(child.id);
    return found;
  }
}

const isPaidBack = ({ total = 0, refunds = {} }: Facts): boolean =>
  total > 0 && Object.values(refunds).reduce((sum, amount) => sum + amount, 0) >= total;

/** The reasons for which a payment, or what it bought, is taken back. @param since the last purchase */
function takenBack(facts: Facts, { onRefund, onDispute }: Policy, since: number): RevokeReason[] {
  const reasons: RevokeReason[] = [];
  const holds = (at: number | undefined): boolean => at !== undefined && at >= since;
  if (onRefund === 'deactivate') {
    if (holds(facts.refunded) || isPaidBack(facts)) reasons.push('refunded');
    if (holds(facts.removed)) reasons.push('removed');
    if (holds(facts.missing)) reasons.push('missing');
  }
  const steps = Object.values(facts.disputes ?? {});
  if (onDispute !== 'keep' && steps.includes('lost')) reasons.push('dispute lost');
  if (onDispute === 'deactivate' && steps.includes('opened')) reasons.push('disputed');
  return reasons;
}

/**
 * The reasons for which a subscription is not paid. Only its market can say that one that has ended goes on: a late payment
 * of an old invoice brings no more than its period.
 *
 * @param hasPeriod whether a paid period covers today, and the license ends with it
 */
function stopped(facts: Facts, hasPeriod: boolean): RevokeReason[] {
  const { ended = 0, paused = 0, unpaid = 0, continued = 0, boughtAt = 0, active = 0 } = facts;
  const isPaidLate = hasPeriod && active > ended;
  if (ended > 0 && ended >= continued && !isPaidLate) return ['ended'];
  const runs = Math.max(continued, boughtAt, active);
  if (paused > 0 && paused >= runs) return ['paused'];
  return unpaid > 0 && unpaid >= runs ? ['unpaid'] : [];
}

/** A payment of a subscription; one without a period has not been reported yet. */
interface Payment {
  paid: PaidPeriod | undefined;
  reasons: readonly RevokeReason[];
}

const timeOf = ({ paid }: Payment): number => paid?.at ?? Number.POSITIVE_INFINITY;
const isFree = ({ paid }: Payment): boolean => paid?.amount !== null && (paid?.amount ?? 1) <= 0;

/** The latest payment with an amount, else the latest of all. */
function lastOf(payments: readonly Payment[]): Payment | undefined {
  const paying = payments.filter((one) => !isFree(one));
  return (paying.length > 0 ? paying : payments).reduce<Payment | undefined>((last, one) => {
    if (last?.paid && one.paid) return isLater(one.paid, last.paid) ? one : last;
    return last && timeOf(last) >= timeOf(one) ? last : one;
  }, undefined);
}

const isKept = ({ reasons }: Payment): boolean => reasons.length === 0;

/**
 * The time until which the remaining payments pay; null if none does.
 *
 * @param removedUntil the end that a removed item had
 */
function paidUntilOf(
  { paid, paidUntil = 0 }: Facts,
  payments: readonly Payment[],
  removedUntil = 0,
): number | null {
  const named = lastOf(payments.filter((one) => isKept(one) && one.paid?.until))?.paid?.until ?? 0;
  // A time without a payment belongs to the last payment without a period. One kept payment of several is enough.
  const unnamed = payments.filter(({ paid }) => !paid?.until);
  const last = lastOf(unnamed);
  const isOpen = !last || unnamed.some((one) => isKept(one) && timeOf(one) === timeOf(last));
  // A payment that was taken back may have named it, too.
  const isNamed = payments.some((one) => !isKept(one) && one.paid?.until === paidUntil);
  const own = isOpen && !isNamed && paidUntil > removedUntil ? paidUntil : 0;
  return Math.max(own, named, paid?.until ?? 0) || null;
}

/** The facts that a purchase depends on. */
interface Surroundings {
  /** Those of the purchase and of its order or subscription. */
  whole: Facts;
  /** Those of each subject above. */
  above: readonly Facts[];
  /** Those of each payment below, with all that belongs to it. Payments of other lines and products are left out. */
  parts: readonly Facts[];
}

function surroundingsOf({ orderId, facts: own }: Bought, subjects: Forest): Surroundings {
  if (orderId === null) return { whole: own, above: [], parts: [] };
  const subject = subjects.get(orderId);
  const whole = subject ? mergeFacts(own, subject.facts) : own;
  const isPart = ({ line, product }: Facts): boolean =>
    line === undefined ||
    whole.line === undefined ||
    line === whole.line ||
    (product !== undefined && product === whole.product);
  return {
    whole,
    above: subjects.above(orderId).map(({ facts }) => facts),
    parts: subjects
      .childrenOf(orderId)
      .filter(({ facts }) => isPart(facts))
      .map((child) => subjects.within(child, isPart)),
  };
}

/**
 * The state of a purchase: a function of its facts, those of the subjects on its tree, the policy and the time. A refund
 * takes back what its payment bought: all, or the period of a subscription.
 */
export function standingOf(
  bought: Bought,
  subjects: Forest,
  policy: Policy,
  now: number,
): Standing {
  const { whole, above, parts } = surroundingsOf(bought, subjects);
  const payments = parts.map((facts) => ({
    paid: facts.paid,
    reasons: takenBack(facts, policy, 0),
  }));
  const { boughtAt = 0, paidUntil = Number.POSITIVE_INFINITY } = whole;
  const removedUntil = policy.onRefund === 'deactivate' ? whole.removedUntil : undefined;
  const left = paidUntilOf(whole, payments, removedUntil);
  const isPaid = left !== null && left > now;
  // An invoice that was not reported as paid proves nothing.
  const last = lastOf(payments.filter((one) => isKept(one) && one.paid));
  const later = payments.filter((one) => !last || timeOf(one) > timeOf(last));
  const reasons = new Set([
    ...[whole, ...above].flatMap((facts) => takenBack(facts, policy, boughtAt)),
    ...(isPaid ? [] : later.flatMap((one) => one.reasons)),
    ...(!isPaid && (removedUntil ?? 0) >= paidUntil ? (['removed'] as const) : []),
    ...stopped(whole, bought.isTemporary === true && isPaid),
  ]);
  return {
    reasons: REASONS.filter((reason) => reasons.has(reason)),
    // A won dispute gives all of it back.
    paidUntil:
      left ??
      paidUntilOf(
        whole,
        payments.map(({ paid }) => ({ paid, reasons: [] })),
      ),
    ends: [whole, ...parts]
      .flatMap(({ paid, paidUntil }) => [paid?.until, paidUntil])
      .filter((end) => end != null),
    facts: [...above, ...parts].reduce(mergeFacts, whole),
  };
}
