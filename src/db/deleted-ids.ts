import { type SQL, sql } from 'drizzle-orm';
import type { Database } from './client.ts';
import { type blacklists, deletedIds, type licenses, type products } from './schema.ts';

/** Reserves the ids of the rows that match, in the batch that deletes them and before the deletion. */
export const reserveIds = (
  db: Database,
  type: (typeof deletedIds)['type']['enumValues'][number],
  table: typeof products | typeof licenses | typeof blacklists,
  where: SQL | undefined,
) =>
  db
    .insert(deletedIds)
    .select(sql`select ${type}, ${table.id}, ${table.createdAt} from ${table} where ${where}`)
    .onConflictDoNothing();
