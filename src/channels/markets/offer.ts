import { MAX_QUANTITY } from '@licet/contract/limits';
import type { MarketProduct } from '@licet/contract/markets';
import type { ConvergedAll } from './compose.ts';
import { isUnclear } from './converge.ts';
import { paidFor } from './facts.ts';
import { isForgotten, isSamePurchase, referencesOf } from './identity.ts';
import { isSameJson } from './json.ts';
import type { PurchaseRow } from './list.ts';
import { itemsOf, mappedFor } from './mapped.ts';
import type { Grant, Report } from './notice.ts';
import { NOT_ARRIVED } from './placeholders.ts';
import type { Facts } from './schema.ts';
import { type Sale, type Sold, sell } from './sell.ts';
import type { Context, KnownPurchase, Plan, PurchaseValues } from './state.ts';
import { standingAfter } from './subjects.ts';
import { shownChanges } from './words.ts';

/** Offers purchases their licenses, or keeps them until a person chooses (9). */

const UNCLEAR =
  'More may have been bought than the market says: look at the order, and choose the product';

/** How many were bought: as somebody has counted them, else what the first invoice says. */
export function quantityOf(
  context: Context,
  { quantity, ...bought }: Pick<PurchaseValues, 'orderId' | 'facts' | 'quantity'>,
): number {
  const { facts } = standingAfter(context, bought);
  const invoiced = facts.counted === undefined ? (facts.quantity ?? 1) : 1;
  return Math.min(Math.max(quantity, invoiced), Number.MAX_SAFE_INTEGER);
}

/** A purchase as it is sold. Known values stay, because an item is a name that the seller can edit. */
export function newSale(
  context: Context,
  { item, order, buyer, quantity, isTest, ...identity }: Grant,
  known: PurchaseRow | null,
  facts: Facts,
): Sale {
  const [reference = identity.reference] = referencesOf({ ...identity, item, order, isTest });
  const orderId = known?.orderId ?? order;
  const paid = standingAfter(context, { orderId, facts }).facts;
  return {
    purchase: {
      item: known?.item ?? item,
      reference: known?.reference ?? reference,
      orderId,
      buyerId: known?.buyerId ?? buyer.id,
      buyerName: known?.buyerName ?? buyer.name,
      email: known?.email ?? buyer.email,
      quantity: quantityOf(context, { orderId, facts, quantity }),
      isTest,
      state: 'UNMATCHED',
      reason: null,
      licenseId: null,
      ...paidFor(paid, facts),
      ignoredAt: known?.ignoredAt ?? null,
      facts,
    },
    known,
    buyer: {
      id: known?.buyerId ?? buyer.id,
      name: known?.buyerName ?? buyer.name,
      email: known?.email ?? buyer.email,
    },
    firstUnit: 0,
  };
}

/** The sale of a purchase that is known. */
export const saleOf = (known: PurchaseRow): Sale => ({
  purchase: known,
  known,
  buyer: { id: known.buyerId, name: known.buyerName, email: known.email },
  firstUnit: 0,
});

/** A fact about a purchase that has not arrived. */
export const placeholderOf = ({
  item,
  reference,
  order,
  facts,
}: NonNullable<Report['purchase']>): Sale => ({
  purchase: {
    item,
    reference,
    orderId: order,
    buyerId: null,
    buyerName: null,
    email: null,
    quantity: 1,
    isTest: false,
    state: 'UNMATCHED',
    reason: null,
    licenseId: null,
    ...paidFor(facts, facts),
    ignoredAt: null,
    facts,
  },
  known: null,
  buyer: { id: null, name: null, email: null },
  firstUnit: 0,
});

/** The licenses of a purchase, or why a person has to look at it. */
export function offer(
  context: Context,
  sale: Sale,
  mapped: MarketProduct | undefined,
): Sold | string {
  if (!mapped)
    return `No product is chosen for ${sale.purchase.item}: add it to the products of the market`;
  if (isUnclear(standingAfter(context, sale.purchase).facts)) return UNCLEAR;
  return sell(context, sale, mapped);
}

const IGNORED =
  'The purchase is ignored: choose its product in the list of purchases to license it';

/**
 * Keeps a purchase until a person chooses its product. One that a person ignores is kept without an alert.
 *
 * @param why it has no license
 */
export function keep(
  context: Context,
  { purchase, known }: Sale,
  why: string,
): Pick<Plan, 'newPurchases' | 'purchases' | 'events' | 'result'> {
  const { reasons } = standingAfter(context, purchase);
  const isRevoked = reasons.length > 0;
  const state = isRevoked ? 'REVOKED' : 'UNMATCHED';
  const values: PurchaseValues = { ...purchase, state, reason: reasons.join(', ') || why };
  const isIgnored = purchase.ignoredAt !== null;
  const isAlerted =
    isIgnored || isRevoked || (known?.state === 'UNMATCHED' && known.reason !== NOT_ARRIVED);
  const isChanged = known !== null && !isSameJson({ ...known, ...values }, known);
  const target = known?.id ?? purchase;
  return {
    newPurchases: known ? [] : [values],
    purchases: isChanged ? [{ before: known, after: values }] : [],
    events: isAlerted
      ? []
      : [
          {
            type: 'purchase.unmatched',
            purchase: target,
            changes: shownChanges(context.mapping.source.market, values, { reason: why }),
          },
        ],
    result: {
      state,
      keys: [],
      effect: isRevoked || isIgnored ? 'NOTHING' : 'NEEDS_PERSON',
      text: isIgnored ? IGNORED : (values.reason ?? why),
    },
  };
}

/** A purchase that waits, as it is offered its licenses. */
interface Offered {
  sale: Sale;
  sold: Sold | string;
}

/** The purchases that wait, perhaps for the end of their subscription, which a payment names. */
export const offerWaiting = (context: Context, changes: ConvergedAll): Offered[] =>
  context.state.purchases.flatMap(({ purchase: known, license }) => {
    const { after } = changes.purchases.find(({ before }) => before === known) ?? { after: known };
    const waits = !license && after.state === 'UNMATCHED' && after.facts.boughtAt !== undefined;
    if (!waits || after.ignoredAt !== null) return [];
    const sale = { ...saleOf(known), purchase: after };
    return { sale, sold: offer(context, sale, mappedFor(context, itemsOf(after))) };
  });

/**
 * The licenses that a purchase lacks, because an invoice names a larger quantity.
 *
 * @param rows of one purchase: a row for each license that it has
 */
export function sellMissing(context: Context, rows: readonly KnownPurchase[]): Sold | undefined {
  const [first] = rows;
  if (!first?.license || first.purchase.facts.boughtAt === undefined) return undefined;
  if (isForgotten(first.purchase)) return undefined;
  const isTemporary = first.license.licenseType === 'TEMPORARY';
  const bought = { ...first.purchase, isTemporary };
  const { facts, reasons } = standingAfter(context, bought);
  const { quantity = 1 } = facts;
  const mapped = mappedFor(context, itemsOf(first.purchase));
  const isMore =
    facts.counted === undefined &&
    quantity > rows.length &&
    quantity <= MAX_QUANTITY &&
    reasons.length === 0 &&
    mapped?.quantity === 'licenses';
  if (!isMore || !mapped) return undefined;
  const sale = saleOf(first.purchase);
  const sold = sell(
    context,
    { ...sale, known: null, firstUnit: rows.length, purchase: { ...sale.purchase, quantity } },
    mapped,
  );
  return typeof sold === 'string' ? undefined : sold;
}

/** The licenses that the first of all purchases lacks: a plan makes those of one. */
export function sellFirstMissing(context: Context): Sold | undefined {
  const { purchases } = context.state;
  for (const { purchase } of purchases) {
    if (purchase.unit > 0) continue;
    const sold = sellMissing(
      context,
      purchases.filter((one) => isSamePurchase(one.purchase, purchase)),
    );
    if (sold) return sold;
  }
  return undefined;
}
