import { type Change, type selectChange, selectChanges } from '../db/changes';
import type { Database } from '../db/client';
import { logFailure } from '../log';
import { BoundedMap } from './bounded-map';
import type { ChangeFeed } from './feed';
import { DATABASE_PATIENCE_MS, inTime } from './in-time';
import { GroupReader } from './lookups';
import type { Publisher } from './publish';
import { type Loads, share } from './share';
import type { AfterAnswer, Tier, Visit } from './visit';

/** What is held of a row outside of the database; `revision` tells one state of it from the next. */
export interface Snapshot {
  revision: number;
}

/** A select from the log of changes, to be run with another in one round trip. */
type ChangeSelect = ReturnType<typeof selectChanges | typeof selectChange>;

/** A kind of snapshot: where it is published, how it is read back, and where the truth is. */
export interface Kind<Value extends Snapshot> {
  /** Before the colon in the log's subjects and in the keys of KV. */
  name: 'license' | 'token' | 'blacklist';
  /** The key in KV of what the log calls by its subject: at most 512 bytes, and no secret in it. */
  kvKey(key: string): Promise<string>;
  /** The text of a value in KV. */
  encode(value: Value): string;
  /** What a value in KV says; null where it is corrupt or in another format. */
  decode(text: string): Value | null;
  /** The rows at the primary, by key, and the changes that are asked for in the same round trip. */
  read(
    db: Database,
    keys: readonly string[],
    changes: ChangeSelect,
  ): Promise<[Change[], ReadonlyMap<string, Value>]>;
}

/** A snapshot, or null for none, and where that was found out. */
interface Found<Value> {
  value: Value | null;
  tier: Tier;
}

/** Between these a copy in memory is given up: not all at once. */
const MIN_AGE_MS = 5 * 60_000;
const MAX_AGE_MS = 10 * 60_000;
/** An unknown key is remembered briefly; if it is made meanwhile, the log tells. */
const UNKNOWN_MS = 60_000;
const MAX_COPIES = 10_000;
const MAX_UNKNOWN = 10_000;
/** Nothing has a longer key: a license's has up to 255 characters, and folded up to three for one. */
const MAX_KEY_LENGTH = 765;
/** How long the location that a KV read comes from may answer it from its own cache; the least there is. */
const KV_CACHE_SECONDS = 30;
/**
 * How long a revision is remembered below which copies are refused. What KV may still show as it was
 * is in the log, all of which is read again before this time is over.
 */
const OUTDATED_MS = 15 * 60_000;
const KV_PATIENCE_MS = 2_000;
/**
 * When so many keys in a row that were not in memory were unknown, somebody is trying keys out: KV,
 * which has none of them, is not asked before the database, where a group of keys is one question. The
 * first known key ends it.
 */
const MAX_UNKNOWN_IN_A_ROW = 20;

/**
 * The snapshots of one kind as an isolate sees them: in its memory, else published in KV, else in
 * the database. A copy is believed while the isolate is in touch with the log of changes, and never
 * one that is older than the log tells. It reads KV; only `publish.ts` writes it.
 */
export class SnapshotStore<Value extends Snapshot> {
  readonly #kind: Kind<Value>;
  readonly #db: Database;
  readonly #kv: KVNamespace;
  readonly #feed: ChangeFeed;
  readonly #publisher: Publisher;

  readonly #copies = new BoundedMap<string, { value: Value; until: number }>(MAX_COPIES);
  readonly #unknown = new BoundedMap<string, number>(MAX_UNKNOWN);
  readonly #outdated = new Map<string, { revision: number; since: number }>();
  readonly #loads: Loads<Found<Value>> = new Map();
  readonly #rows = new GroupReader<Value>((keys) => this.#readRows(keys));
  #unknownInARow = 0;

  constructor(
    kind: Kind<Value>,
    db: Database,
    kv: KVNamespace,
    feed: ChangeFeed,
    publisher: Publisher,
  ) {
    this.#kind = kind;
    this.#db = db;
    this.#kv = kv;
    this.#feed = feed;
    this.#publisher = publisher;
  }

  /**
   * The snapshot with a key; null when the database has none. While the database cannot be reached,
   * what is held or published is the best there is.
   *
   * @throws when it is neither held nor published, and the database cannot be reached
   */
  async find(key: string, visit: Visit): Promise<Value | null> {
    if (key.length > MAX_KEY_LENGTH) return null;
    const held = this.#held(key);
    if (held !== undefined && this.#feed.isInTouch()) {
      visit.note('memory', 0);
      return held;
    }
    const startedAt = performance.now();
    const { value, tier } = await this.#findElsewhere(key, visit);
    visit.note(tier, performance.now() - startedAt);
    return value;
  }

  async #findElsewhere(key: string, { afterAnswer }: Visit): Promise<Found<Value>> {
    const shared = await share(this.#loads, key, () => this.#load(key, afterAnswer));
    // What another request loaded may have changed since it began, and before this one did.
    if (shared && (shared.isOwn || this.isCurrent(key, shared.result.value))) return shared.result;
    return this.#load(key, afterAnswer);
  }

  /** Keeps a snapshot from the database or KV, unless a newer one is known of. */
  keep(key: string, value: Value): void {
    if (!this.isCurrent(key, value)) return;
    this.#unknown.delete(key);
    const ageMs = MIN_AGE_MS + Math.random() * (MAX_AGE_MS - MIN_AGE_MS);
    this.#copies.set(key, { value, until: performance.now() + ageMs });
  }

  /** Whether nothing newer is known of. */
  isCurrent(key: string, value: Value | null): boolean {
    const held = this.#copies.get(key)?.value.revision ?? 0;
    return (value?.revision ?? 0) >= Math.max(held, this.#revisionOf(key));
  }

  /** The row has this revision now: older copies are dropped, and refused from wherever they come. */
  outdate(key: string, revision: number): void {
    if (revision < this.#revisionOf(key)) return;
    const now = performance.now();
    const copy = this.#copies.get(key);
    if (copy && copy.value.revision < revision) this.#copies.delete(key);
    this.#unknown.delete(key);
    this.#outdated.delete(key);
    this.#outdated.set(key, { revision, since: now });
    for (const [oldKey, { since }] of this.#outdated) {
      if (now - since < OUTDATED_MS) break;
      this.#outdated.delete(oldKey);
    }
  }

  /** Puts the row as it is now into KV. Never throws. */
  publish(key: string): Promise<void> {
    return this.#publisher.publish(this.#kind, key);
  }

  /** Whether KV holds what the log says was put. */
  isPublished(key: string, change: Change): Promise<boolean> {
    return this.#publisher.isPublished(this.#kind, key, change);
  }

  /**
   * An answer was based on another revision than the database has now: drops the copy where it is not
   * right by now, and puts the right one into KV.
   */
  async heal(key: string, revision: number): Promise<void> {
    const held = this.#copies.get(key)?.value.revision;
    if (held !== revision) this.#copies.delete(key);
    // Higher only where the database was set back.
    if (this.#revisionOf(key) > revision) this.#outdated.delete(key);
    this.outdate(key, revision);
    await this.publish(key);
  }

  /**
   * An answer was based on what the database does not have, and no news told it: drops the copy, and
   * publishes what there is.
   */
  async drop(key: string): Promise<void> {
    this.#copies.delete(key);
    await this.publish(key);
  }

  forget(): void {
    this.#copies.clear();
    this.#unknown.clear();
    this.#outdated.clear();
  }

  /** The copy in memory; null for a key that was unknown a moment ago, undefined for none. */
  #held(key: string): Value | null | undefined {
    const now = performance.now();
    const copy = this.#copies.get(key);
    if (copy) return now < copy.until ? copy.value : undefined;
    const unknownUntil = this.#unknown.get(key);
    return unknownUntil !== undefined && now < unknownUntil ? null : undefined;
  }

  async #load(key: string, afterAnswer: AfterAnswer): Promise<Found<Value>> {
    const startedAt = performance.now();
    const wasInTouch = this.#feed.isInTouch();
    if (wasInTouch && this.#unknownInARow < MAX_UNKNOWN_IN_A_ROW) {
      const published = await this.#readPublished(key);
      if (published && this.#feed.isInTouch() && !this.#isUnheardOf(key, published)) {
        this.#unknownInARow = 0;
        this.keep(key, published);
        return { value: published, tier: 'kv' };
      }
    }
    let value: Value | null;
    try {
      value = await this.#rows.find(key);
    } catch (error) {
      if (this.#feed.isBlind()) throw error;
      const published = await this.#readPublished(key);
      if (published) this.keep(key, published);
      const held = this.#copies.get(key)?.value;
      if (held) return { value: held, tier: 'memory' };
      if (published) return { value: published, tier: 'kv' };
      throw error;
    }
    if (value) {
      this.#unknownInARow = 0;
      this.keep(key, value);
      if (wasInTouch && this.#publisher.isWorking()) afterAnswer(this.publish(key));
    } else {
      this.#unknownInARow++;
      // From the start: the key may have been made as soon as the database had looked.
      if (this.isCurrent(key, null)) this.#unknown.set(key, startedAt + UNKNOWN_MS);
    }
    return { value, tier: 'd1' };
  }

  /** Reads rows at the primary, and takes in the news. */
  async #readRows(keys: readonly string[]): Promise<ReadonlyMap<string, Value>> {
    const reading = this.#feed.begin();
    try {
      if (this.#feed.isUnreachable()) throw new Error('The database did not answer a moment ago');
      const changes = selectChanges(this.#db, reading.from);
      const answer = this.#kind.read(this.#db, keys, changes);
      const [news, rows] = await inTime(answer, DATABASE_PATIENCE_MS);
      this.#feed.take(reading, news);
      return rows;
    } catch (error) {
      this.#feed.miss(reading);
      throw error;
    }
  }

  /** What KV has, if it is no older than the log tells; null too where KV cannot be read. */
  async #readPublished(key: string): Promise<Value | null> {
    try {
      const value = await inTime(readPublished(this.#kind, this.#kv, key), KV_PATIENCE_MS);
      return value && this.isCurrent(key, value) ? value : null;
    } catch (error) {
      logFailure('A published snapshot could not be read', error);
      return null;
    }
  }

  /**
   * Whether a published snapshot is newer than the log has told: it changed a moment ago, or it was
   * undone when the database was set back. The database knows.
   */
  #isUnheardOf(key: string, published: Value): boolean {
    const told = this.#revisionOf(key);
    return told > 0 && published.revision > told;
  }

  #revisionOf(key: string): number {
    return this.#outdated.get(key)?.revision ?? 0;
  }
}

/**
 * What is published under a key; null where nothing is, or nothing that can be understood.
 *
 * @throws when KV cannot be read
 */
export async function readPublished<Value extends Snapshot>(
  kind: Kind<Value>,
  kv: KVNamespace,
  key: string,
): Promise<Value | null> {
  const text = await kv.get(await kind.kvKey(key), { cacheTtl: KV_CACHE_SECONDS });
  return text === null ? null : kind.decode(text);
}
