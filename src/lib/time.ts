import * as z from 'zod';

/** A timestamp on the wire [2]. */
export const wireTimestamp = z.string();

/** A timestamp as the interface writes it: `2025-01-27T19:01:25.710+00:00` [2]. */
export const toTimestamp = (milliseconds: number): string =>
  new Date(milliseconds).toISOString().replace('Z', '+00:00');

/** The same for a time that may be missing. */
export const toOptionalTimestamp = (milliseconds: number | null): string | null =>
  milliseconds === null ? null : toTimestamp(milliseconds);

/** A validation's `expiryDate`: `2025-12-31T23:59:59`, in UTC without an offset [4.7]. */
export const toTimestampWithoutOffset = (milliseconds: number): string =>
  new Date(milliseconds).toISOString().slice(0, 19);

const MESSAGE = 'must be an ISO 8601 timestamp, for example 2025-12-31T23:59:59Z';
const isoDate = z.iso.date();
const isoDateTime = z.iso.datetime({ offset: true, local: true });
const YEAR_0 = Date.parse('0000-01-01T00:00:00Z');
const YEAR_10000 = Date.parse('9999-12-31T23:59:59.999Z') + 1;

function parseTimestamp(text: string): number {
  if (isoDate.safeParse(text).success) return Date.parse(text);
  // ISO 8601 lets seconds and the minutes of an offset be left out; the check below does not.
  const full = text
    .replace(/(T\d\d:\d\d)(?=Z$|[+-]|$)/, '$1:00')
    .replace(/([+-]\d\d):?(\d\d)?$/, (_, hours, minutes = '00') => `${hours}:${minutes}`);
  if (!isoDateTime.safeParse(full).success) return Number.NaN;
  const hasZone = /(Z|[+-]\d\d:\d\d)$/.test(full);
  return Date.parse(hasZone ? full : `${full}Z`);
}

/**
 * ISO 8601 to milliseconds since 1970: with `Z`, an offset or none (then UTC), or a date alone
 * (then its first millisecond). Years 0 to 9999, which is what {@link toTimestamp} can write.
 */
export const timestamp = z.string({ error: MESSAGE }).transform((text, context) => {
  const milliseconds = parseTimestamp(text);
  if (milliseconds >= YEAR_0 && milliseconds < YEAR_10000) return milliseconds;
  context.addIssue({ code: 'custom', message: MESSAGE });
  return z.NEVER;
});
