import { type Converged, converge, type Stated } from './converge.ts';
import type { Sold } from './sell.ts';
import type { Context, KnownPurchase, Plan } from './state.ts';

/** Composes plans of changes of known purchases, and of new licenses (9). */

/** Known purchases, brought to the state that follows. @param stated the part of the notice about each of them */
export function convergeAll(
  context: Context,
  known: readonly KnownPurchase[],
  stated: (one: KnownPurchase) => Partial<Stated>,
) {
  const changes = known.map((one) =>
    converge(context, one, { facts: one.purchase.facts, ...stated(one) }),
  );
  const some = <Value>(pick: (one: Converged) => Value | null): Value[] =>
    changes.flatMap((one) => pick(one) ?? []);
  return {
    purchases: some((one) => one.purchase),
    licenses: some((one) => one.license),
    completions: some((one) => one.completion),
    events: some((one) => one.event),
    texts: [...new Set(some((one) => one.text))],
    needsPerson: changes.some((one) => one.needsPerson),
  };
}

export type ConvergedAll = ReturnType<typeof convergeAll>;

/** A plan of changes of known purchases, and perhaps of new licenses. @param others beside these */
export function planOf(
  changes: ConvergedAll,
  sold: Sold | undefined,
  { purchases = [], events = [], ...others }: Pick<Plan, 'subjects' | 'result'> & Partial<Plan>,
): Plan {
  const { make = null, event } = sold ?? {};
  // New licenses write the row of their purchase.
  const kept = changes.purchases.filter(({ before }) => before.id !== make?.known?.id);
  return {
    newPurchases: [],
    licenses: changes.licenses,
    completions: changes.completions,
    make,
    isPartial: false,
    ...others,
    purchases: [...kept, ...purchases],
    events: [...(event ? [event] : []), ...changes.events, ...events],
  };
}
