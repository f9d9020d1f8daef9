import type { MarketKind } from '@licet/contract/enums';
import { builtbybit } from './adapters/builtbybit.ts';
import { dynamic } from './adapters/dynamic.ts';
import { paynow } from './adapters/paynow.ts';
import { stripe } from './adapters/stripe.ts';
import { tebex } from './adapters/tebex.ts';
import { voxel } from './adapters/voxel.ts';
import type { Adapter } from './notice.ts';

/** The adapters of the markets. */
export const ADAPTERS: Readonly<Record<MarketKind, Adapter>> = {
  builtbybit,
  voxel,
  dynamic,
  tebex,
  stripe,
  paynow,
};
