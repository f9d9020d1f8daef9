import { DAY_MS } from '@licet/contract/durations';
import { MAX_EXPIRES_AFTER_DAYS, MAX_QUANTITY } from '@licet/contract/limits';
import { toTimestamp } from '@licet/contract/time';
import { nextRevision } from '../../db/outbox.ts';
import { EXPIRES_LATER } from '../../resources/licenses/rules.ts';
import { paidFor, type Standing } from './facts.ts';
import { isForgotten } from './identity.ts';
import { isSameJson } from './json.ts';
import type { PurchaseRow } from './list.ts';
import { itemsOf, mappedFor } from './mapped.ts';
import { NOT_ARRIVED } from './placeholders.ts';
import type { Facts } from './schema.ts';
import type {
  Completion,
  Context,
  KnownPurchase,
  LicenseChange,
  LicenseRow,
  PlannedEvent,
  PurchaseChange,
  PurchaseValues,
} from './state.ts';
import { standingAfter, standingBefore } from './subjects.ts';
import { isEndChanged, noteOf, shownChanges, withNote } from './words.ts';

/** Brings a purchase and its license to the state that follows from all facts (9). */

/** A subscription that is paid late is not over at once. */
export const GRACE_MS = 3 * DAY_MS;

/** The order and the buyer, which a fact that arrives first lacks. */
export type OrderLink = Pick<PurchaseValues, 'orderId' | 'buyerId' | 'buyerName' | 'email'>;

/** The part of a notice that is about the purchase itself. */
export interface Stated {
  facts: Facts;
  link?: OrderLink;
  /** The days of another period that the buyer has paid for. */
  renewalDays?: number | null;
}

export interface Converged {
  purchase: PurchaseChange | null;
  license: LicenseChange | null;
  event: PlannedEvent | null;
  completion: Completion | null;
  /** For people; null if nothing has changed for them. */
  text: string | null;
  needsPerson: boolean;
}

/** The reasons that were applied, perhaps under other settings of the market. */
const appliedReasons = ({ state, reason }: PurchaseValues): readonly string[] =>
  state === 'REVOKED' ? (reason ?? '').split(', ') : [];

/** Whether more may have been bought than the market, or the seller in the metadata, has said. */
export const isUnclear = ({ unclear, counted, stated, quantity = 1 }: Facts): boolean =>
  counted === undefined ? unclear !== undefined : stated !== undefined && quantity > stated;

/** Whether an invoice names more than was sold, for which no licenses are made: one has larger limits, or too many are due. */
function isUnsold(context: Context, purchase: PurchaseRow, facts: Facts): boolean {
  const { quantity: invoiced = 1, counted } = facts;
  const mapped = mappedFor(context, itemsOf(purchase));
  const isMore = counted === undefined && invoiced > purchase.quantity;
  return isMore && (mapped?.quantity !== 'licenses' || invoiced > MAX_QUANTITY);
}

/** @param stated the part of the notice about this purchase; its own facts if there is none */
export function converge(context: Context, known: KnownPurchase, stated: Stated): Converged {
  const { purchase, license } = known;
  const { facts, link } = stated;
  const orderId = orderOf(context, purchase, link);
  const isTemporary = license?.licenseType === 'TEMPORARY';
  const before = standingBefore(context, { ...purchase, isTemporary });
  const after = standingAfter(context, { orderId, facts, isTemporary });
  const values = valuesAfter(known, stated, orderId, after);
  const licenseChange = license && changeOf(context, known, { before, after, stated });
  const event = license && eventOf(context, { before: purchase, after: values }, licenseChange);
  const isMore = (standing: Standing): boolean =>
    isUnclear(standing.facts) || isUnsold(context, purchase, standing.facts);
  const becomesUnclear = license !== null && isMore(after) && !isMore(before) && !purchase.isTest;
  // One event for the licenses of a quantity.
  const isFirst = purchase.unit === 0;
  return {
    purchase: isSameJson(values, { ...purchase }) ? null : { before: purchase, after: values },
    license: licenseChange,
    event: !isFirst ? null : becomesUnclear ? alertOf(context, purchase) : (event?.planned ?? null),
    completion: isForgotten(purchase) ? null : completionOf(known, link, { before, after }),
    text: becomesUnclear ? STILL_ONE : (event?.text ?? null),
    needsPerson: becomesUnclear,
  };
}

/** The columns of a purchase, as they follow from its standing. */
function valuesAfter(
  { purchase, license }: KnownPurchase,
  { facts, link }: Stated,
  orderId: string | null,
  after: Standing,
): PurchaseValues {
  // A forgotten buyer stays so, although the market names them again.
  const buyer = isForgotten(purchase) ? undefined : link;
  // A license that was deleted with its product stays the one that was sold.
  const isSold = license !== null || purchase.licenseId !== null;
  const waits = appliedReasons(purchase).length === 0 ? purchase.reason : waitingFor(facts);
  return {
    ...purchase,
    orderId,
    buyerId: purchase.buyerId ?? buyer?.buyerId ?? null,
    buyerName: purchase.buyerName ?? buyer?.buyerName ?? null,
    facts,
    state: after.reasons.length > 0 ? 'REVOKED' : isSold ? 'GRANTED' : 'UNMATCHED',
    reason: after.reasons.join(', ') || (isSold ? null : waits),
    ...(purchase.unit === 0 && paidFor(after.facts, facts)),
  };
}

/** The order of a purchase. An earlier version may have stored a payment of its subscription instead. */
function orderOf(
  { after }: Context,
  { orderId }: PurchaseRow,
  link: OrderLink | undefined,
): string | null {
  const named = link?.orderId ?? null;
  if (orderId === null || named === null) return orderId ?? named;
  return after.isWithin(orderId, named) ? named : orderId;
}

/** Why a purchase that is no longer revoked has no license. */
const waitingFor = ({ boughtAt }: Facts): string =>
  boughtAt === undefined ? NOT_ARRIVED : 'The purchase waits for a product';

interface Standings {
  before: Standing;
  after: Standing;
}

/** The change of the license; null if it stays. A change by hand stays, too. */
function changeOf(
  { mapping, now }: Context,
  { purchase, license }: KnownPurchase,
  { before, after, stated }: Standings & { stated: Stated },
): LicenseChange | null {
  if (!license) return null;
  const { market } = mapping.source;
  const applied = appliedReasons(purchase);
  const added = after.reasons.filter((reason) => !applied.includes(reason));
  const next = { ...license, revision: nextRevision(license.revision, now) };
  if (added.length > 0 && license.state === 'ACTIVE') {
    next.state = 'DEACTIVATED';
    next.notes = withNote(license.notes, noteOf(market, added.join(', '), now));
    next.deactivatedBy = purchase.id;
  }
  // The version before says it by the revision: it may have run since the migration.
  const isOurs =
    license.state === 'DEACTIVATED' &&
    (license.deactivatedBy === purchase.id || license.revision === purchase.deactivatedRevision);
  if (after.reasons.length === 0 && applied.length > 0 && isOurs) {
    next.state = 'ACTIVE';
    next.notes = withNote(license.notes, noteOf(market, 'restored', now));
    next.deactivatedBy = null;
  }
  if (!purchase.isTest) Object.assign(next, paidEnd(license, before, after));
  if (stated.renewalDays != null) {
    // The time that was left is paid for, unless it was paid back.
    const from = applied.length > 0 ? now : Math.max(now, license.expiresAt ?? now);
    Object.assign(next, renewedEnd(license, stated.renewalDays, from));
  }
  return next.state !== license.state || isEndChanged(license, next)
    ? { before: license, after: next }
    : null;
}

type End = Pick<LicenseRow, 'expiresAt' | 'expiresAfterDays'>;

/** The end of a license whose paid time has moved. An end that was set by hand stays, unless it is earlier. */
function paidEnd({ licenseType, expiresAt }: LicenseRow, before: Standing, after: Standing) {
  if (licenseType !== 'TEMPORARY' || after.paidUntil === null) return undefined;
  if (after.paidUntil === before.paidUntil) return undefined;
  const until = after.paidUntil + GRACE_MS;
  const isOfMarket = before.ends.some((end) => expiresAt === end + GRACE_MS);
  const isLater = expiresAt === EXPIRES_LATER || (expiresAt ?? 0) < until;
  return isOfMarket || isLater ? { expiresAt: until, expiresAfterDays: null } : undefined;
}

function renewedEnd(
  { licenseType, expiresAfterDays }: LicenseRow,
  days: number,
  from: number,
): Partial<End> | undefined {
  if (licenseType !== 'TEMPORARY') return undefined;
  return expiresAfterDays === null
    ? { expiresAt: from + days * DAY_MS }
    : { expiresAfterDays: Math.min(expiresAfterDays + days, MAX_EXPIRES_AFTER_DAYS) };
}

function eventOf(
  { mapping }: Context,
  { before, after }: PurchaseChange,
  license: LicenseChange | null,
): { planned: PlannedEvent; text: string } | null {
  const applied = appliedReasons(before);
  const added = appliedReasons(after).filter((reason) => !applied.includes(reason));
  const event = (type: PlannedEvent['type'], shown: Record<string, unknown>, text: string) => {
    const changes = shownChanges(mapping.source.market, before, shown);
    return { planned: { type, purchase: before.id, changes }, text };
  };
  if (added.length > 0) {
    const reason = added.join(', ');
    const isDone = license?.after.state === 'DEACTIVATED' && license.before.state === 'ACTIVE';
    const what = isDone ? 'the license is deactivated' : 'the license was not active';
    return event('purchase.revoked', { reason }, `Revoked (${reason}): ${what}`);
  }
  if (after.state === 'GRANTED' && before.state === 'REVOKED') {
    const isDone = license?.after.state === 'ACTIVE' && license.before.state !== 'ACTIVE';
    const text = isDone
      ? 'Restored: the license is active again'
      : 'Restored; the license was changed by hand since, and stays as it is';
    return event('purchase.restored', {}, text);
  }
  if (!license || !isEndChanged(license.before, license.after)) return null;
  const { expiresAt, expiresAfterDays } = license.after;
  if (expiresAfterDays !== null) {
    const text = `Extended to ${expiresAfterDays} days from the first use`;
    return event('purchase.extended', { expiresAfterDays }, text);
  }
  const expiryDate = expiresAt === null ? null : toTimestamp(expiresAt);
  const isShorter = (license.before.expiresAt ?? 0) !== EXPIRES_LATER && isEarlier(license);
  return event(
    'purchase.extended',
    { expiryDate },
    `${isShorter ? 'Shortened' : 'Extended'} to ${expiryDate?.slice(0, 10) ?? 'no end'}`,
  );
}

const isEarlier = ({ before, after }: LicenseChange): boolean =>
  (after.expiresAt ?? 0) < (before.expiresAt ?? 0);

const STILL_ONE =
  'More may have been bought than the license that was made: look at the order, and make the missing licenses by hand';

/** The alert of a purchase whose license was made before the market said that more was bought. */
const alertOf = ({ mapping }: Context, purchase: PurchaseRow): PlannedEvent => ({
  type: 'purchase.unmatched',
  purchase: purchase.id,
  changes: shownChanges(mapping.source.market, purchase, {
    reason: STILL_ONE,
    licenseId: purchase.licenseId,
  }),
});

/** The name and e-mail that the notice adds to the customer of the license, who has none. A license may have left its buyer. */
function completionOf(
  { license, purchase: { buyerId } }: KnownPurchase,
  link: OrderLink | undefined,
  { before, after }: Standings,
): Completion | null {
  if (!license || buyerId === null || license.ownerPlatformId !== buyerId) return null;
  const { email: ordered = null } = after.facts;
  const added = ordered === before.facts.email ? null : ordered;
  const name = license.lacksName ? (link?.buyerName ?? null) : null;
  const email = license.lacksEmail ? (link?.email ?? added) : null;
  return name === null && email === null ? null : { licenseId: license.id, name, email };
}
