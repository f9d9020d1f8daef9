import { only, type Sender, untilNotOvertaken } from '../../db/change.ts';
import type { ListedPurchase } from './list.ts';
import { load } from './load.ts';
import type { Binding, Choice, Entry, Notice, Result } from './notice.ts';
import { plan } from './plan.ts';
import type { MarketSource } from './source.ts';
import { store } from './store.ts';

/** Applies notices: reads what they are about, plans, and stores the plan (9). */

/**
 * Applies a notice of a market. A concurrent notice about the same purchase makes it begin again.
 *
 * @param newSender the sender, whose clock is read for each attempt
 * @throws DomainError if others change the purchase all the time: the market repeats the notice
 */
export async function applyNotice(
  newSender: () => Sender,
  source: MarketSource,
  notice: Notice,
): Promise<Result> {
  const { result, isPartial } = await untilNotOvertaken(async () => {
    const sender = newSender();
    const loaded = await load(sender.db, source, notice);
    const planned = plan(loaded.state, notice, loaded.mapping, sender.now);
    const { keys } = await store(sender, loaded, planned);
    const { result, isPartial } = planned;
    // A purchase that is revoked delivers no key.
    const made = result.state === 'GRANTED' ? keys : [];
    return { result: { ...result, keys: [...result.keys, ...made] }, isPartial };
  });
  if (!isPartial) return result;
  const next = await applyNotice(newSender, source, notice);
  return next.effect === 'CHANGED' ? { ...next, text: `${result.text}; ${next.text}` } : result;
}

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
  const loaded = await load(sender.db, source, notice);
  const planned = plan(loaded.state, notice, loaded.mapping, sender.now);
  const { chosen } = await store(sender, loaded, planned);
  return only(chosen ? [chosen] : []);
}
