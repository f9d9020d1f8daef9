import * as z from 'zod';

/** A timestamp on the wire [2]. */
export const wireTimestamp = z.string().meta({ format: 'date-time' });

/** A timestamp as the interface writes it: `2025-01-27T19:01:25.710+00:00` [2]. */
export const toTimestamp = (milliseconds: number): string =>
  new Date(milliseconds).toISOString().replace('Z', '+00:00');

export const toOptionalTimestamp = (milliseconds: number | null): string | null =>
  milliseconds === null ? null : toTimestamp(milliseconds);

const MESSAGE = 'must be an ISO 8601 timestamp, for example 2035-12-31 or 2035-12-31T23:59:59Z';
const NO_SUCH_DAY = 'must be a day that exists, for example 2035-12-31';
const isoDate = z.iso.date();
const isoDateTime = z.iso.datetime({ offset: true, local: true });
const YEAR_0 = Date.parse('0000-01-01T00:00:00Z');
const YEAR_10000 = Date.parse('9999-12-31T23:59:59.999Z') + 1;

function parseTimestamp(text: string): number {
  if (isoDate.safeParse(text).success) return Date.parse(text);
  // Seconds and the minutes of an offset are optional in ISO 8601, and required by zod.
  const full = text
    .replace(/(T\d\d:\d\d)(?=Z$|[+-]|$)/, '$1:00')
    .replace(/([+-]\d\d):?(\d\d)?$/, (_, hours, minutes = '00') => `${hours}:${minutes}`);
  if (!isoDateTime.safeParse(full).success) return Number.NaN;
  const hasZone = /(Z|[+-]\d\d:\d\d)$/.test(full);
  return Date.parse(hasZone ? full : `${full}Z`);
}

/**
 * ISO 8601 to milliseconds since 1970. Without an offset it is UTC; a date alone is its first millisecond.
 * Years 0 to 9999, because {@link toTimestamp} writes no others.
 */
export const timestamp = z.string({ error: MESSAGE }).transform((text, context) => {
  const milliseconds = parseTimestamp(text);
  if (milliseconds >= YEAR_0 && milliseconds < YEAR_10000) return milliseconds;
  // A day of an existing month that lacks it, such as 2035-02-30.
  const [day] = /^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])(?=T|$)/.exec(text) ?? [];
  const message = day && !isoDate.safeParse(day).success ? NO_SUCH_DAY : MESSAGE;
  context.addIssue({ code: 'custom', message });
  return z.NEVER;
});

/** A {@link timestamp} in a query. Restores the plus sign of an offset, which a query turns into a space. */
export const timestampText = z
  .string()
  .transform((value) => value.replace(' ', '+'))
  .pipe(timestamp);
