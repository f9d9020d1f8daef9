import { type ProductQuery, pickProduct, productFields } from '@licet/contract/products';
import { settable } from '@licet/contract/resource';
import { toTimestamp } from '@licet/contract/time';
import { and, eq, type SQL } from 'drizzle-orm';
import { change, isUnchanged, only, type Sender } from '../../db/change.ts';
import type { Database } from '../../db/client.ts';
import { differ, newestId } from '../../db/events.ts';
import { idOfNewest } from '../../db/idempotency.ts';
import { touchPolicy } from '../../db/outbox.ts';
import { containsText, rowsById } from '../../db/predicates.ts';
import { differsInPolicy } from './product-policy.ts';
import { products } from './schema.ts';

export type ProductRow = typeof products.$inferSelect;
/** The columns that a client sets. */
type ProductValues = Omit<ProductRow, 'id' | 'createdAt' | 'updatedAt' | 'revision'>;

/** A product as responses show it. */
export const toProduct = (row: ProductRow) =>
  pickProduct({
    ...row,
    entitlements: row.entitlements ?? {},
    createdDate: toTimestamp(row.createdAt),
    updatedDate: toTimestamp(row.updatedAt),
  });

export const changesOfProduct = differ(Object.keys(settable(productFields)));

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
    event: {
      type: 'product.created',
      id: newestId(products),
      changes: changesOfProduct(null, values),
    },
    touches: differsInPolicy(null, values) ? [touchPolicy] : [],
    statements: {
      product: db
        .insert(products)
        .values({ ...values, createdAt: now, updatedAt: now })
        .returning(),
    },
    creates: idOfNewest(products),
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
    event: { type: 'product.updated', id: row.id, changes: changesOfProduct(row, updated) },
    touches: differsInPolicy(row, updated) ? [touchPolicy] : [],
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
