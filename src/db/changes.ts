import { and, asc, eq, isNotNull, isNull, lt, ne, sql } from 'drizzle-orm';
import type { Database } from './client';
import { changes } from './schema';
import { isOneOf } from './search';

/** The log of changes: what copies outside of the database go by. */

export type Change = typeof changes.$inferSelect;

/** How many changes one reading brings. */
export const MAX_CHANGES = 1_000;

/**
 * After so long no publisher can be under way any more (they end 30 seconds after their request was
 * answered), and every location shows what was put.
 */
const SETTLING_MS = 5 * 60_000;

/**
 * The changes from a place in the log on, in their order, and always the last one: a log that ends
 * before a place up to which it was read was set back.
 */
export const selectChanges = (db: Database, from: number) =>
  db
    .select()
    .from(changes)
    .where(sql`${changes.seq} >= min(${from}, (select max(seq) from changes))`)
    .orderBy(asc(changes.seq))
    .limit(MAX_CHANGES);

/** The last change of a subject, if the log still has it. */
export const selectChange = (db: Database, subject: string) =>
  db.select().from(changes).where(eq(changes.subject, subject));

/** Marks a revision as put into KV, if it is still the newest; the change as it is then. */
export async function markPublished(
  db: Database,
  subject: string,
  revision: number | undefined,
  now: number,
): Promise<Change | undefined> {
  const [, [change]] = await db.batch([
    db
      .update(changes)
      .set({ publishedRevision: changes.revision, publishedAt: now })
      .where(and(eq(changes.subject, subject), eq(changes.revision, revision ?? 0))),
    selectChange(db, subject),
  ]);
  return change;
}

/**
 * Licenses that were made just now, and whose keys no copy anywhere has had: there is nothing to put.
 * Who misses one in KV asks the database, and puts it then. A key that was there before has a higher
 * revision, and copies to be replaced.
 */
export const markAsUncopied = (db: Database, foldedKeys: readonly string[]) =>
  db
    .update(changes)
    .set({ publishedRevision: changes.revision })
    .where(
      and(
        isOneOf(
          changes.subject,
          foldedKeys.map((key) => `license:${key}`),
        ),
        eq(changes.revision, 1),
      ),
    );

/** What changed and was not put into KV since, the oldest change first. */
export const findUnpublished = (db: Database, limit: number): Promise<Change[]> =>
  db
    .select()
    .from(changes)
    .where(lt(changes.publishedRevision, changes.revision))
    .orderBy(asc(changes.seq))
    .limit(limit);

const wasPutBefore = (moment: number) =>
  and(
    eq(changes.publishedRevision, changes.revision),
    isNotNull(changes.publishedAt),
    lt(changes.publishedAt, moment),
  );

/** What was put long enough ago to be confirmed. */
export const findUnsettled = (db: Database, now: number, limit: number): Promise<Change[]> =>
  db
    .select()
    .from(changes)
    .where(wasPutBefore(now - SETTLING_MS))
    .limit(limit);

/**
 * Takes what is confirmed out of the log, but for the last change, from which the next one counts,
 * and for the blacklist, whose revision is nowhere else.
 */
export async function settle(
  db: Database,
  subjects: readonly string[],
  now: number,
): Promise<void> {
  await db.batch([
    db
      .update(changes)
      .set({ publishedAt: null })
      .where(and(isOneOf(changes.subject, subjects), wasPutBefore(now - SETTLING_MS))),
    db
      .delete(changes)
      .where(
        and(
          eq(changes.publishedRevision, changes.revision),
          isNull(changes.publishedAt),
          ne(changes.subject, 'blacklist'),
          sql`${changes.seq} < (select max(seq) from changes)`,
        ),
      ),
  ]);
}
