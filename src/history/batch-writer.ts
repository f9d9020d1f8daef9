import { DATABASE_TIMEOUT_MS, type WaitUntil, wait, withTimeout } from '../lib/async';
import type { MonotonicClock } from '../lib/clock';

/** A flush begins this long after its first item. The response goes first, and more items join. */
const GATHER_MS = 1;
/** Time between the starts of two batches. Under load larger batches cost less. */
const MIN_INTERVAL_MS = 100;
/** A flusher hands over to a younger request after this: the Free plan has 50 queries a request. */
const MAX_FLUSHING_MS = 500;
const WRITE_TIMEOUT_MS = DATABASE_TIMEOUT_MS;
/** A flusher that was not active for this long was cancelled. */
const CANCELLED_AFTER_MS = WRITE_TIMEOUT_MS + 1_000;
/** Items are given up after this time. */
const MAX_WAITING_MS = 23_000;
/** A request stays this long, and until its write ends. The platform ends it after 30 seconds. */
const MAX_STAY_MS = MAX_WAITING_MS + 1_000;
/** The pause after a failed write. It doubles with each failure, and is up to half longer at random. */
const FIRST_PAUSE_MS = 100;
const MAX_PAUSE_MS = 600;
/** Items that wait while nothing can be written: an isolate has 128 MB. */
const MAX_ITEMS = 10_000;
/** Items that are given up when the list is full. */
const MAX_GIVEN_UP = 100;
/** Requests that stand by. After each interval one more does. */
const STANDBYS = 3;
const STANDBY_INTERVAL_MS = 500;
/** After this time most current requests have added their item. */
const QUIET_MS = 250;
const FAILURE_LOG_INTERVAL_MS = 60_000;

interface Pending<Item> {
  item: Item;
  addedAt: number;
  /** Written, or given up. */
  isDone: boolean;
}

export interface BatchWriterOptions<Item> {
  clock: MonotonicClock;
  maxBatch: number;
  /**
   * Writes items. An item that was written may come again, because a response can get lost. It must change
   * nothing then. `waitUntil` belongs to the request that flushes.
   */
  write: (items: readonly Item[], waitUntil: WaitUntil) => Promise<void>;
  /** Called when writes begin to fail, at most once a minute. */
  onFailure: (error: unknown) => void;
  /** Called with the number of items that are given up, and the last error. */
  onLost: (count: number, error: unknown) => void;
}

/**
 * Writes items in batches. Items that arrive during a flush go together into the next one. One request, the
 * flusher, writes for all. A few others stand by, each with one promise and one timer, and take over if the
 * flusher was cancelled. All other requests may end, which saves a quarter of the CPU time under load. Items
 * stay in the list until they are written.
 */
export class BatchWriter<Item> {
  readonly #options: BatchWriterOptions<Item>;
  /** The oldest first. */
  #pending: Pending<Item>[] = [];
  #flusher: { aliveAt: number } | undefined;
  /** By the function that wakes a standby: the time at which its request came. */
  readonly #standbys = new Map<() => void, number>();
  /** When the youngest request that ever stood by came. */
  #youngestAt = Number.NEGATIVE_INFINITY;
  #nextBatchAt = Number.NEGATIVE_INFINITY;
  #failures = 0;
  #lastError: unknown = new Error('Too many items wait');
  #loggedAt = Number.NEGATIVE_INFINITY;

  constructor(options: BatchWriterOptions<Item>) {
    this.#options = options;
  }

  /** Adds an item. May keep its request alive, for at most 30 seconds. */
  add(item: Item, waitUntil: WaitUntil): void {
    if (this.#pending.length >= MAX_ITEMS) {
      // The oldest batch may be under way.
      const { maxBatch } = this.#options;
      this.#giveUp(this.#pending.slice(maxBatch, maxBatch + MAX_GIVEN_UP));
    }
    const own = { item, addedAt: this.#now(), isDone: false };
    this.#pending.push(own);
    if (!this.#hasFlusher() || this.#needsStandby(own.addedAt)) {
      waitUntil(this.#stay(own, waitUntil));
    }
  }

  /** Resolves when nothing is pending, and nothing has been added for a moment. */
  async settle(waitUntil: WaitUntil): Promise<void> {
    do {
      const addedAt = this.#now();
      if (!this.#hasFlusher()) await this.#flush(addedAt, waitUntil);
      else await this.#standBy(addedAt);
      await wait(QUIET_MS);
    } while (this.#pending.length > 0);
  }

  /** Stays until nothing is pending, or enough other requests stand by. */
  async #stay({ addedAt }: Pending<Item>, waitUntil: WaitUntil): Promise<void> {
    const mayStay = () => this.#pending.length > 0 && this.#now() - addedAt < MAX_STAY_MS;
    while (mayStay()) {
      if (!this.#hasFlusher()) await this.#flush(addedAt, waitUntil);
      else if (!this.#needsStandby(addedAt)) return;
      // Also after a flush, because the younger request that goes on may be cancelled.
      if (mayStay()) await this.#standBy(addedAt);
    }
  }

  #now(): number {
    return this.#options.clock.now();
  }

  #hasFlusher(): boolean {
    return this.#flusher !== undefined && this.#now() - this.#flusher.aliveAt < CANCELLED_AFTER_MS;
  }

  /** During an outage the youngest standby must outlive all pending items. */
  #needsStandby(addedAt: number): boolean {
    return this.#standbys.size < STANDBYS || addedAt - this.#youngestAt > STANDBY_INTERVAL_MS;
  }

  /** Waits until all is written, or the flusher may have been cancelled. */
  async #standBy(addedAt: number): Promise<void> {
    this.#youngestAt = Math.max(this.#youngestAt, addedAt);
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#standbys.set(resolve, addedAt);
    const timer = setTimeout(resolve, CANCELLED_AFTER_MS);
    await promise;
    clearTimeout(timer);
    this.#standbys.delete(resolve);
  }

  /** Writes batch after batch, until nothing is pending or a younger request goes on. */
  async #flush(addedAt: number, waitUntil: WaitUntil): Promise<void> {
    const flusher = { aliveAt: this.#now() };
    this.#flusher = flusher;
    const handsOverAt = flusher.aliveAt + MAX_FLUSHING_MS;
    const hasYounger = () => [...this.#standbys.values()].some((cameAt) => cameAt > addedAt);
    while (this.#pending.length > 0) {
      await wait(Math.max(GATHER_MS, this.#nextBatchAt - this.#now()));
      // Another request took this one for cancelled, and flushes now.
      if (this.#flusher !== flusher) return;
      flusher.aliveAt = this.#now();
      await this.#writeBatch(waitUntil);
      if (this.#flusher !== flusher) return;
      flusher.aliveAt = this.#now();
      if (flusher.aliveAt > handsOverAt && hasYounger()) break;
    }
    this.#flusher = undefined;
    // All of them, because some may be cancelled. The first one, the youngest, goes on.
    const standbys = [...this.#standbys].sort(([, one], [, other]) => other - one);
    this.#standbys.clear();
    for (const [wake] of standbys) wake();
  }

  async #writeBatch(waitUntil: WaitUntil): Promise<void> {
    this.#nextBatchAt = this.#now() + MIN_INTERVAL_MS;
    const batch = this.#pending.slice(0, this.#options.maxBatch);
    try {
      const items = batch.map(({ item }) => item);
      await withTimeout(this.#options.write(items, waitUntil), WRITE_TIMEOUT_MS);
      this.#failures = 0;
      this.#remove(batch);
    } catch (error) {
      this.#pauseAfter(error);
    } finally {
      // Also after a success, because their requests have to end.
      const givenUpBefore = this.#now() - MAX_WAITING_MS;
      this.#giveUp(this.#pending.filter(({ addedAt }) => addedAt < givenUpBefore));
    }
  }

  #pauseAfter(error: unknown): void {
    this.#lastError = error;
    const now = this.#now();
    if (now - this.#loggedAt > FAILURE_LOG_INTERVAL_MS) {
      this.#loggedAt = now;
      this.#options.onFailure(error);
    }
    const pauseMs = Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** this.#failures);
    this.#failures++;
    this.#nextBatchAt = now + pauseMs * (1 + Math.random() / 2);
  }

  #giveUp(lost: readonly Pending<Item>[]): void {
    if (lost.length === 0) return;
    this.#remove(lost);
    this.#options.onLost(lost.length, this.#lastError);
  }

  #remove(done: readonly Pending<Item>[]): void {
    for (const pending of done) pending.isDone = true;
    this.#pending = this.#pending.filter(({ isDone }) => !isDone);
  }
}
