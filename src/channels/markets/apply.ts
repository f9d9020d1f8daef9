import { only, type Sender, untilNotOvertaken } from '../../db/change.ts';
import type { ListedPurchase } from './list.ts';
import { load, namesOfAll } from './load.ts';
import type { Binding, Choice, Entry, Notice, Result } from './notice.ts';
import { plan } from './plan.ts';
import type { MarketSource } from './source.ts';
import type { Mapping, Plan, State } from './state.ts';
import { statesOf } from './states.ts';
import { isEmpty, type Stored, store } from './store.ts';

/** Applies notices: reads what they are about, plans, and stores the plans (9). */

export interface Applied {
  result: Result;
  /** Whether the same notice goes on with another purchase. */
  isPartial: boolean;
}

/** The notices of a request that are left. */
export interface Left {
  newSender: () => Sender;
  source: MarketSource;
  notices: readonly Notice[];
}

/**
 * Applies the notices of a request, in their order. A concurrent notice about the same purchase makes them go on from new
 * rows.
 *
 * @param newSender the sender, whose clock is read for each attempt
 * @param apply applies some of them, perhaps beside those of other requests
 * @returns the result of each
 * @throws DomainError if others change the purchases all the time: the market repeats the request
 */
export async function applyNotices(
  newSender: () => Sender,
  source: MarketSource,
  notices: readonly Notice[],
  apply: (left: Left) => Promise<readonly Applied[]> = applyAlone,
): Promise<Result[]> {
  const results: Result[] = [];
  let begun: Result | undefined;
  while (results.length < notices.length) {
    const left = { newSender, source, notices: notices.slice(results.length) };
    const applied = await untilNotOvertaken(() => apply(left));
    for (const { result, isPartial } of applied) {
      const whole: Result = begun ? joined(begun, result) : result;
      begun = isPartial ? whole : undefined;
      if (!isPartial) results.push(whole);
    }
  }
  return results;
}

const applyAlone = async (left: Left): Promise<readonly Applied[]> =>
  (await applyTogether([left])).get(left) ?? [];

/**
 * Applies the notices of each request up to the first that changes something, in one transaction. Those before it cost no
 * query of their own: a repeated request must get further than the one before, although each may make few queries.
 *
 * @param all requests of the same market, as it was read once
 * @returns what was applied of each: nothing where another one is about the same purchase, and comes first
 */
export async function applyTogether(
  all: readonly Left[],
): Promise<ReadonlyMap<Left, readonly Applied[]>> {
  const [first] = all;
  if (!first) return new Map();
  const sender = first.newSender();
  const notices = all.flatMap((one) => one.notices);
  const loaded = await load(sender.db, first.source, notices);
  const states = statesOf(
    loaded.state,
    all.map((one) => namesOfAll(one.notices)),
  );
  const planned = all.map((left, index) => {
    const state = states[index];
    return { left, plans: state ? plansOf(left, state, loaded.mapping.products, sender.now) : [] };
  });
  const changes = planned.flatMap(({ plans }) => plans.filter((plan) => !isEmpty(plan)));
  const { keys } = changes.length === 0 ? NOTHING : await store(sender, loaded, changes);
  return new Map(
    planned.map(({ left, plans }) => [left, plans.map((plan) => appliedOf(plan, keys.get(plan)))]),
  );
}

const NOTHING: Pick<Stored, 'keys'> = { keys: new Map() };

/** The plans of notices up to the first that changes something. */
function plansOf(
  { source, notices }: Left,
  state: State,
  products: Mapping['products'],
  now: number,
): Plan[] {
  const plans: Plan[] = [];
  for (const notice of notices) {
    const planned = plan(state, notice, { source, products }, now);
    plans.push(planned);
    if (!isEmpty(planned)) break;
  }
  return plans;
}

/** A purchase that is revoked delivers no key. */
const appliedOf = ({ result, isPartial }: Plan, made: readonly string[] = []): Applied => ({
  result: { ...result, keys: [...result.keys, ...(result.state === 'GRANTED' ? made : [])] },
  isPartial,
});

const joined = (one: Result, next: Result): Result =>
  next.effect === 'CHANGED' ? { ...next, text: `${one.text}; ${next.text}` } : one;

/**
 * Applies what a person has chosen.
 *
 * @throws DomainError if it cannot be, or if the purchase has changed since it was read
 */
export async function applyChoice(
  sender: Sender,
  source: MarketSource,
  notice: Choice | Binding | Entry,
): Promise<ListedPurchase> {
  const loaded = await load(sender.db, source, [notice]);
  const planned = plan(loaded.state, notice, loaded.mapping, sender.now);
  const { chosen } = await store(sender, loaded, [planned]);
  return only(chosen ? [chosen] : []);
}
