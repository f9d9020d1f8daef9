import { DAY_MS } from '@licet/contract/durations';
import type { MarketState } from '@licet/contract/enums';
import { and, asc, eq, getTableColumns, gt, sql } from 'drizzle-orm';
import type { Database } from '../../db/client.ts';
import type { Page } from '../../db/predicates.ts';
import { isPlaceholderSql } from './placeholders.ts';
import { hasLicense } from './sales.ts';
import { isOfKnownKind, markets } from './schema.ts';
import type { MarketRow } from './source.ts';

/** The state of markets, and their sales, as administrators see them (9.1). */

const SALES_MS = 30 * DAY_MS;

/** The use of a market: what has arrived, and what it waits for. */
export interface MarketUse {
  /** Whether the last request came from the market and was applied; null before the first one. */
  isRight: boolean | null;
  /** Whether a purchase waits for a product. */
  hasWaiting: boolean;
  /** Whether a product that it sells was deleted. */
  lacksProduct: boolean;
  /** The purchases of 30 days that got their licenses. */
  sales: number;
  lastSaleAt: number | null;
}

export type UsedMarket = MarketRow & MarketUse;

/** A market that was made just now. */
export const UNUSED: MarketUse = {
  isRight: null,
  hasWaiting: false,
  lacksProduct: false,
  sales: 0,
  lastSaleAt: null,
};

export function stateOf(
  { isEnabled, secrets, products }: MarketRow,
  { isRight, hasWaiting, lacksProduct }: MarketUse,
): MarketState {
  if (!isEnabled) return 'OFF';
  if (secrets.length === 0) return 'NEEDS_SECRET';
  if (isRight === false) return 'FAILING';
  if (products.length === 0 || lacksProduct || hasWaiting) return 'NEEDS_PRODUCT';
  return isRight === null ? 'WAITING' : 'WORKS';
}

const toBoolean = (value: unknown): boolean => value === 1;

/** The columns of a market and of its use. @param now milliseconds since 1970 */
export const usedColumns = (now: number) => ({
  ...getTableColumns(markets),
  // An earlier version stored no effect.
  isRight: sql`(select is_accepted = 1 and (effect is not null or status < 400)
    from market_deliveries where market_id = markets.id order by id desc limit 1)`
    .mapWith((value) => (value === null ? null : toBoolean(value)))
    .as('is_right'),
  // The plus sign keeps SQLite from reading all purchases of the market.
  hasWaiting: sql`exists (select 1 from purchases
    where +market_id = markets.id and state = 'UNMATCHED' and ignored_at is null
      and (${isPlaceholderSql}) is not true)`
    .mapWith(toBoolean)
    .as('has_waiting'),
  lacksProduct: sql`exists (select 1 from json_each(markets.products)
    where value ->> 'productId' not in (select id from products))`
    .mapWith(toBoolean)
    .as('lacks_product'),
  sales: sql<number>`(select count(*) from purchases
    where market_id = markets.id and created_at > ${now - SALES_MS} and ${hasLicense})`.as('sales'),
  lastSaleAt: sql<number | null>`(select created_at from purchases
    where market_id = markets.id and ${hasLicense} order by created_at desc limit 1)`.as(
    'last_sale_at',
  ),
});

export const listMarkets = (db: Database, now: number) => ({
  read: ({ limit, after = 0 }: Page): Promise<UsedMarket[]> =>
    db
      .select(usedColumns(now))
      .from(markets)
      .where(and(isOfKnownKind, gt(markets.id, after)))
      .orderBy(asc(markets.id))
      .limit(limit),
  count: () => db.$count(markets, isOfKnownKind),
});

export const findUsedMarket = (
  db: Database,
  id: number,
  now: number,
): Promise<UsedMarket | undefined> =>
  db
    .select(usedColumns(now))
    .from(markets)
    .where(and(isOfKnownKind, eq(markets.id, id)))
    .get();
