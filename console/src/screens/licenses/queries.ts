import type { License } from '@licet/client';
import { DAY_MS, MINUTE_MS } from '@licet/contract/durations';
import { queryOptions } from '@tanstack/react-query';
import { licet } from '../../api.ts';
import type { LicensesSearch } from './route.ts';

/** The list of licenses with the filters of the address. */

export const PAGE_ROWS = 50;

const daysFromNow = (days: number): string =>
  // Cut to the minute, so that the same question leads to the same request for a while.
  `${new Date(Date.now() + days * DAY_MS).toISOString().slice(0, 16)}:00Z`;

/** The filters behind the ready-made questions. */
const QUESTIONS = {
  expiring: () => ({ expiresFrom: daysFromNow(0), expiresTo: daysFromNow(7) }),
  expired: () => ({ expiresFrom: daysFromNow(-30), expiresTo: daysFromNow(0) }),
  unused: () => ({ unused: true }),
  dormant: () => ({ dormantDays: 90 }),
  full: () => ({ full: true }),
} as const;

const QUESTION_SORTS = {
  expiring: 'expiryDate',
  expired: '-expiryDate',
  unused: '-id',
  dormant: '-id',
  full: '-id',
} as const;

/** The order of the list: the chosen one, else that of the question, else the newest first. */
export const sortOf = ({ sort, question, expiresFrom }: LicensesSearch) =>
  sort ?? (question ? QUESTION_SORTS[question] : expiresFrom ? 'expiryDate' : '-id');

/** The list for an address, and its filters. */
function listOf(search: LicensesSearch) {
  const { question, customerId, email, chatId, after: _, sort: __, ...others } = search;
  const { expiresFrom, expiresTo, ...filters } = others;
  const query = {
    ...filters,
    ...(expiresFrom && { expiresFrom: `${expiresFrom}T00:00:00Z` }),
    ...(expiresTo && { expiresTo: `${expiresTo}T23:59:59Z` }),
    ...(question && QUESTIONS[question]()),
    sort: sortOf(search),
  };
  const { licenses } = licet;
  if (customerId !== undefined) return { list: licenses.byCustomerId(customerId), query };
  if (email !== undefined) return { list: licenses.byCustomerEmail(email), query };
  if (chatId !== undefined) return { list: licenses.byChatId(chatId), query };
  return { list: licenses, query };
}

/** One page. It does not wait for the total, because counting reads every row. */
export function readPage(search: LicensesSearch, signal: AbortSignal) {
  const { list, query } = listOf(search);
  return list.page({ ...query, after: search.after, limit: PAGE_ROWS, total: false }, { signal });
}

/** The number of licenses on all pages, counted once for all of them. */
export const totalQuery = (search: LicensesSearch) =>
  queryOptions({
    queryKey: ['licenses', 'total', { ...search, after: undefined }],
    queryFn: async ({ signal }) => {
      const { list, query } = listOf(search);
      return (await list.page({ ...query, limit: 1 }, { signal })).total ?? null;
    },
    staleTime: MINUTE_MS,
  });

/** All licenses that match, page by page. */
export function iterateAll(search: LicensesSearch, signal: AbortSignal): AsyncIterable<License> {
  const { list, query } = listOf(search);
  return list.iterate({ ...query, total: false }, { signal });
}
