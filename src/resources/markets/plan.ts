import { DAY_MS } from '@licet/contract/durations';
import type { PurchaseState } from '@licet/contract/enums';
import { MAX_QUANTITY } from '@licet/contract/limits';
import type { MarketProduct } from '@licet/contract/markets';
import type { Facts } from '../../db/schema.ts';
import { DomainError } from '../../lib/errors.ts';
import { type Converged, converge, isUnclear, type Told } from './converge.ts';
import { Forest, mergeFacts, standingOf } from './facts.ts';
import type { PurchaseRow } from './list.ts';
import type {
  AnyNotice,
  Binding,
  Choice,
  Entry,
  Grant,
  Identity,
  Report,
  Result,
  Statement,
} from './notice.ts';
import { type Sale, type Sold, sell } from './sell.ts';
import type {
  Context,
  KnownPurchase,
  Mapping,
  Plan,
  PurchaseValues,
  State,
  SubjectAfter,
  SubjectRow,
} from './state.ts';
import { shownChanges } from './words.ts';

/**
 * Plans what a notice changes (9): a function of the rows that were read, the notice, the mapping and the time. The
 * choices of a person are notices, too.
 */

/** Plans a notice. @throws DomainError if a person asks for what cannot be */
export function plan(state: State, notice: AnyNotice, mapping: Mapping, now: number): Plan {
  const before = new Forest(state.subjects);
  const about = 'about' in notice ? notice.about : [];
  const after = new Forest(withStatements(state.subjects, about));
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

/** The facts about subjects without a purchase are kept for this time: Stripe reports all orders of an account. */
const KEPT_MS = 30 * DAY_MS;
const NOT_ARRIVED = 'The purchase has not arrived yet';
const KEPT = 'Kept for a purchase that has not arrived yet';
const UNCLEAR =
  'More may have been bought than the market says: look at the order, and choose the product';

/** The subjects with the facts of a notice. Of two parents, the larger id counts: the order of notices does not. */
function withStatements(known: readonly SubjectRow[], about: readonly Statement[]) {
  const subjects = new Map(
    known.map(({ id, parent, facts }) => [id, { id, parent, facts }] as const),
  );
  for (const { id, parent, facts = {} } of about) {
    const before = subjects.get(id) ?? { id, parent: null, facts: {} };
    const isNewParent = parent !== undefined && parent !== id && parent > (before.parent ?? '');
    subjects.set(id, {
      id,
      parent: isNewParent ? parent : before.parent,
      facts: mergeFacts(before.facts, facts),
    });
  }
  return subjects.values();
}

/** The references under which a purchase may be stored, its own first. A test stands beside the real purchase. */
export function referencesOf(notice: Identity & { isTest?: boolean }): string[] {
  const references = [notice.reference, ...(notice.otherReferences ?? [])];
  return notice.isTest ? references.map((one) => `test:${one}`) : references;
}

/** The purchase that a notice identifies: a row for each of its licenses. */
function purchaseOf({ state }: Context, notice: Grant | NonNullable<Report['purchase']>) {
  const { purchases } = state;
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

const isSamePurchase = (one: Named, other: Named | undefined): boolean =>
  one.item === other?.item && one.reference === other.reference;

const isSame = (one: unknown, other: unknown): boolean =>
  JSON.stringify(one) === JSON.stringify(other);

/** The subjects that a notice changes. Those of a purchase stay, others for 30 days. @param order of a new purchase */
function changedSubjects({ state, after, now }: Context, order: string | null): SubjectAfter[] {
  const orders = [order, ...state.purchases.map(({ purchase }) => purchase.orderId)];
  const bought = new Set(orders.flatMap((one) => (one === null ? [] : [...after.treeOf(one)])));
  const known = new Map(state.subjects.map((one) => [one.id, one]));
  return [...after.all()].flatMap(({ id, parent, facts }) => {
    const before = known.get(id);
    const isBought = bought.has(id);
    const isChanged = !before || before.parent !== parent || !isSame(before.facts, facts);
    const endsNoMore = isBought && before?.expiresAt != null;
    if (!isChanged && !endsNoMore) return [];
    return [{ id, parent, facts, expiresAt: isBought ? null : now + KEPT_MS }];
  });
}

/** Known purchases, brought to the state that follows. @param told what the notice says of each of them */
function convergeAll(
  context: Context,
  known: readonly KnownPurchase[],
  told: (one: KnownPurchase) => Partial<Told>,
) {
  const changes = known.map((one) =>
    converge(context, one, { facts: one.purchase.facts, ...told(one) }),
  );
  const some = <Value>(pick: (one: Converged) => Value | null): Value[] =>
    changes.flatMap((one) => pick(one) ?? []);
  return {
    purchases: some((one) => one.purchase),
    licenses: some((one) => one.license),
    completions: some((one) => one.completion),
    events: some((one) => one.event),
    texts: [...new Set(some((one) => one.text))],
    needsPerson: changes.some((one) => one.needsPerson),
  };
}

type ConvergedAll = ReturnType<typeof convergeAll>;

/** A plan of changes of known purchases, and perhaps of new licenses. @param others beside these */
function planOf(
  changes: ConvergedAll,
  sold: Sold | undefined,
  { purchases = [], events = [], ...others }: Pick<Plan, 'subjects' | 'result'> & Partial<Plan>,
): Plan {
  const { make = null, event } = sold ?? {};
  // New licenses write the row of their purchase.
  const kept = changes.purchases.filter(({ before }) => before.id !== make?.known?.id);
  return {
    newPurchases: [],
    licenses: changes.licenses,
    completions: changes.completions,
    make,
    isPartial: false,
    ...others,
    purchases: [...kept, ...purchases],
    events: [...(event ? [event] : []), ...changes.events, ...events],
  };
}

/** The product of a purchase, by the first of its names for which one is chosen. */
function mappedFor({ mapping }: Context, items: readonly string[]): MarketProduct | undefined {
  const { products } = mapping.source.market;
  return items
    .map((item) => products.find((one) => one.item === item))
    .find((one) => one !== undefined);
}

function planGrant(context: Context, notice: Grant): Plan {
  const found = purchaseOf(context, notice);
  const [first] = found;
  const facts = mergeFacts(first?.purchase.facts ?? {}, notice.facts);
  if (first?.license) return planAgain(context, notice, found, facts);
  const sale = newSale(context, notice, first?.purchase ?? null, facts);
  const items = [notice.item, ...(notice.otherItems ?? []), sale.purchase.item];
  const mapped = mappedFor(context, items) ?? context.mapping.source.fallback;
  const sold = offer(context, sale, mapped);
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
  const result: Result = { state, keys: [], effect: 'CHANGED', text: sold.text };
  return planOf(others, sold, { subjects, result });
}

/** A purchase as it is sold. What was known before stays: an item is a name that the seller can edit. */
function newSale(
  { after, mapping, now }: Context,
  { item, order, buyer, quantity, isTest, ...identity }: Grant,
  known: PurchaseRow | null,
  facts: Facts,
): Sale {
  const [reference = identity.reference] = referencesOf({ ...identity, item, isTest });
  const orderId = known?.orderId ?? order;
  const { quantity: counted = 1 } = standingOf(
    { orderId, facts },
    after,
    mapping.source.market,
    now,
  ).facts;
  return {
    purchase: {
      item: known?.item ?? item,
      reference: known?.reference ?? reference,
      orderId,
      buyerId: known?.buyerId ?? buyer.id,
      buyerName: known?.buyerName ?? buyer.name,
      email: known?.email ?? buyer.email,
      quantity: Math.min(Math.max(quantity, counted), Number.MAX_SAFE_INTEGER),
      isTest,
      state: 'UNMATCHED',
      reason: null,
      licenseId: null,
      facts,
    },
    known,
    buyer: known
      ? {
          id: known.buyerId ?? buyer.id,
          name: known.buyerName ?? buyer.name,
          email: known.email ?? buyer.email,
        }
      : buyer,
    firstUnit: 0,
  };
}

/** The sale of a purchase that is known. */
const saleOf = (known: PurchaseRow): Sale => ({
  purchase: known,
  known,
  buyer: { id: known.buyerId, name: known.buyerName, email: known.email },
  firstUnit: 0,
});

/** The licenses of a purchase, or why a person has to look at it. */
function offer(context: Context, sale: Sale, mapped: MarketProduct | undefined): Sold | string {
  const { after, mapping, now } = context;
  if (!mapped) return `No product is chosen for ${sale.purchase.item}`;
  if (isUnclear(standingOf(sale.purchase, after, mapping.source.market, now).facts)) return UNCLEAR;
  return sell(context, sale, mapped);
}

/** Keeps a purchase until a person chooses its product. @param why it has no license */
function keep(
  { after, mapping, now }: Context,
  { purchase, known }: Sale,
  why: string,
): Partial<Plan> & Pick<Plan, 'result'> {
  const { market } = mapping.source;
  const { reasons } = standingOf(purchase, after, market, now);
  const isRevoked = reasons.length > 0;
  const state = isRevoked ? 'REVOKED' : 'UNMATCHED';
  const values: PurchaseValues = { ...purchase, state, reason: reasons.join(', ') || why };
  const isAlerted = isRevoked || (known?.state === 'UNMATCHED' && known.reason !== NOT_ARRIVED);
  const isChanged = known !== null && !isSame({ ...known, ...values }, known);
  const target = known?.id ?? purchase;
  return {
    newPurchases: known ? [] : [values],
    ...(isChanged && { purchases: [{ before: known, after: values }] }),
    events: isAlerted
      ? []
      : [
          {
            type: 'purchase.unmatched',
            purchase: target,
            changes: shownChanges(market, values, { reason: why }),
          },
        ],
    result: {
      state,
      keys: [],
      effect: isRevoked ? 'NOTHING' : 'NEEDS_PERSON',
      text: values.reason ?? why,
    },
  };
}

const RESULTS: Readonly<Record<PurchaseState, string>> = {
  GRANTED: 'Already granted: the same license',
  REVOKED: 'Already revoked',
  UNMATCHED: 'It waits for a product',
};

/** Another notice of a purchase that has its license. */
function planAgain(
  context: Context,
  notice: Grant,
  found: readonly KnownPurchase[],
  facts: Facts,
): Plan {
  const { order: orderId, buyer } = notice;
  const link = { orderId, buyerId: buyer.id, buyerName: buyer.name };
  const changes = convergeAll(context, context.state.purchases, (one) =>
    found.includes(one) ? { facts, link, renewalDays: renewalDays(context, notice, one) } : {},
  );
  const sold = more(context, found);
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
    ? 'The license of the purchase is deleted'
    : isNoted
      ? 'Noted'
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

/**
 * The days by which another payment of the buyer extends the license; null for a download, a repetition, and a license
 * that does not end.
 */
function renewalDays(
  context: Context,
  { item, renews, facts: { boughtAt }, isTest }: Grant,
  { purchase, license }: KnownPurchase,
): number | null {
  const before = purchase.facts.boughtAt;
  if (!renews || isTest || boughtAt === undefined || license?.licenseType !== 'TEMPORARY') {
    return null;
  }
  if (before === undefined || boughtAt <= before) return null;
  const mapped = mappedFor(context, [item]) ?? context.mapping.source.fallback;
  if (mapped?.expiresAfterDays) return mapped.expiresAfterDays;
  const product = context.mapping.products.find(({ id }) => id === license.productId);
  return product?.defaultExpiresAfterDays ?? null;
}

/** The licenses that a purchase lacks, because an invoice names a larger quantity. */
function more(context: Context, rows: readonly KnownPurchase[]): Sold | undefined {
  const { after, mapping, now } = context;
  const [first] = rows;
  if (!first?.license || first.purchase.facts.boughtAt === undefined) return undefined;
  const { facts, reasons } = standingOf(first.purchase, after, mapping.source.market, now);
  const quantity = Math.min(facts.quantity ?? 0, MAX_QUANTITY);
  const mapped = mappedFor(context, [first.purchase.item]);
  const isMore = quantity > rows.length && reasons.length === 0 && mapped?.quantity === 'licenses';
  if (!isMore || !mapped) return undefined;
  const sale = saleOf(first.purchase);
  const sold = sell(
    context,
    { ...sale, known: null, firstUnit: rows.length, purchase: { ...sale.purchase, quantity } },
    mapped,
  );
  return typeof sold === 'string' ? undefined : sold;
}

function planReport(context: Context, { purchase: about }: Report): Plan {
  const { purchases } = context.state;
  const found = about ? purchaseOf(context, about) : [];
  const facts = mergeFacts(found[0]?.purchase.facts ?? {}, about?.facts ?? {});
  const changes = convergeAll(context, purchases, (one) => (found.includes(one) ? { facts } : {}));
  const sold = sellWaiting(context, changes) ?? moreOf(context);
  const isKept = about !== undefined && found.length === 0;
  const kept = isKept ? keep(context, placeholderOf(about), NOT_ARRIVED).newPurchases : [];
  const concerned = about ? found : purchases;
  const texts = [...changes.texts, ...(sold ? [sold.text] : [])];
  return planOf(changes, sold, {
    subjects: changedSubjects(context, about?.order ?? null),
    newPurchases: kept ?? [],
    isPartial: sold !== undefined,
    result: {
      state: sold?.make.purchase.state ?? stateAfter(concerned, changes),
      keys: [],
      effect: effectOf(texts, changes.needsPerson),
      text: texts.join('; ') || (concerned.length === 0 ? KEPT : 'Noted'),
    },
  });
}

/** A fact about a purchase that has not arrived. */
const placeholderOf = ({
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
    facts,
  },
  known: null,
  buyer: { id: null, name: null, email: null },
  firstUnit: 0,
});

/** The licenses of a purchase that waits, perhaps for the end of its subscription, which a payment names. */
function sellWaiting(context: Context, changes: ConvergedAll): Sold | undefined {
  for (const known of context.state.purchases) {
    const { after } = changes.purchases.find(({ before }) => before === known.purchase) ?? {
      after: known.purchase,
    };
    if (known.license || after.state !== 'UNMATCHED' || after.facts.boughtAt === undefined)
      continue;
    const sale = { ...saleOf(known.purchase), purchase: after };
    const sold = offer(context, sale, mappedFor(context, [after.item]));
    if (typeof sold !== 'string') return sold;
  }
  return undefined;
}

function moreOf(context: Context): Sold | undefined {
  const { purchases } = context.state;
  for (const { purchase } of purchases) {
    if (purchase.unit > 0) continue;
    const sold = more(
      context,
      purchases.filter((one) => isSamePurchase(one.purchase, purchase)),
    );
    if (sold) return sold;
  }
  return undefined;
}

/** @throws DomainError if there is no such purchase any more */
function chosen({ state }: Context, id: number): PurchaseRow {
  const found = state.purchases.find(({ purchase }) => purchase.id === id);
  if (!found) throw new DomainError('overtaken', 'The purchase has changed since it was read');
  return found.purchase;
}

function planChoice(context: Context, { purchaseId, mapped }: Choice): Plan {
  const purchase = chosen(context, purchaseId);
  if (purchase.licenseId !== null) {
    throw new DomainError('conflict', 'The purchase has a license: send licenseId to change it');
  }
  const sold = sell(context, saleOf(purchase), mapped);
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

function planBinding(context: Context, { purchaseId, licenseId }: Binding): Plan {
  const purchase = chosen(context, purchaseId);
  checkLicense(context, licenseId);
  const isRevoked = purchase.state === 'REVOKED';
  const after: PurchaseValues = {
    ...purchase,
    licenseId,
    state: isRevoked ? 'REVOKED' : 'GRANTED',
    reason: isRevoked ? purchase.reason : null,
    email: null,
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

function planEntry(context: Context, notice: Entry): Plan {
  const { state, after, mapping, now } = context;
  const { item, reference, order, buyerId, buyerName, licenseId } = notice;
  const { market } = mapping.source;
  if (state.purchases.some(({ purchase }) => isSamePurchase(purchase, notice))) {
    throw new DomainError('conflict', 'The purchase is known: change its license', 'reference');
  }
  checkLicense(context, licenseId);
  const { reasons } = standingOf({ orderId: order, facts: {} }, after, market, now);
  if (reasons.length > 0) {
    throw new DomainError('conflict', `The order is revoked: ${reasons.join(', ')}`);
  }
  const { purchase } = placeholderOf({ item, reference, order, facts: {} });
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
