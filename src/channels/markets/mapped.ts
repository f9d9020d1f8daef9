import type { MarketProduct } from '@licet/contract/markets';
import type { Context, PurchaseValues } from './state.ts';

/** The product of a purchase: by the first of its names for which the seller has chosen one (9). */

export const itemsOf = ({ item, facts }: Pick<PurchaseValues, 'item' | 'facts'>): string[] => [
  item,
  ...(facts.items ?? []),
];

export function mappedFor(
  { mapping }: Context,
  items: readonly string[],
): MarketProduct | undefined {
  const { products } = mapping.source.market;
  return items
    .map((item) => products.find((one) => one.item === item))
    .find((one) => one !== undefined);
}
