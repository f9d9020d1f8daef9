import type { Database } from '../db/client';
import { DATABASE_TIMEOUT_MS, type WaitUntil, withTimeout } from '../lib/async';
import { BoundedMap } from '../lib/bounded-map';
import type { MonotonicClock } from '../lib/clock';
import type { RequestTimings, Tier } from '../lib/request-timings';
import { BatchLoader, SingleFlight } from './batch-loader';
import { type Kv, Publisher, type PublishOptions } from './publisher';
import type { Snapshot, SnapshotType } from './snapshots';
import type { Sync } from './sync';

/** How long a snapshot is fresh after it was loaded, or after a sync did not name it (1.5). */
const FRESH_MS = 50_000;
/** A snapshot is looked up again at a random age in this range, so that not all are at once. */
const MIN_AGE_MS = 5 * 60_000;
const MAX_AGE_MS = 10 * 60_000;
/** How long an unknown key stays unknown, counted from the start of its look-up. */
const UNKNOWN_MS = 60_000;
const MAX_ENTRIES = 10_000;
const MAX_FLOORS = 10_000;
/** No key is longer: a license key has up to 255 characters, and normalized up to three for one. */
const MAX_KEY_LENGTH = 765;
/** KV shows a write everywhere within a minute, and a location may cache the old value for 30 seconds. */
const SPREADING_MS = 90_000;

interface Entry<Value> {
  found: Found<Value>;
  /** When the load began. */
  loadedAt: number;
  expiresAt: number;
}

/** The lowest revision of a key that is not stale. */
interface Floor {
  revision: number;
  /** Its place in the order of this cache's events. */
  order: number;
}

/** The result of a look-up. */
export interface Found<Value> {
  type: SnapshotType<Snapshot>['name'];
  key: string;
  /** Null for an unknown key. */
  value: Value | null;
  tier: Tier;
}

export interface CacheContext {
  db: Database;
  /** Undefined if D1 is as near as KV. The tiers are then memory and D1. */
  kv: Kv | undefined;
  clock: MonotonicClock;
  sync: Sync;
}

const revisionOf = (value: Snapshot | null): number => value?.revision ?? 0;

/** The snapshots of one type: memory, then KV, then D1. No result is below the floor of its key. */
export class SnapshotCache<Value extends Snapshot> {
  readonly #type: SnapshotType<Value>;
  readonly #clock: MonotonicClock;
  readonly #sync: Sync;
  readonly #publisher: Publisher<Value> | undefined;
  readonly #entries = new BoundedMap<string, Entry<Value>>(MAX_ENTRIES);
  /** Separate, for guessed keys to evict no known ones. */
  readonly #unknown = new BoundedMap<string, Entry<Value>>(MAX_ENTRIES);
  readonly #floors = new BoundedMap<string, Floor>(MAX_FLOORS);
  readonly #flights = new SingleFlight<Found<Value>>();
  readonly #rows: BatchLoader<Value>;
  /** Counts events: the clock stands still while code runs. */
  #order = 0;
  /** A look-up that began before this may have missed a new key. */
  #newKeysOrder = 0;

  constructor(type: SnapshotType<Value>, { db, kv, clock, sync }: CacheContext) {
    this.#type = type;
    this.#clock = clock;
    this.#sync = sync;
    this.#publisher = kv && new Publisher(type, db, kv, clock);
    this.#rows = new BatchLoader((keys) => withTimeout(type.load(db, keys), DATABASE_TIMEOUT_MS));
  }

  /**
   * The snapshot of a key.
   *
   * @throws if no tier that can be reached has it
   */
  async find(key: string, timings: RequestTimings): Promise<Found<Value>> {
    const held = this.#findFresh(key, timings);
    if (held) return held;
    if (key.length > MAX_KEY_LENGTH) return this.#found(key, null, 'memory');
    const { waitUntil } = timings;
    const startedAt = performance.now();
    const found = await this.#flights.run(key, () => this.#load(key, waitUntil), waitUntil);
    timings.record(found.tier, performance.now() - startedAt);
    return found;
  }

  /**
   * The snapshot of a key in memory, or in KV; undefined for none. D1 is not asked.
   *
   * @param mayReadPublished called if memory has none: whether KV may be asked
   */
  async findNear(
    key: string,
    timings: RequestTimings,
    mayReadPublished: () => Promise<boolean>,
  ): Promise<Found<Value> | undefined> {
    const held = this.#findFresh(key, timings);
    if (held) return held;
    if (key.length > MAX_KEY_LENGTH || !(await mayReadPublished())) return undefined;
    const startedAt = performance.now();
    const loadedAt = this.#clock.now();
    const published = await this.#publisher?.find(key);
    if (!published || !this.#isAcceptable(key, published)) return undefined;
    timings.record('kv', performance.now() - startedAt);
    this.#put(key, published, loadedAt);
    return this.#found(key, published, 'kv');
  }

  /** Keeps a snapshot that D1 has just returned. */
  put(key: string, value: Value): void {
    this.invalidate(key, value.revision);
    this.#put(key, value, this.#clock.now());
  }

  /** The row has this revision now: older snapshots are evicted, and rejected from every tier. */
  invalidate(key: string, revision: number): void {
    this.#unknown.delete(key);
    const held = this.#entries.get(key);
    if (held && revisionOf(held.found.value) < revision) this.#entries.delete(key);
    if (revision <= this.#floorOf(key)) return;
    this.#floors.set(key, { revision, order: ++this.#order });
  }

  /** Rows were added under new keys, so no key counts as unknown. */
  invalidateUnknown(): void {
    this.#unknown.clear();
    this.#newKeysOrder = ++this.#order;
  }

  /** Evicts everything. Floors stay, for revisions only grow. */
  clear(): void {
    this.#entries.clear();
    this.#unknown.clear();
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
   * Read repair: a response was based on a snapshot, and D1 has another revision. Evicts the snapshot.
   * Publishes the current one, unless KV may still be spreading it.
   *
   * @param current undefined for no row
   * @param usedAt milliseconds since 1970
   */
  async repair(
    { key, value, tier }: Found<Snapshot>,
    current: number | undefined,
    usedAt: number,
  ): Promise<void> {
    const revision = revisionOf(value);
    const floor = this.#floorOf(key);
    if (current !== undefined && current < revision) {
      // The database was set back, unless a newer revision is known by now.
      if (floor > revision) return;
      this.#floors.delete(key);
      this.#entries.delete(key);
      const published = await this.#publisher?.publish(key);
      if (published) this.put(key, published);
      return;
    }
    // A removed row counts as one more revision.
    const lowest = current ?? revision + 1;
    if (floor >= lowest) return;
    this.invalidate(key, lowest);
    // A revision is the time of the change.
    if (tier === 'kv' && usedAt - lowest > SPREADING_MS) await this.publish(key);
  }

  #findFresh(key: string, timings: RequestTimings): Found<Value> | undefined {
    // First, because a clock that has stepped back clears memory.
    const now = this.#clock.now();
    const entry = this.#entries.get(key) ?? this.#unknown.get(key);
    if (!entry) return undefined;
    const isFresh = now - Math.max(entry.loadedAt, this.#sync.syncedAt) < FRESH_MS;
    if (!isFresh || now >= entry.expiresAt) return undefined;
    timings.record('memory', 0);
    return entry.found;
  }

  #floorOf(key: string): number {
    return this.#floors.get(key)?.revision ?? 0;
  }

  /** Whether a snapshot is neither below the floor nor older than the one in memory. */
  #isAcceptable(key: string, value: Value): boolean {
    const held = revisionOf(this.#entries.get(key)?.found.value ?? null);
    return value.revision >= Math.max(this.#floorOf(key), held);
  }

  async #load(key: string, waitUntil: WaitUntil): Promise<Found<Value>> {
    const startedAt = this.#clock.now();
    const published = await this.#publisher?.find(key);
    if (published && this.#isAcceptable(key, published)) {
      this.#put(key, published, startedAt);
      return this.#found(key, published, 'kv');
    }
    try {
      const value = await this.#loadRow(key, waitUntil);
      if (value) this.#put(key, value, startedAt);
      else this.#putUnknown(key, startedAt);
      const isMissing = value !== null && published === null;
      if (isMissing && this.canPublish()) {
        waitUntil(this.publish(key, { row: value }));
      }
      return this.#found(key, value, 'd1');
    } catch (error) {
      // While D1 cannot be reached, an old snapshot is better than none.
      const stale = this.#entries.get(key)?.found;
      if (stale) return stale;
      throw error;
    }
  }

  /** Reads the row; again while a change overtakes the read. */
  async #loadRow(key: string, waitUntil: WaitUntil): Promise<Value | null> {
    for (;;) {
      const order = ++this.#order;
      const value = await this.#rows.load(key, waitUntil);
      if (value === null && order < this.#newKeysOrder) continue;
      const floor = this.#floors.get(key);
      if (!floor || revisionOf(value) >= floor.revision) return value;
      if (order < floor.order) continue;
      // The row was removed, or the database was set back: the primary is right.
      if (value) this.#floors.delete(key);
      return value;
    }
  }

  #put(key: string, value: Value, loadedAt: number): void {
    if (!this.#isAcceptable(key, value)) return;
    this.#unknown.delete(key);
    const ageMs = MIN_AGE_MS + Math.random() * (MAX_AGE_MS - MIN_AGE_MS);
    const found = this.#found(key, value, 'memory');
    this.#entries.set(key, { found, loadedAt, expiresAt: loadedAt + ageMs });
  }

  #putUnknown(key: string, loadedAt: number): void {
    this.#entries.delete(key);
    const found = this.#found(key, null, 'memory');
    this.#unknown.set(key, { found, loadedAt, expiresAt: loadedAt + UNKNOWN_MS });
  }

  #found<Some extends Value | null>(key: string, value: Some, tier: Tier) {
    return { type: this.#type.name, key, value, tier };
  }
}
