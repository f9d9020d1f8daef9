import type { PurchaseRow } from './list.ts';
import type { Identity } from './notice.ts';
import type { Context, KnownPurchase, PurchaseValues } from './state.ts';

/** The identity of a purchase: nothing that a seller can edit (9). */

/** The references under which a purchase may be stored, its own first. A test stands beside the real purchase. */
export function referencesOf(notice: Identity & { isTest?: boolean }): string[] {
  const references = [notice.reference, ...(notice.otherReferences ?? [])];
  return notice.isTest ? references.map((one) => `test:${one}`) : references;
}

/** The purchase that a notice identifies: a row for each of its licenses. */
export function purchaseOf(
  { state: { purchases }, after }: Context,
  notice: Identity & { isTest?: boolean },
): readonly KnownPurchase[] {
  const { order, onlyOf, item, isLine, isTest = false } = notice;
  // The order may be a payment of the subscription of the purchase, or the other way round.
  const isOfOrder = ({ orderId }: PurchaseValues): boolean =>
    orderId !== null &&
    order !== null &&
    (orderId === order || after.isWithin(orderId, order) || after.isWithin(order, orderId));
  const named = referencesOf(notice).map((reference) =>
    purchases.find(
      ({ purchase }) => purchase.reference === reference && (isLine || purchase.item === item),
    ),
  );
  // A person who enters a purchase may not know its line.
  const isOnly = ({ facts, item: known }: PurchaseRow): boolean =>
    onlyOf === 'order' || (known === item && (onlyOf === 'item' || facts.entered !== undefined));
  const only = purchases.find(
    ({ purchase }) => isOfOrder(purchase) && purchase.isTest === isTest && isOnly(purchase),
  );
  const first = [...named, only].find((one) => one !== undefined);
  return purchases.filter(({ purchase }) => isSamePurchase(purchase, first?.purchase));
}

type Named = Pick<PurchaseValues, 'item' | 'reference'>;

/** Whether the buyer was forgotten (6): each license of the purchase then stands alone. */
export const isForgotten = ({ id, reference }: Pick<PurchaseRow, 'id' | 'reference'>): boolean =>
  reference === `forgotten-${id}`;

export const isSamePurchase = (one: Named, other: Named | undefined): boolean =>
  one.item === other?.item && one.reference === other.reference;
