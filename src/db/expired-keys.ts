import { sql } from 'drizzle-orm';
import type { Database } from './client.ts';
import { KEPT_MS } from './idempotency.ts';
import { idempotencyKeys } from './schema.ts';
import type { Task } from './task.ts';

const MAX_REMOVED = 500;

/**
 * Removes a bounded number of expired keys, the oldest first. Reads one row while nothing has expired.
 *
 * @param now milliseconds since 1970
 */
export async function removeExpiredKeys(db: Database, now: number): Promise<void> {
  const end = sql`(select min(id) from idempotency_keys) + ${MAX_REMOVED}`;
  const firstKept = sql`(select id from idempotency_keys
    where id < ${end} and created_at > ${now - KEPT_MS} order by id limit 1)`;
  await db.delete(idempotencyKeys).where(sql`id < ifnull(${firstKept}, ${end})`);
}

export const REMOVE_KEYS: Task = {
  failure: 'Idempotency keys were not removed',
  most: 1,
  run: ({ db, now }) => removeExpiredKeys(db, now),
};
