import {
  DATABASE_TIMEOUT_MS,
  KV_TIMEOUT_MS,
  TimeoutError,
  type WaitUntil,
  wait,
  withTimeout,
} from '../lib/async.ts';

/** How long a batch collects keys. Negligible next to a round trip to D1. */
const GATHER_MS = 1;
/** A batch that is still open after this belongs to a request that was cancelled. */
const CANCELLED_AFTER_MS = 100;
/** Keys in one batch. */
const MAX_KEYS = 100;
/** A request whose load takes longer, from KV and then D1, was cancelled. */
const JOIN_TIMEOUT_MS = KV_TIMEOUT_MS + DATABASE_TIMEOUT_MS + 1_000;

/**
 * A promise that one request awaits and another one settles. A request must not await the promise of another
 * request, but may settle it.
 */
class Waiter<Result> {
  readonly #deferred = Promise.withResolvers<() => Result>();

  resolve(result: Result): void {
    this.#deferred.resolve(() => result);
  }

  reject(error: unknown): void {
    this.#deferred.resolve(() => {
      throw error;
    });
  }

  /** @returns a function with the outcome; undefined if it was not settled in time, which it may still be */
  wait(): Promise<(() => Result) | undefined> {
    return withTimeout(this.#deferred.promise, JOIN_TIMEOUT_MS).catch(() => undefined);
  }
}

/** One load for all requests that miss a key at the same moment. */
export class SingleFlight<Result> {
  readonly #flights = new Map<string, Waiter<Result>[]>();

  /**
   * Loads a key, or joins the load that is under way.
   *
   * @param waitUntil keeps the load alive if its request is cancelled
   * @throws the error of the load
   */
  async run(key: string, load: () => Promise<Result>, waitUntil: WaitUntil): Promise<Result> {
    const waiter = new Waiter<Result>();
    for (let slow: Waiter<Result>[] | undefined; ; ) {
      let flight = this.#flights.get(key);
      if (!flight || flight === slow) {
        flight = [];
        this.#flights.set(key, flight);
        waitUntil(this.#fly(key, flight, load));
      }
      flight.push(waiter);
      const outcome = await waiter.wait();
      if (outcome) return outcome();
      slow = flight;
    }
  }

  async #fly(key: string, flight: Waiter<Result>[], load: () => Promise<Result>): Promise<void> {
    const end = () => {
      if (this.#flights.get(key) === flight) this.#flights.delete(key);
    };
    try {
      const result = await load();
      end();
      for (const waiter of flight) waiter.resolve(result);
    } catch (error) {
      end();
      for (const waiter of flight) waiter.reject(error);
    }
  }
}

/** A batch of keys that is not read yet. */
interface Batch<Value, Key> {
  openedAt: number;
  waiters: Map<Key, Waiter<Value | null>[]>;
}

/**
 * Loads keys that are requested at the same moment in one query: a DataLoader across requests. A flood of
 * keys is then no flood of queries.
 */
export class BatchLoader<Value, Key = string> {
  readonly #read: (keys: readonly Key[]) => Promise<ReadonlyMap<Key, Value>>;
  readonly #maxKeys: number;
  #open: Batch<Value, Key> | undefined;

  constructor(
    read: (keys: readonly Key[]) => Promise<ReadonlyMap<Key, Value>>,
    maxKeys = MAX_KEYS,
  ) {
    this.#read = read;
    this.#maxKeys = maxKeys;
  }

  /**
   * The value of a key, read after this call; null for none.
   *
   * @param waitUntil keeps the batch alive if the request that opened it is cancelled
   * @throws the error of the read
   */
  async load(key: Key, waitUntil: WaitUntil): Promise<Value | null> {
    const waiter = new Waiter<Value | null>();
    for (;;) {
      const { waiters } = this.#openBatch(waitUntil);
      const others = waiters.get(key);
      if (others) others.push(waiter);
      else waiters.set(key, [waiter]);
      const outcome = await waiter.wait();
      if (outcome) return outcome();
    }
  }

  #openBatch(waitUntil: WaitUntil): Batch<Value, Key> {
    const now = performance.now();
    const open = this.#open;
    const isGathering = open && Math.abs(now - open.openedAt) < CANCELLED_AFTER_MS;
    if (isGathering && open.waiters.size < this.#maxKeys) return open;
    const batch: Batch<Value, Key> = { openedAt: now, waiters: new Map() };
    this.#open = batch;
    waitUntil(this.#run(batch));
    return batch;
  }

  async #run(batch: Batch<Value, Key>): Promise<void> {
    await wait(GATHER_MS);
    if (this.#open === batch) this.#open = undefined;
    const keys = [...batch.waiters.keys()];
    const error = await this.#settle(batch, keys);
    if (error === undefined) return;
    // A key must not fail the others. A database that does not respond fails them all.
    const isShared = keys.length === 1 || error.reason instanceof TimeoutError;
    await Promise.all(
      keys.map(async (key) => {
        const own = isShared ? error : await this.#settle(batch, [key]);
        if (own) for (const waiter of batch.waiters.get(key) ?? []) waiter.reject(own.reason);
      }),
    );
  }

  /** @returns the reason why the keys could not be read */
  async #settle(
    { waiters }: Batch<Value, Key>,
    keys: readonly Key[],
  ): Promise<{ reason: unknown } | undefined> {
    try {
      const found = await this.#read(keys);
      for (const key of keys) {
        for (const waiter of waiters.get(key) ?? []) waiter.resolve(found.get(key) ?? null);
      }
      return undefined;
    } catch (reason) {
      return { reason };
    }
  }
}
