import { type SQL, sql } from 'drizzle-orm';
import { markPublished } from '../db/change-log';
import type { Database } from '../db/client';
import type { MonotonicClock } from '../lib/clock';
import { logFailure } from '../lib/log';
import { DATABASE_TIMEOUT_MS, withTimeout } from '../lib/timeout';
import { wait } from '../lib/wait';
import { BatchLoader } from './batch-loader';
import type { Snapshot, SnapshotName, SnapshotType } from './snapshot';

/** KV takes one write a second for a key. */
const PUT_INTERVAL_MS = 1_100;
/** A round that fails is repeated after each of these delays. */
const RETRY_DELAYS_MS = [PUT_INTERVAL_MS, 2_500, 5_000, 10_000];
/** Reads of a row that keeps changing, before the publisher stops. */
const MAX_ROUNDS = 10;
/** The platform ends a request this long after its response. */
const MAX_LIFE_MS = 30_000;
const PUT_TIMEOUT_MS = 8_000;
const LAST_PUT_MS = MAX_LIFE_MS - PUT_TIMEOUT_MS;
/** After a failed put nothing is published for readers for this long. */
const FAILING_MS = 60_000;

export interface PublishOptions<Value> {
  /** Changes that are published with it. */
  seqs?: readonly number[];
  /** The row as the primary has just returned it: it need not be read again. */
  row?: Value;
  /** How often a round that fails is repeated. */
  retries?: number;
}

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
  /** By type. */
  readonly #revisions = new Map<SnapshotName, BatchLoader<number>>();
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
   * does it again. Whichever publisher comes last, the newest row wins. A change that is not published
   * here stays in the change log for the scheduled handler. Never rejects.
   *
   * @returns the snapshot in KV now; null for none, undefined where it is not known
   */
  async publish<Value extends Snapshot>(
    type: SnapshotType<Value>,
    key: string,
    { seqs = [], row, retries = RETRY_DELAYS_MS.length }: PublishOptions<Value> = {},
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
      return await this.#publish(type, key, own, row, RETRY_DELAYS_MS.slice(0, retries));
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
    row: Value | undefined,
    delaysMs: number[],
  ): Promise<Value | null | undefined> {
    for (let round = 0; round < MAX_ROUNDS; round++) {
      if (this.#clock.now() - own.startedAt > LAST_PUT_MS) break;
      own.isAskedAgain = false;
      const seqs = [...own.seqs];
      try {
        const value = (round === 0 && row) || (await this.#read(type, key));
        await this.#put(type, key, value);
        const isCurrent = await this.#mark(type, key, seqs, value?.revision ?? 0);
        if (isCurrent && !own.isAskedAgain) return value;
        await wait(PUT_INTERVAL_MS);
      } catch (error) {
        const delayMs = delaysMs.shift();
        if (delayMs === undefined) throw error;
        await wait(delayMs * (1 + Math.random() / 10));
      }
    }
    return undefined;
  }

  async #read<Value extends Snapshot>(
    type: SnapshotType<Value>,
    key: string,
  ): Promise<Value | null> {
    const rows = await withTimeout(type.load(this.#db, [key]), DATABASE_TIMEOUT_MS);
    return rows.get(key) ?? null;
  }

  async #put<Value extends Snapshot>(
    type: SnapshotType<Value>,
    key: string,
    value: Value | null,
  ): Promise<void> {
    const kvKey = await type.kvKey(key);
    try {
      const put = value ? this.#kv.put(kvKey, type.encode(value)) : this.#kv.delete(kvKey);
      await withTimeout(put, PUT_TIMEOUT_MS);
      this.#failedAt = Number.NEGATIVE_INFINITY;
    } catch (error) {
      this.#failedAt = this.#clock.now();
      throw error;
    }
  }

  /** Marks changes as published if the row is still at a revision. @returns whether it is */
  async #mark<Value extends Snapshot>(
    type: SnapshotType<Value>,
    key: string,
    seqs: readonly number[],
    revision: number,
  ): Promise<boolean> {
    if (seqs.length === 0) return (await this.#currentRevision(type, key)) === revision;
    const isCurrent = sql`ifnull(${type.currentRevision(sql`${key}`)}, 0) = ${revision}`;
    const marked = this.#db.batch([
      this.#db.select({ isCurrent: sql`${isCurrent}`.mapWith(Boolean) }).from(sql`(select 1)`),
      markPublished(this.#db, seqs, isCurrent),
    ]);
    const [[row]] = await withTimeout(marked, DATABASE_TIMEOUT_MS);
    return row?.isCurrent ?? false;
  }

  /** The revision of the row, 0 for none. Publishers that ask at the same moment share a query. */
  async #currentRevision<Value extends Snapshot>(
    type: SnapshotType<Value>,
    key: string,
  ): Promise<number> {
    const loader =
      this.#revisions.get(type.name) ??
      new BatchLoader((keys) =>
        withTimeout(readRevisions(this.#db, type.currentRevision, keys), DATABASE_TIMEOUT_MS),
      );
    this.#revisions.set(type.name, loader);
    // What keeps the publisher alive keeps this alive.
    return (await loader.load(key, () => undefined)) ?? 0;
  }
}

/** The revisions of the keys that have a row. */
async function readRevisions(
  db: Database,
  currentRevision: (key: SQL) => SQL,
  keys: readonly string[],
): Promise<Map<string, number>> {
  const rows = await db
    .select({
      key: sql<string>`k.value`.as('key'),
      revision: sql<number | null>`${currentRevision(sql`k.value`)}`.as('revision'),
    })
    .from(sql`json_each(${JSON.stringify(keys)}) k`);
  return new Map(rows.map(({ key, revision }) => [key, revision ?? 0]));
}
