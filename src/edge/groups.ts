import { DATABASE_PATIENCE_MS, inTime } from './in-time';
import type { AfterAnswer } from './visit';

interface Waiting<Item> {
  item: Item;
  /** How large a group it may be part of, with others that have the same limit. */
  limit: number;
  /** How often a write of it has failed. */
  failures: number;
  addedAt: number;
  /** Whether the request that brought it stays. */
  isKept: boolean;
  /** Written, or given up. */
  isDone: boolean;
}

/** A write under way. */
interface Writing<Item> {
  startedAt: number;
  group: readonly Waiting<Item>[];
}

/**
 * So long an item is tried to be written. Who stays does so for a second longer at most, and for the write
 * that is under way then: the platform ends a request 30 seconds after its answer.
 */
const PATIENCE_MS = 23_000;
/** A write that takes longer has failed; where its request was cut off, another one finds that out. */
const MAX_WRITE_MS = DATABASE_PATIENCE_MS;
/**
 * How often who waits looks whether its item is written, or has to be: the longer the write under way
 * takes, the less often.
 */
const MIN_LOOK_MS = 20;
const MAX_LOOK_MS = 250;
/** What has failed so often may have been too much, and is tried in half as large a group. */
const FAILURES_OF_ONE_SIZE = 5;
/** With half as much again by chance. */
const FIRST_PAUSE_MS = 100;
const MAX_PAUSE_MS = 1_000;
/** Writes begin no sooner than this after one another: in a flood larger groups cost less. */
const MIN_INTERVAL_MS = 50;
/** What is kept at most while nothing can be written: an isolate has 128 MB. */
const MAX_WAITING = 10_000;
/** So many of them are given up at once then. */
const MAX_GIVEN_UP = 100;
/** So many requests stay for the next group: one writes it, the others take over if it is cut off. */
const KEEPERS = 4;
/** How often it is told that writes fail. */
const TELL_EVERY_MS = 60_000;
/** However many stay, one more does after so long: the newest one has to outlive what waits. */
const KEEPER_EVERY_MS = 1_000;

const wait = (milliseconds: number) => new Promise<void>((done) => setTimeout(done, milliseconds));

export interface GroupWriterOptions<Item> {
  maxGroup: number;
  /** Writes a group; `afterAnswer` keeps alive what is to be done once it is written. */
  write: (items: readonly Item[], afterAnswer: AfterAnswer) => Promise<void>;
  /** Whether something in the group cannot be written, now or later; else it is tried again as it is. */
  isRefusal: (error: unknown) => boolean;
  /** Is told when writes begin to fail, once a minute at most. */
  onFailure: (error: unknown) => void;
  /** Is told how many items are given up, and the last failure. */
  onLost: (count: number, error: unknown) => void;
}

/**
 * Writes items in groups: those that arrive while a write is under way go together into the next. A few
 * of the requests that bring a group's items stay and write it; the others are free to end, which in a
 * flood saves much. Who stays does so until its own item is written, and the newest of them until all is
 * for which nobody else stays: it outlives that, so that each item is written or given up. A Worker must
 * not await what another request does: who waits has timers of its own.
 *
 * A group that fails is written again after a pause; one that is refused in halves, until what cannot be
 * written is alone and given up. A write must change nothing for what is written already, since its
 * answer may have been lost.
 */
export class GroupWriter<Item> {
  readonly #options: GroupWriterOptions<Item>;
  /** The oldest first, but for those of groups that have failed. */
  #waiting: Waiting<Item>[] = [];
  /** How many of them are kept. */
  #keepers = 0;
  /** Of those that stay or have stayed. */
  #newestKeeper: Waiting<Item> | undefined;
  #writing: Writing<Item> | undefined;
  /** In a row, and the last of them. */
  #failures = 0;
  #lastFailure: unknown = new Error('Too many wait');
  #toldAt = Number.NEGATIVE_INFINITY;
  #pausedUntil = 0;

  constructor(options: GroupWriterOptions<Item>) {
    this.#options = options;
  }

  /**
   * Resolves when an item is written or given up, or others see to it: within 30 seconds. Never
   * rejects; to be kept alive by the request that brings it.
   *
   * @param afterAnswer that request's
   */
  async add(item: Item, afterAnswer: AfterAnswer): Promise<void> {
    const now = performance.now();
    if (this.#waiting.length >= MAX_WAITING) this.#giveUp(this.#waiting.slice(0, MAX_GIVEN_UP));
    const isKept = this.#needsKeeper(now);
    const limit = this.#options.maxGroup;
    const own = { item, limit, failures: 0, addedAt: now, isKept, isDone: false };
    this.#waiting.push(own);
    if (!isKept) return;
    this.#keepers++;
    this.#newestKeeper = own;
    await this.#stay(own, afterAnswer);
  }

  /** Who could write does, too: under load timers are late, and those who stay may have been cut off. */
  #needsKeeper(now: number): boolean {
    const newestAt = this.#newestKeeper?.addedAt ?? Number.NEGATIVE_INFINITY;
    return this.#keepers < KEEPERS || now - newestAt > KEEPER_EVERY_MS || this.#isFree(now);
  }

  async #stay(own: Waiting<Item>, afterAnswer: AfterAnswer): Promise<void> {
    for (;;) {
      const now = performance.now();
      this.#tidyUp(now);
      if (own.isDone && !this.#isNeeded(own)) return;
      if (this.#isFree(now)) await this.#writeGroup(now, afterAnswer);
      else await wait(this.#nextLookMs(now));
    }
  }

  /** Whether something waits, or is being written, for which nobody else may stay. */
  #isNeeded(keeper: Waiting<Item>): boolean {
    const isAllKept = this.#writing === undefined && this.#waiting.length === this.#keepers;
    return keeper === this.#newestKeeper && !isAllKept;
  }

  #nextLookMs(now: number): number {
    const writingMs = now - (this.#writing?.startedAt ?? now);
    const lookMs = Math.min(MAX_LOOK_MS, Math.max(MIN_LOOK_MS, writingMs / 4));
    return Math.max(lookMs, this.#pausedUntil - now);
  }

  #isFree(now: number): boolean {
    return now >= this.#pausedUntil && this.#writing === undefined;
  }

  async #writeGroup(startedAt: number, afterAnswer: AfterAnswer): Promise<void> {
    const limit = this.#waiting[0]?.limit ?? 0;
    const alike = this.#waiting.filter((waiting) => waiting.limit === limit);
    const group = new Set(alike.slice(0, limit));
    this.#setWaiting(this.#waiting.filter((waiting) => !group.has(waiting)));
    const own = { startedAt, group: [...group] };
    this.#writing = own;
    try {
      const items = own.group.map(({ item }) => item);
      await inTime(this.#options.write(items, afterAnswer), MAX_WRITE_MS);
      for (const waiting of own.group) waiting.isDone = true;
      if (this.#writing === own) this.#succeed(own);
    } catch (error) {
      if (this.#writing === own) this.#fail(own, error);
    }
  }

  #succeed({ startedAt }: Writing<Item>): void {
    this.#writing = undefined;
    this.#failures = 0;
    this.#pausedUntil = startedAt + MIN_INTERVAL_MS;
  }

  #fail({ startedAt, group }: Writing<Item>, error: unknown): void {
    this.#writing = undefined;
    this.#lastFailure = error;
    const half = Math.ceil(group.length / 2);
    if (this.#options.isRefusal(error)) {
      for (const waiting of group) waiting.limit = half;
      this.#pausedUntil = startedAt + MIN_INTERVAL_MS;
      if (group.length === 1) this.#giveUp(group);
    } else {
      for (const waiting of group) {
        if (++waiting.failures % FAILURES_OF_ONE_SIZE === 0) waiting.limit = half;
      }
      this.#pause(error);
    }
    // To the end, so that what cannot be written does not keep up the rest.
    this.#setWaiting([...this.#waiting, ...group]);
  }

  #pause(error: unknown): void {
    const now = performance.now();
    if (now - this.#toldAt > TELL_EVERY_MS) {
      this.#toldAt = now;
      this.#options.onFailure(error);
    }
    const pauseMs = Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** this.#failures);
    this.#failures++;
    this.#pausedUntil = now + pauseMs * (1 + Math.random() / 2);
  }

  /** Finds a write whose request was cut off, and gives up what is overdue. */
  #tidyUp(now: number): void {
    if (this.#writing && now - this.#writing.startedAt > MAX_WRITE_MS) {
      for (const waiting of this.#writing.group) waiting.isKept = false;
      this.#fail(this.#writing, new Error('The request was cut off'));
    }
    const isOverdue = ({ isDone, addedAt }: Waiting<Item>) =>
      !isDone && now - addedAt > PATIENCE_MS;
    this.#giveUp(this.#waiting.filter(isOverdue));
  }

  #giveUp(lost: readonly Waiting<Item>[]): void {
    if (lost.length === 0) return;
    for (const waiting of lost) waiting.isDone = true;
    this.#setWaiting(this.#waiting);
    this.#options.onLost(lost.length, this.#lastFailure);
  }

  #setWaiting(waiting: readonly Waiting<Item>[]): void {
    this.#waiting = waiting.filter(({ isDone }) => !isDone);
    this.#keepers = this.#waiting.filter(({ isKept }) => isKept).length;
  }
}
