import { and, asc, eq, gt, type SQL, sql } from 'drizzle-orm';
import type { Database } from '../../db/client';
import { changesBetween, newestId } from '../../db/events';
import { newestRow } from '../../db/idempotency';
import { logBlacklist, logBlacklistIf } from '../../db/outbox';
import {
  containsText,
  equalsUnindexed,
  existsUnchanged,
  isUnchanged,
  type Page,
} from '../../db/predicates';
import { blacklists } from '../../db/schema';
import { reserveIds, type Writer } from '../../db/writer';
import { settable } from '../fields';
import { type EntryQuery, type EntryRow, type EntryValues, entryFields } from './schema';

/** `isForAllProducts` follows from `productId`. */
const FIELDS = Object.keys(settable(entryFields)).filter((name) => name !== 'isForAllProducts');

const matching = (filter: EntryQuery): SQL | undefined =>
  and(
    // About half of the entries have a type. By its index each page would sort all of them.
    equalsUnindexed(blacklists.licenseDataType, filter.licenseDataType),
    filter.productId === undefined ? undefined : eq(blacklists.productId, filter.productId),
    containsText(filter.q, [blacklists.data, blacklists.reason]),
  );

/** The blacklist entries that match, sorted by id. */
export const listEntries = (db: Database, filter: EntryQuery) => ({
  read: ({ limit, after = 0 }: Page): Promise<EntryRow[]> =>
    db
      .select()
      .from(blacklists)
      .where(and(matching(filter), gt(blacklists.id, after)))
      .orderBy(asc(blacklists.id))
      .limit(limit),
  count: () => db.$count(blacklists, matching(filter)),
});

/** The blacklist entry with an id. */
export const findEntry = (db: Database, id: number): Promise<EntryRow | undefined> =>
  db.select().from(blacklists).where(eq(blacklists.id, id)).get();

/**
 * Stores a new entry.
 *
 * @throws a unique violation if the entry exists, a foreign key violation for an unknown product
 */
export async function insertEntry(
  { db, guard, event, changed, remember }: Writer,
  values: EntryValues,
  now: number,
): Promise<EntryRow> {
  const [, , changes, [row]] = await db.batch([
    guard(),
    ...logBlacklistIf(db, sql`true`, now),
    db
      .insert(blacklists)
      .values({ ...values, createdAt: now, updatedAt: now })
      .returning(),
    event('blacklist.created', newestId(blacklists), changesBetween(FIELDS, null, values)),
    ...remember(newestRow(blacklists)),
  ]);
  changed(changes);
  if (!row) throw new Error('The blacklist entry was not stored');
  return row;
}

/**
 * Changes an entry. Throws like {@link insertEntry}.
 *
 * @returns undefined if another request has changed it since it was read
 */
export async function updateEntry(
  { db, guard, event, changed }: Writer,
  row: EntryRow,
  values: EntryValues,
  now: number,
): Promise<EntryRow | undefined> {
  const [, , changes, , [updated]] = await db.batch([
    guard(),
    ...logBlacklist(db, isUnchanged(blacklists, row), now),
    event(
      'blacklist.updated',
      row.id,
      changesBetween(FIELDS, row, values),
      existsUnchanged(blacklists, row),
    ),
    db
      .update(blacklists)
      .set({ ...values, updatedAt: now, revision: row.revision + 1 })
      .where(isUnchanged(blacklists, row))
      .returning(),
  ]);
  changed(changes);
  return updated;
}

/** Deletes an entry. @returns undefined if another request has changed it since it was read */
export async function deleteEntry(
  { db, guard, event, changed }: Writer,
  row: EntryRow,
  now: number,
): Promise<{ id: number } | undefined> {
  const [, , changes, , , [deleted]] = await db.batch([
    guard(),
    ...logBlacklist(db, isUnchanged(blacklists, row), now),
    event(
      'blacklist.deleted',
      row.id,
      changesBetween(FIELDS, row, null),
      existsUnchanged(blacklists, row),
    ),
    reserveIds(db, 'blacklists', blacklists, isUnchanged(blacklists, row)),
    db.delete(blacklists).where(isUnchanged(blacklists, row)).returning({ id: blacklists.id }),
  ]);
  changed(changes);
  return deleted;
}
