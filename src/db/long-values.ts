import { type SQL, sql } from 'drizzle-orm';
import type { SQLiteColumn } from 'drizzle-orm/sqlite-core';

/** Long values in lists: a list leaves them out, and reads them again a few rows at a time. */

/** The most bytes of a value that a list reads with those of many other rows. */
export const MAX_LISTED_BYTES = sql.raw('4096');

const isLong = (column: SQLiteColumn): SQL => sql`octet_length(${column}) > ${MAX_LISTED_BYTES}`;

/** A column of a list. @param empty its value where it is long */
export const listedColumn = <Value>(
  column: SQLiteColumn & { _: { data: Value } },
  empty: SQL,
): SQL<Value> => sql<Value>`iif(${isLong(column)}, ${empty}, ${column})`.mapWith(column);

/** The bytes that {@link listedColumn} leaves out of a row. */
export const unreadBytesOf = (...columns: readonly SQLiteColumn[]): SQL<number> =>
  sql<number>`${sql.join(
    columns.map((column) => sql`iif(${isLong(column)}, octet_length(${column}), 0)`),
    sql` + `,
  )}`;
