import { BatchLoader } from '../../cache/batch-loader.ts';
import { type Database, openDatabase, type Statement } from '../../db/client.ts';
import type { WaitUntil } from '../../lib/async.ts';

/** Batches in one transaction. A longer one would keep validations waiting on one machine. */
const MAX_BATCHES = 48;

type Batch = readonly Statement[];

/**
 * Transactions of several requests. Batches that begin at the same moment run one after the other in one of them: a
 * market sends many notices at once, and each transaction waits for the disk. If one batch fails, each runs again on its
 * own, and the others succeed.
 */
export class SharedTransactions {
  readonly #binding: D1Database;
  readonly #db: Database;
  readonly #batches: BatchLoader<readonly unknown[], Batch>;

  constructor(binding: D1Database, db: Database) {
    this.#binding = binding;
    this.#db = db;
    this.#batches = new BatchLoader((batches) => this.#runAll(batches), MAX_BATCHES);
  }

  /**
   * Opens the database for a request. A batch that takes seconds may run again: the conditions of a change then fail.
   *
   * @param waitUntil keeps the transaction alive if the request that began it is cancelled
   */
  open(waitUntil: WaitUntil): Database {
    return openDatabase(this.#binding, this.#db.ipv6SlotPrefix, async (batch) => {
      const results = await this.#batches.load(batch, waitUntil);
      return results ?? [];
    });
  }

  async #runAll(batches: readonly Batch[]): Promise<ReadonlyMap<Batch, readonly unknown[]>> {
    const results = (await this.#db.transact(batches.flat())).values();
    return new Map(batches.map((batch) => [batch, [...results.take(batch.length)]]));
  }
}
