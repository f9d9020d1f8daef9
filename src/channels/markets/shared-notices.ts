import { BatchLoader } from '../../cache/batch-loader.ts';
import type { WaitUntil } from '../../lib/async.ts';
import { type Applied, applyTogether, type Left } from './apply.ts';
import type { SellingMarket } from './source.ts';

/** Requests in one transaction. A longer one would keep validations waiting on one machine. */
const MAX_REQUESTS = 48;

type Group = BatchLoader<readonly Applied[], Left>;

/**
 * The notices of several requests in one transaction. A market sends many at once; those that arrive at the same moment are
 * read, planned and stored together. If the transaction fails, each runs again on its own, and the others succeed.
 */
export class SharedNotices {
  /** By the markets as they were read: a change of one begins another group. */
  readonly #groups = new WeakMap<SellingMarket, Group>();

  /**
   * Applies the notices of a request like {@link applyTogether}. A transaction that takes seconds may run again: the
   * notices then find what it has stored.
   *
   * @param waitUntil keeps the transaction alive if the request that began it is cancelled
   */
  async apply(left: Left, waitUntil: WaitUntil): Promise<readonly Applied[]> {
    const { market } = left.source;
    const group: Group = this.#groups.get(market) ?? new BatchLoader(applyTogether, MAX_REQUESTS);
    this.#groups.set(market, group);
    return (await group.load(left, waitUntil)) ?? [];
  }
}
