import type { productItem } from '@licet/contract/import';
import { toTimestamp } from '@licet/contract/time';
import type { z } from 'zod';
import { batch } from '../db/client.ts';
import { touchPolicy } from '../db/outbox.ts';
import { isOneOf } from '../db/predicates.ts';
import { differsInPolicy } from '../resources/products/product-policy.ts';
import { type ProductRow, toProduct } from '../resources/products/queries.ts';
import { products } from '../resources/products/schema.ts';
import { insertRows, type Planner, planRows, refusal, selectUsedIds } from './plan.ts';

type ProductItem = z.infer<typeof productItem>;

const toRow = ({ createdDate, updatedDate, ...values }: ProductItem, now: number): ProductRow => ({
  ...values,
  createdAt: createdDate ?? now,
  updatedAt: updatedDate ?? createdDate ?? now,
  revision: 1,
});

/** The time of creation identifies a product, which may have been renamed. */
const isSame = ({ name, productType, createdDate }: ProductItem, stored: ProductRow): boolean =>
  createdDate === undefined
    ? name === stored.name && productType === stored.productType
    : createdDate === stored.createdAt;

/** Products keep their ids, because programs are compiled with them. A product whose id is taken is refused. */
export const planProducts: Planner<ProductItem> = async ({ db, now }, items) => {
  const ids = items.map(({ values }) => values.id);
  const { stored, used } = await batch(db, {
    stored: db.select().from(products).where(isOneOf(products.id, ids)),
    used: selectUsedIds(db, 'products', items),
  });
  const { news, take } = planRows<ProductItem, ProductRow>({
    stored,
    used,
    toRow: (values) => toRow(values, now),
    identityOf: ({ id }) => id,
    toWire: toProduct,
    notCompared: [],
    checkFound({ values }, _, existing) {
      if (isSame(values, existing)) return;
      const createdDate = toTimestamp(existing.createdAt);
      throw refusal(
        `id ${existing.id} belongs to another product, "${existing.name}", created ${createdDate}`,
      );
    },
    complete(_, { id }) {
      if (id === 0) throw refusal('id belonged to a deleted product and cannot be used again');
      return [];
    },
  });
  return {
    take,
    changes: () => ({
      statements: insertRows(db, products, news),
      touches: news.some((one) => differsInPolicy(null, one)) ? [touchPolicy] : [],
    }),
  };
};
