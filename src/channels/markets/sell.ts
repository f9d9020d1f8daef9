import { DAY_MS } from '@licet/contract/durations';
import { MAX_LIMIT, MAX_QUANTITY } from '@licet/contract/limits';
import type { MarketProduct } from '@licet/contract/markets';
import { NEVER, storedExpiryOf } from '../../resources/licenses/rules.ts';
import { GRACE_MS } from './converge.ts';
import type { Context, NewLicenses, PlannedEvent, PurchaseValues } from './state.ts';
import { standingAfter } from './subjects.ts';
import { noteOf, shownChanges } from './words.ts';

/** The new licenses of a purchase: their number, their limits and their end (9). */

const TEST_DAYS_MS = DAY_MS;

/** A purchase that has no license, or too few. */
export type Sale = Pick<NewLicenses, 'purchase' | 'known' | 'buyer' | 'firstUnit'>;

export interface Sold {
  make: NewLicenses;
  event: PlannedEvent;
  text: string;
}

type Terms = Pick<NewLicenses, 'count'> & {
  values: Omit<NewLicenses['values'], 'state' | 'notes'>;
};

/** @returns why the purchase gets no license, for people */
function termsOf(context: Context, { purchase }: Sale, mapped: MarketProduct): Terms | string {
  const { mapping, now } = context;
  const product = mapping.products.find(({ id }) => id === mapped.productId);
  if (!product) return `The chosen product ${mapped.productId} does not exist: choose another one`;
  const { quantity, isTest } = purchase;
  if (quantity > MAX_QUANTITY)
    return `The quantity ${quantity} is larger than ${MAX_QUANTITY}: make the licenses by hand`;
  const isOne = mapped.quantity === 'limits';
  const times = (limit: number): number =>
    isOne && limit > 0 ? Math.min(limit * quantity, MAX_LIMIT) : limit;
  const { paidUntil } = standingAfter(context, purchase);
  const days = mapped.expiresAfterDays ?? product.defaultExpiresAfterDays;
  const expiryDate = isTest ? now + TEST_DAYS_MS : paidUntil && paidUntil + GRACE_MS;
  const isTemporary = mapped.licenseType === 'TEMPORARY' || isTest;
  if (isTemporary && expiryDate === null && days === null) {
    return 'TEMPORARY licenses need days: enter them at the market or at the product';
  }
  const expiry = { expiryDate, expiresAfterDays: expiryDate === null ? days : null };
  return {
    count: isOne ? 1 : quantity,
    values: {
      productId: product.id,
      licenseType: isTemporary ? 'TEMPORARY' : 'PERMANENT',
      ...(isTemporary ? storedExpiryOf('TEMPORARY', expiry) : NEVER),
      maxIPs: times(mapped.maxIPs ?? product.defaultMaxIPs),
      maxHWIDs: times(mapped.maxHWIDs ?? product.defaultMaxHWIDs),
      entitlements: mapped.entitlements ?? null,
    },
  };
}

/**
 * The licenses of a purchase. One that was revoked before it arrived gets licenses that are DEACTIVATED.
 *
 * @returns why it gets none, for people
 */
export function sell(context: Context, sale: Sale, mapped: MarketProduct): Sold | string {
  const { mapping, now } = context;
  const { market } = mapping.source;
  const terms = termsOf(context, sale, mapped);
  if (typeof terms === 'string') return terms;
  const isTemporary = terms.values.licenseType === 'TEMPORARY';
  const bought = { ...sale.purchase, isTemporary };
  const { reasons, facts } = standingAfter(context, bought);
  const isRevoked = reasons.length > 0;
  const reason = reasons.join(', ') || null;
  const { isTest } = sale.purchase;
  const notes = [
    ...(isTest ? [`Test of ${market.name}`] : []),
    ...(reason === null ? [] : [noteOf(market, reason, now)]),
  ];
  const purchase: PurchaseValues = {
    ...sale.purchase,
    email: null,
    ignoredAt: null,
    state: isRevoked ? 'REVOKED' : 'GRANTED',
    reason,
  };
  const count = terms.count - sale.firstUnit;
  return {
    make: {
      ...sale,
      purchase,
      count,
      values: {
        ...terms.values,
        notes: notes.join('\n'),
        state: isRevoked ? 'DEACTIVATED' : 'ACTIVE',
      },
      buyer: { ...sale.buyer, email: sale.buyer.email ?? facts.email ?? null },
    },
    event: {
      type: 'purchase.granted',
      purchase,
      changes: shownChanges(market, purchase, { ...(reason !== null && { reason }) }),
    },
    text: reason === null ? grantedText(count, isTest) : `Granted, and revoked at once: ${reason}`,
  };
}

const grantedText = (count: number, isTest: boolean): string =>
  `Granted ${count === 1 ? 'a license' : `${count} licenses`}${isTest ? ' for a day: it is a test' : ''}`;
