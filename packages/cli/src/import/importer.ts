import type { Operations } from '@licet/client/types';
import { CliError } from '../cli-error.ts';
import { Duplicates } from './duplicates.ts';
import { fieldsOf, KINDS, type Kind, type Source } from './kinds.ts';
import { type Named, type Result, rejection } from './results.ts';

/** Imports the items of a source into a service, in batches. The console uses this too, so nothing here needs Node. */

export type ImportRequest = Operations['POST /api/v2/import']['body'];
export type ImportResponse = Operations['POST /api/v2/import']['response'];

/** The service that stores the items. */
export interface Target {
  import: (request: ImportRequest) => Promise<ImportResponse>;
}

/** Receives the results. */
export interface Results {
  add: (kind: Kind, named: Named, result: Result) => void;
  ignore: (kind: Kind, names: readonly string[]) => void;
  /** Counts customers that were created as owners of licenses. */
  addOwners: (count: number) => void;
}

/** The progress of the items of a kind. */
export interface KindProgress {
  add: (count: number) => void;
  end: () => void;
}

/** A service on Cloudflare's Free plan can import this many within its CPU time for one request. */
const MAX_ITEMS = 100;
const BATCH_BYTES = 250_000;
/** The service accepts requests of up to 1 MiB. */
const MAX_ITEM_BYTES = 1_000_000;
const PARALLEL = 3;

/** An item, with the fields that a report needs. */
interface Prepared extends Named {
  item: unknown;
  /** As JSON. */
  ownBytes: number;
}

type Batch = Prepared[];

const encoder = new TextEncoder();
const byteLengthOf = (item: unknown): number => encoder.encode(JSON.stringify(item)).length;

/** Groups items into batches that fit into a request. */
async function* batchesOf(items: AsyncIterable<Prepared>): AsyncGenerator<Batch> {
  let batch: Batch = [];
  let sizeBytes = 0;
  for await (const item of items) {
    const { ownBytes } = item;
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
 * Works on several items at a time. Takes the next one when there is room, and none after a failure.
 *
 * @param comesAfter whether an item must wait for all items before it
 * @throws the first failure
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
  readonly #target: Target;
  readonly #report: Results;
  readonly #isDryRun: boolean;
  readonly #begin: ((kind: Kind, total: number | undefined) => KindProgress) | undefined;
  readonly #duplicates = new Duplicates();
  /** Products that the service rejected. Their licenses must not be imported for another product. */
  readonly #refusedProducts = new Set<number>();
  /** Products that only a real run would have imported. */
  readonly #assumedProducts = new Set<number>();

  /** @param begin the progress of each kind, if it is shown */
  constructor(
    source: Source,
    target: Target,
    report: Results,
    isDryRun: boolean,
    begin?: (kind: Kind, total: number | undefined) => KindProgress,
  ) {
    this.#source = source;
    this.#target = target;
    this.#report = report;
    this.#isDryRun = isDryRun;
    this.#begin = begin;
  }

  async run(): Promise<void> {
    for (const kind of KINDS) {
      const progress = this.#begin?.(kind, this.#source.counts[kind]);
      // The first of two duplicates must be stored first.
      const hasDuplicate = (batch: Batch) =>
        batch.some(({ duplicateOf }) => duplicateOf !== undefined);
      await inParallel(batchesOf(this.#prepare(kind)), hasDuplicate, async (batch) => {
        await this.#send(kind, batch);
        progress?.add(batch.length);
      });
      progress?.end();
    }
  }

  /** Serializes items. Rejects those that the service would reject. */
  async *#prepare(kind: Kind): AsyncGenerator<Prepared> {
    for await (const found of this.#source.read(kind)) {
      const { item, where, problem } = found;
      if (problem !== undefined) {
        const unread = { where, id: null, licenseKey: null, productId: null };
        this.#report.add(kind, { ...unread, duplicateOf: undefined }, rejection(problem));
        continue;
      }
      const { id, licenseKey, productId } = fieldsOf(item);
      const duplicateOf = this.#duplicates.find(kind, found);
      const named: Named = { where, id, licenseKey, productId, duplicateOf };
      const ownBytes = byteLengthOf(item);
      if (this.#refusedProducts.has(Number(productId))) {
        this.#record(kind, named, rejection(`product ${productId} was rejected`));
      } else if (ownBytes > MAX_ITEM_BYTES) {
        this.#record(kind, named, rejection('larger than 1 MB'));
      } else {
        yield { ...named, item, ownBytes };
      }
    }
  }

  async #send(kind: Kind, batch: Batch): Promise<void> {
    const productIds = new Set(batch.map(({ productId }) => Number(productId)));
    const { results, ignoredFields, createdOwners } = await this.#target.import({
      kind,
      items: batch.map(({ item }) => item),
      dryRun: this.#isDryRun,
      assumedProductIds: [...productIds].filter((id) => this.#assumedProducts.has(id)),
    });
    this.#report.ignore(kind, ignoredFields);
    this.#report.addOwners(createdOwners);
    for (const [index, named] of batch.entries()) {
      const result = results[index];
      if (!result) throw new CliError('The service returned fewer results than items were sent.');
      this.#record(kind, named, result);
    }
  }

  #record(kind: Kind, named: Named, result: Result): void {
    if (kind === 'products') {
      const id = Number(named.id);
      if (result.outcome === 'refused') this.#refusedProducts.add(id);
      if (result.outcome === 'created' && this.#isDryRun) this.#assumedProducts.add(id);
    }
    this.#report.add(kind, named, result);
  }
}
