import { type SQL, sql } from 'drizzle-orm';
import type { SQLiteColumn } from 'drizzle-orm/sqlite-core';

/**
 * Rows of which one of the columns holds the text, without regard to case. It reads every row: the
 * price of a free search. `instr` and not `like`, whose patterns D1 limits to 50 bytes.
 */
export function containsText(
  searched: string | undefined,
  columns: readonly SQLiteColumn[],
): SQL | undefined {
  if (searched === undefined) return undefined;
  const separator = sql` || char(10) || `;
  const haystack = sql.join(
    columns.map((column) => sql`ifnull(${column}, '')`),
    separator,
  );
  return sql`instr(lower(${haystack}), lower(${searched})) > 0`;
}
