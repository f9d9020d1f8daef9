import { DAY_MS } from '@licet/contract/durations';
import { type Bought, mergeFacts, type Standing, standingOf } from './facts.ts';
import { isSameJson } from './json.ts';
import type { Statement } from './notice.ts';
import { isPlaceholder } from './placeholders.ts';
import type { Context, SubjectAfter, SubjectRow } from './state.ts';

/** The subjects of a notice, those that it changes, and the standing of purchases before and after it (9). */

/** The facts about subjects without a purchase are kept for this time: Stripe reports all orders of an account. */
const KEPT_MS = 30 * DAY_MS;

/** The subjects with the facts of a notice. The larger id of two parents counts, so that the order of notices does not. */
export function withStatements(known: readonly SubjectRow[], about: readonly Statement[]) {
  const subjects = new Map(
    known.map(({ id, parent, facts }) => [id, { id, parent, facts }] as const),
  );
  for (const { id, parent, facts = {} } of about) {
    const before = subjects.get(id) ?? { id, parent: null, facts: {} };
    const isNewParent = parent !== undefined && parent !== id && parent > (before.parent ?? '');
    subjects.set(id, {
      id,
      parent: isNewParent ? parent : before.parent,
      facts: mergeFacts(before.facts, facts),
    });
  }
  return subjects.values();
}

/** The state of a purchase before the notice, under the settings of now. */
export const standingBefore = ({ before, mapping, now }: Context, bought: Bought): Standing =>
  standingOf(bought, before, mapping.source.market, now);

/** The state of a purchase that follows from all facts, with those of the notice. */
export const standingAfter = ({ after, mapping, now }: Context, bought: Bought): Standing =>
  standingOf(bought, after, mapping.source.market, now);

/** The subjects that a notice changes. Those of a purchase stay, others for 30 days. @param order of a new purchase */
export function changedSubjects(
  { state, after, now }: Context,
  order: string | null,
): SubjectAfter[] {
  const arrived = state.purchases.filter(({ purchase }) => !isPlaceholder(purchase));
  const orders = [order, ...arrived.map(({ purchase }) => purchase.orderId)];
  const bought = new Set(orders.flatMap((one) => (one === null ? [] : [...after.treeOf(one)])));
  const known = new Map(state.subjects.map((one) => [one.id, one]));
  return [...after.all()].flatMap(({ id, parent, facts }) => {
    const before = known.get(id);
    const isBought = bought.has(id);
    const isChanged = !before || before.parent !== parent || !isSameJson(before.facts, facts);
    const endsNoMore = isBought && before?.expiresAt != null;
    if (!isChanged && !endsNoMore) return [];
    return [{ id, parent, facts, expiresAt: isBought ? null : now + KEPT_MS }];
  });
}
