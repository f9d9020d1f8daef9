import { type Caches, Comparison, type Use } from '../cache/caches.ts';
import { batch, type Database, isMissingValue, isRejectedValue } from '../db/client.ts';
import { type WaitUntil, wait, withTimeout } from '../lib/async.ts';
import { RepeatedFailure } from '../lib/log.ts';
import { BatchWriter, MonotonicClock } from './batch-writer.ts';
import { type Gap, storeGap } from './gaps.ts';
import { HistoryInserter } from './insert.ts';
import type { HistoryRecord } from './record.ts';

const MAX_BATCH = 1_000;
/** New validations wait while so many records are pending. */
const MAX_PENDING = 3_000;
/** A message of a queue takes 128 KB; a character of its JSON may be three bytes. */
const MAX_MESSAGE_LENGTH = 40_000;
/** Leaves three of the five seconds of a flush for D1, if the queue does not respond. */
const QUEUE_TIMEOUT_MS = 2_000;
const COMPARE_TIMEOUT_MS = 2_000;
/** After this time most current requests have responded. */
const QUIET_MS = 250;

/** The optional queue, which wrangler.toml has in comments. */
export type RecordQueue = Queue<readonly HistoryRecord[]>;

/** The work after a response. */
export interface Recording extends Use {
  /** Null for a response that is not recorded. */
  record: HistoryRecord | null;
}

/** Writes the history after the responses. The same round trip compares the snapshots that came from KV with D1. */
export class Recorder {
  readonly #db: Database;
  readonly #caches: Caches;
  readonly #queue: RecordQueue | undefined;
  readonly #inserter: HistoryInserter;
  readonly #writer: BatchWriter<Recording>;
  /** Requests that were given up, until D1 has stored their number. */
  #gap: Gap | undefined;
  readonly #givenUp = new RepeatedFailure((count) => `Requests were given up: ${count}`);
  readonly #unwritten = new RepeatedFailure(() => 'Requests were not written yet');
  readonly #unsent = new RepeatedFailure(() => 'The queue did not take requests');

  constructor(db: Database, caches: Caches, queue: RecordQueue | undefined) {
    this.#db = db;
    this.#caches = caches;
    this.#queue = queue;
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
   * Writes records that the queue has delivered, perhaps again.
   *
   * @throws if they could not be written
   */
  async writeDelivered(records: readonly HistoryRecord[]): Promise<void> {
    // The isolate that sent the records has compared its snapshots.
    const recordings = records.map((record) => ({ record, used: [], usedAt: 0 }));
    await this.#insert(recordings, () => undefined);
    await this.#storeGap();
  }

  async #write(recordings: readonly Recording[], waitUntil: WaitUntil): Promise<void> {
    const isSent = this.#queue !== undefined && (await this.#send(this.#queue, recordings));
    if (isSent) await this.#compare(recordings, waitUntil);
    else await this.#insert(recordings, waitUntil);
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
      const { stale, counted } = await batch(this.#db, stored);
      remember(counted);
      comparison.repair(stale, waitUntil);
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

  /** @returns whether the queue took the records; if not, D1 does. A record in both counts once. */
  async #send(queue: RecordQueue, recordings: readonly Recording[]): Promise<boolean> {
    const messages = messagesOf(recordings.flatMap(({ record }) => record ?? []));
    try {
      const sent = messages.map((message) => queue.send(message, { contentType: 'json' }));
      await withTimeout(Promise.all(sent), QUEUE_TIMEOUT_MS);
      return true;
    } catch (error) {
      this.#unsent.count(error);
      return false;
    }
  }

  /** Compares without a write, which another isolate does, as the consumer of the queue. */
  async #compare(recordings: readonly Recording[], waitUntil: WaitUntil): Promise<void> {
    const comparison = new Comparison(this.#caches, recordings);
    if (comparison.isEmpty()) return;
    try {
      const stale = await withTimeout(comparison.selectStale(this.#db), COMPARE_TIMEOUT_MS);
      comparison.repair(stale, waitUntil);
    } catch {
      // The records are safe. A stale snapshot is used for 30 seconds at most.
    }
  }
}

/** Splits records into messages of the size that the queue takes. */
function messagesOf(records: readonly HistoryRecord[]): HistoryRecord[][] {
  const messages: HistoryRecord[][] = [];
  let length = MAX_MESSAGE_LENGTH;
  for (const record of records) {
    const ownLength = JSON.stringify(record).length;
    length += ownLength;
    if (length > MAX_MESSAGE_LENGTH) {
      messages.push([]);
      length = ownLength;
    }
    messages.at(-1)?.push(record);
  }
  return messages;
}
