import { type ProductQuery, pickProduct, productFields } from '@licet/contract/products';
import { settable } from '@licet/contract/resource';
import { toTimestamp } from '@licet/contract/time';
import { and, eq, type SQL, sql } from 'drizzle-orm';
import { change, isUnchanged, only, type Sender } from '../../db/change.ts';
import type { Database } from '../../db/client.ts';
import { reserveIds } from '../../db/deleted-ids.ts';
import { differ, newestId } from '../../db/events.ts';
import { newestRow } from '../../db/idempotency.ts';
import { licensesWhere, policy, policyIf } from '../../db/outbox.ts';
import { containsText, rowsById } from '../../db/predicates.ts';
import { alerts, bindings, blacklists, licenses, products, replacedKeys } from '../../db/schema.ts';
import { DomainError } from '../../lib/errors.ts';

export type ProductRow = typeof products.$inferSelect;
/** The columns that a client sets. */
type ProductValues = Omit<ProductRow, 'id' | 'createdAt' | 'updatedAt' | 'revision'>;

/** A product as responses show it. */
export const toProduct = (row: ProductRow) =>
  pickProduct({
    ...row,
    createdDate: toTimestamp(row.createdAt),
    updatedDate: toTimestamp(row.updatedAt),
  });

const diff = differ(Object.keys(settable(productFields)));

const matching = (filter: ProductQuery): SQL | undefined =>
  and(
    filter.productType && eq(products.productType, filter.productType),
    containsText(filter.q, [products.name, products.description, products.productTypeOther]),
  );

export const listProducts = (db: Database, filter: ProductQuery) =>
  rowsById(db, products, matching(filter));

export const findProduct = (db: Database, id: number): Promise<ProductRow | undefined> =>
  db.select().from(products).where(eq(products.id, id)).get();

export async function insertProduct(sender: Sender, values: ProductValues): Promise<ProductRow> {
  const { db, now } = sender;
  const { product } = await change(sender, {
    event: { type: 'product.created', id: newestId(products), changes: diff(null, values) },
    touches: values.offlineDays > 0 ? [policy] : [],
    statements: {
      product: db
        .insert(products)
        .values({ ...values, createdAt: now, updatedAt: now })
        .returning(),
    },
    creates: { json: newestRow(products) },
  });
  return only(product);
}

/** Changes a product. @throws DomainError if another request has changed it since it was read */
export async function updateProduct(
  sender: Sender,
  row: ProductRow,
  values: Partial<ProductValues>,
): Promise<ProductRow> {
  const { db, now } = sender;
  const updated = { ...row, ...values };
  const { product } = await change(sender, {
    event: { type: 'product.updated', id: row.id, changes: diff(row, updated) },
    touches: updated.offlineDays === row.offlineDays ? [] : [policy],
    when: [isUnchanged(products, row)],
    statements: {
      product: db
        .update(products)
        .set({ ...values, updatedAt: now, revision: row.revision + 1 })
        .where(eq(products.id, row.id))
        .returning(),
    },
  });
  return only(product);
}

/**
 * Deletes a product, its DELETED licenses with their former keys, and the blacklist entries for this product. The history stays. An import
 * may bring the keys of the licenses back, and old snapshots would refuse them.
 *
 * @throws DomainError if a license is not DELETED, or if another request has changed the product since it was read
 */
export async function deleteProduct(sender: Sender, row: ProductRow): Promise<void> {
  const { db, now } = sender;
  const isProduct = eq(products.id, row.id);
  const isOfProduct = eq(licenses.productId, row.id);
  const ofProduct = sql`(select id from ${licenses} where ${isOfProduct})`;
  const isEntryOfProduct = eq(blacklists.productId, row.id);
  await change(sender, {
    event: { type: 'product.deleted', id: row.id, changes: diff(row, null) },
    touches: [
      licensesWhere(isOfProduct, now),
      policyIf(sql`exists (select 1 from ${blacklists} where ${isEntryOfProduct})`),
    ],
    when: [
      isUnchanged(products, row),
      {
        constraint: 'product_is_unused',
        holds: sql`not exists (
          select 1 from ${licenses} where ${isOfProduct} and ${licenses.state} <> 'DELETED')`,
        error: new DomainError('conflict', 'Product has licenses, cannot delete'),
      },
    ],
    statements: {
      bindings: db.delete(bindings).where(sql`${bindings.licenseId} in ${ofProduct}`),
      alerts: db.delete(alerts).where(sql`${alerts.licenseId} in ${ofProduct}`),
      formerKeys: db.delete(replacedKeys).where(sql`${replacedKeys.licenseId} in ${ofProduct}`),
      licenseIds: reserveIds(db, 'licenses', licenses, isOfProduct),
      licenses: db.delete(licenses).where(isOfProduct),
      entryIds: reserveIds(db, 'blacklists', blacklists, isEntryOfProduct),
      entries: db.delete(blacklists).where(isEntryOfProduct),
      productId: reserveIds(db, 'products', products, isProduct),
      product: db.delete(products).where(isProduct),
    },
  });
}
