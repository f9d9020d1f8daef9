import type { Purchase, PurchaseQuery } from '@licet/contract/purchases';
import { toTimestamp } from '@licet/contract/time';
import { and, asc, eq, gt } from 'drizzle-orm';
import type { Database } from '../../db/client.ts';
import { containsText, equalsAll, type Page } from '../../db/predicates.ts';
import { licenses, purchases } from '../../db/schema.ts';
import type { PurchaseRow } from './purchases.ts';

/** Purchases, as administrators see them (9). */

/** A purchase with the product of its license. */
export interface ListedPurchase {
  id: number;
  purchase: PurchaseRow;
  productId: number | null;
}

const select = (db: Database) =>
  db
    .select({ id: purchases.id, purchase: purchases, productId: licenses.productId })
    .from(purchases)
    .leftJoin(licenses, eq(licenses.id, purchases.licenseId));

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
      select(db)
        .where(and(where, gt(purchases.id, after)))
        .orderBy(asc(purchases.id))
        .limit(limit),
    count: () => db.$count(purchases, where),
  };
}

export const findPurchase = (db: Database, id: number): Promise<ListedPurchase | undefined> =>
  select(db).where(eq(purchases.id, id)).get();

/** A purchase as responses show it. */
export const toPurchase = ({ purchase, productId }: ListedPurchase): Purchase => ({
  id: purchase.id,
  marketId: purchase.marketId,
  item: purchase.item,
  reference: purchase.reference,
  unit: purchase.unit,
  order: purchase.orderId,
  buyerId: purchase.buyerId,
  buyerName: purchase.buyerName,
  quantity: purchase.quantity,
  isTest: purchase.isTest,
  state: purchase.state,
  reason: purchase.reason,
  licenseId: purchase.licenseId,
  productId,
  createdAt: toTimestamp(purchase.createdAt),
  updatedAt: toTimestamp(purchase.updatedAt),
});
