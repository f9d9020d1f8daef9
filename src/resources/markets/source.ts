import type { LicensePlatform } from '@licet/contract/enums';
import type { MarketProduct } from '@licet/contract/markets';
import type { markets } from '../../db/schema.ts';
import { parsePlatformLabels } from '../../lib/platform-labels.ts';
import { ADAPTERS } from './adapters.ts';

export type MarketRow = typeof markets.$inferSelect;

/** A market with the platform that its licenses name. */
export interface MarketSource {
  market: MarketRow;
  platform: LicensePlatform;
  /** For a product of the market for which none is chosen. */
  fallback?: MarketProduct;
}

/** The platform with the label of a market, whose owners are known already; else `OTHER`. */
export function sourceOf(market: MarketRow, platformLabels: string | undefined): MarketSource {
  const names = [...ADAPTERS[market.kind].names, market.name.toLowerCase()];
  const labelled = parsePlatformLabels(platformLabels).find(({ label }) =>
    names.includes(label.toLowerCase()),
  );
  return { market, platform: labelled?.platform ?? 'OTHER' };
}
