import { BoundedMap } from '../lib/bounded-map.ts';

const MAX_KNOWN = 10_000;

/** The totals of licenses as an isolate knows them (1.1): it counts the requests that it sees itself. */
export class KnownTotals {
  /** By the id of the license. */
  readonly #totals = new BoundedMap<number, number>(MAX_KNOWN);

  /**
   * Counts a request. `totalRequests` is a lower bound.
   *
   * @returns the total with this request
   */
  count({ id, totalRequests }: { id: number; totalRequests: number }): number {
    const total = Math.max(this.#totals.get(id) ?? 0, totalRequests) + 1;
    this.#totals.set(id, total);
    return total;
  }
}
