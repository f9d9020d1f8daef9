import { sql } from 'drizzle-orm';
import type { z } from 'zod';
import { batch } from '../db/client.ts';
import { policy } from '../db/outbox.ts';
import { isOneOf } from '../db/predicates.ts';
import { blacklists, products } from '../db/schema.ts';
import { toEntry } from '../resources/blacklists/queries.ts';
import { type EntryRow, entryOf } from '../resources/blacklists/rules.ts';
import { Ids, selectUsedIds } from './ids.ts';
import { type blacklistItem, refusalOf } from './items.ts';
import {
  created,
  differencesOf,
  found,
  insertRows,
  type NewRow,
  type Planner,
  refused,
} from './plan.ts';

type BlacklistItem = z.infer<typeof blacklistItem>;
type NewEntry = NewRow<EntryRow>;

function toRow(values: BlacklistItem, now: number): NewEntry {
  const { isForAllProducts = values.productId === null, createdAt, updatedAt } = values;
  return {
    id: null,
    ...entryOf({ ...values, isForAllProducts }),
    createdAt: createdAt ?? now,
    updatedAt: updatedAt ?? createdAt ?? now,
    revision: 1,
  };
}

const identityOf = ({ licenseDataType, data, productId }: NewEntry): string =>
  JSON.stringify([licenseDataType, data, productId]);

const toWire = (row: NewEntry) => toEntry({ ...row, id: row.id ?? 0 });

/** An entry is identified by the value and the product that it blocks. */
export const planBlacklists: Planner<BlacklistItem> = async (
  { db, now, assumedProductIds },
  items,
) => {
  const rows = items.map(({ values }) => {
    try {
      return toRow(values, now);
    } catch (error) {
      return refusalOf(error);
    }
  });
  const blocked = rows.flatMap((row) =>
    typeof row === 'string' ? [] : [[row.licenseDataType, row.data]],
  );
  const ids = items.flatMap(({ values }) => values.id ?? []);
  const productIds = items.flatMap(({ values }) => values.productId ?? []);
  const { stored, used, referenced } = await batch(db, {
    stored: db
      .select()
      .from(blacklists)
      .where(
        sql`(${blacklists.licenseDataType}, ${blacklists.data}) in
          (select value ->> 0, value ->> 1 from json_each(${JSON.stringify(blocked)}))`,
      ),
    used: selectUsedIds(db, 'blacklists', ids),
    referenced: db
      .select({ id: products.id })
      .from(products)
      .where(isOneOf(products.id, productIds)),
  });
  const known = new Map<string, NewEntry>(stored.map((row) => [identityOf(row), row]));
  const freeIds = new Ids(used);
  const knownProducts = new Set([...referenced.map(({ id }) => id), ...assumedProductIds]);
  const news: NewEntry[] = [];
  const results = items.map(({ values, sent }, index) => {
    const row = rows[index] ?? '';
    if (typeof row === 'string') return refused(row);
    const existing = known.get(identityOf(row));
    if (existing)
      return found(existing.id, differencesOf(sent, toWire(row), toWire(existing), ['id']));
    if (row.productId !== null && !knownProducts.has(row.productId)) {
      return refused('productId is not a product');
    }
    row.id = freeIds.take(values.id, row.createdAt);
    known.set(identityOf(row), row);
    news.push(row);
    const hasNewId = row.id === null && values.id !== undefined;
    const isWidened = row.productId === null && values.productId !== null;
    return created(row.id, [...(hasNewId ? ['id'] : []), ...(isWidened ? ['productId'] : [])]);
  });
  return { results, statements: insertRows(db, blacklists, news), touches: [policy] };
};
