import { setTimeout as pause } from 'node:timers/promises';
import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import { type LicenseRequest, type Licet, LicetError, type ListRequestsQuery } from '@licet/client';
import { MINUTE_MS } from '@licet/contract/durations';
import { MAX_PAGE_OBJECTS } from '@licet/contract/limits';
import { onReaderEnd } from '../terminal.ts';
import { type Column, examples, firstOf, shortHwid, statusStyle, timeText } from './output.ts';
import {
  integerFrom,
  momentOf,
  type OpenSession,
  optionalProductId,
  productNames,
  type Session,
  sinceArgument,
} from './session.ts';

const DEFAULT_SHOWN = 20;
const DEFAULT_SHOWN_SINCE = 1_000;

const POLL_MS = 1_000;
/**
 * A record has the time of its request, but is stored up to two seconds later, or half a minute if the
 * database fails. Each poll therefore starts before the newest record; every tenth starts early enough to
 * miss none.
 */
const OVERLAP_MS = 5_000;
const LONG_OVERLAP_MS = MINUTE_MS;
const POLLS_PER_LONG_ONE = 10;

const columnsOf = (nameProduct: (id: number) => string): Column<LicenseRequest>[] => [
  { title: 'TIME (UTC)', text: ({ requestDate }) => timeText(requestDate), minWidth: 19 },
  {
    title: 'RESULT',
    text: ({ responseType }) => responseType,
    style: ({ responseType }) => statusStyle(responseType),
    minWidth: 17,
  },
  { title: 'KEY', text: ({ licenseKey }) => licenseKey ?? '', minWidth: 24 },
  { title: 'IP', text: ({ ip }) => ip ?? '', minWidth: 15 },
  {
    title: 'PRODUCT',
    text: ({ productId }) => (productId === null ? '' : nameProduct(productId)),
    isFlexible: true,
  },
  { title: 'HWID', text: ({ hwid }) => shortHwid(hwid ?? ''), minWidth: 16, isFlexible: true },
  {
    title: 'WHY',
    text: ({ blockReason, remarks }) => blockReason ?? remarks ?? '',
    isFlexible: true,
  },
];

const byTime = (one: LicenseRequest, other: LicenseRequest): number => one.id - other.id;

const timeOf = ({ requestDate }: LicenseRequest): number => Date.parse(requestDate);

/** Polls the history for new records. */
export class Follower {
  readonly #licet: Licet;
  readonly #filter: ListRequestsQuery;
  /** Times of the records that a poll can return again, by id. */
  readonly #seen = new Map<number, number>();
  #newest = -Infinity;
  #polls = 0;

  constructor(licet: Licet, filter: ListRequestsQuery) {
    this.#licet = licet;
    this.#filter = filter;
  }

  /** Marks records as seen. @returns the new ones, oldest first */
  markSeen(records: readonly LicenseRequest[]): LicenseRequest[] {
    const fresh = records.filter(({ id }) => !this.#seen.has(id));
    for (const record of fresh) {
      this.#seen.set(record.id, timeOf(record));
      this.#newest = Math.max(this.#newest, timeOf(record));
    }
    for (const [id, time] of this.#seen) {
      if (time < this.#newest - LONG_OVERLAP_MS) this.#seen.delete(id);
    }
    return fresh.toSorted(byTime);
  }

  /** Polls once. @returns the new records, oldest first */
  async poll(signal: AbortSignal): Promise<LicenseRequest[]> {
    const isLong = this.#polls++ % POLLS_PER_LONG_ONE === 0;
    const start = this.#newest - (isLong ? LONG_OVERLAP_MS : OVERLAP_MS);
    const later = Math.max(start, momentOf(this.#filter.from ?? '') ?? start);
    const from = Number.isFinite(later) ? new Date(later).toISOString() : this.#filter.from;
    const query = { ...this.#filter, from, limit: MAX_PAGE_OBJECTS };
    const records = this.#licet.requests.iterate(query, { signal });
    const read: LicenseRequest[] = [];
    for await (const record of records) read.push(record);
    return this.markSeen(read);
  }
}

/** Whether an error may be temporary: no response, 429, or a failure of the service. */
const isTemporary = (error: unknown): error is LicetError =>
  error instanceof LicetError &&
  (error.status === 0 || error.status === 429 || error.status >= 500);

/** Prints the newest `count` records, then new ones until the signal. @throws LicetError */
async function follow(
  { licet, output }: Session,
  columns: readonly Column<LicenseRequest>[],
  filter: ListRequestsQuery,
  newest: readonly LicenseRequest[],
  count: number,
  signal: AbortSignal,
): Promise<void> {
  const follower = new Follower(licet, filter);
  follower.markSeen(newest);
  // The first poll also returns records that are slightly older than the newest. They are not new.
  const known = [...(await follower.poll(signal)), ...newest].toSorted(byTime);
  const print = output.lines(known.slice(-count), columns);
  let isFailing = false;
  for (;;) {
    await pause(POLL_MS, undefined, { signal });
    try {
      print(await follower.poll(signal));
      isFailing = false;
    } catch (error) {
      if (!isTemporary(error)) throw error;
      if (!isFailing) output.note(`${error.message}. Trying again.`);
      isFailing = true;
      await pause((error.retryAfterSeconds ?? 0) * 1_000, undefined, { signal });
    }
  }
}

/** `licet history`: the log of validations. */
export function addHistory(parent: CommandUnknownOpts, open: OpenSession): void {
  parent
    .command('history')
    .description('show validations, newest last')
    .option('--key <key>', 'only this license key')
    .option('--ip <address>', 'only this address')
    .option('--hwid <hwid>', 'only this hardware ID')
    .option('--product <product>', 'only this product, by its id or name')
    .option('--refused', 'only rejected validations')
    .option('--since <when>', 'only since a time ago (90s, 30m, 2h, 7d) or a date', sinceArgument)
    .option(
      '--limit <n>',
      `the newest n (${DEFAULT_SHOWN}; with --since ${DEFAULT_SHOWN_SINCE})`,
      integerFrom(1),
    )
    .option('-f, --follow', 'continue with new validations, until Ctrl-C')
    .addHelpText(
      'after',
      examples(
        'history --key 7K2M-9QX4-B3TD-WJ8R-5HVN',
        'history --refused --since 1h',
        'history --refused --follow',
      ),
    )
    .action(async (options) => {
      const session = open();
      const { licet, output } = session;
      const filter: ListRequestsQuery = {
        licenseKey: options.key,
        ip: options.ip,
        hwid: options.hwid,
        productId: await optionalProductId(licet, options.product),
        valid: options.refused ? false : undefined,
        from: options.since,
      };
      const shown = options.limit ?? (options.since ? DEFAULT_SHOWN_SINCE : DEFAULT_SHOWN);
      const pages = licet.requests.iterate({
        ...filter,
        limit: Math.min(shown + 1, MAX_PAGE_OBJECTS),
      });
      const { first, hasMore } = await firstOf(pages, shown);
      const newest = first.reverse();
      if (options.since && hasMore) {
        output.note(
          `More than ${shown} validations match. Older ones are left out; raise --limit to see them.`,
        );
      }
      const columns = columnsOf(await productNames(session));
      if (!options.follow) {
        output.list(newest, columns, 'No validations found.');
        return;
      }

      const interrupted = new AbortController();
      const { signal } = interrupted;
      for (const name of ['SIGINT', 'SIGTERM'] as const) {
        process.once(name, () => interrupted.abort());
      }
      onReaderEnd(() => interrupted.abort());
      await follow(session, columns, filter, newest, shown, signal).catch((error) => {
        if (!signal.aborted) throw error;
      });
    });
}
