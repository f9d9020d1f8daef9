import { type Change, changeOf, describeChanges } from '@licet/contract/changes';
import type { ImportResult } from '@licet/contract/import';
import { doubtfulIds } from '@licet/contract/import-ids';
import type { JsonObject } from '@licet/contract/json';
import { and, eq, getTableColumns, type SQL, sql } from 'drizzle-orm';
import { type SQLiteTable, unionAll } from 'drizzle-orm/sqlite-core';
import type { Condition } from '../db/change.ts';
import type { Database, Statement } from '../db/client.ts';
import type { Touch } from '../db/outbox.ts';
import { isOneOf } from '../db/predicates.ts';
import { deletedIds } from '../db/schema.ts';
import { DomainError } from '../lib/errors.ts';
import { blacklists } from '../resources/blacklists/schema.ts';
import { licenses } from '../resources/licenses/schema.ts';
import { products } from '../resources/products/schema.ts';
import type { Item } from './items.ts';

/** The changes by which the accepted items are stored. */
interface Changes {
  statements: Statement[];
  /** Customers that it creates as owners of licenses. */
  newOwners?: number;
  /** The normalized keys of the licenses that it creates. */
  newKeys?: readonly string[];
  /** The snapshots that it makes stale. */
  touches?: readonly Touch[];
  /** The conditions on which the plan still holds. */
  when?: readonly Condition[];
}

/** The import of the items of a request, planned from the state of the database. */
export interface Plan<Values> {
  /** Decides about the next item. @throws DomainError to refuse it */
  take(item: Item<Values>): ImportResult;
  /** The changes, when all items are taken. */
  changes(): Changes;
}

export interface Context {
  db: Database;
  /** Milliseconds since 1970. */
  now: number;
  /** Products that a dry run assumes to exist. */
  assumedProductIds: readonly number[];
}

/** Reads what the plan of items of one kind needs. */
export type Planner<Values> = (
  context: Context,
  items: readonly Item<Values>[],
) => Promise<Plan<Values>>;

export const refusal = (reason: string): DomainError => new DomainError('invalid', reason);

/** @param changes the values that cannot be stored as they were sent */
export const created = (
  { id }: { id: number },
  { values, sent }: Item<{ id?: number | undefined }>,
  changes: readonly Change[] = [],
): ImportResult => {
  const hasNewId = id !== (values.id ?? 0);
  const newId = hasNewId ? [changeOf(sent, ['id'], 'is, or was, in use')] : [];
  const all = [...newId, ...changes, ...doubtfulIds(sent)];
  return {
    outcome: 'created',
    id: id || null,
    differences: [...new Set(all.map(({ field }) => field))],
    reason: describeChanges(all),
  };
};

/**
 * The object exists: none of its fields is overwritten.
 *
 * @param changes the values that belong to another object
 */
export const found = (
  id: number,
  differences: readonly string[],
  changes: readonly Change[] = [],
): ImportResult => ({
  outcome: differences.length > 0 ? 'kept' : 'unchanged',
  id: id || null,
  differences: [...differences],
  reason: describeChanges(changes),
});

/**
 * The fields in which the stored object differs from the item, both as GET shows them. An empty field that has
 * a default is not a difference.
 */
export const differencesOf = (
  sent: JsonObject,
  wanted: object,
  stored: object,
  notCompared: readonly string[],
): string[] => {
  const storedFields = new Map<string, unknown>(Object.entries(stored));
  return Object.entries(wanted).flatMap(([name, value]) => {
    if (!Object.hasOwn(sent, name) || notCompared.includes(name)) return [];
    if (sent[name] === null && value !== null && value !== '') return [];
    return JSON.stringify(value) === JSON.stringify(storedFields.get(name)) ? [] : [name];
  });
};

const TABLES = { products, licenses, blacklists };
type TableName = keyof typeof TABLES;

/** An id in use, or of a deleted object; `deleted` is then the time at which that object was created. */
interface UsedId {
  id: number;
  deleted: number | null;
}

/** Selects the ids of items that are in use or belonged to a deleted object. */
export const selectUsedIds = (
  db: Database,
  type: TableName,
  items: readonly Item<{ id?: number | undefined }>[],
) => {
  const ids = items.flatMap(({ values }) => values.id ?? []);
  return unionAll(
    db
      .select({ id: TABLES[type].id, deleted: sql<number | null>`null` })
      .from(TABLES[type])
      .where(isOneOf(TABLES[type].id, ids)),
    db
      .select({ id: deletedIds.id, deleted: deletedIds.createdAt })
      .from(deletedIds)
      .where(and(eq(deletedIds.type, type), isOneOf(deletedIds.id, ids))),
  );
};

/** A row to store. The database assigns an id in the place of 0. */
interface NewRow {
  id: number;
  createdAt: number;
}

interface Resource<Values, Row extends NewRow> {
  /** The rows that have the identity of an item. */
  stored: readonly Row[];
  used: readonly UsedId[];
  toRow: (values: Values) => Row;
  identityOf: (row: Row) => string | number;
  /** The row as GET shows it. */
  toWire: (row: Row) => object;
  notCompared: readonly string[];
  /** The values of an item that are not stored. */
  changesOf?: (item: Item<Values>) => Change[];
  /** Refuses an item whose identity belongs to another object. */
  checkFound?: (item: Item<Values>, row: Row, existing: Row, differences: string[]) => void;
  /** Completes or refuses a new row. @returns the values that cannot be stored as they were sent */
  complete: (item: Item<Values>, row: Row) => readonly Change[];
}

/**
 * Finds the row of each item by its identity, or adds one. A new row keeps the id of its item if that is free. The id
 * of a deleted object is never used for another one (3). The deleted object itself may return; its time of creation
 * identifies it.
 */
export function planRows<Values extends { id?: number | undefined }, Row extends NewRow>({
  stored,
  used,
  toRow,
  identityOf,
  toWire,
  notCompared,
  changesOf,
  checkFound,
  complete,
}: Resource<Values, Row>) {
  const known = new Map(stored.map((row) => [identityOf(row), row]));
  const news: Row[] = [];
  const isFree = (id: number, { createdAt }: Row): boolean =>
    used.every((one) => one.id !== id || one.deleted === createdAt) &&
    news.every((row) => row.id !== id);
  const take = (item: Item<Values>): ImportResult => {
    const row = toRow(item.values);
    const existing = known.get(identityOf(row));
    if (existing) {
      const differences = differencesOf(item.sent, toWire(row), toWire(existing), notCompared);
      checkFound?.(item, row, existing, differences);
      return found(existing.id, differences);
    }
    const { id = 0 } = item.values;
    row.id = isFree(id, row) ? id : 0;
    const changes = complete(item, row);
    known.set(identityOf(row), row);
    news.push(row);
    return created(row, item, [...(changesOf?.(item) ?? []), ...changes]);
  };
  return { news, take };
}

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
      return names.map((name) => (name === 'id' ? values.get(name) || null : values.get(name)));
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
