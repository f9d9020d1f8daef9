import { and, eq, getTableColumns, type SQL, sql } from 'drizzle-orm';
import { batch, type Database } from '../../db/client.ts';
import { isOneOf } from '../../db/predicates.ts';
import { licenses } from '../../resources/licenses/schema.ts';
import { products } from '../../resources/products/schema.ts';
import { referencesOf } from './identity.ts';
import type { AnyNotice } from './notice.ts';
import { purchases, subjects } from './schema.ts';
import type { MarketSource } from './source.ts';
import type { Mapping, State } from './state.ts';

/** Reads what notices are about, in one round trip (9). */

/** The keys of all rows on which the plans of notices depend. */
export interface Names {
  /** The ids of subjects. */
  subjects: readonly string[];
  /** The items and references of purchases. */
  purchases: readonly (readonly [item: string, reference: string])[];
  purchaseId: number | null;
  licenseId: number | null;
}

const unique = (ids: readonly (string | null | undefined)[]): string[] => [
  ...new Set(ids.filter((id) => id != null)),
];

function namesOf(notice: AnyNotice): Partial<Names> {
  switch (notice.do) {
    case 'grant':
    case 'report': {
      const ids = notice.about.flatMap(({ id, parent }) => [id, parent]);
      const about = notice.do === 'grant' ? notice : notice.purchase;
      if (!about) return { subjects: unique(ids) };
      const { item, order } = about;
      return {
        subjects: unique([...ids, order]),
        purchases: referencesOf(about).map((reference) => [item, reference]),
      };
    }
    case 'choose':
      return { purchaseId: notice.purchaseId };
    case 'bind':
      return { purchaseId: notice.purchaseId, licenseId: notice.licenseId };
    case 'enter':
      return {
        subjects: unique([notice.order]),
        purchases: [[notice.item, notice.reference]],
        licenseId: notice.licenseId,
      };
  }
}

/** The names of all that notices are about. A person chooses one purchase at a time. */
export function namesOfAll(notices: readonly AnyNotice[]): Names {
  const all = notices.map(namesOf);
  return {
    subjects: unique(all.flatMap(({ subjects = [] }) => subjects)),
    purchases: all.flatMap(({ purchases = [] }) => purchases),
    purchaseId: all[0]?.purchaseId ?? null,
    licenseId: all[0]?.licenseId ?? null,
  };
}

/**
 * The ids of the purchases that notices identify, in SQL. A cross join keeps the order of the tables, here and below:
 * SQLite would rather read all purchases of the market.
 */
export const namedPurchases = (marketId: number, names: Names): SQL => sql`
  select p.id from json_each(${JSON.stringify(names.purchases)}) n cross join purchases p
    on p.market_id = ${marketId} and p.item = n.value ->> 0 and p.reference = n.value ->> 1
  union select id from purchases where id = ${names.purchaseId} and market_id = ${marketId}`;

/** The ids of all subjects on the trees of those that notices name: up to the root, and all below it. */
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

/** Whether the customer of a license has no e-mail and, in SQL, another field is null. */
const lacks = (field: 'email' | 'username', name: string) =>
  sql`ifnull((select email is null and ${sql.raw(field)} is null from customers
    where customers.id = licenses.customer_id), 0)`
    .mapWith(Boolean)
    .as(name);

const licenseColumns = {
  ...getTableColumns(licenses),
  lacksName: lacks('username', 'lacks_name'),
  lacksEmail: lacks('email', 'lacks_email'),
};

export interface Loaded {
  names: Names;
  state: State;
  mapping: Mapping;
}

export async function load(
  db: Database,
  source: MarketSource,
  notices: readonly AnyNotice[],
): Promise<Loaded> {
  const { market } = source;
  const names = namesOfAll(notices);
  const ids = purchaseIds(market.id, names);
  const chosen = notices.flatMap((one) => (one.do === 'choose' ? one.mapped : []));
  const mapped = [...market.products, ...chosen];
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
      .select(licenseColumns)
      .from(licenses)
      .where(
        sql`${licenses.id} in (select license_id from purchases where id in (${ids}) union select ${names.licenseId})`,
      ),
    products: db
      .select()
      .from(products)
      .where(
        isOneOf(
          products.id,
          mapped.map(({ productId }) => productId),
        ),
      ),
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
