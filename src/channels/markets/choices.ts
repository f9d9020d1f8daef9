import { DomainError } from '../../lib/errors.ts';
import { type ConvergedAll, convergeAll, planOf } from './compose.ts';
import { isSamePurchase } from './identity.ts';
import type { PurchaseRow } from './list.ts';
import type { Binding, Choice, Entry } from './notice.ts';
import { placeholderOf, quantityOf, saleOf } from './offer.ts';
import { sell } from './sell.ts';
import type { Context, Plan, PurchaseValues } from './state.ts';
import { changedSubjects, standingAfter } from './subjects.ts';
import { shownChanges } from './words.ts';

/** The choices of a person: a product, a license, and a purchase of before (9). */

/** @throws DomainError if there is no such purchase any more */
function chosen({ state }: Context, id: number): PurchaseRow {
  const found = state.purchases.find(({ purchase }) => purchase.id === id);
  if (!found)
    throw new DomainError('overtaken', 'The purchase has changed since it was read: try again');
  return found.purchase;
}

export function planChoice(context: Context, { purchaseId, mapped }: Choice): Plan {
  const purchase = chosen(context, purchaseId);
  if (purchase.licenseId !== null) {
    throw new DomainError('conflict', 'The purchase has a license: send licenseId to change it');
  }
  const quantity = quantityOf(context, purchase);
  const sale = { ...saleOf(purchase), purchase: { ...purchase, quantity } };
  const sold = sell(context, sale, mapped);
  if (typeof sold === 'string') throw new DomainError('invalid', sold, 'productId');
  const { state } = sold.make.purchase;
  const others = context.state.purchases.filter((one) => one.purchase !== purchase);
  return planOf(
    convergeAll(context, others, () => ({})),
    sold,
    {
      subjects: changedSubjects(context, null),
      result: { state, keys: [], effect: 'CHANGED', text: sold.text },
    },
  );
}

const NOTHING: ConvergedAll = {
  purchases: [],
  licenses: [],
  completions: [],
  events: [],
  texts: [],
  needsPerson: false,
};

/** @throws DomainError for a license that there is not */
function checkLicense({ state: { license } }: Context, licenseId: number): void {
  if (license && license.state !== 'DELETED') return;
  throw new DomainError('invalid', `licenseId ${licenseId} does not exist`, 'licenseId');
}

export function planBinding(context: Context, { purchaseId, licenseId }: Binding): Plan {
  const purchase = chosen(context, purchaseId);
  checkLicense(context, licenseId);
  const isRevoked = purchase.state === 'REVOKED';
  const after: PurchaseValues = {
    ...purchase,
    licenseId,
    state: isRevoked ? 'REVOKED' : 'GRANTED',
    reason: isRevoked ? purchase.reason : null,
    email: null,
    ignoredAt: null,
  };
  return planOf(NOTHING, undefined, {
    subjects: [],
    purchases: [{ before: purchase, after }],
    events: [
      {
        type: 'purchase.granted',
        purchase: purchase.id,
        changes: {
          ...shownChanges(context.mapping.source.market, purchase, {}),
          licenseId: { before: purchase.licenseId, after: licenseId },
        },
      },
    ],
    result: {
      state: after.state,
      keys: [],
      effect: 'CHANGED',
      text: 'The purchase has the license',
    },
  });
}

export function planEntry(context: Context, notice: Entry): Plan {
  const { state, mapping, now } = context;
  const { item, reference, order, buyerId, buyerName, licenseId } = notice;
  const { market } = mapping.source;
  if (state.purchases.some(({ purchase }) => isSamePurchase(purchase, notice))) {
    throw new DomainError('conflict', 'The purchase is known: change its license', 'reference');
  }
  checkLicense(context, licenseId);
  const { reasons } = standingAfter(context, { orderId: order, facts: {} });
  if (reasons.length > 0) {
    throw new DomainError(
      'conflict',
      `The order is revoked (${reasons.join(', ')}): its purchase cannot be entered`,
    );
  }
  const { purchase } = placeholderOf({ item, reference, order, facts: { entered: now } });
  const entered: PurchaseValues = { ...purchase, buyerId, buyerName, licenseId, state: 'GRANTED' };
  return planOf(NOTHING, undefined, {
    subjects: changedSubjects(context, order),
    newPurchases: [entered],
    events: [
      {
        type: 'purchase.granted',
        purchase: entered,
        changes: shownChanges(market, entered, { licenseId }),
      },
    ],
    result: { state: 'GRANTED', keys: [], effect: 'CHANGED', text: 'The purchase is entered' },
  });
}
