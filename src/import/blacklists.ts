import { type Change, changeOf } from '@licet/contract/changes';
import type { entryItem } from '@licet/contract/import';
import { sharedHwid } from '@licet/contract/shared-hwids';
import { sql } from 'drizzle-orm';
import type { z } from 'zod';
import { batch } from '../db/client.ts';
import { touchPolicy } from '../db/outbox.ts';
import { isOneOf } from '../db/predicates.ts';
import { toEntry } from '../resources/blacklists/queries.ts';
import { canonicalData, type EntryRow, entryOf } from '../resources/blacklists/rules.ts';
import { blacklists } from '../resources/blacklists/schema.ts';
import { unknownProduct } from '../resources/products/rules.ts';
import { products } from '../resources/products/schema.ts';
import type { Item } from './items.ts';
import { insertRows, type Planner, planRows, selectUsedIds } from './plan.ts';

type BlacklistItem = z.infer<typeof entryItem>;

function toRow(values: BlacklistItem, now: number): EntryRow {
  const { createdAt, updatedAt } = values;
  return {
    id: 0,
    ...entryOf(values),
    createdAt: createdAt ?? now,
    updatedAt: updatedAt ?? createdAt ?? now,
    revision: 1,
  };
}

/** The hardware IDs that many machines share: each is blocked as it was elsewhere, and reported (3). */
function sharedHwids({ values, sent }: Item<BlacklistItem>): Change[] {
  const why = values.licenseDataType === 'HWID' ? sharedHwid(values.data) : undefined;
  return why ? [changeOf(sent, ['data'], `is one that many machines share: ${why}`)] : [];
}

/** An entry is identified by the value and the product that it blocks. */
export const planBlacklists: Planner<BlacklistItem> = async (
  { db, now, assumedProductIds },
  items,
) => {
  const blocked = items.map(({ values }) => [values.licenseDataType, canonicalData(values)]);
  const productIds = items.flatMap(({ values }) => values.productId ?? []);
  const { stored, used, referenced } = await batch(db, {
    stored: db
      .select()
      .from(blacklists)
      .where(
        sql`(${blacklists.licenseDataType}, ${blacklists.data}) in
          (select value ->> 0, value ->> 1 from json_each(${JSON.stringify(blocked)}))`,
      ),
    used: selectUsedIds(db, 'blacklists', items),
    referenced: db
      .select({ id: products.id })
      .from(products)
      .where(isOneOf(products.id, productIds)),
  });
  const knownProducts = new Set([...referenced.map(({ id }) => id), ...assumedProductIds]);
  const { news, take } = planRows<BlacklistItem, EntryRow>({
    stored,
    used,
    toRow: (values) => toRow(values, now),
    identityOf: ({ licenseDataType, data, productId }) =>
      JSON.stringify([licenseDataType, data, productId]),
    toWire: toEntry,
    notCompared: ['id'],
    changesOf: sharedHwids,
    complete(_, { productId }) {
      if (productId !== null && !knownProducts.has(productId)) throw unknownProduct(productId);
      return [];
    },
  });
  return {
    take,
    changes: () => ({ statements: insertRows(db, blacklists, news), touches: [touchPolicy] }),
  };
};
