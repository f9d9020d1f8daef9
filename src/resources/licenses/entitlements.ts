import type {
  Entitlement,
  EntitlementEnds,
  EntitlementFilter,
  Entitlements,
  OwnEntitlements,
} from '@licet/contract/entitlements';
import { type SQL, sql } from 'drizzle-orm';
import { products } from '../products/schema.ts';
import { licenses } from './schema.ts';

/** The entitlements that count for a license (11): those of its product under its own, until their ends. */

/** The entitlements of a license and of its product. Null is none. */
export interface EntitlementSources {
  entitlementsOfProduct: Entitlements | null;
  entitlements: OwnEntitlements | null;
  entitlementsExpire: EntitlementEnds | null;
}

const isNotNull = (entry: [string, Entitlement | null]): entry is [string, Entitlement] =>
  entry[1] !== null;

/** The entitlements that count, sorted by name. @param now milliseconds since 1970 */
export function effectiveEntitlements(
  { entitlementsOfProduct, entitlements, entitlementsExpire }: EntitlementSources,
  now: number,
): [name: string, value: Entitlement][] {
  if (entitlementsOfProduct === null && entitlements === null) return [];
  const ends = new Map(Object.entries(entitlementsExpire ?? {}));
  return Object.entries<Entitlement | null>({ ...entitlementsOfProduct, ...entitlements })
    .filter(isNotNull)
    .filter(([name]) => (ends.get(name) ?? Infinity) > now)
    .sort(([one], [other]) => (one < other ? -1 : 1));
}

/** The claims of a signed response about entitlements. */
export interface EntitlementClaims {
  /** Names and values, such as `max_players=100 pro`: programs in the field read flat claims alone. */
  entitlements?: string;
  /** The earliest end, in seconds since 1970. */
  entitlementsUntil?: number;
}

/** @param now milliseconds since 1970 */
export function entitlementClaims(sources: EntitlementSources, now: number): EntitlementClaims {
  const counting = effectiveEntitlements(sources, now);
  if (counting.length === 0) return {};
  const ends = new Map(Object.entries(sources.entitlementsExpire ?? {}));
  const until = Math.min(...counting.map(([name]) => ends.get(name) ?? Infinity));
  return {
    entitlements: counting
      .map(([name, value]) => (value === true ? name : `${name}=${value}`))
      .join(' '),
    // The end of a day is within a second: a program that asks at its beginning would still get what ends.
    ...(until !== Infinity && { entitlementsUntil: Math.ceil(until / 1000) }),
  };
}

/** The entitlements of the product of a license, in a select from the licenses. Most products have none, and no row is read. */
export const selectEntitlementsOfProduct = sql<string | null>`(
  select ${sql.raw('p.entitlements')} from ${products} p indexed by products_policy
  where p.id = ${licenses.productId} and p.entitlements is not null)`.mapWith(
  (json: string | null): Entitlements | null => (json === null ? null : JSON.parse(json)),
);

/** Licenses for which an entitlement counts. @param now milliseconds since 1970 */
export function hasEntitlement(wanted: EntitlementFilter, now: number): SQL | undefined {
  if (!wanted) return undefined;
  const path = `$."${wanted.name}"`;
  // A number is written as it is, and a text in quotes.
  const values = [JSON.stringify(wanted.value), wanted.value];
  const counting = sql`iif(json_type(${licenses.entitlements}, ${path}) is null,
    ${selectEntitlementsOfProduct}, ${licenses.entitlements}) -> ${path}`;
  const holds =
    wanted.value === undefined
      ? sql`ifnull(${counting}, 'null') <> 'null'`
      : sql`${counting} in ${values}`;
  return sql`(${holds} and ifnull(${licenses.entitlementsExpire} ->> ${path} > ${now}, true))`;
}
