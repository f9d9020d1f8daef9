import { and, eq, getTableColumns, type SQL, sql } from 'drizzle-orm';
import type { SQLiteColumn, SQLiteTable } from 'drizzle-orm/sqlite-core';
import { RESPONSE_TYPE_CODES } from '../lib/enums';

/** A part of a list: at most `limit` rows, after the row with the id `after`. */
export interface Page {
  limit: number;
  after?: number | undefined;
}

/**
 * Rows with the text in one of the columns. The case of A to Z is ignored; SQLite knows no other letters.
 * No index helps. `instr` and not `like`, because D1 limits the patterns of `like` to 50 bytes.
 */
export function containsText(
  searched: string | undefined,
  columns: readonly (SQLiteColumn | SQL)[],
): SQL | undefined {
  if (searched === undefined) return undefined;
  const separator = sql` || char(10) || `;
  const haystack = sql.join(
    columns.map((column) => sql`ifnull(${column}, '')`),
    separator,
  );
  return sql`instr(lower(${haystack}), lower(${searched})) > 0`;
}

type Value = string | number | SQL;

/**
 * Rows with a value in a column, found without the column's index, which a unary plus disables. For columns
 * with few values: without statistics SQLite could prefer their index. Undefined adds no condition.
 */
export const equalsUnindexed = (column: SQLiteColumn, value: Value | undefined): SQL | undefined =>
  value === undefined ? undefined : sql`+${column} = ${value}`;

/**
 * Rows with values in columns, the most selective column first, whose index finds the rows. Undefined adds no
 * condition.
 */
export function equalsAll(
  ...columns: readonly (readonly [SQLiteColumn, Value | undefined])[]
): SQL | undefined {
  const [first, ...others] = columns.filter(([, value]) => value !== undefined);
  return and(first && eq(...first), ...others.map((other) => equalsUnindexed(...other)));
}

/** Rows with one of the values in a column. One parameter, because a statement has at most a hundred. */
export const isOneOf = (column: SQLiteColumn, values: readonly (string | number)[]): SQL =>
  sql`${column} in (select value from json_each(${JSON.stringify(values)}))`;

/** The values of a row in the order of the table's columns, for an insert from a select, which names no columns. */
export function rowValues(table: SQLiteTable, row: object): SQL {
  const values = new Map<string, unknown>(Object.entries(row));
  const names = Object.keys(getTableColumns(table));
  return sql.join(
    names.map((name) => sql`${values.get(name) ?? null}`),
    sql`, `,
  );
}

/** The bucket up to which all callers are folded (see `requests/fold.ts`). */
export const FOLDED_BUCKET = sql`(select value from counters where name = 'folded_bucket')`;

/**
 * The bucket up to which a caller is folded. The counter covers callers without records since their last
 * fold.
 *
 * @param caller the name of the table in the statement
 */
export const foldedBucketOf = (caller: string): SQL =>
  sql`max(${sql.raw(caller)}.folded_bucket, ${FOLDED_BUCKET})`;

/** The product under which the records of a caller are stored. */
export const productOf = (caller: string): SQL => sql.raw(`ifnull(${caller}.product_id, 0)`);

/** The buckets `b` and the records `r` of a caller since its last fold, in a join. */
export const recordsSinceFold = (caller: string): SQL =>
  sql`buckets b cross join requests r on b.bucket > ${foldedBucketOf(caller)}
    and r.bucket = b.bucket and r.product_id = ${productOf(caller)}
    and r.caller_id = ${sql.raw(caller)}.id`;

export const RATE_LIMITED = sql.raw(String(RESPONSE_TYPE_CODES.RATE_LIMITED));

/** Whether a record `r` counts as a request of its license (1.6). */
export const COUNTS = sql`r.outcome <> ${RATE_LIMITED}`;
