import { and, eq, type SQL, sql } from 'drizzle-orm';
import type { SQLiteColumn } from 'drizzle-orm/sqlite-core';

/**
 * Rows of which one of the columns holds the text, without regard to the case of A to Z, which is
 * what SQLite knows. It reads every row that other conditions leave: the price of a free search.
 * `instr` and not `like`, whose patterns D1 limits to 50 bytes.
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

type Value = string | number | SQL;

/**
 * Rows in which a column has a value, found without the column's index: a unary plus keeps SQLite
 * from it. For columns that select little: without statistics SQLite cannot tell them from those that
 * select much. Undefined asks for nothing.
 */
export const equalsUnindexed = (column: SQLiteColumn, value: Value | undefined): SQL | undefined =>
  value === undefined ? undefined : sql`+${column} = ${value}`;

/**
 * Rows in which columns have values, the most selective column first: its index finds the rows, and
 * the other columns only sort them out. Undefined asks for nothing.
 */
export function equalsAll(
  ...columns: readonly (readonly [SQLiteColumn, Value | undefined])[]
): SQL | undefined {
  const [first, ...others] = columns.filter(([, value]) => value !== undefined);
  return and(first && eq(...first), ...others.map((other) => equalsUnindexed(...other)));
}

/** Rows in which a column has one of the values, as one parameter: a statement takes a hundred. */
export const isOneOf = (column: SQLiteColumn, values: readonly (string | number)[]): SQL =>
  sql`${column} in (select value from json_each(${JSON.stringify(values)}))`;
