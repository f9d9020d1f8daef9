import { and, asc, eq, lt, type SQL, sql } from 'drizzle-orm';
import type { SQLiteColumn } from 'drizzle-orm/sqlite-core';
import type { Database } from './client';
import { isOneOf } from './predicates';
import { blacklists, changes, counters, licenses, tokens } from './schema';

/**
 * The change log. A change is written in the transaction of its write. `seq` has no gaps but at the start, and
 * the newest change is never removed: a reader sees whether it has missed a change.
 */

/** A change of a row that is cached outside D1. */
export type Change = Pick<typeof changes.$inferSelect, 'seq' | 'subject' | 'revision'>;

/** A change that need not be in the log. */
export type Invalidation = Omit<Change, 'seq'>;

/** Changes that a sync reads at most. The next sync reads on. */
export const MAX_SYNCED = 100;

/** A reader that lags by more than this may miss changes. */
const KEPT_MS = 5 * 60_000;
const MAX_PRUNED = 100;

/** The subject of an import: many new licenses, under keys that no license had. */
export const NEW_LICENSES = 'licenses';

const returned = { seq: changes.seq, subject: changes.subject, revision: changes.revision };

/** The revision that follows one: the time of the change, in milliseconds since 1970. */
export const nextRevision = (revision: number, now: number): number => Math.max(revision + 1, now);

/** {@link nextRevision} in SQL. */
export const nextRevisionSql = (revision: SQLiteColumn, now: number): SQL =>
  sql`max(${revision} + 1, ${now})`;

// The statements below go into the batch of a write, before its own statements, which change the rows.

/** Logs a new license or token. */
export const logNew = (
  db: Database,
  subject: `license:${string}` | `token:${string}` | typeof NEW_LICENSES,
  now: number,
) =>
  db
    .insert(changes)
    .values({
      subject,
      revision: now,
      changedAt: now,
      isPublished: subject === NEW_LICENSES,
    })
    .returning(returned);

const logRows = (
  db: Database,
  table: typeof licenses | typeof tokens,
  subject: SQL,
  where: SQL | undefined,
  now: number,
) =>
  db
    .insert(changes)
    .select(
      sql`select null, ${subject}, ${nextRevisionSql(table.revision, now)}, ${now}, 0
        from ${table} where ${where}`,
    )
    .returning(returned);

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
      .insert(changes)
      .select(
        sql`select null, 'blacklist', ${counters.value}, ${now}, 0 from ${counters}
          where ${counters.name} = 'blacklist_revision' and ${condition}`,
      )
      .returning(returned),
  ] as const;

/** The change at the cursor and all after it; the newest change in any case. */
export const selectChanges = (db: Database, cursor: number) =>
  db
    .select(returned)
    .from(changes)
    .where(sql`${changes.seq} >= min(${cursor}, (select max(seq) from changes))`)
    .orderBy(asc(changes.seq))
    .limit(MAX_SYNCED + 1);

/** The changes that KV lacks, the oldest first. */
export const findUnpublished = (db: Database, limit: number): Promise<Change[]> =>
  db
    .select(returned)
    .from(changes)
    // The words of the partial index, for SQLite to use it.
    .where(sql`not ${changes.isPublished}`)
    .orderBy(asc(changes.seq))
    .limit(limit);

/** Marks changes as published, if a condition holds. */
export const markPublished = (db: Database, seqs: readonly number[], condition: SQL) =>
  db
    .update(changes)
    .set({ isPublished: true })
    .where(and(isOneOf(changes.seq, seqs), sql`not ${changes.isPublished}`, condition));

/**
 * Removes published changes that every reader has seen, the oldest first, up to the first one that is
 * unpublished or younger, because the log has no gaps. Removes a bounded number of them.
 *
 * @param now milliseconds since 1970
 * @param withUnpublished also removes unpublished changes, for a service without KV
 */
export async function pruneChanges(
  db: Database,
  now: number,
  withUnpublished: boolean,
): Promise<void> {
  const firstUnpublished = withUnpublished
    ? sql`null`
    : sql`(select min(seq) from changes where not is_published)`;
  const end = sql`min(
    (select min(seq) from changes) + ${MAX_PRUNED},
    (select max(seq) from changes),
    ifnull(${firstUnpublished}, ${Number.MAX_SAFE_INTEGER}))`;
  const firstYoung = sql`(select seq from changes
    where seq < ${end} and changed_at > ${now - KEPT_MS} order by seq limit 1)`;
  await db.delete(changes).where(lt(changes.seq, sql`ifnull(${firstYoung}, ${end})`));
}
