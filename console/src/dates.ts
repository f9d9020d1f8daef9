/** Days in the viewer's time zone, in the form of fields: `2035-12-31`. */

/** The day of a time; empty for none. */
export function toDay(time: string | Date | null): string {
  if (time === null) return '';
  const date = new Date(time);
  const local = new Date(date.getTime() - date.getTimezoneOffset() * 60_000);
  return local.toISOString().slice(0, 10);
}

/** The last second of a day, or the stored time if it is on the same day; null for an empty day. */
export function endOfDay(day: string, stored: string | null = null): string | null {
  if (day === toDay(stored)) return stored;
  return day === '' ? null : new Date(`${day}T23:59:59`).toISOString();
}

/** Whether a time is the last second of a day in the viewer's zone. */
export const isEndOfDay = (time: string): boolean =>
  new Date(time).toTimeString().startsWith('23:59:59');

const inDays = (today: Date, days: number): string =>
  toDay(new Date(today.getFullYear(), today.getMonth(), today.getDate() + days));

/** The usual days of an expiry, from today. The first is none. */
export const DAYS = [
  ['never', () => ''],
  ['month', (today: Date) => inDays(today, 30)],
  [
    'year',
    (today: Date) => toDay(new Date(today.getFullYear() + 1, today.getMonth(), today.getDate())),
  ],
  ['monthEnd', (today: Date) => toDay(new Date(today.getFullYear(), today.getMonth() + 1, 0))],
] as const satisfies readonly (readonly [string, (today: Date) => string])[];

/** The first millisecond of a day; undefined for none. */
export const startOfDay = (day: string | undefined): string | undefined =>
  day && new Date(`${day}T00:00:00`).toISOString();

/** The last millisecond of a day; undefined for none. */
export const lastOfDay = (day: string | undefined): string | undefined =>
  day && new Date(`${day}T23:59:59.999`).toISOString();
