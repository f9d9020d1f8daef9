import type { Purchase } from '@licet/client';
import { screenTexts } from '../../screen-texts.ts';

/** A purchase in words. */

const words = screenTexts.purchases;

/** The product, or its id at the market for one that is not chosen. */
export const soldName = ({ productName, productId, item }: Purchase): string =>
  productName ?? (productId === null ? words.item(item) : words.product(productId));

/** The buyer by the best name that is known; empty for none. */
export const buyerName = ({ buyerName: name, email, buyerId, customerId }: Purchase): string =>
  name ?? email ?? buyerId ?? (customerId === null ? '' : words.customerOf(customerId));

/** The order, or its line; null where the buyer stands for it. */
export const orderOf = ({ order, reference, buyerId }: Purchase): string | null =>
  order ?? (reference === buyerId ? null : reference);

/** An amount with its currency, such as `1,249.99 EUR`. */
export const amountText = ({ amount, currency }: Pick<Purchase, 'amount' | 'currency'>): string =>
  [amount?.replaceAll(/\d(?=(\d{3})+(\.|$))/g, '$&,'), currency].filter(Boolean).join(' ');
