import type { LicensePlatform, MarketKind } from '@licet/contract/enums';
import type { MarketProduct } from '@licet/contract/markets';
import { parsePlatformLabels } from '../../lib/platform-labels.ts';
import type { markets } from './schema.ts';

export type MarketRow = typeof markets.$inferSelect;

/** A market with the platform that its licenses name. */
export interface Seller {
  market: MarketRow;
  platform: LicensePlatform;
  /** For a product of the market for which none is chosen. */
  fallback?: MarketProduct;
}

/** The names under which a market can stand in PLATFORM_LABELS. */
const NAMES: Readonly<Record<MarketKind, readonly string[]>> = {
  builtbybit: ['builtbybit'],
  voxel: ['voxel shop', 'voxel', 'polymart'],
  dynamic: [],
  tebex: ['tebex'],
  stripe: ['stripe'],
  paynow: ['paynow'],
};

/** The platform with the label of a market, whose owners are known already; else `OTHER`. */
export function sellerOf(market: MarketRow, platformLabels: string | undefined): Seller {
  const names = [...NAMES[market.kind], market.name.toLowerCase()];
  const labelled = parsePlatformLabels(platformLabels).find(({ label }) =>
    names.includes(label.toLowerCase()),
  );
  return { market, platform: labelled?.platform ?? 'OTHER' };
}
