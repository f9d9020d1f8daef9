import type { AfterAnswer } from './visit';

interface Waiting<Item> {
  item: Item;
  /** Written, or given up. */
  isDone: boolean;
}

/** So long after its answer a request may go on writing: the platform ends it after 30 seconds. */
const MAX_LIFE_MS = 25_000;
/** A write that takes longer was cut off with its request: another one takes it over. */
const MAX_WRITE_MS = 15_000;
/** How often who waits looks whether its item is written, or has to be: ever less often. */
const FIRST_LOOK_MS = 20;
const MAX_LOOK_MS = 250;
const FIRST_PAUSE_MS = 100;
const MAX_PAUSE_MS = 2_000;
/** Writes begin no sooner than this after one another: in a flood larger groups cost less. */
const MIN_INTERVAL_MS = 50;
/** Halved so many times, a group is one item. */
const MAX_FAILURES = 10;
/** What is kept at most while nothing can be written: an isolate has 128 MB. */
const MAX_WAITING = 10_000;

const wait = (milliseconds: number) => new Promise<void>((done) => setTimeout(done, milliseconds));

/** Writes a group; `afterAnswer` keeps alive what is to be done once it is written. */
type Write<Item> = (items: readonly Item[], afterAnswer: AfterAnswer) => Promise<void>;

/**
 * Writes items in groups: those that arrive while a write is under way go together into the next.
 * Each request writes at most until its own item is written, and the next that waits goes on. A
 * Worker must not await what another request does: who waits has timers of its own. A group that
 * fails is written again, in halves, after a pause; the write must change nothing for what is written
 * already, since its answer may have been lost.
 */
export class GroupWriter<Item> {
  readonly #write: Write<Item>;
  readonly #maxGroup: number;
  #waiting: Waiting<Item>[] = [];
  /** The write under way, and what it writes. */
  #current: { startedAt: number; group: Waiting<Item>[] } | undefined;
  #failures = 0;
  #pausedUntil = 0;

  constructor(maxGroup: number, write: Write<Item>) {
    this.#maxGroup = maxGroup;
    this.#write = write;
  }

  /**
   * Resolves when an item is written; to be kept alive by the request that brings it.
   *
   * @param afterAnswer that request's
   * @throws when it could not be written for 25 seconds, or too many others wait
   */
  async add(item: Item, afterAnswer: AfterAnswer): Promise<void> {
    if (this.#waiting.length >= MAX_WAITING) throw new Error('Too many wait to be written');
    const own: Waiting<Item> = { item, isDone: false };
    this.#waiting.push(own);
    const giveUpAt = performance.now() + MAX_LIFE_MS;
    let lookMs = FIRST_LOOK_MS;
    while (!own.isDone) {
      const now = performance.now();
      if (now > giveUpAt) {
        own.isDone = true;
        throw new Error('It could not be written');
      }
      if (this.#isFree(now)) {
        await this.#writeGroup(now, afterAnswer);
      } else {
        await wait(Math.max(lookMs, this.#pausedUntil - now));
        lookMs = Math.min(MAX_LOOK_MS, lookMs * 2);
      }
    }
  }

  #isFree(now: number): boolean {
    if (now < this.#pausedUntil) return false;
    if (this.#current === undefined) return true;
    if (now - this.#current.startedAt < MAX_WRITE_MS) return false;
    this.#waiting = [...this.#current.group, ...this.#waiting];
    this.#current = undefined;
    return true;
  }

  async #writeGroup(startedAt: number, afterAnswer: AfterAnswer): Promise<void> {
    const size = Math.max(1, Math.floor(this.#maxGroup / 2 ** this.#failures));
    const left = this.#waiting.filter(({ isDone }) => !isDone);
    const group = left.slice(0, size);
    this.#waiting = left.slice(size);
    const own = { startedAt, group };
    this.#current = own;
    try {
      await this.#write(
        group.map(({ item }) => item),
        afterAnswer,
      );
      for (const waiting of group) waiting.isDone = true;
      // One by one: a group that was too large is not tried again at once.
      this.#failures = Math.max(0, this.#failures - 1);
      this.#pausedUntil = startedAt + MIN_INTERVAL_MS;
    } catch {
      const pauseMs = Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** this.#failures);
      this.#pausedUntil = performance.now() + pauseMs * (1 + Math.random() / 2);
      this.#failures = Math.min(MAX_FAILURES, this.#failures + 1);
      // To the end, so that what cannot be written does not keep up the rest. Whoever took this write
      // over has them already.
      if (this.#current === own) this.#waiting.push(...group);
    }
    if (this.#current === own) this.#current = undefined;
  }
}
