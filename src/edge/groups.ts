import { inTime } from './in-time';
import type { AfterAnswer } from './visit';

interface Waiting<Item> {
  item: Item;
  /** When it is given up. */
  overdueAt: number;
  /** Whether the request that brought it stays. */
  isKept: boolean;
  /** Written, or given up. */
  isDone: boolean;
}

/** So long an item is tried to be written. */
const PATIENCE_MS = 25_000;
/** So long after its answer a request may go on writing: the platform ends it after 30 seconds. */
const MAX_LIFE_MS = 28_000;
/** A write that takes longer has failed; where its request was cut off, another one takes it over. */
const MAX_WRITE_MS = 7_000;
/**
 * How often who waits looks whether its item is written, or has to be: the longer the write under way
 * takes, the less often.
 */
const MIN_LOOK_MS = 20;
const MAX_LOOK_MS = 250;
const FIRST_PAUSE_MS = 100;
const MAX_PAUSE_MS = 2_000;
/** Writes begin no sooner than this after one another: in a flood larger groups cost less. */
const MIN_INTERVAL_MS = 50;
/** Halved so many times, a group is one item. */
const MAX_FAILURES = 10;
/** What is kept at most while nothing can be written: an isolate has 128 MB. */
const MAX_WAITING = 10_000;
/** So many of them are given up at once then. */
const MAX_GIVEN_UP = 100;
/** How often it is looked whether something waits for too long. */
const OVERDUE_EVERY_MS = 250;
/** So many requests stay for a group: one writes, and the others take over if it is cut off. */
const KEEPERS = 4;
/** However many stay, one more does after so long: who stays has to outlive what waits. */
const KEEPER_EVERY_MS = 1_000;

const wait = (milliseconds: number) => new Promise<void>((done) => setTimeout(done, milliseconds));

/** Writes a group; `afterAnswer` keeps alive what is to be done once it is written. */
type Write<Item> = (items: readonly Item[], afterAnswer: AfterAnswer) => Promise<void>;

/**
 * Writes items in groups: those that arrive while a write is under way go together into the next. A few
 * of the requests that bring a group's items stay and write it; the others are free to end, which in a
 * flood saves much, unless writes fail. Who stays does so until its own item is written, and somebody
 * else stays for what waits, so that it is written or given up in time. A Worker must not await
 * what another request does: who waits has timers of its own. A group that fails is written again, in
 * halves, after a pause; the write must change nothing for what is written already, since its answer may
 * have been lost.
 */
export class GroupWriter<Item> {
  readonly #write: Write<Item>;
  readonly #maxGroup: number;
  readonly #onLost: (item: Item) => void;
  /** The oldest first, but for those of groups that have failed. */
  #waiting: Waiting<Item>[] = [];
  /** How many that wait are kept. */
  #keepers = 0;
  #lastKeeperAt = Number.NEGATIVE_INFINITY;
  /** The write under way, and what it writes. */
  #current: { startedAt: number; group: Waiting<Item>[] } | undefined;
  #failures = 0;
  #pausedUntil = 0;
  #lookedForOverdueAt = 0;

  /** @param onLost is told of what could not be written for 25 seconds, or waited with too many others */
  constructor(maxGroup: number, write: Write<Item>, onLost: (item: Item) => void) {
    this.#maxGroup = maxGroup;
    this.#write = write;
    this.#onLost = onLost;
  }

  /**
   * Resolves when an item is written or given up, or others see to it. Never rejects; to be kept alive
   * by the request that brings it.
   *
   * @param afterAnswer that request's
   */
  async add(item: Item, afterAnswer: AfterAnswer): Promise<void> {
    const now = performance.now();
    this.#giveUpOverdue(now);
    if (this.#waiting.length >= MAX_WAITING) this.#giveUp(this.#waiting.slice(0, MAX_GIVEN_UP));
    const isKept = this.#needsKeeper(now);
    const added = { item, overdueAt: now + PATIENCE_MS, isKept, isDone: false };
    this.#waiting.push(added);
    if (!isKept) return;
    this.#keepers++;
    this.#lastKeeperAt = now;
    const leaveAt = now + MAX_LIFE_MS;
    for (let own: Waiting<Item> | undefined = added; own; own = this.#orphan()) {
      await this.#seeWritten(own, leaveAt, afterAnswer);
      if (performance.now() > leaveAt) return;
    }
  }

  /** Who could write does, too: under load timers are late, and those who stay may have been cut off. */
  #needsKeeper(now: number): boolean {
    return (
      this.#keepers < KEEPERS ||
      now - this.#lastKeeperAt > KEEPER_EVERY_MS ||
      this.#failures > 0 ||
      this.#isFree(now)
    );
  }

  /** What waits though nobody stays for it: a group was too large, or failed in part. */
  #orphan(): Waiting<Item> | undefined {
    return this.#keepers > 0 ? undefined : this.#waiting[0];
  }

  async #seeWritten(own: Waiting<Item>, leaveAt: number, afterAnswer: AfterAnswer): Promise<void> {
    for (;;) {
      const now = performance.now();
      this.#giveUpOverdue(now);
      if (own.isDone || now > leaveAt) return;
      if (this.#isFree(now)) await this.#writeGroup(now, afterAnswer);
      else await wait(this.#nextLookMs(now));
    }
  }

  #nextLookMs(now: number): number {
    const writingMs = now - (this.#current?.startedAt ?? now);
    const lookMs = Math.min(MAX_LOOK_MS, Math.max(MIN_LOOK_MS, writingMs / 4));
    return Math.max(lookMs, this.#pausedUntil - now);
  }

  #isFree(now: number): boolean {
    if (now < this.#pausedUntil) return false;
    if (this.#current === undefined) return true;
    if (now - this.#current.startedAt <= MAX_WRITE_MS) return false;
    this.#setWaiting([...this.#current.group, ...this.#waiting]);
    this.#current = undefined;
    this.#failures = Math.min(MAX_FAILURES, this.#failures + 1);
    return true;
  }

  async #writeGroup(startedAt: number, afterAnswer: AfterAnswer): Promise<void> {
    const size = Math.max(1, Math.floor(this.#maxGroup / 2 ** this.#failures));
    const group = this.#waiting.slice(0, size);
    this.#setWaiting(this.#waiting.slice(size));
    const own = { startedAt, group };
    this.#current = own;
    try {
      const items = group.map(({ item }) => item);
      await inTime(this.#write(items, afterAnswer), MAX_WRITE_MS);
      for (const waiting of group) waiting.isDone = true;
      // Some wait once more where another one took this write over.
      this.#setWaiting(this.#waiting);
      // One by one: a group that was too large is not tried again at once.
      this.#failures = Math.max(0, this.#failures - 1);
      this.#pausedUntil = startedAt + MIN_INTERVAL_MS;
    } catch {
      const pauseMs = Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** this.#failures);
      this.#pausedUntil = performance.now() + pauseMs * (1 + Math.random() / 2);
      this.#failures = Math.min(MAX_FAILURES, this.#failures + 1);
      // To the end, so that what cannot be written does not keep up the rest.
      if (this.#current === own) this.#setWaiting([...this.#waiting, ...group]);
    }
    if (this.#current === own) this.#current = undefined;
  }

  #giveUpOverdue(now: number): void {
    if (now - this.#lookedForOverdueAt < OVERDUE_EVERY_MS) return;
    this.#lookedForOverdueAt = now;
    this.#giveUp(this.#waiting.filter(({ overdueAt }) => now > overdueAt));
  }

  #giveUp(lost: readonly Waiting<Item>[]): void {
    if (lost.length === 0) return;
    for (const waiting of lost) {
      waiting.isDone = true;
      this.#onLost(waiting.item);
    }
    this.#setWaiting(this.#waiting);
  }

  #setWaiting(waiting: readonly Waiting<Item>[]): void {
    this.#waiting = waiting.filter(({ isDone }) => !isDone);
    this.#keepers = this.#waiting.filter(({ isKept }) => isKept).length;
  }
}
