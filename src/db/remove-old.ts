import { type SQL, sql } from 'drizzle-orm';
import type { SQLiteTable } from 'drizzle-orm/sqlite-core';
import type { Database } from './client.ts';

/** Rows that one run removes; the next run goes on. */
const MAX_REMOVED = 1_000;

/** The statement that removes a bounded number of old rows. @param key the columns of the primary key */
export const removeOld = (db: Database, table: SQLiteTable, key: SQL, isOld: SQL) =>
  db
    .delete(table)
    .where(sql`(${key}) in (select ${key} from ${table} where ${isOld} limit ${MAX_REMOVED})`);
