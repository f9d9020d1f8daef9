import type { Mail, MailSettings, Tagged } from '@licet/client';
import { MINUTE_MS } from '@licet/contract/durations';
import type { MailKind, MailState } from '@licet/contract/mail-kinds';
import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import { licet, queries } from '../../api.ts';

const REFRESH_MS = 30_000;
const WAITING_MS = 3_000;
const PAGE_ROWS = 20;
const OF_LICENSE = 3;

/** The settings of mails, with the state of their sender. */
export const mailSettingsQuery = queryOptions({
  queryKey: ['mail', 'settings'],
  queryFn: ({ signal }) => licet.mailSettings.read({ signal }),
});

/** Reads the settings after a change, for all parts of a screen. */
export async function readMailSettings(): Promise<Tagged<MailSettings>> {
  const saved = await licet.mailSettings.read();
  queries.setQueryData(mailSettingsQuery.queryKey, saved);
  return saved;
}

/** The milliseconds until mails are read again: few while an attempt is near. */
function intervalOf(mails: readonly Mail[]): number {
  const soon = Date.now() + MINUTE_MS;
  const isNear = mails.some(
    ({ nextAttemptAt }) => nextAttemptAt !== null && Date.parse(nextAttemptAt) <= soon,
  );
  return isNear ? WAITING_MS : REFRESH_MS;
}

/** The mails, newest first, in pages. */
export const mailsQuery = (filter: {
  state?: MailState | undefined;
  kind?: MailKind | undefined;
}) =>
  infiniteQueryOptions({
    queryKey: ['mail', 'list', filter],
    queryFn: ({ signal, pageParam }) =>
      licet.mails.page({ ...filter, after: pageParam || undefined, limit: PAGE_ROWS }, { signal }),
    initialPageParam: 0,
    getNextPageParam: ({ after }) => after,
    refetchInterval: ({ state: { data } }) =>
      intervalOf(data?.pages.flatMap(({ items }) => items) ?? []),
  });

/** The latest mails of a license. */
export const mailsOfQuery = (licenseId: number) =>
  queryOptions({
    queryKey: ['mail', 'of', licenseId],
    queryFn: ({ signal }) => licet.mails.list({ licenseId, limit: OF_LICENSE }, { signal }),
    refetchInterval: ({ state: { data } }) => intervalOf(data ?? []),
  });

/** Reads all data again that a mail may have changed. */
export const refreshMail = () => queries.invalidateQueries({ queryKey: ['mail'] });
