import { DAY_MS } from '@licet/contract/durations';
import type { PurchaseState } from '@licet/contract/enums';
import { ADAPTERS } from './adapters.ts';
import { planBinding, planChoice, planEntry } from './choices.ts';
import { type ConvergedAll, convergeAll, planOf } from './compose.ts';
import { Forest, mergeFacts, paymentsOf } from './facts.ts';
import { purchaseOf } from './identity.ts';
import type { PurchaseRow } from './list.ts';
import { itemsOf, mappedFor } from './mapped.ts';
import type { AnyNotice, Grant, Report, Result } from './notice.ts';
import {
  keep,
  newSale,
  offer,
  offerWaiting,
  placeholderOf,
  sellFirstMissing,
  sellMissing,
} from './offer.ts';
import { NOT_ARRIVED } from './placeholders.ts';
import type { Facts } from './schema.ts';
import type { Context, KnownPurchase, Mapping, Plan, State } from './state.ts';
import { changedSubjects, withStatements } from './subjects.ts';

/**
 * Plans what a notice changes (9): a function of the rows that were read, the notice, the mapping and the time. The
 * choices of a person are notices, too.
 */

/** Plans a notice. @throws DomainError if a person asks for what cannot be */
export function plan(state: State, notice: AnyNotice, mapping: Mapping, now: number): Plan {
  const { currentFacts } = ADAPTERS[mapping.source.market.kind];
  const known = currentFacts
    ? state.subjects.map((one) => ({ ...one, facts: currentFacts(one.facts) }))
    : state.subjects;
  const before = new Forest(known);
  const about = 'about' in notice ? notice.about : [];
  const after = new Forest(withStatements(known, about));
  const context = { state, mapping, now, before, after };
  switch (notice.do) {
    case 'grant':
      return planGrant(context, notice);
    case 'report':
      return planReport(context, notice);
    case 'choose':
      return planChoice(context, notice);
    case 'bind':
      return planBinding(context, notice);
    case 'enter':
      return planEntry(context, notice);
  }
}

/** The facts of a notice. Payments of a buyer who pays again are listed, because notices can come in reverse order. */
const factsOf = ({ renews, facts, otherItems: items }: Grant): Facts => ({
  ...facts,
  ...(renews &&
    facts.boughtAt !== undefined && { payments: { times: [facts.boughtAt], since: 0 } }),
  ...(items && { items }),
});

function planGrant(context: Context, notice: Grant): Plan {
  const found = purchaseOf(context, notice);
  const [first] = found;
  const facts = mergeFacts(first?.purchase.facts ?? {}, factsOf(notice));
  if (first && first.purchase.licenseId !== null) return planAgain(context, notice, found, facts);
  const sale = newSale(context, notice, first?.purchase ?? null, facts);
  const items = [notice.item, ...(notice.otherItems ?? []), ...itemsOf(sale.purchase)];
  const mapped = mappedFor(context, items) ?? context.mapping.source.fallback;
  const isIgnored = sale.purchase.ignoredAt !== null;
  const known = first?.purchase;
  const waits = known?.state === 'UNMATCHED' && known.reason !== null ? known.reason : WAITS;
  const sold = isIgnored ? waits : offer(context, sale, mapped);
  const others = convergeAll(
    context,
    context.state.purchases.filter((one) => !found.includes(one)),
    () => ({}),
  );
  const subjects = changedSubjects(context, sale.purchase.orderId);
  if (typeof sold === 'string') {
    return planOf(others, undefined, { subjects, ...keep(context, sale, sold) });
  }
  const { state } = sold.make.purchase;
  const text = notice.caveat ? `${sold.text}; ${notice.caveat}` : sold.text;
  const result: Result = { state, keys: [], effect: 'CHANGED', text };
  return planOf(others, sold, { subjects, result });
}

/** The result of a notice whose facts are stored, and change no license. */
const NOTED = 'Stored: no license changes';
const WAITS = 'The purchase waits for a product';
const RESULTS: Readonly<Record<PurchaseState, string>> = {
  GRANTED: 'Already granted: the same license',
  REVOKED: 'Already revoked',
  UNMATCHED: WAITS,
};

/** Another notice of a purchase that has its license. */
function planAgain(
  context: Context,
  notice: Grant,
  found: readonly KnownPurchase[],
  facts: Facts,
): Plan {
  const { order: orderId, buyer } = notice;
  const link = { orderId, buyerId: buyer.id, buyerName: buyer.name, email: buyer.email };
  const changes = convergeAll(context, context.state.purchases, (one) =>
    found.includes(one) ? { facts, link, renewalDays: renewalDays(context, notice, one) } : {},
  );
  const sold = sellMissing(context, found);
  const subjects = changedSubjects(context, orderId);
  const state = stateAfter(found, changes);
  const delivered = found.flatMap(({ license }) =>
    license && license.state !== 'DELETED' ? license.licenseKey : [],
  );
  const keys = state === 'GRANTED' ? delivered : [];
  const isDeleted = state === 'GRANTED' && keys.length === 0;
  const isNoted = changes.purchases.length > 0 || subjects.length > 0;
  const texts = [...changes.texts, ...(sold ? [sold.text] : [])];
  const idle = isDeleted
    ? 'The license of the purchase is deleted: give the purchase another license'
    : isNoted
      ? NOTED
      : RESULTS[state ?? 'UNMATCHED'];
  return planOf(changes, sold, {
    subjects,
    result: {
      state,
      keys,
      effect: effectOf(texts, changes.needsPerson || isDeleted),
      text: texts.join('; ') || idle,
    },
  });
}

const effectOf = (texts: readonly string[], needsPerson: boolean): Result['effect'] =>
  needsPerson ? 'NEEDS_PERSON' : texts.length > 0 ? 'CHANGED' : 'NOTHING';

/** The state of a purchase with the changes; null if there is none. */
function stateAfter(
  [first]: readonly KnownPurchase[],
  { purchases }: Pick<ConvergedAll, 'purchases'>,
): PurchaseState | null {
  const changed = purchases.find(({ before }) => before.id === first?.purchase.id);
  return changed?.after.state ?? first?.purchase.state ?? null;
}

/** Whether a payment is another one than that by which the license was bought, and was not counted before. */
function isAnother(time: number, { facts, createdAt }: PurchaseRow): boolean {
  const { times, since } = paymentsOf(facts);
  if (time <= since || times.includes(time)) return false;
  // A download, and a purchase that was entered, have no time. Their own notice is not so late.
  const isOwn = (one: number): boolean => one <= createdAt + DAY_MS;
  return !isOwn(time) || [...times, since || Number.POSITIVE_INFINITY].some(isOwn);
}

/**
 * The days by which another payment of the buyer extends the license; null for a download, a repetition, and a license
 * that does not end.
 */
function renewalDays(
  context: Context,
  { item, renews, facts: { boughtAt }, isTest }: Grant,
  { purchase, license }: KnownPurchase,
): number | null {
  if (!renews || isTest || boughtAt === undefined || license?.licenseType !== 'TEMPORARY') {
    return null;
  }
  if (!isAnother(boughtAt, purchase)) return null;
  const mapped = mappedFor(context, [item]) ?? context.mapping.source.fallback;
  if (mapped?.expiresAfterDays) return mapped.expiresAfterDays;
  const product = context.mapping.products.find(({ id }) => id === license.productId);
  return product?.defaultExpiresAfterDays ?? null;
}

const KEPT = 'Kept for a purchase that has not arrived yet';

function planReport(context: Context, { purchase: about }: Report): Plan {
  const { purchases } = context.state;
  const found = about ? purchaseOf(context, about) : [];
  const facts = mergeFacts(found[0]?.purchase.facts ?? {}, about?.facts ?? {});
  const changes = convergeAll(context, purchases, (one) => (found.includes(one) ? { facts } : {}));
  const waiting = offerWaiting(context, changes);
  // A plan makes the licenses of one purchase. The same notice is planned again for the next one (`isPartial`).
  const sold =
    waiting.map((one) => one.sold).find((one) => typeof one !== 'string') ??
    sellFirstMissing(context);
  // A purchase that was revoked while it had no license waits for a person from now on.
  const kept = waiting.flatMap(({ sale, sold: why }) =>
    typeof why === 'string' && sale.known?.state === 'REVOKED' ? keep(context, sale, why) : [],
  );
  const isKept = (one: PurchaseRow): boolean =>
    kept.some(({ purchases: [change] }) => change?.before === one);
  const isNew = about !== undefined && found.length === 0;
  const placeholder = isNew ? keep(context, placeholderOf(about), NOT_ARRIVED).newPurchases : [];
  const concerned = about ? found : purchases;
  const texts = [
    ...changes.texts,
    ...(sold ? [sold.text] : []),
    ...kept.map(({ result }) => result.text),
  ];
  return planOf(
    { ...changes, purchases: changes.purchases.filter(({ before }) => !isKept(before)) },
    sold,
    {
      subjects: changedSubjects(context, isNew ? null : (about?.order ?? null)),
      newPurchases: placeholder,
      purchases: kept.flatMap((one) => one.purchases),
      events: kept.flatMap((one) => one.events),
      isPartial: sold !== undefined,
      result: {
        state: sold?.make.purchase.state ?? stateAfter(concerned, changes),
        keys: [],
        effect: effectOf(texts, changes.needsPerson || kept.length > 0),
        text: texts.join('; ') || (concerned.length === 0 ? KEPT : NOTED),
      },
    },
  );
}
