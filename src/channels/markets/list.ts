import type { Purchase, PurchaseQuery } from '@licet/contract/purchases';
import { toTimestamp } from '@licet/contract/time';
import { and, asc, eq, getTableColumns, gt, sql } from 'drizzle-orm';
import type { Database } from '../../db/client.ts';
import { containsText, equalsAll, type Page } from '../../db/predicates.ts';
import { purchases } from './schema.ts';

/** Purchases, as administrators see them (9). */

export type PurchaseRow = typeof purchases.$inferSelect;

/** A purchase with the product of its license. */
export type ListedPurchase = PurchaseRow & { productId: number | null };

export const purchaseColumns = {
  ...getTableColumns(purchases),
  // Drizzle would leave out the names of the tables.
  productId: sql<
    number | null
  >`(select product_id from licenses where licenses.id = purchases.license_id)`.as(
    'product_of_license',
  ),
};

export function listPurchases(
  db: Database,
  { marketId, licenseId, state, q }: Omit<PurchaseQuery, 'limit' | 'after'>,
) {
  const where = and(
    equalsAll([purchases.licenseId, licenseId], [purchases.marketId, marketId]),
    state && eq(purchases.state, state),
    containsText(q, [
      purchases.orderId,
      purchases.reference,
      purchases.buyerId,
      purchases.buyerName,
      purchases.item,
    ]),
  );
  return {
    read: ({ limit, after = 0 }: Page): Promise<ListedPurchase[]> =>
      db
        .select(purchaseColumns)
        .from(purchases)
        .where(and(where, gt(purchases.id, after)))
        .orderBy(asc(purchases.id))
        .limit(limit),
    count: () => db.$count(purchases, where),
  };
}

export const findPurchase = (db: Database, id: number): Promise<ListedPurchase | undefined> =>
  db.select(purchaseColumns).from(purchases).where(eq(purchases.id, id)).get();

/** A purchase as responses show it. */
export const toPurchase = (row: ListedPurchase): Purchase => ({
  id: row.id,
  marketId: row.marketId,
  item: row.item,
  reference: row.reference,
  unit: row.unit,
  order: row.orderId,
  buyerId: row.buyerId,
  buyerName: row.buyerName,
  quantity: row.quantity,
  isTest: row.isTest,
  state: row.state,
  reason: row.reason,
  licenseId: row.licenseId,
  productId: row.productId,
  createdAt: toTimestamp(row.createdAt),
  updatedAt: toTimestamp(row.updatedAt),
});
