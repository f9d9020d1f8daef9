import { and, eq, sql } from 'drizzle-orm';
import { unionAll } from 'drizzle-orm/sqlite-core';
import type { Database } from '../db/client.ts';
import { isOneOf } from '../db/predicates.ts';
import { blacklists, deletedIds, licenses, products } from '../db/schema.ts';

const TABLES = { products, licenses, blacklists };

/** An id in use, or of a deleted object; `deleted` is then the time at which that object was created. */
interface UsedId {
  id: number;
  deleted: number | null;
}

/** Selects the ids that are in use or belonged to a deleted object. */
export const selectUsedIds = (db: Database, type: keyof typeof TABLES, ids: readonly number[]) =>
  unionAll(
    db
      .select({ id: TABLES[type].id, deleted: sql<number | null>`null` })
      .from(TABLES[type])
      .where(isOneOf(TABLES[type].id, ids)),
    db
      .select({ id: deletedIds.id, deleted: deletedIds.createdAt })
      .from(deletedIds)
      .where(and(eq(deletedIds.type, type), isOneOf(deletedIds.id, ids))),
  );

/**
 * The ids of an import. The id of a deleted object is never used for another one (3). The deleted object itself
 * may return; its time of creation identifies it.
 */
export class Ids {
  readonly #taken = new Set<number>();
  readonly #deleted = new Map<number, number>();

  constructor(used: readonly UsedId[]) {
    for (const { id, deleted } of used) {
      if (deleted === null) this.#taken.add(id);
      else this.#deleted.set(id, deleted);
    }
  }

  /**
   * Takes an id if it is free for the object.
   *
   * @param createdAt milliseconds since 1970
   * @returns null if the database must assign a new id
   */
  take(id: number | undefined, createdAt: number): number | null {
    if (id === undefined || this.#taken.has(id)) return null;
    if ((this.#deleted.get(id) ?? createdAt) !== createdAt) return null;
    this.#taken.add(id);
    return id;
  }
}
