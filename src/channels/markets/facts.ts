import type { DisputeAction, RefundAction } from '@licet/contract/enums';
import type { Fact, RevokeReason } from './notice.ts';
import type { Facts } from './schema.ts';

/** The facts about a purchase or an order, merged, and the state that follows from them (9). */

const latest = (known: number | undefined, at: number): number => Math.max(known ?? 0, at);

const STEPS = { opened: 0, won: 1, lost: 2 } as const;

function withDispute(facts: Facts, id: string, step: keyof typeof STEPS): Facts {
  const known = facts.disputes?.[id];
  // The end of a dispute counts also if its begin arrives later.
  if (known && STEPS[known] >= STEPS[step]) return facts;
  return { ...facts, disputes: { ...facts.disputes, [id]: step } };
}

/** Adds a fact. */
export function addFact(facts: Facts, fact: Fact): Facts {
  switch (fact.do) {
    case 'restore':
      return withDispute(facts, fact.id, 'won');
    case 'extend':
      return {
        ...facts,
        continued: latest(facts.continued, fact.at),
        ...(fact.until !== null && { paidUntil: latest(facts.paidUntil, fact.until) }),
      };
    case 'revoke':
      if (fact.reason === 'disputed') return withDispute(facts, fact.id, 'opened');
      if (fact.reason === 'dispute lost') return withDispute(facts, fact.id, 'lost');
      return { ...facts, [fact.reason]: latest(facts[fact.reason], fact.at) };
  }
}

/** Adds a purchase. */
export function addPurchase(
  facts: Facts,
  { boughtAt, paidUntil }: { boughtAt: number | null; paidUntil: number | null },
): Facts {
  return {
    ...facts,
    ...(boughtAt !== null && { boughtAt: latest(facts.boughtAt, boughtAt) }),
    ...(paidUntil !== null && { paidUntil: latest(facts.paidUntil, paidUntil) }),
  };
}

/** The effects that a market was told to have (9). */
export interface Policy {
  onRefund: RefundAction;
  onDispute: DisputeAction;
}

/** The reasons for which the license is not to be active; none if it is. */
export function reasonsToRevoke(
  own: Facts,
  ofOrder: Facts,
  { onRefund, onDispute }: Policy,
): RevokeReason[] {
  const boughtAt = own.boughtAt ?? 0;
  const reasons: RevokeReason[] = [];
  const holds = (name: 'refunded' | 'removed' | 'missing'): boolean =>
    [own[name], ofOrder[name]].some((at) => at !== undefined && at >= boughtAt);
  if (onRefund === 'deactivate') {
    if (holds('refunded')) reasons.push('refunded');
    if (holds('removed')) reasons.push('removed');
    if (holds('missing')) reasons.push('missing');
  }
  const steps = [...Object.values(own.disputes ?? {}), ...Object.values(ofOrder.disputes ?? {})];
  if (onDispute !== 'keep' && steps.includes('lost')) reasons.push('dispute lost');
  if (onDispute === 'deactivate' && steps.includes('opened')) reasons.push('disputed');
  const ended = Math.max(own.ended ?? 0, ofOrder.ended ?? 0);
  const continued = Math.max(own.continued ?? 0, ofOrder.continued ?? 0, boughtAt);
  if (ended > 0 && ended >= continued) reasons.push('ended');
  return reasons;
}

/** Until when a purchase is paid; null without a subscription. */
export const paidUntil = (own: Facts, ofOrder: Facts): number | null =>
  Math.max(own.paidUntil ?? 0, ofOrder.paidUntil ?? 0) || null;
