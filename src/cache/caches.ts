import { type Change, findUnpublished, NEW_LICENSES, pruneChanges } from '../db/change-log';
import type { Database } from '../db/client';
import type { MonotonicClock } from '../lib/clock';
import type { RequestTimings } from '../lib/request-timings';
import type { Blacklist } from '../resources/blacklists/blacklist';
import type { LicenseSnapshot } from '../resources/licenses/snapshot';
import { Publisher } from './publisher';
import type { Snapshot, SnapshotType } from './snapshot';
import { type CacheContext, type Found, SnapshotCache } from './snapshot-cache';
import {
  BLACKLIST_KEY,
  blacklistSnapshot,
  licenseSnapshot,
  type TokenSnapshot,
  tokenSnapshot,
} from './snapshots';
import { Sync } from './sync';

/** Changes that one run of the scheduled handler publishes: the queries of a run are limited. */
const MAX_PUBLISHED = 5;

type AnyCache = Pick<
  SnapshotCache<Snapshot>,
  'invalidate' | 'invalidateUnknown' | 'publish' | 'repair'
>;

/** The caches of an isolate, and how they stay fresh (1.5). docs/cache.md explains it. */
export class Caches {
  /** By normalized license key. */
  readonly licenses: SnapshotCache<LicenseSnapshot>;
  /** By hash. */
  readonly tokens: SnapshotCache<TokenSnapshot>;
  readonly sync: Sync;
  readonly #db: Database;
  readonly #blacklist: SnapshotCache<Blacklist>;
  readonly #publisher: Publisher | undefined;
  readonly #byName: ReadonlyMap<string, AnyCache>;

  /** @param kv undefined where D1 is as near: then the caches have two tiers, memory and D1 */
  constructor(db: Database, kv: KVNamespace | undefined, clock: MonotonicClock) {
    this.#db = db;
    this.sync = new Sync(
      clock,
      (change) => this.#invalidate(change),
      () => this.#clear(),
    );
    clock.onStepBack = () => {
      this.sync.forgetTime();
      this.#clear();
    };
    this.#publisher = kv && new Publisher(db, kv, clock);
    const context: CacheContext = { db, kv, clock, sync: this.sync, publisher: this.#publisher };
    const newCache = <Value extends Snapshot>(type: SnapshotType<Value>) =>
      new SnapshotCache(type, context);
    this.licenses = newCache(licenseSnapshot);
    this.tokens = newCache(tokenSnapshot);
    this.#blacklist = newCache(blacklistSnapshot);
    this.#byName = new Map<string, AnyCache>([
      [licenseSnapshot.name, this.licenses],
      [tokenSnapshot.name, this.tokens],
      [blacklistSnapshot.name, this.#blacklist],
    ]);
  }

  /** The whole blacklist. */
  async findBlacklist(timings: RequestTimings): Promise<Found<Blacklist> & { value: Blacklist }> {
    const found = await this.#blacklist.find(BLACKLIST_KEY, timings);
    const { value } = found;
    if (!value) throw new Error('The blacklist has no revision');
    return { ...found, value };
  }

  /** A write of this isolate has made these changes: the next request must see them. */
  invalidate(changes: readonly Omit<Change, 'seq'>[]): void {
    for (const change of changes) this.#invalidate(change);
  }

  /** Publishes changes. Never rejects. */
  async publish(changes: readonly Change[]): Promise<void> {
    const published = changes.slice(-MAX_PUBLISHED).map(({ subject, seq }) => {
      const [cache, key] = this.#cacheOf(subject);
      return cache?.publish(key, { seqs: [seq] });
    });
    await Promise.all(published);
  }

  /** Read repair: see {@link SnapshotCache.repair}. Never rejects. */
  async repair(found: Found<Snapshot>, current: number | undefined, usedAt: number): Promise<void> {
    await this.#byName.get(found.type)?.repair(found, current, usedAt);
  }

  /**
   * Publishes what a crash or KV left unpublished, the oldest change first, up to the first put that KV
   * rejects; and prunes the change log. Part of the scheduled handler. Safe to run twice at once.
   *
   * @param now milliseconds since 1970
   */
  async publishDue(now: number): Promise<void> {
    if (this.#publisher) await this.#publishDue(this.#publisher);
    await pruneChanges(this.#db, now, this.#publisher === undefined);
  }

  async #publishDue(publisher: Publisher): Promise<void> {
    const seqsBySubject = new Map<string, number[]>();
    for (const { subject, seq } of await findUnpublished(this.#db, MAX_PUBLISHED)) {
      seqsBySubject.set(subject, [...(seqsBySubject.get(subject) ?? []), seq]);
    }
    for (const [subject, seqs] of seqsBySubject) {
      const [cache, key] = this.#cacheOf(subject);
      await cache?.publish(key, { seqs, retries: 0 });
      if (!publisher.isWorking()) break;
    }
  }

  #clear(): void {
    for (const cache of [this.licenses, this.tokens, this.#blacklist]) cache.clear();
  }

  #invalidate({ subject, revision }: Omit<Change, 'seq'>): void {
    if (subject === NEW_LICENSES) this.licenses.invalidateUnknown();
    const [cache, key] = this.#cacheOf(subject);
    cache?.invalidate(key, revision);
  }

  /** Undefined for a type that another version of the service caches. */
  #cacheOf(subject: string): [AnyCache | undefined, string] {
    const [name = ''] = subject.split(':', 1);
    return [this.#byName.get(name), subject.slice(name.length + 1)];
  }
}
