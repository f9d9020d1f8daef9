import type { Purchase, PurchaseQuery } from '@licet/contract/purchases';
import { toOptionalTimestamp, toTimestamp } from '@licet/contract/time';
import {
  and,
  asc,
  desc,
  eq,
  getTableColumns,
  gt,
  isNotNull,
  isNull,
  lt,
  or,
  sql,
} from 'drizzle-orm';
import type { Database } from '../../db/client.ts';
import { containsText, equalsAll, type Page } from '../../db/predicates.ts';
import { customers } from '../../resources/customers/schema.ts';
import { purchases } from './schema.ts';

/** Purchases, as administrators see them (9). */

export type PurchaseRow = typeof purchases.$inferSelect;

/** A purchase with its license, product, customer and market. */
export type ListedPurchase = PurchaseRow & {
  licenseKey: string | null;
  productId: number | null;
  productName: string | null;
  customerId: number | null;
  marketName: string | null;
};

// Drizzle would leave out the names of the tables.
const ofLicense = (columns: string, join = '') =>
  sql.raw(`(select ${columns} from licenses l ${join} where l.id = purchases.license_id)`);

export const purchaseColumns = {
  ...getTableColumns(purchases),
  licenseKey: sql<string | null>`${ofLicense('l.license_key')}`.as('key_of_license'),
  productId: sql<number | null>`${ofLicense('l.product_id')}`.as('product_of_license'),
  productName: sql<
    string | null
  >`${ofLicense('p.name', 'join products p on p.id = l.product_id')}`.as('name_of_product'),
  customerId: sql<number | null>`${ofLicense('l.customer_id')}`.as('customer_of_license'),
  marketName: sql<
    string | null
  >`(select name from markets where markets.id = purchases.market_id)`.as('name_of_market'),
};

/** The orders to which a payment, an invoice or another subject belongs. */
const ordersOf = (subject: string) => sql`
  (${purchases.marketId}, ${purchases.orderId}) in (
    with recursive above(market_id, id) as (
      select m.id, ${subject} from markets m
      union select s.market_id, s.parent from above cross join market_orders s
        on s.market_id = above.market_id and s.order_id = above.id where s.parent is not null)
    select market_id, id from above)`;

const hasText = (q: string) =>
  or(
    containsText(q, [
      purchases.orderId,
      purchases.reference,
      purchases.buyerId,
      purchases.buyerName,
      purchases.email,
      purchases.item,
    ]),
    ordersOf(q),
    sql`${purchases.licenseId} in (
      select l.id from ${customers} c join licenses l on l.customer_id = c.id
      where instr(lower(c.email), lower(${q})) > 0)`,
  );

export function listPurchases(
  db: Database,
  {
    marketId,
    licenseId,
    customerId,
    state,
    isIgnored,
    q,
    sort = 'id',
  }: Omit<PurchaseQuery, 'limit' | 'after'>,
) {
  const where = and(
    equalsAll([purchases.licenseId, licenseId], [purchases.marketId, marketId]),
    customerId === undefined
      ? undefined
      : sql`${purchases.licenseId} in (select id from licenses where customer_id = ${customerId})`,
    state && eq(purchases.state, state),
    isIgnored === undefined ? undefined : (isIgnored ? isNotNull : isNull)(purchases.ignoredAt),
    q === undefined ? undefined : hasText(q),
  );
  const isNewestFirst = sort === '-id';
  const [follows, order] = isNewestFirst ? [lt, desc] : [gt, asc];
  return {
    read: ({ limit, after }: Page): Promise<ListedPurchase[]> =>
      db
        .select(purchaseColumns)
        .from(purchases)
        .where(and(where, after ? follows(purchases.id, after) : undefined))
        .orderBy(order(purchases.id))
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
  email: row.email,
  amount: row.amount,
  currency: row.currency,
  quantity: row.quantity,
  isTest: row.isTest,
  state: row.state,
  reason: row.reason,
  isIgnored: row.ignoredAt !== null,
  marketName: row.marketName,
  licenseId: row.licenseId,
  licenseKey: row.licenseKey,
  customerId: row.customerId,
  productId: row.productId,
  productName: row.productName,
  createdAt: toTimestamp(row.createdAt),
  updatedAt: toTimestamp(row.updatedAt),
  revokedAt: toOptionalTimestamp(row.revokedAt),
});
