import { and, eq, type SQL, sql } from 'drizzle-orm';
import { batch, type Database } from '../../db/client.ts';
import { isOneOf } from '../../db/predicates.ts';
import { licenses } from '../../resources/licenses/schema.ts';
import { products } from '../../resources/products/schema.ts';
import { referencesOf } from './identity.ts';
import type { AnyNotice } from './notice.ts';
import { purchases, subjects } from './schema.ts';
import type { MarketSource } from './source.ts';
import type { Mapping, State } from './state.ts';

/** Reads what a notice is about, in one round trip (9). */

/** The keys of all rows on which the plan of a notice depends. */
export interface Names {
  /** The ids of subjects. */
  subjects: readonly string[];
  item: string | null;
  references: readonly string[];
  purchaseId: number | null;
  licenseId: number | null;
}

const NOTHING: Names = {
  subjects: [],
  item: null,
  references: [],
  purchaseId: null,
  licenseId: null,
};

const unique = (ids: readonly (string | null | undefined)[]): string[] => [
  ...new Set(ids.filter((id) => id != null)),
];

export function namesOf(notice: AnyNotice): Names {
  switch (notice.do) {
    case 'grant':
    case 'report': {
      const ids = notice.about.flatMap(({ id, parent }) => [id, parent]);
      const about = notice.do === 'grant' ? notice : notice.purchase;
      if (!about) return { ...NOTHING, subjects: unique(ids) };
      return {
        ...NOTHING,
        subjects: unique([...ids, about.order]),
        item: about.item,
        references: referencesOf(about),
      };
    }
    case 'choose':
      return { ...NOTHING, purchaseId: notice.purchaseId };
    case 'bind':
      return { ...NOTHING, purchaseId: notice.purchaseId, licenseId: notice.licenseId };
    case 'enter':
      return {
        ...NOTHING,
        subjects: unique([notice.order]),
        item: notice.item,
        references: [notice.reference],
        licenseId: notice.licenseId,
      };
  }
}

/**
 * The ids of the purchases that a notice identifies, in SQL. A cross join keeps the order of the tables, here and below:
 * SQLite would rather read all purchases of the market.
 */
export const namedPurchases = (marketId: number, names: Names): SQL => sql`
  select p.id from json_each(${JSON.stringify(names.references)}) r cross join purchases p
    on p.market_id = ${marketId} and p.item = ${names.item} and p.reference = r.value
  union select id from purchases where id = ${names.purchaseId} and market_id = ${marketId}`;

/** The ids of all subjects on the trees of those that a notice names: up to the root, and all below it. */
const treeIds = (marketId: number, names: Names): SQL => sql`
  with recursive above(id) as (
    select value from json_each(${JSON.stringify(names.subjects)})
    union select order_id from purchases
      where order_id is not null and id in (${namedPurchases(marketId, names)})
    union select s.parent from above cross join market_orders s
      on s.market_id = ${marketId} and s.order_id = above.id where s.parent is not null),
  tree(id) as (
    select id from above
    union select s.order_id from tree cross join market_orders s
      on s.market_id = ${marketId} and s.parent = tree.id)
  select id from tree`;

const purchaseIds = (marketId: number, names: Names): SQL => sql`
  select p.id from (${treeIds(marketId, names)}) t cross join purchases p
    on p.market_id = ${marketId} and p.order_id = t.id
  union ${namedPurchases(marketId, names)}`;

export interface Loaded {
  names: Names;
  state: State;
  mapping: Mapping;
}

export async function load(db: Database, source: MarketSource, notice: AnyNotice): Promise<Loaded> {
  const { market, fallback } = source;
  const names = namesOf(notice);
  const ids = purchaseIds(market.id, names);
  const mapped = [...market.products, ...(fallback ? [fallback] : [])].map((one) => one.productId);
  const chosen = notice.do === 'choose' ? [...mapped, notice.mapped.productId] : mapped;
  const read = await batch(db, {
    subjects: db
      .select()
      .from(subjects)
      .where(
        and(
          eq(subjects.marketId, market.id),
          sql`${subjects.id} in (${treeIds(market.id, names)})`,
        ),
      ),
    purchases: db
      .select()
      .from(purchases)
      .where(sql`${purchases.id} in (${ids})`)
      .orderBy(purchases.id),
    // Not joined: drizzle mixes up columns of the same name in a batch.
    licenses: db
      .select()
      .from(licenses)
      .where(
        sql`${licenses.id} in (select license_id from purchases where id in (${ids}) union select ${names.licenseId})`,
      ),
    products: db.select().from(products).where(isOneOf(products.id, chosen)),
  });
  const byId = new Map(read.licenses.map((one) => [one.id, one]));
  const licenseOf = (id: number | null) => (id === null ? null : (byId.get(id) ?? null));
  return {
    names,
    state: {
      subjects: read.subjects,
      purchases: read.purchases.map((purchase) => ({
        purchase,
        license: licenseOf(purchase.licenseId),
      })),
      license: licenseOf(names.licenseId),
    },
    mapping: { source, products: read.products },
  };
}
