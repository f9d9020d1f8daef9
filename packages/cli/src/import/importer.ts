import type { Operations } from '@licet/client/types';
import { isObject } from '@licet/contract/json';
import { endOfDay, isDay } from '@licet/contract/time-zone';
import { CliError } from '../cli-error.ts';
import { Duplicates } from './duplicates.ts';
import { ENTITLEMENTS } from './fields.ts';
import { type Readable, readItem, withChanges } from './foreign-items.ts';
import { type Fields, fieldsOf, KINDS, type Kind, type Source } from './kinds.ts';
import { ProductNames } from './product-names.ts';
import { type Named, type Result, rejection } from './results.ts';

/** Imports the items of a source into a service, in batches. The console uses this too, so nothing here needs Node. */

export type ImportRequest = Operations['POST /api/v2/import']['body'];
export type ImportResponse = Operations['POST /api/v2/import']['response'];

/** The service that stores the items. */
export interface Target {
  import: (request: ImportRequest) => Promise<ImportResponse>;
  /** Its products, of which items can have the name. */
  products: () => AsyncIterable<unknown>;
  /** The time zone in which a day alone ends. */
  timeZone: () => Promise<string>;
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
/** Maximum number of ignored fields that are reported of a batch. */
const MAX_IGNORED = 50;

/** An item, with the fields that a report needs. */
interface Prepared extends Readable {
  named: Named;
  /** As JSON. 0 for an item that is not sent. */
  ownBytes: number;
  /** The result, if the item is not sent. */
  rejected?: Result;
}

/** The parts of an item that is not sent. */
const NOTHING = { item: undefined, ignored: [], changes: [], ownBytes: 0 };

type Batch = Prepared[];

/** A batch that was sent. */
interface Sent {
  kind: Kind;
  batch: Batch;
  isDone: boolean;
  response?: ImportResponse;
}

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
 * Works on several items at a time. Takes the next one when the oldest is done, so that few wait for an earlier one to
 * be reported, and none after a failure.
 *
 * @param comesAfter whether an item must wait for all items before it
 * @throws the first failure
 */
async function inParallel<Item>(
  items: AsyncIterable<Item>,
  comesAfter: (item: Item) => boolean,
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const running: Promise<void>[] = [];
  const failures: unknown[] = [];
  try {
    for await (const item of items) {
      if (comesAfter(item)) await Promise.all(running);
      if (failures.length > 0) break;
      running.push(
        work(item).catch((error) => {
          failures.push(error);
        }),
      );
      if (running.length === PARALLEL) await running.shift();
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
  readonly #productNames: ProductNames;
  #timeZone: Promise<string> | undefined;
  /** Products that the service rejected. Their licenses must not be imported for another product. */
  readonly #refusedProducts = new Set<number>();
  /** Products that only a real run would have imported. */
  readonly #assumedProducts = new Set<number>();
  /** Batches whose results are not in the report yet, in the order of the source. */
  readonly #sent: Sent[] = [];

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
    this.#productNames = new ProductNames(() => target.products());
    this.#report = report;
    this.#isDryRun = isDryRun;
    this.#begin = begin;
  }

  async run(): Promise<void> {
    for (const kind of KINDS) {
      const progress = this.#begin?.(kind, this.#source.counts[kind]);
      // The first of two duplicates must be stored first.
      const hasDuplicate = (batch: Batch) =>
        batch.some(({ named }) => named.duplicateOf !== undefined);
      await inParallel(batchesOf(this.#prepare(kind)), hasDuplicate, async (batch) => {
        await this.#send(kind, batch);
        progress?.add(batch.length);
      });
      progress?.end();
    }
  }

  /** Reads items. Rejects those that the service would reject. */
  async *#prepare(kind: Kind): AsyncGenerator<Prepared> {
    for await (const found of this.#source.read(kind)) {
      const { item, where, problem } = found;
      if (problem !== undefined) {
        const unread = { id: null, licenseKey: null, productId: null, duplicateOf: undefined };
        yield { named: { where, ...unread }, ...NOTHING, rejected: rejection(problem) };
        continue;
      }
      const { id, licenseKey } = fieldsOf(item);
      const duplicateOf = this.#duplicates.find(kind, found);
      const readable = readItem(kind, item);
      if (kind === 'products') this.#productNames.add(readable.item);
      const product = await this.#productNames.resolve(readable.item);
      await this.#endDays(readable.item);
      const fields = fieldsOf(readable.item);
      const { productId } = fields;
      // A cell that was not read.
      const twice = ENTITLEMENTS.find((name) => typeof fields[name] === 'string');
      const named: Named = { where, id, licenseKey, productId, duplicateOf };
      const ownBytes = byteLengthOf(readable.item);
      if (product !== undefined) {
        yield { named, ...NOTHING, rejected: rejection(product) };
      } else if (this.#refusedProducts.has(Number(productId))) {
        const rejected = rejection(`product ${productId} was rejected`);
        yield { named, ...NOTHING, rejected };
      } else if (twice !== undefined) {
        yield { named, ...NOTHING, rejected: rejection(`${twice} has a name twice`) };
      } else if (ownBytes > MAX_ITEM_BYTES) {
        yield { named, ...NOTHING, rejected: rejection('larger than 1 MB') };
      } else {
        yield { named, ...readable, ownBytes };
      }
    }
  }

  /** Puts the end of a day in the place of each day alone: people mean it so (3). */
  async #endDays(item: unknown): Promise<void> {
    if (!isObject(item)) return;
    await this.#endDay(item, 'expiryDate');
    const ends = item.entitlementsExpire;
    if (!isObject(ends)) return;
    for (const name of Object.keys(ends)) await this.#endDay(ends, name);
  }

  async #endDay(fields: Fields, name: string): Promise<void> {
    const day = fields[name];
    if (typeof day !== 'string' || !isDay(day)) return;
    this.#timeZone ??= this.#target.timeZone();
    const end = endOfDay(day, await this.#timeZone);
    // The service rejects a day that does not exist.
    if (!Number.isNaN(end)) Object.assign(fields, { [name]: new Date(end).toISOString() });
  }

  async #send(kind: Kind, batch: Batch): Promise<void> {
    const sent: Sent = { kind, batch, isDone: false };
    this.#sent.push(sent);
    try {
      const items = batch.filter(({ rejected }) => rejected === undefined);
      if (items.length > 0) sent.response = await this.#request(kind, items);
    } finally {
      sent.isDone = true;
      const firstOpen = this.#sent.findIndex(({ isDone }) => !isDone);
      this.#recordBatches(firstOpen === -1 ? this.#sent.length : firstOpen);
    }
  }

  async #request(kind: Kind, items: Batch): Promise<ImportResponse> {
    const productIds = new Set(items.map(({ named }) => Number(named.productId)));
    const response = await this.#target.import({
      kind,
      items: items.map(({ item }) => item),
      dryRun: this.#isDryRun,
      assumedProductIds: [...productIds].filter((id) => this.#assumedProducts.has(id)),
    });
    if (response.results.length >= items.length) return response;
    throw new CliError('The service returned fewer results than items were sent.');
  }

  /** Reports the results that have arrived, before the import ends without the others. */
  recordArrived(): void {
    this.#recordBatches(this.#sent.length);
  }

  #recordBatches(count: number): void {
    for (const { kind, batch, response } of this.#sent.splice(0, count)) {
      const ignored = new Set(response && batch.flatMap((prepared) => prepared.ignored));
      this.#report.ignore(kind, [...ignored].slice(0, MAX_IGNORED));
      this.#report.addOwners(response?.createdOwners ?? 0);
      const results = [...(response?.results ?? [])];
      for (const { named, changes, rejected } of batch) {
        const result = rejected ?? results.shift();
        if (result) this.#record(kind, named, withChanges(result, changes));
      }
    }
  }

  #record(kind: Kind, named: Named, result: Result): void {
    const id = Number(named.id);
    // No item names a product without an id.
    if (kind === 'products' && id > 0) {
      if (result.outcome === 'refused') this.#refusedProducts.add(id);
      if (result.outcome === 'created' && this.#isDryRun) this.#assumedProducts.add(id);
    }
    this.#report.add(kind, named, result);
  }
}
