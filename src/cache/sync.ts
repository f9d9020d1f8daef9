import { type Change, MAX_SYNCED } from '../db/change-log';
import type { MonotonicClock } from '../lib/clock';

/** A reading of the change log. */
export interface SyncRound {
  /** The newest change that is known, by `seq`. */
  cursor: number;
  /** The revision of that change: a database that was set back may have another change of that number. */
  revision: number;
  /** When the query was sent. */
  startedAt: number;
}

/** A cursor after all changes, which reads the newest change only. */
const END = Number.MAX_SAFE_INTEGER;

/**
 * The cursor of an isolate in the change log. Each round trip that writes records also reads the changes after
 * the cursor. All that they do not name is then known to be unchanged.
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

  /** When the last round was sent that read the log to its end. */
  get syncedAt(): number {
    return this.#syncedAt;
  }

  /** The clock has stepped back: the time since the last round is unknown. */
  forgetTime(): void {
    this.#syncedAt = Number.NEGATIVE_INFINITY;
  }

  begin(): SyncRound {
    const { seq = END, revision = 0 } = this.#newest ?? {};
    return { cursor: seq, revision, startedAt: this.#clock.now() };
  }

  /**
   * Applies the changes that a round has read. Rounds may overlap and end in any order.
   *
   * @returns whether later rounds name every change after this one
   */
  end({ cursor, revision, startedAt }: SyncRound, changes: readonly Change[]): boolean {
    const [first] = changes;
    // The log begins after the cursor, or ends before it because the database was set back.
    const hasGap = cursor !== END && (first?.seq !== cursor || first.revision !== revision);
    if (hasGap) {
      this.#newest = undefined;
      this.#syncedAt = Number.NEGATIVE_INFINITY;
      this.#onGap();
      return false;
    }
    // Another round has set the cursor, perhaps to a later change.
    if (cursor === END && this.#newest !== undefined) return false;
    for (const change of changes) if (change.seq > cursor) this.#onChange(change);
    const newest = changes.at(-1);
    if (newest && newest.seq >= (this.#newest?.seq ?? 0)) this.#newest = newest;
    // A full round may leave changes unread. The next one reads on.
    if (changes.length <= MAX_SYNCED) this.#syncedAt = Math.max(this.#syncedAt, startedAt);
    return true;
  }
}
