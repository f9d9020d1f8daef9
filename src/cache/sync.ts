import { type Change, MAX_SYNCED } from '../db/change-log';
import type { MonotonicClock } from '../lib/clock';

/** One reading of the change log: from where, and when it was sent. */
export interface SyncRound {
  /** The newest change that is known, by `seq`. */
  cursor: number;
  /** Of that change: after the database was set back another one may have its number. */
  revision: number;
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
  #newest: Change | undefined;
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
    const { seq = END, revision = 0 } = this.#newest ?? {};
    return { cursor: seq, revision, startedAt: this.#clock.now() };
  }

  /**
   * Takes in the changes that a round has read. Rounds may overlap and end in any order.
   *
   * @returns whether later rounds name every change since this one
   */
  end({ cursor, revision, startedAt }: SyncRound, changes: readonly Change[]): boolean {
    const [first] = changes;
    // The log no longer reaches back to the cursor, or ends before it (the database was set back).
    const hasGap = cursor !== END && (first?.seq !== cursor || first.revision !== revision);
    if (hasGap) {
      this.#newest = undefined;
      this.#syncedAt = Number.NEGATIVE_INFINITY;
      this.#onGap();
      return false;
    }
    // Another round has set the cursor, and perhaps to a later change.
    if (cursor === END && this.#newest !== undefined) return false;
    for (const change of changes) if (change.seq > cursor) this.#onChange(change);
    const newest = changes.at(-1);
    if (newest && newest.seq >= (this.#newest?.seq ?? 0)) this.#newest = newest;
    // A full round may have left changes unread. The next one goes on from there.
    if (changes.length <= MAX_SYNCED) this.#syncedAt = Math.max(this.#syncedAt, startedAt);
    return true;
  }
}
