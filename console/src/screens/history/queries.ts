import type { LicenseRequest } from '@licet/client';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '@licet/contract/durations';
import { queryOptions } from '@tanstack/react-query';
import { licet } from '../../api.ts';
import type { HistorySearch, PERIODS } from './route.ts';

/** The history with the filters of the address, newest first. */

const PAGE_ROWS = 50;
/** A list that grows while it is watched is cut to this length. */
const MAX_ROWS = 200;
const POLL_MS = 5_000;
/** The longest time by which a record is stored later than newer ones. */
const LATE_MS = MINUTE_MS;

const PERIOD_MS: Record<(typeof PERIODS)[number], number> = {
  hour: HOUR_MS,
  day: DAY_MS,
  week: 7 * DAY_MS,
  month: 30 * DAY_MS,
};

/** A record in a list, with an id of its own: several records can have the same id. */
export interface Entry {
  id: string;
  record: LicenseRequest;
}

interface Part {
  entries: readonly Entry[];
  /** The cursor of the next page. */
  after: number | undefined;
  readAtMs: number;
}

const timestamp = (ms: number): string => new Date(ms).toISOString();

function toEntries(records: readonly LicenseRequest[]): Entry[] {
  const seen = new Map<number, number>();
  return records.map((record) => {
    const before = seen.get(record.id) ?? 0;
    seen.set(record.id, before + 1);
    return { id: before === 0 ? String(record.id) : `${record.id}.${before}`, record };
  });
}

async function readPart(
  { period, open: _, ...filters }: HistorySearch,
  limit: number,
  sinceMs: number | undefined,
  signal: AbortSignal,
): Promise<Part> {
  const readAtMs = Date.now();
  const periodStart = period && timestamp(readAtMs - PERIOD_MS[period]);
  const from = sinceMs === undefined ? (periodStart ?? filters.from) : timestamp(sinceMs);
  const page = await licet.requests.page({ ...filters, from, limit }, { signal });
  return { entries: toEntries(page.items), after: page.after, readAtMs };
}

/** Puts new records before those that are known. */
function merge(known: Part, fresh: Part): Part {
  // One response does not hold all new records, so there may be a gap between these and the known ones.
  if (fresh.after !== undefined) return fresh;
  const ids = new Set(fresh.entries.map(({ id }) => id));
  const entries = [...fresh.entries, ...known.entries.filter(({ id }) => !ids.has(id))];
  const { readAtMs } = fresh;
  if (entries.length <= MAX_ROWS) return { entries, after: known.after, readAtMs };
  return {
    entries: entries.slice(0, MAX_ROWS),
    after: entries[MAX_ROWS - 1]?.record.id,
    readAtMs,
  };
}

/** Whether new records can still appear on the page of an address. */
export const isOpenEnded = ({ after, to }: HistorySearch): boolean =>
  after === undefined && to === undefined;

/** A page. While the list is live, each poll of the first page reads only records that may be new. */
export const pageQuery = ({ open: _, ...search }: HistorySearch, isLive: boolean) => {
  const queryKey = ['history', 'list', search] as const;
  return queryOptions({
    queryKey,
    queryFn: async ({ client, signal }): Promise<Part> => {
      const known = client.getQueryData<Part>(queryKey);
      if (!known || !isOpenEnded(search)) return readPart(search, PAGE_ROWS, undefined, signal);
      const newest = known.entries[0]?.record.requestDate;
      const sinceMs = (newest === undefined ? known.readAtMs : Date.parse(newest)) - LATE_MS;
      const startMs = search.from === undefined ? 0 : Date.parse(search.from);
      return merge(known, await readPart(search, 100, Math.max(sinceMs, startMs), signal));
    },
    // A hidden tab is not polled.
    refetchInterval: isLive && isOpenEnded(search) ? POLL_MS : false,
  });
};

/** One record; a record of the list is not read again. */
export const recordQuery = (id: number, known: LicenseRequest | undefined) =>
  queryOptions({
    queryKey: ['history', 'one', id],
    queryFn: async ({ signal }) => licet.requests.get(id, { signal }),
    initialData: known,
    staleTime: Number.POSITIVE_INFINITY,
  });

/** The latest refusals of an address. */
export const refusalsOfAddressQuery = (ip: string) =>
  queryOptions({
    queryKey: ['history', 'refusals', ip],
    queryFn: ({ signal }) => licet.requests.list({ ip, valid: false, limit: 100 }, { signal }),
  });
