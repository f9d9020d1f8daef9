import type { ImportResult } from '@licet/contract/import';
import type { JsonObject } from '@licet/contract/json';
import { getTableColumns, type SQL, sql } from 'drizzle-orm';
import type { SQLiteTable } from 'drizzle-orm/sqlite-core';
import type { Database, Statement } from '../db/client.ts';
import type { Touch } from '../db/outbox.ts';
import { type Item, isBlank } from './items.ts';

/** The result of each item of an import, and the statements that store the items. */
export interface Plan {
  results: ImportResult[];
  statements: Statement[];
  /** Customers that it creates as owners of licenses. */
  newOwners?: number;
  /** The normalized keys of the licenses that it creates. */
  newKeys?: readonly string[];
  /** The snapshots that it makes stale. */
  touches?: readonly Touch[];
}

export interface Context {
  db: Database;
  /** Milliseconds since 1970. */
  now: number;
  /** Products that a dry run assumes to exist. */
  assumedProductIds: readonly number[];
}

/** Plans the import of items of one kind, from the current state of the database. */
export type Planner<Values> = (context: Context, items: readonly Item<Values>[]) => Promise<Plan>;

/** A row to store. The database assigns an id if it is null. */
export type NewRow<Row> = Omit<Row, 'id'> & { id: number | null };

export const refused = (reason: string): ImportResult => ({
  outcome: 'refused',
  id: null,
  differences: [],
  reason,
});

/** @param differences the fields that cannot be stored as they were sent */
export const created = (id: number | null, differences: readonly string[]): ImportResult => ({
  outcome: 'created',
  id,
  differences: [...differences],
  reason: null,
});

/** The object exists: none of its fields is overwritten. */
export const found = (id: number | null, differences: readonly string[]): ImportResult => ({
  outcome: differences.length > 0 ? 'kept' : 'unchanged',
  id,
  differences: [...differences],
  reason: null,
});

/**
 * The fields in which the stored object differs from the item, both as GET shows them. An empty field that has
 * a default is not a difference.
 *
 * @param others fields that are not compared
 */
export const differencesOf = <Wire extends object>(
  sent: JsonObject,
  wanted: Wire,
  stored: Wire,
  others: readonly string[],
): string[] => {
  const storedFields = new Map<string, unknown>(Object.entries(stored));
  return Object.entries(wanted).flatMap(([name, value]) => {
    if (!Object.hasOwn(sent, name) || others.includes(name)) return [];
    if (isBlank(sent[name]) && !isBlank(value)) return [];
    return JSON.stringify(value) === JSON.stringify(storedFields.get(name)) ? [] : [name];
  });
};

/**
 * Inserts rows from one parameter, in their order. Rows without an id come last, or the database could assign them the
 * id of another row. No statement for no row.
 *
 * @param computed columns whose SQL is made from the value of the row
 */
export function insertRows(
  db: Database,
  table: SQLiteTable,
  rows: readonly object[],
  computed: Readonly<Record<string, (held: SQL) => SQL>> = {},
): Statement[] {
  if (rows.length === 0) return [];
  const names = Object.keys(getTableColumns(table));
  const json = JSON.stringify(
    rows.map((row) => {
      const values = new Map<string, unknown>(Object.entries(row));
      return names.map((name) => values.get(name) ?? null);
    }),
  );
  const columns = names.map((name, index) => {
    const compute = computed[name];
    return compute ? compute(sql.raw(`r.value -> ${index}`)) : sql.raw(`r.value ->> ${index}`);
  });
  const select = sql`select ${sql.join(columns, sql`, `)} from json_each(${json}) r
    order by ${sql.raw(`r.value ->> ${names.indexOf('id')}`)} is null, r.key`;
  return [db.insert(table).select(select)];
}
