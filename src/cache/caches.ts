import { sql } from 'drizzle-orm';
import type { Database } from '../db/client.ts';
import { type Change, findChanges, oldestChange, removeChanges } from '../db/outbox.ts';
import type { Task } from '../db/task.ts';
import type { WaitUntil } from '../lib/async.ts';
import type { LicenseSnapshot } from '../resources/licenses/snapshot.ts';
import type { Policy } from '../resources/policy.ts';
import { type CacheContext, type CacheHit, SnapshotCache } from './snapshot-cache.ts';
import {
  licenseSnapshot,
  policySnapshot,
  type Snapshot,
  type TokenSnapshot,
  tokenSnapshot,
} from './snapshots.ts';

/** Changes that one run of the scheduled handler, or one request, publishes: their queries are limited. */
const MAX_PUBLISHED = 5;
/** Each is read, put and confirmed. */
const CHANGE_QUERIES = 4;

type AnyCache = Pick<SnapshotCache<Snapshot>, 'invalidate' | 'publish' | 'canPublish' | 'repair'>;

/** The caches of an isolate, and the publishing of changes (1.5), as docs/cache.md explains. */
export class Caches {
  /** By normalized license key. */
  readonly licenses: SnapshotCache<LicenseSnapshot>;
  /** By hash. */
  readonly tokens: SnapshotCache<TokenSnapshot>;
  /** Has one key. */
  readonly policy: SnapshotCache<Policy>;
  readonly #db: Database;
  readonly #hasKv: boolean;
  readonly #byName: ReadonlyMap<string, AnyCache>;

  /** @param namespace undefined if D1 is as near as KV. The tiers are then memory and D1 */
  constructor(db: Database, namespace: KVNamespace | undefined) {
    this.#db = db;
    this.#hasKv = namespace !== undefined;
    const kv = namespace && { namespace, failedAt: Number.NEGATIVE_INFINITY };
    const context: CacheContext = { db, kv };
    this.licenses = new SnapshotCache(licenseSnapshot, context);
    this.tokens = new SnapshotCache(tokenSnapshot, context);
    this.policy = new SnapshotCache(policySnapshot, context);
    this.#byName = new Map<string, AnyCache>([
      [licenseSnapshot.name, this.licenses],
      [tokenSnapshot.name, this.tokens],
      [policySnapshot.name, this.policy],
    ]);
  }

  /** Evicts the snapshots that a write of this isolate has changed. The next request sees the change. */
  invalidate(changes: readonly Change[]): void {
    for (const { subject, revision } of changes) {
      const [cache, key] = this.#cacheOf(subject);
      cache?.invalidate(key, revision);
    }
  }

  /** Publishes changes. Never rejects. */
  async publish(changes: readonly Change[]): Promise<void> {
    const published = changes.slice(-MAX_PUBLISHED).map(({ subject }) => {
      const [cache, key] = this.#cacheOf(subject);
      return cache?.publish(key);
    });
    await Promise.all(published);
  }

  /** Read repair: see {@link SnapshotCache.repair}. Never rejects. */
  async repair(
    found: CacheHit<Snapshot>,
    current: number | undefined,
    usedAt: number,
  ): Promise<void> {
    await this.#byName.get(found.type)?.repair(found, current, usedAt);
  }

  get publishTask(): Task {
    return {
      failure: 'Changes were not published',
      most: 1 + CHANGE_QUERIES,
      dueSince: oldestChange,
      run: async ({ left, spend }) => spend(await this.#publishDue(left())),
    };
  }

  /**
   * Publishes the changes that are left in the outbox, the oldest first, up to the first put that KV rejects.
   * Without KV it only removes them. Safe to run twice at once.
   *
   * @param left the number of queries and requests that remain
   * @returns the number of its queries and requests, at most
   */
  async #publishDue(left: number): Promise<number> {
    if (!this.#hasKv) {
      await removeChanges(this.#db);
      return 1;
    }
    const room = Math.floor((left - 1) / CHANGE_QUERIES);
    const changes = await findChanges(this.#db, Math.min(room, MAX_PUBLISHED));
    let published = 0;
    for (const { subject } of changes) {
      const [cache, key] = this.#cacheOf(subject);
      published++;
      await cache?.publish(key, { retries: 0 });
      if (cache && !cache.canPublish()) break;
    }
    return 1 + CHANGE_QUERIES * published;
  }

  /** The cache and the key of a subject; undefined for a type of another version of the service. */
  #cacheOf(subject: string): [AnyCache | undefined, string] {
    const [name = ''] = subject.split(':', 1);
    return [this.#byName.get(name), subject.slice(name.length + 1)];
  }
}

/** The snapshots on which a response was based. */
export interface Use {
  used: readonly CacheHit<Snapshot>[];
  /** Milliseconds since 1970. */
  usedAt: number;
}

/** A stale snapshot: its position in the list, and the revision in D1, which is null if the row is gone. */
interface Stale {
  index: number;
  revision: number | null;
}

/** Compares each snapshot that came from KV with D1, once, after it was used (1.5). */
export class Comparison {
  readonly #caches: Caches;
  readonly #uses: readonly { found: CacheHit<Snapshot>; usedAt: number }[];

  constructor(caches: Caches, uses: readonly Use[]) {
    this.#caches = caches;
    const lastUses = new Map<CacheHit<Snapshot>, number>();
    for (const { used, usedAt } of uses) {
      for (const found of used) if (found.needsComparison) lastUses.set(found, usedAt);
    }
    this.#uses = Array.from(lastUses, ([found, usedAt]) => ({ found, usedAt }));
  }

  selectStale(db: Database) {
    const rows = this.#uses.map(({ found: { type, value } }) => [type, value?.id, value?.revision]);
    const revision = sql<number | null>`case r.value ->> 0
      when 'license' then (select revision from licenses where id = r.value ->> 1)
      when 'token' then (select revision from tokens where id = r.value ->> 1)
      else (select value from counters where name = 'policy_revision') end`;
    return db
      .select({ index: sql<number>`r.key`.as('index'), revision: revision.as('revision') })
      .from(sql`json_each(${JSON.stringify(rows)}) r`)
      .where(sql`${revision} is not r.value ->> 2`);
  }

  /** Takes the result of {@link selectStale}. */
  repair(stale: readonly Stale[], waitUntil: WaitUntil): void {
    for (const { found } of this.#uses) found.needsComparison = false;
    for (const { index, revision } of stale) {
      const use = this.#uses[index];
      if (use) waitUntil(this.#caches.repair(use.found, revision ?? undefined, use.usedAt));
    }
  }
}
