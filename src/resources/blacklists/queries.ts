import { type EntryQuery, entryFields, pickEntry } from '@licet/contract/blacklists';
import { settable } from '@licet/contract/resource';
import { toTimestamp } from '@licet/contract/time';
import { and, eq, type SQL } from 'drizzle-orm';
import { change, isUnchanged, only, type Sender } from '../../db/change.ts';
import type { Database } from '../../db/client.ts';
import { reserveIds } from '../../db/deleted-ids.ts';
import { differ, newestId } from '../../db/events.ts';
import { idOfNewest } from '../../db/idempotency.ts';
import { touchPolicy } from '../../db/outbox.ts';
import { containsText, equalsUnindexed, rowsById } from '../../db/predicates.ts';
import { DomainError } from '../../lib/errors.ts';
import { unknownProduct } from '../products/rules.ts';
import type { EntryRow, EntryValues } from './rules.ts';
import { blacklists } from './schema.ts';

/** A blacklist entry as responses show it. */
export const toEntry = (row: EntryRow) =>
  pickEntry({
    ...row,
    isForAllProducts: row.productId === null,
    createdAt: toTimestamp(row.createdAt),
    updatedAt: toTimestamp(row.updatedAt),
  });

/** `isForAllProducts` follows from `productId`. */
const diff = differ(
  Object.keys(settable(entryFields)).filter((name) => name !== 'isForAllProducts'),
);

const matching = (filter: EntryQuery): SQL | undefined =>
  and(
    // About half of the entries have a type. By its index each page would sort all of them.
    equalsUnindexed(blacklists.licenseDataType, filter.licenseDataType),
    filter.productId === undefined ? undefined : eq(blacklists.productId, filter.productId),
    containsText(filter.q, [blacklists.data, blacklists.reason]),
  );

export const listEntries = (db: Database, filter: EntryQuery) =>
  rowsById(db, blacklists, matching(filter));

export const findEntry = (db: Database, id: number): Promise<EntryRow | undefined> =>
  db.select().from(blacklists).where(eq(blacklists.id, id)).get();

const errorsOf = ({ productId }: EntryValues) => ({
  unique: new DomainError('conflict', 'The same entry exists already'),
  reference: unknownProduct(productId),
});

/**
 * Stores a new entry.
 *
 * @throws DomainError if the entry exists, or for an unknown product
 */
export async function insertEntry(sender: Sender, values: EntryValues): Promise<EntryRow> {
  const { db, now } = sender;
  const { entry } = await change(sender, {
    event: { type: 'blacklist.created', id: newestId(blacklists), changes: diff(null, values) },
    touches: [touchPolicy],
    statements: {
      entry: db
        .insert(blacklists)
        .values({ ...values, createdAt: now, updatedAt: now })
        .returning(),
    },
    creates: idOfNewest(blacklists),
    errors: errorsOf(values),
  });
  return only(entry);
}

/**
 * Changes an entry. Throws like {@link insertEntry}, and if another request has changed the entry since it was read.
 */
export async function updateEntry(
  sender: Sender,
  row: EntryRow,
  values: EntryValues,
): Promise<EntryRow> {
  const { db, now } = sender;
  const { entry } = await change(sender, {
    event: { type: 'blacklist.updated', id: row.id, changes: diff(row, values) },
    touches: [touchPolicy],
    when: [isUnchanged(blacklists, row)],
    statements: {
      entry: db
        .update(blacklists)
        .set({ ...values, updatedAt: now, revision: row.revision + 1 })
        .where(eq(blacklists.id, row.id))
        .returning(),
    },
    errors: errorsOf(values),
  });
  return only(entry);
}

/** Deletes an entry. @throws DomainError if another request has changed it since it was read */
export async function deleteEntry(sender: Sender, row: EntryRow): Promise<void> {
  const { db } = sender;
  const isEntry = eq(blacklists.id, row.id);
  await change(sender, {
    event: { type: 'blacklist.deleted', id: row.id, changes: diff(row, null) },
    touches: [touchPolicy],
    when: [isUnchanged(blacklists, row)],
    statements: {
      id: reserveIds(db, 'blacklists', blacklists, isEntry),
      entry: db.delete(blacklists).where(isEntry),
    },
  });
}
