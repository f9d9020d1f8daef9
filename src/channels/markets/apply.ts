import { only, type Sender, untilNotOvertaken } from '../../db/change.ts';
import type { ListedPurchase } from './list.ts';
import { load } from './load.ts';
import type { Binding, Choice, Entry, Notice, Result } from './notice.ts';
import { plan } from './plan.ts';
import type { MarketSource } from './source.ts';
import { isEmpty, store } from './store.ts';

/** Applies notices: reads what they are about, plans, and stores the plans (9). */

interface Applied {
  result: Result;
  /** Whether the same notice goes on with another purchase. */
  isPartial: boolean;
}

/**
 * Applies the notices of a request, in their order. A concurrent notice about the same purchase makes them go on from new
 * rows.
 *
 * @param newSender the sender, whose clock is read for each attempt
 * @returns the result of each
 * @throws DomainError if others change the purchases all the time: the market repeats the request
 */
export async function applyNotices(
  newSender: () => Sender,
  source: MarketSource,
  notices: readonly Notice[],
): Promise<Result[]> {
  const results: Result[] = [];
  let begun: Result | undefined;
  while (results.length < notices.length) {
    const left = notices.slice(results.length);
    const applied = await untilNotOvertaken(() => applyToFirstChange(newSender(), source, left));
    for (const { result, isPartial } of applied) {
      const whole: Result = begun ? joined(begun, result) : result;
      begun = isPartial ? whole : undefined;
      if (!isPartial) results.push(whole);
    }
  }
  return results;
}

/**
 * Applies notices up to the first that changes something. Those before it cost no query of their own: a repeated request
 * must get further than the one before, although each may make few queries.
 */
async function applyToFirstChange(
  sender: Sender,
  source: MarketSource,
  notices: readonly Notice[],
): Promise<Applied[]> {
  const loaded = await load(sender.db, source, notices);
  const applied: Applied[] = [];
  for (const notice of notices) {
    const planned = plan(loaded.state, notice, loaded.mapping, sender.now);
    const { result, isPartial } = planned;
    if (isEmpty(planned)) {
      applied.push({ result, isPartial });
      continue;
    }
    const { keys } = await store(sender, loaded, planned);
    // A purchase that is revoked delivers no key.
    const made = result.state === 'GRANTED' ? keys : [];
    return [...applied, { result: { ...result, keys: [...result.keys, ...made] }, isPartial }];
  }
  return applied;
}

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
  const { chosen } = await store(sender, loaded, planned);
  return only(chosen ? [chosen] : []);
}
