/** Days and minutes in the viewer's time zone, in the form of fields: `2035-12-31` and `2035-12-31T23:59`. */

/** The minute of a time; empty for none. */
export function toLocal(time: string | null): string {
  if (time === null) return '';
  const date = new Date(time);
  const local = new Date(date.getTime() - date.getTimezoneOffset() * 60_000);
  return local.toISOString().slice(0, 16);
}

/** The day of a time; empty for none. */
export const toDay = (time: string | null): string => toLocal(time).slice(0, 10);

/** The last second of a day; null for an empty one. */
export const endOfDay = (day: string): string | null =>
  day === '' ? null : new Date(`${day}T23:59:59`).toISOString();

/** The first millisecond of a day; undefined for none. */
export const startOfDay = (day: string | undefined): string | undefined =>
  day && new Date(`${day}T00:00:00`).toISOString();

/** The last millisecond of a day; undefined for none. */
export const lastOfDay = (day: string | undefined): string | undefined =>
  day && new Date(`${day}T23:59:59.999`).toISOString();
