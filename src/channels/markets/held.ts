import type { Database } from '../../db/client.ts';
import { DATABASE_TIMEOUT_MS, withTimeout } from '../../lib/async.ts';
import { findSellingMarkets, type SellingMarket } from './source.ts';

/** A change of a market is known everywhere after this time. */
const HELD_MS = 10_000;
/** Requests that no known market accepts, and those after a failure, read the markets at most this often. */
const MIN_READ_MS = 1_000;

/** The markets that an isolate holds. There are few, and a burst of notices must not read them again and again. */
export class HeldMarkets {
  readonly #db: Database;
  #rows: readonly SellingMarket[] = [];
  #readAt = Number.NEGATIVE_INFINITY;
  #failedAt = Number.NEGATIVE_INFINITY;
  /** A read under way, which a burst shares. */
  #reading: Promise<void> | undefined;

  constructor(db: Database) {
    this.#db = db;
  }

  /** The markets, at most ten seconds old; after `forget` at most one. */
  async all(): Promise<readonly SellingMarket[]> {
    if (performance.now() - this.#readAt > HELD_MS) await this.#read();
    return this.#rows;
  }

  /** The markets again, for a request that none of them accepts. @returns undefined if they were read just now */
  async again(): Promise<readonly SellingMarket[] | undefined> {
    if (performance.now() - Math.max(this.#readAt, this.#failedAt) < MIN_READ_MS) return undefined;
    await this.#read();
    return this.#rows;
  }

  /** Lets the next request read them, after a change in this isolate. */
  forget(): void {
    this.#reading = undefined;
    this.#readAt = Number.NEGATIVE_INFINITY;
    this.#failedAt = Number.NEGATIVE_INFINITY;
  }

  async #read(): Promise<void> {
    if (performance.now() - this.#failedAt < MIN_READ_MS) {
      throw new Error('The markets could not be read');
    }
    const reading = this.#reading ?? this.#readRows();
    this.#reading = reading;
    try {
      // The request that reads can be cancelled, and its promise then never settles.
      await withTimeout(reading, DATABASE_TIMEOUT_MS);
    } catch (error) {
      this.#failedAt = performance.now();
      throw error;
    } finally {
      if (this.#reading === reading) this.#reading = undefined;
    }
  }

  async #readRows(): Promise<void> {
    const startedAt = performance.now();
    const rows = await findSellingMarkets(this.#db);
    this.#rows = rows;
    this.#readAt = startedAt;
  }
}
