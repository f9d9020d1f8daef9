import { CliError, Progress } from '../terminal.ts';
import { Duplicates } from './duplicates.ts';
import { fieldsOf, KINDS, type Kind, type Source } from './kinds.ts';
import { type Named, type Report, type Result, refusal } from './report.ts';
import type { Service } from './service.ts';

/** Brings what a source has into a service, in batches. */

/** Of these a service on Cloudflare's Free plan takes one within the time that it has for a request. */
const MAX_ITEMS = 100;
/** A batch ends when it is so long. */
const BATCH_BYTES = 250_000;
/** A request may have 1 MiB. */
const MAX_ITEM_BYTES = 1_000_000;
const PARALLEL = 3;

/** An item as it is sent; of its fields only what a report tells is kept. */
interface Prepared extends Named {
  json: string;
}

type Batch = Prepared[];

/** Joins what is prepared to batches that fit into a request. */
async function* batchesOf(items: AsyncIterable<Prepared>): AsyncGenerator<Batch> {
  let batch: Batch = [];
  let sizeBytes = 0;
  for await (const item of items) {
    const ownBytes = Buffer.byteLength(item.json);
    if (batch.length === MAX_ITEMS || (batch.length > 0 && sizeBytes + ownBytes > BATCH_BYTES)) {
      yield batch;
      batch = [];
      sizeBytes = 0;
    }
    batch.push(item);
    sizeBytes += ownBytes;
  }
  if (batch.length > 0) yield batch;
}

/**
 * Works on several at a time, and takes the next one only when there is room; none after a failure.
 *
 * @param comesAfter whether one must wait for those before it to be done
 * @throws the first failure, whatever was waited for when it came
 */
async function inParallel<Item>(
  items: AsyncIterable<Item>,
  comesAfter: (item: Item) => boolean,
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const running = new Set<Promise<void>>();
  const failures: unknown[] = [];
  try {
    for await (const item of items) {
      if (comesAfter(item)) await Promise.all(running);
      if (failures.length > 0) break;
      const task = work(item)
        .catch((error) => {
          failures.push(error);
        })
        .finally(() => running.delete(task));
      running.add(task);
      if (running.size === PARALLEL) await Promise.race(running);
      if (failures.length > 0) break;
    }
  } finally {
    await Promise.all(running);
  }
  if (failures.length > 0) throw failures[0];
}

export class Import {
  readonly #source: Source;
  readonly #target: Service;
  readonly #report: Report;
  readonly #isDryRun: boolean;
  readonly #duplicates = new Duplicates();
  /** Products that are not here as what they are there: nothing may be imported for them. */
  readonly #refusedProducts = new Set<number>();
  /** Products that a real run would have imported by then. */
  readonly #assumedProducts = new Set<number>();

  constructor(source: Source, target: Service, report: Report, isDryRun: boolean) {
    this.#source = source;
    this.#target = target;
    this.#report = report;
    this.#isDryRun = isDryRun;
  }

  async run(): Promise<void> {
    for (const kind of KINDS) {
      const progress = new Progress(kind, this.#source.counts[kind]);
      // Of two that are the same the first one is there first.
      const hasDuplicate = (batch: Batch) =>
        batch.some(({ duplicateOf }) => duplicateOf !== undefined);
      await inParallel(batchesOf(this.#prepare(kind)), hasDuplicate, async (batch) => {
        await this.#send(kind, batch);
        progress.add(batch.length);
      });
      progress.end();
    }
  }

  /** Refuses what need not be sent. */
  async *#prepare(kind: Kind): AsyncGenerator<Prepared> {
    for await (const found of this.#source.read(kind)) {
      const { item, where } = found;
      const { id, licenseKey, productId } = fieldsOf(item);
      const duplicateOf = this.#duplicates.find(kind, found);
      const named: Named = { where, id, licenseKey, productId, duplicateOf };
      const json = JSON.stringify(item);
      if (this.#refusedProducts.has(Number(productId))) {
        this.#tell(kind, named, refusal(`product ${productId} was refused`));
      } else if (Buffer.byteLength(json) > MAX_ITEM_BYTES) {
        this.#tell(kind, named, refusal('it is over 1 MB'));
      } else {
        yield { ...named, json };
      }
    }
  }

  async #send(kind: Kind, batch: Batch): Promise<void> {
    const productIds = new Set(batch.map(({ productId }) => Number(productId)));
    const assumed = [...productIds].filter((id) => this.#assumedProducts.has(id));
    const { results, ignoredFields } = await this.#target.import(
      `{"kind":"${kind}","items":[${batch.map(({ json }) => json).join()}],` +
        `"dryRun":${this.#isDryRun},"assumedProductIds":${JSON.stringify(assumed)}}`,
    );
    this.#report.ignore(kind, ignoredFields);
    for (const [index, named] of batch.entries()) {
      const result = results[index];
      if (!result) throw new CliError('The service answered to fewer than were sent.');
      this.#tell(kind, named, result);
    }
  }

  #tell(kind: Kind, named: Named, result: Result): void {
    if (kind === 'products') {
      const id = Number(named.id);
      if (result.outcome === 'refused') this.#refusedProducts.add(id);
      if (result.outcome === 'created' && this.#isDryRun) this.#assumedProducts.add(id);
    }
    this.#report.add(kind, named, result);
  }
}
