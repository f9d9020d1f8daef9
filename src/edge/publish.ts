import { type Change, markPublished, selectChange } from '../db/changes';
import type { Database } from '../db/client';
import { logFailure } from '../log';
import { inTime } from './in-time';
import { type Kind, readPublished, type Snapshot } from './store';

/** KV takes one write a second for one key: what it refuses is tried again after these pauses. */
const RETRY_DELAYS_MS = [1_100, 2_500, 5_000, 10_000];
/** So many times a publisher follows a row that moves under it; the scheduled handler goes on. */
const MAX_ROUNDS = 10;
/** What was put this recently is still on its way to other locations: no need to put it again. */
const SPREADING_MS = 60_000;
/** How long a publisher can live: its last put begins and ends before that. */
const MAX_LIFE_MS = 30_000;
const PUT_PATIENCE_MS = 8_000;
const MAX_PUTTING_MS = MAX_LIFE_MS - PUT_PATIENCE_MS;
/** While KV takes nothing, what only a reader misses there is not put. */
const FAILING_MS = 60_000;

const wait = (milliseconds: number) => new Promise<void>((done) => setTimeout(done, milliseconds));

/** What the log calls a row: there is but one blacklist. */
const subjectOf = (kind: Kind<Snapshot>['name'], key: string): string =>
  kind === 'blacklist' ? kind : `${kind}:${key}`;

/** Puts into KV what is read there: the only one that writes it. */
export class Publisher {
  readonly #db: Database;
  readonly #kv: KVNamespace;
  /** Those under way in this isolate, by subject. */
  readonly #underWay = new Map<string, { startedAt: number; again: boolean }>();

  #failedAt = Number.NEGATIVE_INFINITY;

  constructor(db: Database, kv: KVNamespace) {
    this.#db = db;
    this.#kv = kv;
  }

  /** Whether KV took what was put last, or a while has passed since. */
  isWorking(): boolean {
    return performance.now() - this.#failedAt > FAILING_MS;
  }

  /**
   * Reads a row from the primary, puts its snapshot, and marks that revision as published only if
   * the row has not moved meanwhile, else begins again: of two publishers that overtake each other
   * the later row wins, whoever comes last. What it cannot finish the log keeps for the scheduled
   * handler. Never throws.
   */
  async publish<Value extends Snapshot>(kind: Kind<Value>, key: string): Promise<void> {
    const subject = subjectOf(kind.name, key);
    const other = this.#underWay.get(subject);
    if (other && performance.now() - other.startedAt < MAX_LIFE_MS) {
      other.again = true;
      return;
    }
    const own = { startedAt: performance.now(), again: false };
    this.#underWay.set(subject, own);
    try {
      const delaysMs = [...RETRY_DELAYS_MS];
      // After a put of its own that came too late: it lies over the newer one.
      let hasOverwritten = false;
      for (let round = 0; round < MAX_ROUNDS; round++) {
        if (performance.now() - own.startedAt > MAX_PUTTING_MS) break;
        own.again = false;
        const [change, value] = await this.#read(kind, key);
        if (change && !hasOverwritten && isSpreading(change)) return;
        try {
          await inTime(this.#put(kind, key, value), PUT_PATIENCE_MS);
          this.#failedAt = Number.NEGATIVE_INFINITY;
        } catch (error) {
          this.#failedAt = performance.now();
          const delayMs = delaysMs.shift();
          if (delayMs === undefined) throw error;
          await wait(delayMs * (1 + Math.random() / 10));
          continue;
        }
        const current = await markPublished(this.#db, subject, change?.revision, Date.now());
        hasOverwritten = current?.revision !== change?.revision;
        if (!hasOverwritten && !own.again) return;
      }
    } catch (error) {
      logFailure('A snapshot was not published yet', error);
    } finally {
      if (this.#underWay.get(subject) === own) this.#underWay.delete(subject);
    }
  }

  async #put<Value extends Snapshot>(
    kind: Kind<Value>,
    key: string,
    value: Value | null,
  ): Promise<void> {
    const kvKey = await kind.kvKey(key);
    await (value ? this.#kv.put(kvKey, kind.encode(value)) : this.#kv.delete(kvKey));
  }

  /**
   * Whether KV holds what the log says was put. A publisher that was cut off behind its put may have
   * put an older state over it.
   */
  async isPublished<Value extends Snapshot>(
    kind: Kind<Value>,
    key: string,
    { revision }: Change,
  ): Promise<boolean> {
    const published = await readPublished(kind, this.#kv, key);
    if (published) return published.revision === revision;
    const [, value] = await this.#read(kind, key);
    return value === null;
  }

  /** The row as it is now, and its last change if the log still has it. */
  async #read<Value extends Snapshot>(
    kind: Kind<Value>,
    key: string,
  ): Promise<[Change | undefined, Value | null]> {
    const lastChange = selectChange(this.#db, subjectOf(kind.name, key));
    const [[change], rows] = await kind.read(this.#db, [key], lastChange);
    return [change, rows.get(key) ?? null];
  }
}

const isSpreading = ({ revision, publishedRevision, publishedAt }: Change): boolean =>
  revision === publishedRevision && publishedAt !== null && Date.now() - publishedAt < SPREADING_MS;
