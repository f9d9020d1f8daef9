import { timestamp, toTimestamp } from '@licet/contract/time';
import * as z from 'zod';

/** The times of an import: also as databases, spreadsheets and shops write them. */

const MESSAGE =
  'must be like 2030-12-31, 2030-12-31 23:59:59, 2030-12-31T23:59:59Z, 31.12.2030, or in seconds since 1970';

/** ISO 8601, if it is one of the other forms. */
function toIso(text: string): string {
  if (/^\d{10}$/.test(text)) return toTimestamp(Number(text) * 1_000);
  if (/^\d{13}$/.test(text)) return toTimestamp(Number(text));
  // Days and months between slashes have another order in other countries: 01/02/2030 is rejected.
  return text
    .replace(/^(\d{1,2})\.(\d{1,2})\.(\d{4})(?!\S)/, (_, day: string, month: string, year) =>
      [year, month.padStart(2, '0'), day.padStart(2, '0')].join('-'),
    )
    .replace(/^(\d{4}-\d\d-\d\d)\s+/, '$1T');
}

/** Milliseconds since 1970. A time without an offset is UTC. */
export const importTime = z
  .union([z.string(), z.number()], { error: MESSAGE })
  .transform((value, context) => {
    const { success, data } = timestamp.safeParse(toIso(String(value).trim()));
    if (success) return data;
    context.addIssue({ code: 'custom', message: MESSAGE });
    return z.NEVER;
  });
