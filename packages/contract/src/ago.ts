/** Distances from now, for Discord and the pages. This module imports nothing. */

const UNITS = [
  ['year', 365 * 86_400],
  ['month', 30 * 86_400],
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
] as const;

/** The distance of a time from now, such as `3 days ago` or `in 2 hours`; undefined below a minute. */
export function agoText(
  format: Intl.RelativeTimeFormat,
  time: string,
  now: number,
): string | undefined {
  const seconds = (Date.parse(time) - now) / 1000;
  const found = UNITS.find(([, size]) => Math.abs(seconds) >= size);
  return found && format.format(Math.trunc(seconds / found[1]), found[0]);
}
