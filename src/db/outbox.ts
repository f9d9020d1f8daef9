import { and, asc, eq, inArray, type SQL, sql } from 'drizzle-orm';
import type { SQLiteColumn } from 'drizzle-orm/sqlite-core';
import type { Database } from './client';
import { blacklists, counters, licenses, outbox, tokens } from './schema';

/** The outbox: changes of rows that are cached outside D1, written in the transaction of the change, until KV has them. */

/** A change of a row that is cached outside D1. */
export type Change = typeof outbox.$inferSelect;

/** Rows that one run of the scheduled handler removes for a service without KV. */
const MAX_REMOVED = 1_000;

/** The revision that follows one: the time of the change, in milliseconds since 1970. */
export const nextRevision = (revision: number, now: number): number => Math.max(revision + 1, now);

/** {@link nextRevision} in SQL. */
export const nextRevisionSql = (revision: SQLiteColumn, now: number): SQL =>
  sql`max(${revision} + 1, ${now})`;

// The statements below go into the batch of a write, before its own statements, which change the rows.

/** A subject has one row, with its last change. */
const later = {
  target: outbox.subject,
  set: { revision: sql`excluded.revision` },
};

/** Logs a new license or token. */
export const logNew = (
  db: Database,
  subject: `license:${string}` | `token:${string}`,
  now: number,
) => db.insert(outbox).values({ subject, revision: now }).onConflictDoUpdate(later).returning();

const logRows = (
  db: Database,
  table: typeof licenses | typeof tokens,
  subject: SQL,
  where: SQL | undefined,
  now: number,
) =>
  db
    .insert(outbox)
    .select(
      sql`select ${subject}, ${nextRevisionSql(table.revision, now)} from ${table} where ${where}`,
    )
    .onConflictDoUpdate(later)
    .returning();

/** Logs the licenses that match, with their next revision. */
export const logLicenses = (db: Database, where: SQL | undefined, now: number) =>
  logRows(db, licenses, sql`'license:' || ${licenses.licenseKeyNormalized}`, where, now);

/** Logs the tokens that match, with their next revision. */
export const logTokens = (db: Database, where: SQL | undefined, now: number) =>
  logRows(db, tokens, sql`'token:' || ${tokens.tokenHash}`, where, now);

/** Logs the blacklist, which is one subject, if an entry matches. Returns two statements. */
export const logBlacklist = (db: Database, where: SQL | undefined, now: number) =>
  logBlacklistIf(db, sql`exists (select 1 from ${blacklists} where ${where})`, now);

/**
 * Logs the blacklist on a condition, also for the offline days of products, which its snapshot has. Returns two
 * statements.
 */
export const logBlacklistIf = (db: Database, condition: SQL, now: number) =>
  [
    db
      .update(counters)
      .set({ value: nextRevisionSql(counters.value, now) })
      .where(and(eq(counters.name, 'blacklist_revision'), condition)),
    db
      .insert(outbox)
      .select(
        sql`select 'blacklist', ${counters.value} from ${counters}
          where ${counters.name} = 'blacklist_revision' and ${condition}`,
      )
      .onConflictDoUpdate(later)
      .returning(),
  ] as const;

/** The oldest changes that KV lacks. */
export const findChanges = (db: Database, limit: number): Promise<Change[]> =>
  db.select().from(outbox).orderBy(asc(outbox.revision)).limit(limit);

/** Removes the change of a subject, if a condition holds. */
export const removeChange = (db: Database, subject: string, condition: SQL) =>
  db.delete(outbox).where(and(eq(outbox.subject, subject), condition));

/** Removes a bounded number of changes, which a service without KV publishes nowhere. */
export async function removeChanges(db: Database): Promise<void> {
  const some = db.select({ subject: outbox.subject }).from(outbox).limit(MAX_REMOVED);
  await db.delete(outbox).where(inArray(outbox.subject, some));
}
