import { type SQL, sql } from 'drizzle-orm';
import type { SQLiteColumn, SQLiteTable } from 'drizzle-orm/sqlite-core';
import type { Database } from './client.ts';
import { deletedIds } from './schema.ts';

/** Reserves the ids of the rows that match, in the batch that deletes them and before the deletion. */
export const reserveIds = (
  db: Database,
  type: (typeof deletedIds)['type']['enumValues'][number],
  table: SQLiteTable & { id: SQLiteColumn; createdAt: SQLiteColumn },
  where: SQL | undefined,
) =>
  db
    .insert(deletedIds)
    .select(sql`select ${type}, ${table.id}, ${table.createdAt} from ${table} where ${where}`)
    .onConflictDoNothing();
