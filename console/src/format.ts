import { agoText } from '@licet/contract/ago';
import { isEndOfDay } from './dates.ts';
import { texts } from './texts.ts';

/** Numbers and times as the console shows them. */

const dateFormat = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium' });
const dayFormat = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeZone: 'UTC' });
const timeFormat = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'short' });
const shortFormat = new Intl.DateTimeFormat('en-GB', {
  day: 'numeric',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
});
const clockFormat = new Intl.DateTimeFormat('en-GB', {
  day: 'numeric',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
});
const agoFormat = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });

export const formatNumber = (value: number): string => value.toLocaleString('en');

/** A day in the viewer's zone, such as `31 Dec 2035`. */
export const formatDate = (time: string): string => dateFormat.format(new Date(time));

/** A day of UTC, such as `31 Dec 2035` for `2035-12-31`. */
export const formatDay = (day: string): string => dayFormat.format(new Date(day));

/** A minute in the viewer's zone, such as `31 Dec 2035, 23:59`. */
export const formatTime = (time: string): string => timeFormat.format(new Date(time));

/** A minute in the viewer's zone without the year, such as `31 Dec, 23:59`; a day if it is in another year than now. */
export const formatShort = (time: string, now = new Date()): string => {
  const date = new Date(time);
  return (date.getFullYear() === now.getFullYear() ? shortFormat : dateFormat).format(date);
};

/** An end in the viewer's zone: its day, with the time where it is not the end of the day (3). */
export const formatEnd = (time: string): string =>
  isEndOfDay(time) ? formatDate(time) : formatTime(time);

/** A second in the viewer's zone without the year, such as `31 Dec, 23:59:59`. */
export const formatClock = (time: string): string => clockFormat.format(new Date(time));

/** A time in UTC to the second, such as `2035-12-31 23:59:59 UTC`. */
export const formatUtc = (time: string): string =>
  `${new Date(time).toISOString().slice(0, 19).replace('T', ' ')} UTC`;

/** The distance from now, such as `3 days ago` or `in 2 hours`. */
export const formatAgo = (time: string, now = Date.now()): string =>
  agoText(agoFormat, time, now) ?? 'just now';

/** Bound values and their limit, such as `2 / 5`. */
export const formatSlots = (bound: number, limit: number): string =>
  `${formatNumber(bound)} / ${limit === -1 ? '∞' : formatNumber(limit)}`;

/** The name of a product, or its id if the token may not read products. */
export const productName = (names: ReadonlyMap<number, string>, id: number): string =>
  names.get(id) ?? texts.unknownProduct(id);

/** The first and last group of a key, such as `PFHS…T3MW`. */
export const shortenKey = (key: string): string =>
  key.replace(/^([^-]{1,8})-.*-([^-]{1,8})$/, '$1…$2');
