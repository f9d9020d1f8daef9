import { type SQL, sql } from 'drizzle-orm';
import type { BatchItem } from 'drizzle-orm/batch';
import type { Database } from './client';
import type { NewEvent } from './events';
import type { Change } from './outbox';
import { type blacklists, deletedIds, type licenses, type products } from './schema';

/** The context of a change by an administrator. */
export interface Writer {
  db: Database;
  /** The first statement of the batch. It fails the batch unless the sender still has the permission. */
  guard(): BatchItem<'sqlite'>;
  /**
   * The statement that stores the event of the change (5), before the statement that makes `condition` false.
   *
   * @param condition holds while the change is still to be made; none for a new object
   */
  event(
    type: NewEvent['type'],
    resourceId: NewEvent['resourceId'],
    changes: NewEvent['changes'],
    condition?: SQL,
  ): BatchItem<'sqlite'>;
  /**
   * Takes the changes that the statements of the outbox returned.
   *
   * @param unlogged further changes that this isolate must see at once
   */
  changed(changes: readonly Change[], unlogged?: readonly Change[]): void;
  /**
   * The last statements of a batch that creates an object: they store it for repetitions of a request with an
   * `Idempotency-Key`. None without one.
   *
   * @param created the object as JSON; null if it is not kept
   * @param customerId the customer whose data it has
   */
  remember(created: SQL | null, customerId?: SQL): BatchItem<'sqlite'>[];
}

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
