import { and, eq, sql } from 'drizzle-orm';
import { unionAll } from 'drizzle-orm/sqlite-core';
import type { Database } from '../db/client';
import { isOneOf } from '../db/predicates';
import { blacklists, deletedIds, licenses, products } from '../db/schema';

const TABLES = { products, licenses, blacklists };

/** An id that something has; `deleted` is when that had been created, where it was deleted here. */
interface UsedId {
  id: number;
  deleted: number | null;
}

/** Which of the ids are not free for everything. */
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
 * The ids that objects of one kind ask for. No other object ever has the id of one that was deleted here
 * (3); that one may come back, and is known by the moment when it was created.
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
   * Takes the id that an object asks for, where it is free for it; else the database gives it a new one.
   *
   * @param createdAt milliseconds since 1970
   * @returns null for a new one
   */
  take(id: number | undefined, createdAt: number): number | null {
    if (id === undefined || this.#taken.has(id)) return null;
    if ((this.#deleted.get(id) ?? createdAt) !== createdAt) return null;
    this.#taken.add(id);
    return id;
  }
}
