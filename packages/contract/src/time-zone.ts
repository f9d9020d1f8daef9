/** Days as people mean them: until their end, in a time zone (3). */

/** A day alone, as in fields and files: `2030-01-31`. */
const DAY = /^\d{4}-\d{2}-\d{2}$/;
const END_OF_DAY = '23:59:59';

export const isDay = (text: string): boolean => DAY.test(text);

/** Whether a name is that of a time zone, such as `Europe/Berlin`. */
export function isTimeZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }) !== undefined;
  } catch {
    return false;
  }
}

/** The zone of the variable TIME_ZONE; UTC without one, and for a name that is none. */
export const timeZoneOf = (setting: string | undefined): string =>
  setting && isTimeZone(setting) ? setting : 'UTC';

/** A time as clocks of a zone show it: `2030-01-31 23:59:59`. */
export function clockTime(time: number, timeZone: string): string {
  // Sweden writes times as ISO 8601 does.
  return new Intl.DateTimeFormat('sv-SE', {
    timeZone,
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
  }).format(time);
}

/** The last second of a day, in milliseconds since 1970; NaN for a day that does not exist. */
export function endOfDay(day: string, timeZone: string): number {
  const utc = Date.parse(`${day}T${END_OF_DAY}Z`);
  // The parser takes 30 February for 2 March.
  if (Number.isNaN(utc) || !new Date(utc).toISOString().startsWith(day)) return Number.NaN;
  const offsetAt = (time: number) =>
    Date.parse(`${clockTime(time, timeZone).replace(' ', 'T')}Z`) - time;
  // The offset near the end of the day is that of the end, unless clocks change in between.
  return utc - offsetAt(utc - offsetAt(utc));
}

/** A time in a list: its day, with the time where it is not the end of the day. */
export function dayUntil(time: number, timeZone: string): string {
  const clock = clockTime(time, timeZone);
  const [day = ''] = clock.split(' ');
  return clock.endsWith(END_OF_DAY) ? day : clock.slice(0, 16);
}
