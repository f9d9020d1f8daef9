import { and, asc, eq, type SQL, sql } from 'drizzle-orm';
import type { SQLiteColumn } from 'drizzle-orm/sqlite-core';
import type { Database } from './client.ts';
import { removeOld } from './remove-old.ts';
import { counters, outbox } from './schema.ts';

/** The outbox lists the changed rows that are cached outside D1. A change stores its entry, which stays until KV has the row. */

/** A change of a row that is cached outside D1. */
export type Change = typeof outbox.$inferSelect;

/** The revision that follows one: the time of the change, in milliseconds since 1970. */
export const nextRevision = (revision: number, now: number): number => Math.max(revision + 1, now);

/** {@link nextRevision} in SQL. */
export const nextRevisionSql = (revision: SQLiteColumn, now: number): SQL =>
  sql`max(${revision} + 1, ${now})`;

/** Snapshots that a change makes stale. */
export interface Touch {
  /** Selects their subjects, and their revisions after the change. */
  rows: SQL;
  /** Whether the revision of the policy moves. */
  movesPolicy?: SQL;
}

/** A token that will have a revision. */
export const touchToken = (hash: string, revision: number): Touch => ({
  rows: sql`select ${`token:${hash}`}, ${revision}`,
});

const isPolicy = eq(counters.name, 'policy_revision');

/** The policy, if a condition holds before the change. */
export const touchPolicyIf = (movesPolicy: SQL): Touch => ({
  rows: sql`select 'policy', value from ${counters} where ${isPolicy} and ${movesPolicy}`,
  movesPolicy,
});

export const touchPolicy = touchPolicyIf(sql`true`);

/** The statements that put at most five snapshots into the outbox, before the statements of the change. */
export function putIntoOutbox(db: Database, touches: readonly Touch[], now: number) {
  const value = nextRevisionSql(counters.value, now);
  const moved = touches.flatMap(({ movesPolicy }) =>
    movesPolicy ? db.update(counters).set({ value }).where(and(isPolicy, movesPolicy)) : [],
  );
  if (touches.length === 0) return { moved, touched: [] };
  const selects = touches.map(({ rows }) => rows);
  const touched = db
    .insert(outbox)
    .select(sql`select * from (${sql.join(selects, sql` union all `)}) where true`)
    // A subject has one row, with its last change.
    .onConflictDoUpdate({ target: outbox.subject, set: { revision: sql`excluded.revision` } })
    .returning();
  return { moved, touched: [touched] };
}

/** The oldest changes that KV lacks. */
export const findChanges = (db: Database, limit: number): Promise<Change[]> =>
  db.select().from(outbox).orderBy(asc(outbox.revision)).limit(limit);

/** Selects the time of the oldest change that KV lacks. */
export const oldestChange = (): SQL => sql`select min(revision) from ${outbox}`;

/** Removes the change of a subject, if a condition holds. */
export const removeChange = (db: Database, subject: string, condition: SQL) =>
  db.delete(outbox).where(and(eq(outbox.subject, subject), condition));

/** Removes a bounded number of changes, which a service without KV publishes nowhere. */
export const removeChanges = (db: Database) => removeOld(db, outbox, sql`subject`, sql`true`);
