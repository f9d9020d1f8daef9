import { and, asc, eq, gt, inArray, ne, notExists, type SQL, sql } from 'drizzle-orm';
import type { Database } from '../../db/client';
import { changesBetween, newestId } from '../../db/events';
import { newestRow } from '../../db/idempotency';
import { logBlacklist, logBlacklistIf, logLicenses } from '../../db/outbox';
import { containsText, existsUnchanged, isUnchanged, type Page } from '../../db/predicates';
import { bindings, blacklists, licenses, products } from '../../db/schema';
import { reserveIds, type Writer } from '../../db/writer';
import { settable } from '../fields';
import { type ProductQuery, type ProductRow, type ProductValues, productFields } from './schema';

const FIELDS = Object.keys(settable(productFields));

const matching = (filter: ProductQuery): SQL | undefined =>
  and(
    filter.productType && eq(products.productType, filter.productType),
    containsText(filter.q, [products.name, products.description, products.productTypeOther]),
  );

/** The products that match, sorted by id. */
export const listProducts = (db: Database, filter: ProductQuery) => ({
  read: ({ limit, after = 0 }: Page): Promise<ProductRow[]> =>
    db
      .select()
      .from(products)
      .where(and(matching(filter), gt(products.id, after)))
      .orderBy(asc(products.id))
      .limit(limit),
  count: () => db.$count(products, matching(filter)),
});

/** The product with an id. */
export const findProduct = (db: Database, id: number): Promise<ProductRow | undefined> =>
  db.select().from(products).where(eq(products.id, id)).get();

/** Stores a new product; `now` in milliseconds since 1970. */
export async function insertProduct(
  { db, guard, changed, event, remember }: Writer,
  values: ProductValues,
  now: number,
): Promise<ProductRow> {
  const [, , changes, [row]] = await db.batch([
    guard(),
    // Its offline days are in the snapshot of the blacklist.
    ...logBlacklistIf(db, values.offlineDays > 0 ? sql`true` : sql`false`, now),
    db
      .insert(products)
      .values({ ...values, createdAt: now, updatedAt: now })
      .returning(),
    event('product.created', newestId(products), changesBetween(FIELDS, null, values)),
    ...remember(newestRow(products)),
  ]);
  changed(changes);
  if (!row) throw new Error('The product was not stored');
  return row;
}

/** Changes a product. @returns undefined if another request has changed it since it was read */
export async function updateProduct(
  { db, guard, changed, event }: Writer,
  row: ProductRow,
  values: Partial<ProductValues>,
  now: number,
): Promise<ProductRow | undefined> {
  const { offlineDays = row.offlineDays } = values;
  const isRead = existsUnchanged(products, row);
  const [, , changes, , [updated]] = await db.batch([
    guard(),
    ...logBlacklistIf(db, offlineDays === row.offlineDays ? sql`false` : isRead, now),
    event('product.updated', row.id, changesBetween(FIELDS, row, { ...row, ...values }), isRead),
    db
      .update(products)
      .set({ ...values, updatedAt: now, revision: row.revision + 1 })
      .where(isUnchanged(products, row))
      .returning(),
  ]);
  changed(changes);
  return updated;
}

/**
 * Deletes a product, its DELETED licenses, and the blacklist entries for this product. The history stays.
 *
 * @param now milliseconds since 1970
 * @returns `in use` if a license is not DELETED; `changed` if another request has changed the product since
 *   it was read
 */
export async function deleteProduct(
  { db, guard, event, changed }: Writer,
  row: ProductRow,
  now: number,
): Promise<'deleted' | 'in use' | 'changed'> {
  const inUse = db
    .select({ one: sql`1` })
    .from(licenses)
    .where(and(eq(licenses.productId, row.id), ne(licenses.state, 'DELETED')));
  // The id of the product while it may be deleted, else null. All statements apply or none.
  const deletable = db
    .select({ id: products.id })
    .from(products)
    .where(and(isUnchanged(products, row), notExists(inUse)));
  const isOfProduct = sql`${licenses.productId} = ${deletable}`;
  const isEntryOfProduct = sql`${blacklists.productId} = ${deletable}`;
  const licenseIds = db.select({ id: licenses.id }).from(licenses).where(isOfProduct);
  const [, used, removedLicenses, , removedEntries, , , , , , , , deleted] = await db.batch([
    guard(),
    inUse.limit(1),
    logLicenses(db, isOfProduct, now),
    ...logBlacklist(db, isEntryOfProduct, now),
    db.delete(bindings).where(inArray(bindings.licenseId, licenseIds)),
    reserveIds(db, 'licenses', licenses, isOfProduct),
    db.delete(licenses).where(isOfProduct),
    reserveIds(db, 'blacklists', blacklists, isEntryOfProduct),
    db.delete(blacklists).where(isEntryOfProduct),
    event('product.deleted', row.id, changesBetween(FIELDS, row, null), sql`exists ${deletable}`),
    reserveIds(db, 'products', products, sql`${products.id} = ${deletable}`),
    db.delete(products).where(sql`${products.id} = ${deletable}`).returning({ id: products.id }),
  ]);
  changed([...removedLicenses, ...removedEntries]);
  if (deleted.length > 0) return 'deleted';
  return used.length > 0 ? 'in use' : 'changed';
}
