import type { MarketKind } from '@licet/contract/enums';
import { builtbybit } from './adapters/builtbybit.ts';
import type { Adapter } from './notice.ts';

/** The adapters of the markets. */
export const ADAPTERS: Readonly<Partial<Record<MarketKind, Adapter>>> = {
  builtbybit,
};
