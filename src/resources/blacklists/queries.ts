import { and, asc, count, eq, gt, type SQL } from 'drizzle-orm';
import { logBlacklist, logNewEntries } from '../../db/change-log';
import type { Database } from '../../db/client';
import type { Page } from '../../db/predicates';
import { containsText, equalsUnindexed } from '../../db/predicates';
import { blacklists } from '../../db/schema';
import { reserveIds, type Writer } from '../../db/writer';
import type { EntryRow, EntryValues } from './schema';

export interface EntryFilter {
  licenseDataType?: EntryRow['licenseDataType'] | undefined;
  productId?: number | undefined;
  q?: string | undefined;
}

const matching = (filter: EntryFilter): SQL | undefined =>
  and(
    // Half of the entries are of a kind: its index would have them all sorted by id for each page.
    equalsUnindexed(blacklists.licenseDataType, filter.licenseDataType),
    filter.productId === undefined ? undefined : eq(blacklists.productId, filter.productId),
    containsText(filter.q, [blacklists.data, blacklists.reason]),
  );

/** A page of the blacklist entries that match, sorted by id. */
export const listEntries = (db: Database, filter: EntryFilter, page: Page): Promise<EntryRow[]> =>
  db
    .select()
    .from(blacklists)
    .where(and(matching(filter), gt(blacklists.id, page.after ?? 0)))
    .orderBy(asc(blacklists.id))
    .limit(page.limit);

/** How many blacklist entries match. */
export async function countEntries(db: Database, filter: EntryFilter): Promise<number> {
  const [row] = await db.select({ total: count() }).from(blacklists).where(matching(filter));
  return row?.total ?? 0;
}

/** The blacklist entry with an id. */
export async function findEntry(db: Database, id: number): Promise<EntryRow | undefined> {
  const [row] = await db.select().from(blacklists).where(eq(blacklists.id, id));
  return row;
}

/** Fails with a unique violation for an entry that exists, a foreign key's for an unknown product. */
export async function insertEntry(
  { db, guard, changed }: Writer,
  values: EntryValues,
  now: number,
): Promise<EntryRow> {
  const [, , changes, [row]] = await db.batch([
    guard(),
    ...logNewEntries(db, now),
    db
      .insert(blacklists)
      .values({ ...values, createdAt: now, updatedAt: now })
      .returning(),
  ]);
  changed(changes);
  if (!row) throw new Error('The blacklist entry was not stored');
  return row;
}

const isUnchanged = (row: EntryRow): SQL | undefined =>
  and(eq(blacklists.id, row.id), eq(blacklists.revision, row.revision));

/**
 * The entry as changed; undefined when somebody else has changed it since it was read. Fails like
 * {@link insertEntry}.
 */
export async function updateEntry(
  { db, guard, changed }: Writer,
  row: EntryRow,
  values: EntryValues,
  now: number,
): Promise<EntryRow | undefined> {
  const [, , changes, [updated]] = await db.batch([
    guard(),
    ...logBlacklist(db, isUnchanged(row), now),
    db
      .update(blacklists)
      .set({ ...values, updatedAt: now, revision: row.revision + 1 })
      .where(isUnchanged(row))
      .returning(),
  ]);
  changed(changes);
  return updated;
}

/** Undefined when somebody else has changed the entry since it was read. */
export async function deleteEntry(
  { db, guard, changed }: Writer,
  row: EntryRow,
  now: number,
): Promise<{ id: number } | undefined> {
  const [, , changes, , [deleted]] = await db.batch([
    guard(),
    ...logBlacklist(db, isUnchanged(row), now),
    reserveIds(db, 'blacklists', blacklists, isUnchanged(row)),
    db.delete(blacklists).where(isUnchanged(row)).returning({ id: blacklists.id }),
  ]);
  changed(changes);
  return deleted;
}
