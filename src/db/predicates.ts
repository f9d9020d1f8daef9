import type { MetadataFilter } from '@licet/contract/metadata';
import { and, asc, eq, getTableColumns, gt, type SQL, sql } from 'drizzle-orm';
import type { SQLiteColumn, SQLiteTable } from 'drizzle-orm/sqlite-core';
import type { Database } from './client.ts';

/** A part of a list: at most `limit` rows, after the row with the id `after`. */
export interface Page {
  limit: number;
  after?: number | undefined;
}

/** The rows of a table that match, sorted by id. */
export const rowsById = <Table extends SQLiteTable & { id: SQLiteColumn }>(
  db: Database,
  table: Table,
  where: SQL | undefined,
) => ({
  read: ({ limit, after = 0 }: Page): Promise<Table['$inferSelect'][]> =>
    db
      .select()
      .from(table)
      .where(and(where, gt(table.id, after)))
      .orderBy(asc(table.id))
      .limit(limit),
  count: () => db.$count(table, where),
});

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

/** The texts of metadata, for {@link containsText}. Most rows have none. */
export const textsOf = (metadata: SQLiteColumn): SQL =>
  sql`iif(${metadata} is null, '', (select group_concat(value, char(10)) from json_each(${metadata})))`;

/** Rows with a text under a name in their metadata. */
export const hasMetadata = (column: SQLiteColumn, wanted: MetadataFilter): SQL | undefined =>
  wanted && sql`${column} ->> ${`$."${wanted.name}"`} = ${wanted.value}`;

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

/**
 * Parents `p` and the newest of their rows, `d`, for a `from`. It reads ranges of the primary key, which begins with the
 * parent.
 *
 * @param parentId the name of the column
 * @param first the least id
 * @param most the most rows of a parent
 */
export const withNewest = (
  parents: SQLiteTable,
  rows: SQLiteTable,
  parentId: string,
  { first, most }: { first: number; most: number },
): SQL => {
  const its = sql.identifier(parentId);
  return sql`${parents} p cross join ${rows} d on d.${its} = p.id and d.id in (
    select o.id from ${rows} o where o.${its} = p.id and o.id >= ${first} order by o.id desc limit ${most})`;
};

/** The values of a row in the order of the table's columns, for an insert from a select, which names no columns. */
export function rowValues(table: SQLiteTable, row: object): SQL {
  const values = new Map<string, unknown>(Object.entries(row));
  const names = Object.keys(getTableColumns(table));
  return sql.join(
    names.map((name) => sql`${values.get(name) ?? null}`),
    sql`, `,
  );
}

/**
 * A field of an object in a JSON list, in a statement that selects from `json_each(list) o`.
 *
 * @param name a name of the code, because it becomes part of the SQL
 */
export const ofEach = (name: string): SQL => sql.raw(`o.value ->> '$.${name}'`);
