import { type Change, MAX_CHANGES } from '../db/changes';

/**
 * How long copies are trusted after the database was last asked what has changed. Whoever answers
 * from a copy asked less than this ago, so nothing is accepted longer than this after it was
 * revoked: the promise is 60 seconds (1.5), and the rest of them is for the answer's own way.
 */
const IN_TOUCH_MS = 50_000;

/**
 * After so long without word from the database an isolate begins anew: the log of changes keeps
 * what is published for longer than this (see SETTLING_MS in `db/changes.ts`), and not for ever.
 */
const FORGET_MS = 4 * 60_000;

/**
 * After so long all of the log is read again: what cannot be published for long stays there, and
 * copies older than it have to be refused for as long (see OUTDATED_MS in `store.ts`).
 */
const READ_AGAIN_MS = 10 * 60_000;

/** A database that has let a request wait in vain is left alone for a moment. */
const UNREACHABLE_MS = 2_000;
/** What failed sooner than this has not hung. */
const HANGING_MS = 4_000;

/** A reading of the log that is under way: whence it reads, and when it was sent. */
export interface Reading {
  from: number;
  startedAt: number;
}

/**
 * What an isolate knows of the log of changes. Every round trip to the database takes the news
 * along, so an isolate in which requests are recorded hears of each change within moments; copies of
 * what changed are then dropped (`onChange`), and older ones refused, wherever they come from.
 */
export class ChangeFeed {
  #position = 0;
  /** When the last reading was sent that brought all there was; in milliseconds. */
  #readAt = Number.NEGATIVE_INFINITY;
  /**
   * When the last reading was sent behind which nothing is missing up to the position: one that
   * brought all there was, or the first of several that begin anew.
   */
  #followedAt = Number.NEGATIVE_INFINITY;
  #lostAt = Number.NEGATIVE_INFINITY;
  /** How far the log was read again, while it is. */
  #readAgainFrom: number | undefined;
  #readAgainAt = Number.NEGATIVE_INFINITY;
  #unreachableUntil = Number.NEGATIVE_INFINITY;
  #isBlind = false;
  readonly #onChange: (change: Change) => void;
  readonly #onForget: () => void;

  /** @param onForget the log no longer tells what changed: all that is held may be stale */
  constructor(onChange: (change: Change) => void, onForget: () => void) {
    this.#onChange = onChange;
    this.#onForget = onForget;
  }

  /** Whether what is held outside of the database may be believed without asking it. */
  isInTouch(): boolean {
    return performance.now() - this.#readAt < IN_TOUCH_MS;
  }

  /**
   * Whether this isolate has changed something and could not see it: then nothing that it holds is
   * better than no answer, until it has asked the database.
   */
  isBlind(): boolean {
    return this.#isBlind;
  }

  /**
   * Trusts nothing until the database has been asked again: something may have changed unseen.
   *
   * @param hasChanged something has, in this isolate
   */
  loseTouch(hasChanged: boolean): void {
    this.#isBlind ||= hasChanged;
    this.#readAt = Number.NEGATIVE_INFINITY;
    // A reading that is under way may have been too early to see it.
    this.#lostAt = performance.now();
  }

  begin(): Reading {
    const startedAt = performance.now();
    if (this.#isTooLate(startedAt)) {
      this.#readAgainAt = startedAt;
      return { from: 0, startedAt };
    }
    if (startedAt - this.#readAgainAt > READ_AGAIN_MS) {
      this.#readAgainAt = startedAt;
      this.#readAgainFrom = 0;
    }
    return { from: this.#readAgainFrom ?? this.#position, startedAt };
  }

  /** Whether the database has hung a moment ago, and whoever has a copy should not wait for it. */
  isUnreachable(): boolean {
    return performance.now() < this.#unreachableUntil;
  }

  /** A reading brought nothing. */
  miss({ startedAt }: Reading): void {
    const now = performance.now();
    if (now - startedAt > HANGING_MS) this.#unreachableUntil = now + UNREACHABLE_MS;
  }

  /** Whether something later is known than what a reading brought. */
  knowsLaterThan(news: readonly Change[]): boolean {
    return (news.at(-1)?.seq ?? 0) < this.#position;
  }

  /** Whether the log may have forgotten what changed since it was followed. */
  #isTooLate(moment: number): boolean {
    return moment - this.#followedAt > FORGET_MS;
  }

  /**
   * Takes in what a reading brought.
   *
   * @returns whence to read on, where there may be more
   */
  take({ from, startedAt }: Reading, news: readonly Change[]): number | undefined {
    const newest = news.at(-1)?.seq ?? 0;
    // A log that ends before the place up to which it was read: the database was set back.
    if (from === 0 ? this.#isTooLate(startedAt) : newest < from) {
      this.#onForget();
      this.#position = 0;
      this.#readAt = Number.NEGATIVE_INFINITY;
      this.#followedAt = from === 0 ? startedAt : Number.NEGATIVE_INFINITY;
      if (from > 0) return 0;
    }
    // It was sent before the isolate began anew: what lies between is unknown.
    if (from > this.#position) return this.#position;
    for (const change of news) this.#onChange(change);
    this.#position = Math.max(this.#position, newest);
    if (news.length === MAX_CHANGES) {
      if (from === this.#readAgainFrom) this.#readAgainFrom = newest;
      return newest;
    }
    if (this.#readAgainFrom !== undefined && from <= this.#readAgainFrom) {
      this.#readAgainFrom = undefined;
    }
    this.#followedAt = Math.max(this.#followedAt, startedAt);
    if (startedAt > this.#lostAt) {
      this.#readAt = Math.max(this.#readAt, startedAt);
      this.#isBlind = false;
    }
    return undefined;
  }
}
