import { getTableColumns, type SQL, sql } from 'drizzle-orm';
import type { BatchItem } from 'drizzle-orm/batch';
import type { SQLiteTable } from 'drizzle-orm/sqlite-core';
import type { Database } from '../db/client';
import type { JsonObject } from '../lib/json';
import { type Item, isBlank } from './items';
import type { ImportResult } from './schema';

/** What an import would do: what becomes of each item, and what is to be written for that. */
export interface Plan {
  results: ImportResult[];
  statements: BatchItem<'sqlite'>[];
  /** The normalized keys of the licenses that it creates. */
  newKeys?: readonly string[];
}

export interface Context {
  db: Database;
  /** Milliseconds since 1970. */
  now: number;
  /** Products that a dry run takes for existing. */
  assumedProductIds: readonly number[];
}

/** Makes a plan for items of one kind, from what the database holds now. */
export type Planner<Values> = (context: Context, items: readonly Item<Values>[]) => Promise<Plan>;

/** A row that is to be stored; without an id the database gives it one. */
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

/** It is there: nothing of it is overwritten. */
export const found = (id: number | null, differences: readonly string[]): ImportResult => ({
  outcome: differences.length > 0 ? 'kept' : 'unchanged',
  id,
  differences: [...differences],
  reason: null,
});

/**
 * The fields in which what is stored differs from what was sent, both as GET shows them. What was sent
 * empty and has a default by itself asks for nothing.
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
 * Rows as one parameter, to be inserted in their order; those without an id last, or the one that the
 * database gives them could be that of another row.
 *
 * @param computed the columns that are made of what a row holds there
 */
export function selectRows(
  table: SQLiteTable,
  rows: readonly object[],
  computed: Readonly<Record<string, (held: SQL) => SQL>> = {},
): SQL {
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
  return sql`select ${sql.join(columns, sql`, `)} from json_each(${json}) r
    order by ${sql.raw(`r.value ->> ${names.indexOf('id')}`)} is null, r.key`;
}
