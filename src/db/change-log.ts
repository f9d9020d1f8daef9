import { and, asc, eq, lt, type SQL, sql } from 'drizzle-orm';
import type { SQLiteColumn } from 'drizzle-orm/sqlite-core';
import type { Database } from './client';
import { isOneOf } from './predicates';
import { blacklists, changes, counters, licenses, tokens } from './schema';

/**
 * The change log: writing it, in the transaction of the change, and reading it. `seq` has no gaps but
 * at the start, and the newest change is always there: so a reader sees whether it has missed one.
 */

/** One change of what is cached outside D1. */
export type Change = Pick<typeof changes.$inferSelect, 'seq' | 'subject' | 'revision'>;

/** Changes that one sync reads. A reader that is farther behind goes on with its next sync. */
export const MAX_SYNCED = 100;

/** Readers that lag by more than this have missed changes. */
const KEPT_MS = 5 * 60_000;
const MAX_PRUNED = 100;

/** The subject of many new licenses at once, under keys that no license had. */
export const NEW_LICENSES = 'licenses';

const returned = { seq: changes.seq, subject: changes.subject, revision: changes.revision };

/** The revision that follows one: the time of the change, in milliseconds since 1970. */
export const nextRevision = (revision: number, now: number): number => Math.max(revision + 1, now);

/** {@link nextRevision} in SQL. */
export const nextRevisionSql = (revision: SQLiteColumn, now: number): SQL =>
  sql`max(${revision} + 1, ${now})`;

// The statements below go into the batch of a write, before its own: the rows are still as they were.

/** Logs a license or a token that did not exist. */
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

/** Logs the licenses that match, with their next revision. */
export const logLicenses = (db: Database, where: SQL | undefined, now: number) =>
  db
    .insert(changes)
    .select(
      sql`select null, 'license:' || ${licenses.licenseKeyNormalized},
          ${nextRevisionSql(licenses.revision, now)}, ${now}, 0
        from ${licenses} where ${where}`,
    )
    .returning(returned);

/** Logs the tokens that match, with their next revision. */
export const logTokens = (db: Database, where: SQL | undefined, now: number) =>
  db
    .insert(changes)
    .select(
      sql`select null, 'token:' || ${tokens.tokenHash},
          ${nextRevisionSql(tokens.revision, now)}, ${now}, 0
        from ${tokens} where ${where}`,
    )
    .returning(returned);

/** Logs the blacklist, which is one subject, if an entry matches. Two statements. */
export function logBlacklist(db: Database, where: SQL | undefined, now: number) {
  const isChanged = sql`exists (select 1 from ${blacklists} where ${where})`;
  return logBlacklistIf(db, isChanged, now);
}

/** Logs the blacklist for new entries. Two statements. */
export const logNewEntries = (db: Database, now: number) => logBlacklistIf(db, sql`true`, now);

const logBlacklistIf = (db: Database, condition: SQL, now: number) =>
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

/** Changes that KV still lacks, the oldest first. */
export const findUnpublished = (db: Database, limit: number): Promise<Change[]> =>
  db
    .select(returned)
    .from(changes)
    // In these words, for SQLite to use the index of what is unpublished.
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
 * Removes published changes that every reader has seen, the oldest first and a bounded number of them.
 * The first one that is unpublished or younger ends it: the log has no gaps.
 *
 * @param now milliseconds since 1970
 * @param withUnpublished also those that are not published, where nothing ever is
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
