import { eq, sql } from 'drizzle-orm';
import { change, isUnchanged, type Sender } from '../db/change.ts';
import { reserveIds } from '../db/deleted-ids.ts';
import { touchPolicyIf } from '../db/outbox.ts';
import { DomainError } from '../lib/errors.ts';
import { blacklists } from './blacklists/schema.ts';
import { alerts, bindings, licenses, replacedKeys } from './licenses/schema.ts';
import { touchLicenses } from './licenses/touch.ts';
import { changesOfProduct, type ProductRow } from './products/queries.ts';
import { products } from './products/schema.ts';

/**
 * Deletes a product, its DELETED licenses with their replaced keys, and the blacklist entries for this product. The history
 * stays. An import may bring the keys of the licenses back, and old snapshots would refuse them.
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
    event: { type: 'product.deleted', id: row.id, changes: changesOfProduct(row, null) },
    touches: [
      touchLicenses(isOfProduct, now),
      touchPolicyIf(sql`exists (select 1 from ${blacklists} where ${isEntryOfProduct})`),
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
      replacedKeys: db.delete(replacedKeys).where(sql`${replacedKeys.licenseId} in ${ofProduct}`),
      licenseIds: reserveIds(db, 'licenses', licenses, isOfProduct),
      licenses: db.delete(licenses).where(isOfProduct),
      entryIds: reserveIds(db, 'blacklists', blacklists, isEntryOfProduct),
      entries: db.delete(blacklists).where(isEntryOfProduct),
      productId: reserveIds(db, 'products', products, isProduct),
      product: db.delete(products).where(isProduct),
    },
  });
}
