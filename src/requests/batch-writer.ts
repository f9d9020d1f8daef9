import { DATABASE_TIMEOUT_MS, type WaitUntil, wait, withTimeout } from '../lib/async.ts';

const MAX_WRITERS = 3;
/** A batch begins this long after its first item, so that the response goes first. */
const GATHER_MS = 1;
/** Time between the starts of two batches, unless the first one was full. */
const INTERVAL_MS = 100;
const TICK_MS = 250;
/** A writer without a tick for this long was cancelled. */
const CANCELLED_AFTER_MS = 4 * TICK_MS;
/** A writer leaves after this if two others stay: the Free plan has 50 queries a request. */
const STAY_MS = 500;
/** The platform ends a request after 30 seconds, and `npm start` after 25 (`http/connection.ts`). */
const MAX_STAY_MS = 20_000;
/** The longest pause after a failed write. It is up to half shorter at random. */
const RETRY_MS = 400;
/** Items that wait while the database does not respond: an isolate has 128 MB. */
const MAX_ITEMS = 10_000;

/** Milliseconds that never run backwards. On Workers `performance.now()` is the wall clock, and can step back. */
export class MonotonicClock {
  #lastMs = Number.NEGATIVE_INFINITY;
  #offsetMs = 0;

  now(): number {
    const ms = performance.now() + this.#offsetMs;
    this.#offsetMs += Math.max(0, this.#lastMs - ms);
    this.#lastMs = Math.max(this.#lastMs, ms);
    return this.#lastMs;
  }
}

/** A request that writes. After its cancellation it has no more ticks. */
type Writer = { startedAt: number; tickedAt: number };

const isCancelled = ({ tickedAt }: Writer, now: number) => now - tickedAt > CANCELLED_AFTER_MS;

interface BatchWriterOptions<Item> {
  clock: MonotonicClock;
  maxBatch: number;
  /** Writes items. An item that was written may come again, and must change nothing then. */
  write: (items: readonly Item[], waitUntil: WaitUntil) => Promise<void>;
  onFailure: (error: unknown) => void;
  onGivenUp: (items: readonly Item[]) => void;
}

/**
 * Writes items in batches. Up to three requests write for all others, which may end. Each takes the oldest items that
 * no other writer holds: a batch under way delays no other, and the items of a cancelled writer are taken again. An
 * item stays in the list until it is written.
 */
export class BatchWriter<Item> {
  readonly #options: BatchWriterOptions<Item>;
  /** Each item, the oldest first, with the writer that holds it. */
  readonly #pending = new Map<Item, Writer | null>();
  readonly #writers = new Set<Writer>();
  #nextBatchAt = Number.NEGATIVE_INFINITY;
  #timeoutMs = DATABASE_TIMEOUT_MS;
  /** When a batch was written last, or the first item came. */
  #progressAt = Number.NEGATIVE_INFINITY;

  constructor(options: BatchWriterOptions<Item>) {
    this.#options = options;
  }

  /** The number of items that are not written yet. */
  size = (): number => this.#pending.size;

  /** Whether the database has written nothing for five seconds, or twice the time of a slow batch. */
  isStuck = (): boolean => this.size() > 0 && this.#now() - this.#progressAt > this.#timeoutMs;

  /** Adds an item. Gives up the oldest ones of a full list if the database is stuck. */
  add(item: Item, waitUntil: WaitUntil): void {
    if (this.size() === 0) this.#progressAt = this.#now();
    if (this.size() >= MAX_ITEMS && this.isStuck()) this.#giveUpOldest();
    this.#pending.set(item, null);
    this.keepWriting(waitUntil);
  }

  /** Makes a request a writer, for less than 30 seconds, if there are too few. */
  keepWriting(waitUntil: WaitUntil): void {
    const now = this.#now();
    for (const one of this.#writers) if (isCancelled(one, now)) this.#writers.delete(one);
    if (this.size() > 0 && this.#writers.size < MAX_WRITERS) waitUntil(this.#writeAll(waitUntil));
  }

  /** Resolves when all items that are pending now are written. */
  async settle(waitUntil: WaitUntil): Promise<void> {
    const items = [...this.#pending.keys()];
    for (; items.some((item) => this.#pending.has(item)); await wait(TICK_MS / 10)) {
      this.keepWriting(waitUntil);
    }
  }

  #now = (): number => this.#options.clock.now();

  async #writeAll(waitUntil: WaitUntil): Promise<void> {
    const startedAt = this.#now();
    const writer: Writer = { startedAt, tickedAt: startedAt };
    const ticking = setInterval(() => Object.assign(writer, { tickedAt: this.#now() }), TICK_MS);
    this.#writers.add(writer);
    const maxStayMs = (): number => (this.#writers.size > 2 ? STAY_MS : MAX_STAY_MS);
    while (this.size() > 0 && this.#writers.has(writer) && this.#now() - startedAt < maxStayMs()) {
      await wait(Math.max(GATHER_MS, this.#nextBatchAt - this.#now()));
      if (this.#now() < this.#nextBatchAt) continue;
      const items = this.#take(writer);
      if (items.length > 0) await this.#write(items, writer, waitUntil);
      else await wait(INTERVAL_MS);
    }
    clearInterval(ticking);
    this.#writers.delete(writer);
  }

  #take(writer: Writer): Item[] {
    const items: Item[] = [];
    for (const [item, holder] of this.#pending) {
      if (holder === null || isCancelled(holder, writer.tickedAt)) items.push(item);
      if (items.length === this.#options.maxBatch) break;
    }
    for (const item of items) this.#pending.set(item, writer);
    return items;
  }

  async #write(items: readonly Item[], writer: Writer, waitUntil: WaitUntil): Promise<void> {
    const startedAt = this.#now();
    this.#nextBatchAt = startedAt + (items.length < this.#options.maxBatch ? INTERVAL_MS : 0);
    const writing = this.#options.write(items, waitUntil).then(() => {
      // Also after the timeout, which is longer for a database that is slow.
      for (const item of items) this.#pending.delete(item);
      this.#progressAt = this.#now();
      const tookMs = this.#progressAt - startedAt;
      this.#timeoutMs = Math.min(MAX_STAY_MS, Math.max(DATABASE_TIMEOUT_MS, 2 * tookMs));
    });
    // A write may outlive its timeout, and then its writer. It would end with the request.
    const leftMs = writer.startedAt + MAX_STAY_MS + DATABASE_TIMEOUT_MS - startedAt;
    waitUntil(withTimeout(writing, leftMs).catch(() => undefined));
    await withTimeout(writing, this.#timeoutMs).catch((error) => {
      for (const item of items) if (this.#pending.has(item)) this.#pending.set(item, null);
      this.#nextBatchAt = this.#now() + RETRY_MS * (1 - Math.random() / 2);
      this.#options.onFailure(error);
    });
  }

  #giveUpOldest(): void {
    const free = [...this.#pending.keys()].filter((item) => this.#pending.get(item) === null);
    const givenUp = free.slice(0, MAX_ITEMS / 100);
    for (const item of givenUp) this.#pending.delete(item);
    this.#options.onGivenUp(givenUp);
  }
}
