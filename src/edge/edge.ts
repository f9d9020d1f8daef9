import type { Blacklist } from '../blacklists/blacklist';
import { type Change, findUnpublished, findUnsettled, selectChanges, settle } from '../db/changes';
import { type Database, isRefusedValue, openDatabase } from '../db/client';
import { type LicenseSnapshot, selectRevisions } from '../licenses/snapshot';
import { logFailure } from '../log';
import { type IdentifiedRequest, writeRequests } from '../requests/write';
import { BoundedMap } from './bounded-map';
import { ChangeFeed, type Reading } from './feed';
import { GroupWriter } from './groups';
import { DATABASE_PATIENCE_MS, inTime } from './in-time';
import { blacklistKind, licenseKind, type TokenSnapshot, tokenKind } from './kinds';
import { Limiter } from './limits';
import { Publisher } from './publish';
import { type Kind, type Snapshot, SnapshotStore } from './store';
import type { AfterAnswer, Visit } from './visit';

/** How many changes a request or a run of the scheduled handler publishes: its queries are limited. */
const MAX_PUBLISHED = 10;

/** How many of what was put one run of the scheduled handler confirms: each is a read of KV. */
const MAX_CONFIRMED = 100;

/** How many readings it takes at most to hear of all changes, after an import of a whole shop. */
const MAX_READINGS = 10;

const MAX_REMEMBERED = 10_000;

/** How many records go together into one statement. */
const MAX_GROUP = 1_024;
/** Together less than a write may take: what the queue does not take in time, the database does. */
const QUEUE_PATIENCE_MS = 2_000;
const COMPARISON_PATIENCE_MS = 2_000;
/** A message of the queue takes 128 KB; each character of its JSON may be three bytes. */
const MAX_MESSAGE_LENGTH = 40_000;

/** A record to be written, and the license on which its answer was based. */
export interface Answered {
  row: IdentifiedRequest;
  basis: { key: string; id: number; revision: number } | null;
}

/** With the queue that wrangler.toml has in comments. */
export type Bindings = Env & { RECORDS?: Queue<readonly Answered[]> };

/** What the database has of the licenses on which answers were based. */
interface Truth {
  news: readonly Change[];
  found: readonly { id: number; revision: number }[];
  /** Of those that it has no more. */
  gone: readonly number[];
}

type Store = Pick<SnapshotStore<Snapshot>, 'outdate' | 'forget' | 'publish' | 'isPublished'>;

/**
 * What an isolate holds outside of the database and shares between its requests: snapshots of
 * licenses, tokens and the blacklist, and how they stay fresh (1.5). docs/edge.md explains it.
 */
export class Edge {
  readonly db: Database;
  readonly feed: ChangeFeed;
  /** By folded key. */
  readonly licenses: SnapshotStore<LicenseSnapshot>;
  /** By hash. */
  readonly tokens: SnapshotStore<TokenSnapshot>;
  readonly records: GroupWriter<Answered>;
  readonly limits: Record<'validations' | 'failedLookups' | 'failedTokens', Limiter>;
  /** When tokens were used last, and how often licenses were asked for, by their ids. */
  readonly #lastUses = new BoundedMap<number, number>(MAX_REMEMBERED);
  readonly #totals = new BoundedMap<number, number>(MAX_REMEMBERED);
  readonly #blacklist: SnapshotStore<Blacklist>;
  readonly #stores: ReadonlyMap<string, Store>;

  constructor(env: Bindings) {
    this.db = openDatabase(env.DB);
    this.feed = new ChangeFeed(
      ({ subject, revision }) => {
        const [store, key] = this.#storeOf(subject);
        store?.outdate(key, revision);
      },
      () => {
        for (const store of this.#stores.values()) store.forget();
      },
    );
    const publisher = new Publisher(this.db, env.SNAPSHOTS);
    const newStore = <Value extends Snapshot>(kind: Kind<Value>) =>
      new SnapshotStore(kind, this.db, env.SNAPSHOTS, this.feed, publisher);
    this.licenses = newStore(licenseKind);
    this.tokens = newStore(tokenKind);
    this.#blacklist = newStore(blacklistKind);
    this.#stores = new Map<string, Store>([
      [licenseKind.name, this.licenses],
      [tokenKind.name, this.tokens],
      [blacklistKind.name, this.#blacklist],
    ]);
    const { RECORDS } = env;
    this.records = new GroupWriter({
      maxGroup: MAX_GROUP,
      write: (group, afterAnswer) =>
        RECORDS ? this.#send(RECORDS, group, afterAnswer) : this.#store(group, afterAnswer),
      isRefusal: isRefusedValue,
      onFailure: (error) => logFailure('History records were not written yet', error),
      onLost: (count, error) => logFailure(`History records were lost: ${count}`, error),
    });
    this.limits = {
      validations: new Limiter(env.VALIDATION_LIMITER),
      failedLookups: new Limiter(env.FAILED_LOOKUP_LIMITER),
      failedTokens: new Limiter(env.FAILED_TOKEN_LIMITER),
    };
  }

  /** The whole blacklist. */
  async blacklist(visit: Visit): Promise<Blacklist> {
    const blacklist = await this.#blacklist.find('', visit);
    if (!blacklist) throw new Error('The log of changes has lost the blacklist');
    return blacklist;
  }

  /** The use of a token could not be written. */
  forgetUse({ id }: TokenSnapshot): void {
    this.#lastUses.delete(id);
  }

  /** Whether a token is used for the first time in a while, as far as this isolate knows. */
  isFirstUse({ id, lastUsedAt }: TokenSnapshot, now: number, withinMs: number): boolean {
    if (now - Math.max(lastUsedAt ?? 0, this.#lastUses.get(id) ?? 0) < withinMs) return false;
    this.#lastUses.set(id, now);
    return true;
  }

  /** How often a license was asked for, this time included, as far as this isolate knows (1.1). */
  countRequest({ id, totalRequests }: LicenseSnapshot): number {
    const total = Math.max(this.#totals.get(id) ?? 0, totalRequests) + 1;
    this.#totals.set(id, total);
    return total;
  }

  /**
   * Writes records. The same round trip brings the news, and what the database has of the licenses on
   * which the answers were based.
   */
  async write(group: readonly Answered[]): Promise<Truth> {
    const reading = this.feed.begin();
    const rows = group.map(({ row }) => row);
    const { news, counted, gone } = await writeRequests(this.db, rows, reading.from);
    this.feed.take(reading, news);
    for (const { id, totalRequests } of counted) {
      this.#totals.set(id, Math.max(this.#totals.get(id) ?? 0, totalRequests));
    }
    return { news, found: counted, gone };
  }

  async #store(group: readonly Answered[], afterAnswer: AfterAnswer): Promise<void> {
    this.#heal(group, await this.write(group), afterAnswer);
  }

  /** Drops copies on which answers were based and that were not right, and publishes the right ones. */
  #heal(group: readonly Answered[], { news, found, gone }: Truth, afterAnswer: AfterAnswer): void {
    if (this.feed.knowsLaterThan(news)) return;
    const revisions = new Map(found.map(({ id, revision }) => [id, revision]));
    /** By key what is right; undefined where there is nothing any more. */
    const stale = new Map<string, number | undefined>();
    for (const { basis } of group) {
      if (!basis) continue;
      const revision = revisions.get(basis.id);
      if (revision === undefined ? gone.includes(basis.id) : revision !== basis.revision) {
        stale.set(basis.key, revision);
      }
    }
    for (const [key, revision] of [...stale].slice(0, MAX_PUBLISHED)) {
      const isGone = revision === undefined;
      afterAnswer(isGone ? this.licenses.drop(key) : this.licenses.heal(key, revision));
    }
  }

  /** Hands records to the queue, or where it fails to the database: who reads them twice counts once. */
  async #send(
    queue: Queue<readonly Answered[]>,
    group: readonly Answered[],
    afterAnswer: AfterAnswer,
  ): Promise<void> {
    try {
      const sent = messagesOf(group).map((message) => queue.send(message, { contentType: 'json' }));
      await inTime(Promise.all(sent), QUEUE_PATIENCE_MS);
    } catch (error) {
      logFailure('The queue did not take records', error);
      await this.#store(group, afterAnswer);
      return;
    }
    await this.#compare(group, afterAnswer);
  }

  /** What {@link write} tells, without writing: the queue's consumer has a memory of its own. */
  async #compare(group: readonly Answered[], afterAnswer: AfterAnswer): Promise<void> {
    if (this.feed.isUnreachable()) return;
    const reading = this.feed.begin();
    const ids = [...new Set(group.flatMap(({ basis }) => basis?.id ?? []))];
    try {
      const [found, news] = await inTime(
        this.db.batch([selectRevisions(this.db, ids), selectChanges(this.db, reading.from)]),
        COMPARISON_PATIENCE_MS,
      );
      this.feed.take(reading, news);
      const there = new Set(found.map(({ id }) => id));
      const gone = ids.filter((id) => !there.has(id));
      this.#heal(group, { news, found, gone }, afterAnswer);
    } catch {
      // Without news the isolate falls out of touch, and asks before it answers.
    }
  }

  /**
   * Asks the database what has changed since a reading began, so that this isolate sees it at once.
   * Where that fails, the isolate trusts nothing that it holds until it has asked.
   *
   * @param hasChanged something has changed, in this isolate
   * @returns what has yet to be published
   */
  async catchUp(since: Reading, hasChanged: boolean): Promise<Change[]> {
    const unpublished: Change[] = [];
    try {
      let from: number | undefined = since.from;
      for (let round = 0; from !== undefined && round < MAX_READINGS; round++) {
        const reading: Reading = { from, startedAt: performance.now() };
        const news = await inTime(selectChanges(this.db, from), DATABASE_PATIENCE_MS);
        from = this.feed.take(reading, news);
        unpublished.push(...news.filter(isUnpublished));
      }
      if (from !== undefined) this.feed.loseTouch(hasChanged);
    } catch {
      this.feed.loseTouch(hasChanged);
    }
    return unpublished;
  }

  /**
   * Publishes changes: where there are many the newest, which are those of the request that asks for
   * it; the scheduled handler does the rest.
   */
  async publish(changes: readonly Change[]): Promise<void> {
    const published = changes.slice(-MAX_PUBLISHED).map(({ subject }) => {
      const [store, key] = this.#storeOf(subject);
      return store?.publish(key);
    });
    await Promise.all(published);
  }

  /**
   * Publishes what a crash or KV left unpublished, and confirms what was put: the scheduled handler's
   * part. Safe to run twice at once.
   *
   * @param now milliseconds since 1970
   */
  async publishDue(now: number): Promise<void> {
    await this.publish(await findUnpublished(this.db, MAX_PUBLISHED));

    const unsettled = await findUnsettled(this.db, now, MAX_CONFIRMED);
    const confirmed: string[] = [];
    const lost: Change[] = [];
    await Promise.all(
      unsettled.map(async (change) => {
        const [store, key] = this.#storeOf(change.subject);
        if (await store?.isPublished(key, change)) confirmed.push(change.subject);
        else lost.push(change);
      }),
    );
    await this.publish(lost);
    await settle(this.db, confirmed, now);
  }

  /** Undefined for a kind that another version of the service publishes. */
  #storeOf(subject: string): [Store | undefined, string] {
    const [kind = ''] = subject.split(':', 1);
    return [this.#stores.get(kind), subject.slice(kind.length + 1)];
  }
}

/** Cuts a group into messages that the queue takes. */
function messagesOf(group: readonly Answered[]): Answered[][] {
  const messages: Answered[][] = [];
  let length = MAX_MESSAGE_LENGTH;
  for (const answered of group) {
    const ownLength = JSON.stringify(answered).length;
    length += ownLength;
    if (length > MAX_MESSAGE_LENGTH) {
      messages.push([]);
      length = ownLength;
    }
    messages.at(-1)?.push(answered);
  }
  return messages;
}

const isUnpublished = ({ revision, publishedRevision }: Change): boolean =>
  publishedRevision < revision;

const edges = new WeakMap<object, Edge>();

/** The isolate's edge: the platform gives all requests of an isolate the same bindings. */
export function edgeOf(env: Bindings): Edge {
  const known = edges.get(env);
  if (known) return known;
  const edge = new Edge(env);
  edges.set(env, edge);
  return edge;
}
