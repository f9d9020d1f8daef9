import type { Grant, Identity, Report } from './notice.ts';
import type { PurchaseValues, State } from './state.ts';

/** The identity of a purchase: nothing that a seller can edit (9). */

/** The references under which a purchase may be stored, its own first. A test stands beside the real purchase. */
export function referencesOf(notice: Identity & { isTest?: boolean }): string[] {
  const references = [notice.reference, ...(notice.otherReferences ?? [])];
  return notice.isTest ? references.map((one) => `test:${one}`) : references;
}

/** The purchase that a notice identifies: a row for each of its licenses. */
export function purchaseOf({ purchases }: State, notice: Grant | NonNullable<Report['purchase']>) {
  const named = referencesOf(notice).map((reference) =>
    purchases.find(
      ({ purchase }) =>
        purchase.reference === reference && (notice.isLine || purchase.item === notice.item),
    ),
  );
  const whole =
    'isWholeOrder' in notice && notice.isWholeOrder
      ? purchases.find(
          ({ purchase: { orderId, isTest } }) =>
            orderId === notice.order && isTest === notice.isTest,
        )
      : undefined;
  const first = [...named, whole].find((one) => one !== undefined);
  return purchases.filter(({ purchase }) => isSamePurchase(purchase, first?.purchase));
}

type Named = Pick<PurchaseValues, 'item' | 'reference'>;

export const isSamePurchase = (one: Named, other: Named | undefined): boolean =>
  one.item === other?.item && one.reference === other.reference;
