import { type SQL, sql } from 'drizzle-orm';
import type { Database } from './client';
import { type blacklists, deletedIds, type licenses, type products } from './schema';

type Table = typeof products | typeof licenses | typeof blacklists;

/** Keeps the ids of the rows that match from being used again. In the batch that deletes them, before it. */
export const keepIds = (
  db: Database,
  type: (typeof deletedIds)['type']['enumValues'][number],
  table: Table,
  where: SQL | undefined,
) =>
  db
    .insert(deletedIds)
    .select(sql`select ${type}, ${table.id}, ${table.createdAt} from ${table} where ${where}`)
    .onConflictDoNothing();
