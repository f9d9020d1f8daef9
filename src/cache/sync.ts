import { type Change, MAX_SYNCED } from '../db/change-log';
import type { MonotonicClock } from '../lib/clock';

/** One reading of the change log: from where, and when it was sent. */
export interface SyncRound {
  cursor: number;
  startedAt: number;
}

/** After every change: a reader without a cursor gets the newest change only. */
const END = Number.MAX_SAFE_INTEGER;

/**
 * How far an isolate has read the change log. Every round trip that writes records also reads the changes
 * after the cursor. Everything that they do not name is then known to be unchanged.
 */
export class Sync {
  readonly #clock: MonotonicClock;
  readonly #onChange: (change: Change) => void;
  readonly #onGap: () => void;
  #cursor: number | undefined;
  #syncedAt = Number.NEGATIVE_INFINITY;

  /**
   * @param onChange called for each change, at least once
   * @param onGap called when changes may have been missed: every snapshot in memory may be stale
   */
  constructor(clock: MonotonicClock, onChange: (change: Change) => void, onGap: () => void) {
    this.#clock = clock;
    this.#onChange = onChange;
    this.#onGap = onGap;
  }

  /** When the last round was sent that brought the log up to then. */
  get syncedAt(): number {
    return this.#syncedAt;
  }

  /** Nothing is known any more about how long ago the last round was. */
  forgetTime(): void {
    this.#syncedAt = Number.NEGATIVE_INFINITY;
  }

  begin(): SyncRound {
    return { cursor: this.#cursor ?? END, startedAt: this.#clock.now() };
  }

  /** Takes in the changes that a round has read. Rounds may overlap and end in any order. */
  end({ cursor, startedAt }: SyncRound, changes: readonly Change[]): void {
    const newest = changes.at(-1)?.seq ?? 0;
    // The log no longer reaches back to the cursor, or ends before it (the database was set back).
    const hasGap = cursor !== END && changes[0]?.seq !== cursor;
    if (hasGap) {
      this.#cursor = undefined;
      this.#syncedAt = Number.NEGATIVE_INFINITY;
      this.#onGap();
      return;
    }
    if (cursor === END && this.#cursor !== undefined) return;
    for (const change of changes) if (change.seq > cursor) this.#onChange(change);
    this.#cursor = Math.max(this.#cursor ?? 0, newest);
    // A full round may have left changes unread. The next one goes on from there.
    if (changes.length <= MAX_SYNCED) this.#syncedAt = Math.max(this.#syncedAt, startedAt);
  }
}
