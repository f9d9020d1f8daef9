import type { Metadata } from '@licet/contract/metadata';
import { type SQL, sql } from 'drizzle-orm';
import {
  type AnySQLiteColumn,
  customType,
  integer,
  type SQLiteColumn,
  text,
  uniqueIndex,
} from 'drizzle-orm/sqlite-core';

/**
 * Parts of the tables in D1, which stand in the `schema.ts` of the rooms that they belong to. The constraints reject the
 * rows of a faulty program: duplicate keys and bindings, unknown enum values, impossible limits, a license without its
 * product.
 *
 * - Times are milliseconds since 1970 in UTC (`…At`).
 * - `revision` grows with every change by an administrator or a binding. It is the ETag, the version of a
 *   snapshot, and the value that concurrent writers compare.
 * - AUTOINCREMENT for the ids of the interface, because no id is used again.
 * - No cascades and no triggers: every statement is in the source.
 * - A table whose primary key is its only index has no rowid: each row then costs one written row. Drizzle
 *   cannot express it, so the migration does.
 */

export const oneOf = (column: AnySQLiteColumn, values: readonly string[]): SQL =>
  sql`${column} in (${sql.raw(values.map((value) => `'${value}'`).join(', '))})`;

export const id = () => integer('id').primaryKey({ autoIncrement: true });
export const revision = () => integer('revision').notNull().default(1);
export const createdAt = () => integer('created_at').notNull();
export const updatedAt = () => integer('updated_at').notNull();
/** Null without any. */
export const metadata = () => text('metadata', { mode: 'json' }).$type<Metadata>();
export const textOrEmpty = (name: string) => text(name).notNull().default('');

/** A partial index: a row with null takes no space in it. */
export const uniqueUnlessNull = (name: string, column: SQLiteColumn) =>
  uniqueIndex(name).on(column).where(sql`${column} is not null`);

/** Stores a value of an enumeration as a small integer. */
export const coded = <Value extends string>(codes: Readonly<Record<Value, number>>) =>
  customType<{ data: Value; driverData: number }>({
    dataType: () => 'integer',
    toDriver: (value) => codes[value],
    fromDriver(code) {
      for (const value in codes) if (codes[value] === code) return value;
      throw new Error(`Unknown code ${code}`);
    },
  });
