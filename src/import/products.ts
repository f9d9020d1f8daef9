import { DEFAULT_LIMIT } from '@licet/contract/limits';
import { toTimestamp } from '@licet/contract/time';
import type { z } from 'zod';
import { batch } from '../db/client.ts';
import { policy } from '../db/outbox.ts';
import { isOneOf } from '../db/predicates.ts';
import { products } from '../db/schema.ts';
import { type ProductRow, toProduct } from '../resources/products/queries.ts';
import { Ids, selectUsedIds } from './ids.ts';
import { type Item, limitsTakenAsUnlimited, type productItem } from './items.ts';
import { created, differencesOf, found, insertRows, type Planner, refused } from './plan.ts';

type ProductItem = z.infer<typeof productItem>;

const toRow = (
  { createdDate, updatedDate, defaultMaxIPs, defaultMaxHWIDs, ...values }: ProductItem,
  now: number,
): ProductRow => ({
  ...values,
  defaultMaxIPs: defaultMaxIPs ?? DEFAULT_LIMIT,
  defaultMaxHWIDs: defaultMaxHWIDs ?? DEFAULT_LIMIT,
  createdAt: createdDate ?? now,
  updatedAt: updatedDate ?? createdDate ?? now,
  revision: 1,
});

/** The time of creation identifies a product, which may have been renamed. */
const isSame = ({ values }: Item<ProductItem>, stored: ProductRow): boolean =>
  values.createdDate === undefined
    ? values.name === stored.name && values.productType === stored.productType
    : values.createdDate === stored.createdAt;

/** Products keep their ids, because programs are compiled with them. A product whose id is taken is refused. */
export const planProducts: Planner<ProductItem> = async ({ db, now }, items) => {
  const ids = items.map(({ values }) => values.id);
  const { rows, used } = await batch(db, {
    rows: db.select().from(products).where(isOneOf(products.id, ids)),
    used: selectUsedIds(db, 'products', ids),
  });
  const freeIds = new Ids(used);
  const known = new Map(rows.map((row) => [row.id, row]));
  const news: ProductRow[] = [];
  const results = items.map((item) => {
    const stored = known.get(item.values.id);
    const row = toRow(item.values, now);
    if (!stored) {
      if (freeIds.take(row.id, row.createdAt) === null) {
        return refused('id belonged to a deleted product and cannot be used again');
      }
      known.set(row.id, row);
      news.push(row);
      return created(
        row.id,
        limitsTakenAsUnlimited(item.sent, ['defaultMaxIPs', 'defaultMaxHWIDs']),
      );
    }
    if (!isSame(item, stored)) {
      const createdDate = toTimestamp(stored.createdAt);
      return refused(`id is that of another product, "${stored.name}", created ${createdDate}`);
    }
    return found(row.id, differencesOf(item.sent, toProduct(row), toProduct(stored), []));
  });
  const touches = news.some(({ offlineDays }) => offlineDays > 0) ? [policy] : [];
  return { results, statements: insertRows(db, products, news), touches };
};
