import type { Database } from '../db/client.ts';
import { DATABASE_TIMEOUT_MS, type WaitUntil, withTimeout } from '../lib/async.ts';
import { BoundedMap } from '../lib/bounded-map.ts';
import type { RequestTimings, Tier } from '../lib/request-timings.ts';
import { BatchLoader, SingleFlight } from './batch-loader.ts';
import { type Kv, Publisher, type PublishOptions } from './publisher.ts';
import type { Snapshot, SnapshotType } from './snapshots.ts';

/** A snapshot is fresh for this long after its load; an unknown key stays unknown as long (1.5). */
const FRESH_MS = 30_000;
const MAX_ENTRIES = 10_000;
const MAX_LOWEST_REVISIONS = 10_000;
/** No key is longer: a license key has up to 255 characters, and normalized up to three for one. */
const MAX_KEY_LENGTH = 765;
/** KV shows a write everywhere within a minute, and a location may cache the old value for 30 seconds. */
const SPREADING_MS = 90_000;

interface Entry<Value> {
  found: CacheHit<Value>;
  /** When the load began. */
  loadedAt: number;
}

/** The result of a look-up. */
export interface CacheHit<Value> {
  type: SnapshotType<Snapshot>['name'];
  key: string;
  /** Null for an unknown key. */
  value: Value | null;
  /** Whether the snapshot came from KV, which can show an old one, and was not yet compared with D1. */
  needsComparison: boolean;
}

interface Loaded<Value> {
  found: CacheHit<Value>;
  tier: Tier;
}

export interface CacheContext {
  db: Database;
  /** Undefined if D1 is as near as KV. The tiers are then memory and D1. */
  kv: Kv | undefined;
}

/** Whether KV has had the time to show a revision everywhere. A revision is the time of the change. */
const isSpread = (revision: number, now: number): boolean => now - revision > SPREADING_MS;

const revisionOf = (value: Snapshot | null): number => value?.revision ?? 0;

/** The snapshots of one type: memory, then KV, then D1. */
export class SnapshotCache<Value extends Snapshot> {
  readonly #type: SnapshotType<Value>;
  readonly #publisher: Publisher<Value> | undefined;
  readonly #entries = new BoundedMap<string, Entry<Value>>(MAX_ENTRIES);
  /** Separate, because guessed keys must not evict known ones. */
  readonly #unknown = new BoundedMap<string, Entry<Value>>(MAX_ENTRIES);
  /** By key, the lowest revision that is not known to be stale. KV is passed over until it shows that or a newer one. */
  readonly #lowest = new BoundedMap<string, number>(MAX_LOWEST_REVISIONS);
  readonly #flights = new SingleFlight<Loaded<Value>>();
  readonly #rows: BatchLoader<Value>;

  constructor(type: SnapshotType<Value>, { db, kv }: CacheContext) {
    this.#type = type;
    this.#publisher = kv && new Publisher(type, db, kv);
    this.#rows = new BatchLoader((keys) => withTimeout(type.load(db, keys), DATABASE_TIMEOUT_MS));
  }

  /** The snapshot of a key, at once if it is in memory. Rejects if no tier that can be reached has it. */
  find(key: string, timings: RequestTimings): CacheHit<Value> | Promise<CacheHit<Value>> {
    if (key.length > MAX_KEY_LENGTH) return this.#found(key, null, false);
    return this.#findFresh(key, timings) ?? this.#findAway(key, timings);
  }

  async #findAway(key: string, timings: RequestTimings): Promise<CacheHit<Value>> {
    const { waitUntil } = timings;
    const load = () => this.#load(key, waitUntil);
    const { found, tier } = await this.#flights.run(key, load, waitUntil);
    timings.noteRead(tier);
    return found;
  }

  /**
   * The snapshot of a key in memory, or in KV; undefined for none. D1 is not asked.
   *
   * @param mayReadPublished called if memory has none: whether KV may be asked
   */
  async findCachedOnly(
    key: string,
    timings: RequestTimings,
    mayReadPublished: () => Promise<boolean>,
  ): Promise<CacheHit<Value> | undefined> {
    const held = this.#findFresh(key, timings) ?? this.#findOnlyIsolate(key, timings);
    if (held) return held;
    if (key.length > MAX_KEY_LENGTH || !(await mayReadPublished())) return undefined;
    const startedAt = performance.now();
    const published = await this.#publisher?.find(key);
    if (!published || !this.#isAcceptable(key, published)) return undefined;
    timings.noteRead('kv');
    return this.#put(key, published, startedAt, true);
  }

  /**
   * Puts a snapshot that D1 has returned.
   *
   * @param readAt when the read began, by `performance.now()`
   */
  put(key: string, value: Value, readAt: number): void {
    this.invalidate(key, value.revision);
    this.#put(key, value, readAt, false);
  }

  /**
   * Takes the current revision of a row, which may be new. Older snapshots are evicted, and rejected if they come
   * from KV.
   */
  invalidate(key: string, revision: number): void {
    this.#unknown.delete(key);
    const held = this.#entries.get(key);
    if (held && revisionOf(held.found.value) < revision) this.#entries.delete(key);
    if (revision > this.#lowestOf(key)) this.#lowest.set(key, revision);
  }

  /** Publishes the row as it is now; see {@link Publisher.publish}. Never rejects. */
  async publish(key: string, options?: PublishOptions<Value>): Promise<void> {
    await this.#publisher?.publish(key, options);
  }

  /** Whether KV has not rejected a put within the last minute. */
  canPublish(): boolean {
    return this.#publisher?.isWorking() ?? false;
  }

  /**
   * Read repair: a response was based on a snapshot from KV, and D1 has another revision. Evicts the snapshot.
   * Publishes the current one, unless KV may still be spreading it.
   *
   * @param current undefined for no row
   * @param usedAt milliseconds since 1970
   */
  async repair(
    { key, value }: CacheHit<Snapshot>,
    current: number | undefined,
    usedAt: number,
  ): Promise<void> {
    const revision = revisionOf(value);
    const lowest = this.#lowestOf(key);
    if (current !== undefined && current < revision) {
      // The database was set back, unless a newer revision is known by now.
      if (lowest > revision) return;
      this.#lowest.delete(key);
      this.#entries.delete(key);
      const readAt = performance.now();
      const published = await this.#publisher?.publish(key);
      if (published) this.put(key, published, readAt);
      return;
    }
    // A removed row counts as one more revision.
    const next = current ?? revision + 1;
    if (lowest >= next) return;
    this.invalidate(key, next);
    if (isSpread(next, usedAt) && this.canPublish()) await this.publish(key);
  }

  #findFresh(key: string, timings: RequestTimings): CacheHit<Value> | undefined {
    const entry = this.#entries.get(key) ?? this.#unknown.get(key);
    // On Workers `performance.now()` is the wall clock, and can step back.
    if (!entry || Math.abs(performance.now() - entry.loadedAt) >= FRESH_MS) return undefined;
    timings.noteRead('memory');
    return entry.found;
  }

  /** Without KV one isolate makes all changes and evicts their snapshots, so its memory is current. */
  #findOnlyIsolate(key: string, timings: RequestTimings): CacheHit<Value> | undefined {
    const held = this.#publisher ? undefined : this.#entries.get(key)?.found;
    if (held) timings.noteRead('memory');
    return held;
  }

  #lowestOf(key: string): number {
    return this.#lowest.get(key) ?? 0;
  }

  /** Whether a snapshot is neither known to be stale nor older than the one in memory. */
  #isAcceptable(key: string, value: Value): boolean {
    const held = revisionOf(this.#entries.get(key)?.found.value ?? null);
    return value.revision >= Math.max(this.#lowestOf(key), held);
  }

  async #load(key: string, waitUntil: WaitUntil): Promise<Loaded<Value>> {
    const startedAt = performance.now();
    const published = await this.#publisher?.find(key);
    if (published && this.#isAcceptable(key, published)) {
      return { found: this.#put(key, published, startedAt, true), tier: 'kv' };
    }
    try {
      const value = await this.#loadRow(key, waitUntil);
      // It may be newer than the row, if the database was set back.
      this.#entries.delete(key);
      const found = this.#put(key, value, startedAt, false);
      const isMissing = value !== null && published === null;
      const isStale = published && isSpread(value?.revision ?? this.#lowestOf(key), Date.now());
      if ((isMissing || isStale) && this.canPublish()) {
        waitUntil(this.publish(key, value ? { row: value } : {}));
      }
      return { found, tier: 'd1' };
    } catch (error) {
      // While D1 cannot be reached, an old snapshot is better than none.
      const stale = this.#entries.get(key)?.found;
      if (stale) return { found: stale, tier: 'memory' };
      throw error;
    }
  }

  /** Reads the row; again while a change overtakes the read. */
  async #loadRow(key: string, waitUntil: WaitUntil): Promise<Value | null> {
    for (;;) {
      const lowest = this.#lowestOf(key);
      const value = await this.#rows.load(key, waitUntil);
      const now = this.#lowestOf(key);
      if (now > lowest && revisionOf(value) < now) continue;
      // The database was set back: the primary is right.
      if (value && value.revision < lowest) this.#lowest.delete(key);
      return value;
    }
  }

  #put(key: string, value: Value | null, loadedAt: number, isFromKv: boolean): CacheHit<Value> {
    const found = this.#found(key, value, isFromKv);
    if (value === null) {
      this.#unknown.set(key, { found, loadedAt });
    } else if (this.#isAcceptable(key, value)) {
      this.#unknown.delete(key);
      this.#entries.set(key, { found, loadedAt });
    }
    return found;
  }

  #found(key: string, value: Value | null, needsComparison: boolean): CacheHit<Value> {
    return { type: this.#type.name, key, value, needsComparison };
  }
}
