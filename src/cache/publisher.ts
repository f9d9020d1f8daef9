import { sql } from 'drizzle-orm';
import { markPublished } from '../db/change-log';
import type { Database } from '../db/client';
import type { MonotonicClock } from '../lib/clock';
import { withTimeout } from '../lib/timeout';
import { wait } from '../lib/wait';
import { logFailure } from '../log';
import type { Snapshot, SnapshotType } from './snapshot';

/** KV takes one write a second for a key. A rejected put is repeated after each of these delays. */
const RETRY_DELAYS_MS = [1_100, 2_500, 5_000, 10_000];
/** How often a publisher follows a row that changes under it. */
const MAX_ROUNDS = 10;
/** The platform ends a request this long after its response. */
const MAX_LIFE_MS = 30_000;
const PUT_TIMEOUT_MS = 8_000;
const LAST_PUT_MS = MAX_LIFE_MS - PUT_TIMEOUT_MS;
/** After a failed put nothing is published for readers for this long. */
const FAILING_MS = 60_000;

interface Publication {
  startedAt: number;
  /** Changes that are published with it. */
  seqs: number[];
  isAskedAgain: boolean;
}

/** The only writer of KV. */
export class Publisher {
  readonly #db: Database;
  readonly #kv: KVNamespace;
  readonly #clock: MonotonicClock;
  /** Those under way in this isolate, by type and key. */
  readonly #publications = new Map<string, Publication>();
  #failedAt = Number.NEGATIVE_INFINITY;

  constructor(db: Database, kv: KVNamespace, clock: MonotonicClock) {
    this.#db = db;
    this.#kv = kv;
    this.#clock = clock;
  }

  /** Whether KV took the last put, or a while has passed since it did not. */
  isWorking(): boolean {
    return this.#clock.now() - this.#failedAt > FAILING_MS;
  }

  /**
   * Reads a row from the primary, puts its snapshot, and looks whether the row is still the same; else
   * does it again. So the newest row wins, whichever publisher comes last. What it cannot complete stays
   * in the change log for the scheduled handler. Never rejects.
   *
   * @param seqs changes that are published with it
   * @param retries how often a failed put is repeated
   * @returns the snapshot in KV now; null for none, undefined where it is not known
   */
  async publish<Value extends Snapshot>(
    type: SnapshotType<Value>,
    key: string,
    seqs: readonly number[] = [],
    retries = RETRY_DELAYS_MS.length,
  ): Promise<Value | null | undefined> {
    const name = `${type.name}:${key}`;
    const other = this.#publications.get(name);
    if (other && this.#clock.now() - other.startedAt < MAX_LIFE_MS) {
      other.seqs.push(...seqs);
      other.isAskedAgain = true;
      return undefined;
    }
    const own = { startedAt: this.#clock.now(), seqs: [...seqs], isAskedAgain: false };
    this.#publications.set(name, own);
    try {
      return await this.#publish(type, key, own, RETRY_DELAYS_MS.slice(0, retries));
    } catch (error) {
      logFailure('A snapshot was not published yet', error);
      return undefined;
    } finally {
      if (this.#publications.get(name) === own) this.#publications.delete(name);
    }
  }

  async #publish<Value extends Snapshot>(
    type: SnapshotType<Value>,
    key: string,
    own: Publication,
    delaysMs: number[],
  ): Promise<Value | null | undefined> {
    for (let round = 0; round < MAX_ROUNDS; round++) {
      if (this.#clock.now() - own.startedAt > LAST_PUT_MS) break;
      own.isAskedAgain = false;
      const seqs = [...own.seqs];
      const value = (await type.load(this.#db, [key])).get(key) ?? null;
      try {
        await withTimeout(this.#put(type, key, value), PUT_TIMEOUT_MS);
        this.#failedAt = Number.NEGATIVE_INFINITY;
      } catch (error) {
        this.#failedAt = this.#clock.now();
        const delayMs = delaysMs.shift();
        if (delayMs === undefined) throw error;
        await wait(delayMs * (1 + Math.random() / 10));
        continue;
      }
      const isCurrent = await this.#mark(type, key, seqs, value?.revision ?? 0);
      if (isCurrent && !own.isAskedAgain) return value;
    }
    return undefined;
  }

  async #put<Value extends Snapshot>(
    type: SnapshotType<Value>,
    key: string,
    value: Value | null,
  ): Promise<void> {
    const kvKey = await type.kvKey(key);
    await (value ? this.#kv.put(kvKey, type.encode(value)) : this.#kv.delete(kvKey));
  }

  /** Marks changes as published if the row is still at a revision. @returns whether it is */
  async #mark<Value extends Snapshot>(
    type: SnapshotType<Value>,
    key: string,
    seqs: readonly number[],
    revision: number,
  ): Promise<boolean> {
    const isCurrent = sql`ifnull(${type.currentRevision(key)}, 0) = ${revision}`;
    const [[row]] = await this.#db.batch([
      this.#db.select({ isCurrent: sql`${isCurrent}`.mapWith(Boolean) }).from(sql`(select 1)`),
      markPublished(this.#db, seqs, isCurrent),
    ]);
    return row?.isCurrent ?? false;
  }
}
