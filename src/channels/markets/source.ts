import type { LicensePlatform } from '@licet/contract/enums';
import type { MarketProduct } from '@licet/contract/markets';
import { and, eq, getTableColumns, type SQL, sql } from 'drizzle-orm';
import type { Database } from '../../db/client.ts';
import { parsePlatformLabels } from '../../lib/platform-labels.ts';
import { ADAPTERS } from './adapters.ts';
import { isOfKnownKind, markets } from './schema.ts';

export type MarketRow = typeof markets.$inferSelect;

/** The first purchases are enough to find a license that names the platform. */
const LOOKED_AT = 100;

/** The name of the platform `OTHER` in the first licenses of a market: another name of the market splits no buyers. */
const accountName = sql<string>`ifnull((
  select l.license_platform_other from (
    select id, license_id from purchases where market_id = markets.id order by id limit ${sql.raw(String(LOOKED_AT))}
  ) p join licenses l on l.id = p.license_id
  where l.license_platform = 'OTHER' and l.license_platform_other <> ''
  order by p.id limit 1), markets.name)`.as('account_name');

/** A market with the name of the platform in its licenses. */
export type SellingMarket = MarketRow & { accountName: string };

/** Markets, for what they sell. */
export const findSellingMarkets = (db: Database, where?: SQL): Promise<SellingMarket[]> =>
  db
    .select({ ...getTableColumns(markets), accountName })
    .from(markets)
    .where(and(isOfKnownKind, where));

export const findSellingMarket = async (
  db: Database,
  id: number,
): Promise<SellingMarket | undefined> => (await findSellingMarkets(db, eq(markets.id, id)))[0];

/** A market with the platform that its licenses name. */
export interface MarketSource {
  market: SellingMarket;
  platform: LicensePlatform;
  /** For a product of the market for which none is chosen. */
  fallback?: MarketProduct;
}

/** The platform with the label of a market, whose owners are known already; else `OTHER`. */
export function sourceOf(market: SellingMarket, platformLabels: string | undefined): MarketSource {
  const names = [...ADAPTERS[market.kind].names, market.name.toLowerCase()];
  const labelled = parsePlatformLabels(platformLabels).find(({ label }) =>
    names.includes(label.toLowerCase()),
  );
  return { market, platform: labelled?.platform ?? 'OTHER' };
}
