import { sql } from 'drizzle-orm';
import { batch, type Database } from '../db/client.ts';
import { removeChange } from '../db/outbox.ts';
import { DATABASE_TIMEOUT_MS, KV_TIMEOUT_MS, wait, withTimeout } from '../lib/async.ts';
import { logFailure } from '../lib/log.ts';
import type { Snapshot, SnapshotType } from './snapshots.ts';

/** `cacheTtl` of KV reads. 30 is the minimum that KV allows. */
const KV_CACHE_SECONDS = 30;
/** KV takes one write a second for a key. */
export const PUT_INTERVAL_MS = 1_100;
/** A round that fails is repeated after each of these delays. */
const RETRY_DELAYS_MS = [PUT_INTERVAL_MS, 2_500, 5_000, 10_000];
/** Reads of a row that keeps changing, before the publisher stops. */
const MAX_ROUNDS = 10;
/** The platform ends a request after this time from its response. */
const MAX_LIFE_MS = 30_000;
const PUT_TIMEOUT_MS = 8_000;
const LAST_PUT_MS = MAX_LIFE_MS - PUT_TIMEOUT_MS;
/** For this long after a failed put, look-ups do not publish. */
const FAILING_MS = 60_000;

export interface PublishOptions<Value> {
  /** The row as the primary has just returned it. It is not read again. */
  row?: Value;
  /** Maximum number of repetitions of a round that fails. */
  retries?: number;
}

interface Publication {
  startedAt: number;
  isAskedAgain: boolean;
}

/** The namespace of all types of snapshots. */
export interface Kv {
  namespace: KVNamespace;
  /** When it last rejected a put; minus infinity while it works. */
  failedAt: number;
}

/** The published snapshots of one type, in KV. Nothing else writes KV. */
export class Publisher<Value extends Snapshot> {
  readonly #type: SnapshotType<Value>;
  readonly #db: Database;
  readonly #kv: Kv;
  /** Publications under way in this isolate. */
  readonly #publications = new Map<string, Publication>();

  constructor(type: SnapshotType<Value>, db: Database, kv: Kv) {
    this.#type = type;
    this.#db = db;
    this.#kv = kv;
  }

  /** False for a minute after KV rejected a put. */
  isWorking(): boolean {
    return Math.abs(performance.now() - this.#kv.failedAt) > FAILING_MS;
  }

  /** The published snapshot of a key. Null for none or a corrupt one, undefined if KV cannot be read. */
  async find(key: string): Promise<Value | null | undefined> {
    try {
      const kvKey = await this.#type.kvKey(key);
      const reading = this.#kv.namespace.get(kvKey, { cacheTtl: KV_CACHE_SECONDS });
      const text = await withTimeout(reading, KV_TIMEOUT_MS);
      return text === null ? null : this.#type.decode(text);
    } catch (error) {
      logFailure('A published snapshot could not be read', error);
      return undefined;
    }
  }

  /**
   * Reads a row from the primary, puts its snapshot, and checks that the row is still the same; else starts
   * again. The newest row wins, whichever publisher ends last. The scheduled handler publishes the changes
   * that are not published here. Never rejects.
   *
   * @returns the snapshot in KV now; null for none, undefined if unknown
   */
  async publish(
    key: string,
    { row, retries = RETRY_DELAYS_MS.length }: PublishOptions<Value> = {},
  ): Promise<Value | null | undefined> {
    const other = this.#publications.get(key);
    if (other && Math.abs(performance.now() - other.startedAt) < MAX_LIFE_MS) {
      other.isAskedAgain = true;
      return undefined;
    }
    const own = { startedAt: performance.now(), isAskedAgain: false };
    this.#publications.set(key, own);
    try {
      return await this.#publish(key, own, row, RETRY_DELAYS_MS.slice(0, retries));
    } catch (error) {
      logFailure('A snapshot was not published yet', error);
      return undefined;
    } finally {
      if (this.#publications.get(key) === own) this.#publications.delete(key);
    }
  }

  async #publish(
    key: string,
    own: Publication,
    row: Value | undefined,
    delaysMs: number[],
  ): Promise<Value | null | undefined> {
    for (let round = 0; round < MAX_ROUNDS; round++) {
      if (performance.now() - own.startedAt > LAST_PUT_MS) break;
      own.isAskedAgain = false;
      try {
        const value = (round === 0 && row) || (await this.#read(key));
        await this.#put(key, value);
        const isCurrent = await this.#confirm(key, value?.revision ?? 0);
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

  async #read(key: string): Promise<Value | null> {
    const rows = await withTimeout(this.#type.load(this.#db, [key]), DATABASE_TIMEOUT_MS);
    return rows.get(key) ?? null;
  }

  async #put(key: string, value: Value | null): Promise<void> {
    const { namespace } = this.#kv;
    const kvKey = await this.#type.kvKey(key);
    try {
      const put = value ? namespace.put(kvKey, this.#type.encode(value)) : namespace.delete(kvKey);
      await withTimeout(put, PUT_TIMEOUT_MS);
      this.#kv.failedAt = Number.NEGATIVE_INFINITY;
    } catch (error) {
      this.#kv.failedAt = performance.now();
      throw error;
    }
  }

  /** Removes the change from the outbox if the row is still at a revision. @returns whether it is */
  async #confirm(key: string, revision: number): Promise<boolean> {
    const { name, currentRevision } = this.#type;
    const subject = key === '' ? name : `${name}:${key}`;
    const isCurrent = sql`ifnull(${currentRevision(key)}, 0) = ${revision}`;
    const confirmed = batch(this.#db, {
      rows: this.#db
        .select({ isCurrent: sql`${isCurrent}`.mapWith(Boolean).as('isCurrent') })
        .from(sql`(select 1)`),
      removed: removeChange(this.#db, subject, isCurrent),
    });
    const { rows } = await withTimeout(confirmed, DATABASE_TIMEOUT_MS);
    return rows[0]?.isCurrent ?? false;
  }
}
