import { type Caches, Comparison, type Use } from '../cache/caches.ts';
import { type Channels, deliverFirst } from '../db/change.ts';
import { batch, type Database, isMissingValue, isRejectedValue } from '../db/client.ts';
import { type WaitUntil, wait } from '../lib/async.ts';
import { RepeatedFailure } from '../lib/log.ts';
import { BatchWriter, MonotonicClock } from './batch-writer.ts';
import { type Gap, storeGap } from './gaps.ts';
import { HistoryInserter } from './insert.ts';
import type { HistoryRecord } from './record.ts';

const MAX_BATCH = 1_000;
/** New validations wait while so many records are pending. */
const MAX_PENDING = 3_000;
/** After this time most current requests have responded. */
const QUIET_MS = 250;

/** The work after a response. */
export interface Recording extends Use {
  /** Null for a response that is not recorded. */
  record: HistoryRecord | null;
}

/** Writes the history after the responses. The same round trip compares the snapshots that came from KV with D1. */
export class Recorder {
  readonly #db: Database;
  readonly #caches: Caches;
  readonly #deliver: Channels['deliver'];
  readonly #inserter: HistoryInserter;
  readonly #writer: BatchWriter<Recording>;
  /** Requests that were given up, until D1 has stored their number. */
  #gap: Gap | undefined;
  readonly #givenUp = new RepeatedFailure((count) => `Requests were given up: ${count}`);
  readonly #unwritten = new RepeatedFailure(() => 'Requests were not written yet');

  constructor(db: Database, caches: Caches, deliver: Channels['deliver']) {
    this.#db = db;
    this.#caches = caches;
    this.#deliver = deliver;
    this.#inserter = new HistoryInserter(db);
    this.#writer = new BatchWriter({
      clock: new MonotonicClock(),
      maxBatch: MAX_BATCH,
      write: (recordings, waitUntil) => this.#write(recordings, waitUntil),
      onFailure: (error) => this.#unwritten.count(error),
      onGivenUp: (recordings) =>
        this.#giveUp(recordings, new Error('The database does not respond')),
    });
  }

  /** Whether new validations must wait, because too many records are pending (1.6). */
  isFull(): boolean {
    return this.#writer.size() >= MAX_PENDING && !this.#writer.isStuck();
  }

  /** The number of responses whose records are not written yet. */
  pending(): number {
    return this.#writer.size();
  }

  /** Lets a request write records that are pending, if too few do. */
  keepWriting(waitUntil: WaitUntil): void {
    this.#writer.keepWriting(waitUntil);
  }

  record(recording: Recording, waitUntil: WaitUntil): void {
    this.#writer.add(recording, waitUntil);
  }

  /** Resolves when all records of responses until now are written. */
  async settle(waitUntil: WaitUntil): Promise<void> {
    await this.#writer.settle(waitUntil);
  }

  /** Resolves when all records are written, also those of responses until then. Part of the stop. */
  async drain(waitUntil: WaitUntil): Promise<void> {
    do {
      await this.settle(waitUntil);
      await wait(QUIET_MS);
    } while (this.#writer.size() > 0);
  }

  /**
   * Stores records that do not come from a response here, perhaps again.
   *
   * @throws if they could not be stored
   */
  async store(records: readonly HistoryRecord[], waitUntil: WaitUntil): Promise<void> {
    // The isolate that sent the records has compared its snapshots.
    const recordings = records.map((record) => ({ record, used: [], usedAt: 0 }));
    await this.#write(recordings, waitUntil);
  }

  async #write(recordings: readonly Recording[], waitUntil: WaitUntil): Promise<void> {
    await this.#insert(recordings, waitUntil);
    if (this.#gap) waitUntil(this.#storeGap());
  }

  #giveUp(recordings: readonly Recording[], error: unknown): void {
    const records = recordings.flatMap(({ record }) => record ?? []);
    const [first] = records;
    if (!first) return;
    const { id, requests } = this.#gap ?? { id: first.id, requests: 0 };
    this.#gap = { id, requests: requests + records.length };
    this.#givenUp.count(error, records.length);
  }

  /** A gap that grows meanwhile is stored again, under the same id. Never rejects. */
  async #storeGap(): Promise<void> {
    const gap = this.#gap;
    if (!gap) return;
    try {
      await storeGap(this.#db, gap);
      this.#givenUp.flush();
      if (this.#gap === gap) this.#gap = undefined;
    } catch (error) {
      this.#unwritten.count(error);
    }
  }

  /** Inserts records. A batch that D1 rejects is inserted in halves, until the bad record is alone. */
  async #insert(recordings: readonly Recording[], waitUntil: WaitUntil): Promise<void> {
    const records = recordings.flatMap(({ record }) => record ?? []);
    const { statements, remember, reliesOnKnown } = await this.#inserter.prepare(
      records,
      Date.now(),
    );
    try {
      const comparison = new Comparison(this.#caches, recordings);
      const stored = { stale: comparison.selectStale(this.#db), ...statements };
      const { stale, counted, deliveries = [] } = await batch(this.#db, stored);
      remember(counted);
      comparison.repair(stale, waitUntil);
      deliverFirst(this.#deliver, deliveries, waitUntil);
    } catch (error) {
      if (!isRejectedValue(error)) throw error;
      // Another batch may have forgotten them meanwhile.
      if (isMissingValue(error) && reliesOnKnown) {
        this.#inserter.forgetInstallations();
        return this.#insert(recordings, waitUntil);
      }
      if (recordings.length === 1) return this.#giveUp(recordings, error);
      const middle = Math.ceil(recordings.length / 2);
      await this.#insert(recordings.slice(0, middle), waitUntil);
      await this.#insert(recordings.slice(middle), waitUntil);
    }
  }
}
