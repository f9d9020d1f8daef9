import { DAY_MS } from '@licet/contract/durations';
import type { PurchaseState } from '@licet/contract/enums';
import {
  MAX_EXPIRES_AFTER_DAYS,
  MAX_LIMIT,
  MAX_LONG_TEXT_LENGTH,
  MAX_QUANTITY,
} from '@licet/contract/limits';
import type { MarketProduct } from '@licet/contract/markets';
import { toTimestamp } from '@licet/contract/time';
import { and, eq, getTableColumns, ne, type SQL, sql } from 'drizzle-orm';
import {
  areUnchanged,
  type Condition,
  change,
  isUnchanged,
  only,
  type Sender,
  stillHolds,
} from '../../db/change.ts';
import type { Database } from '../../db/client.ts';
import { idOfNewest } from '../../db/idempotency.ts';
import { nextRevision } from '../../db/outbox.ts';
import { isOneOf, rowValues } from '../../db/predicates.ts';
import { wait } from '../../lib/async.ts';
import { DomainError } from '../../lib/errors.ts';
import { customers } from '../../resources/customers/schema.ts';
import { insertLicenses } from '../../resources/licenses/queries.ts';
import { EXPIRES_LATER, NEVER, statusAt, storedExpiryOf } from '../../resources/licenses/rules.ts';
import { licenses } from '../../resources/licenses/schema.ts';
import { touchLicenses } from '../../resources/licenses/touch.ts';
import { findProduct } from '../../resources/products/queries.ts';
import { addFact, addPurchase, paidUntil, reasonsToRevoke } from './facts.ts';
import { type ListedPurchase, type PurchaseRow, purchaseColumns } from './list.ts';
import type { Buyer, Fact, Grant, Notice } from './notice.ts';
import { type Facts, marketOrders, purchases } from './schema.ts';
import type { MarketRow, Seller } from './seller.ts';

/** Purchases and their licenses: granting and revoking them, each once, whatever comes twice or in another order (9). */

/** A purchase with its license; null before it has one. */
interface Found {
  purchase: PurchaseRow;
  license: typeof licenses.$inferSelect | null;
}
type OrderRow = typeof marketOrders.$inferSelect;

/** The outcome of a notice. */
export interface Applied {
  /** The state of the purchases; null for a notice about purchases that are not known yet. */
  state: PurchaseState | null;
  /** The keys of the licenses of a granted purchase. */
  keys: readonly string[];
  /** For people. */
  result: string;
}

/** A subscription that is paid late is not over at once. */
const GRACE_MS = 3 * DAY_MS;
const TEST_DAYS_MS = DAY_MS;
/** The facts about an order without a purchase are removed after this time: Stripe reports all orders of an account. */
const ORDER_KEPT_MS = 30 * DAY_MS;
const MAX_ATTEMPTS = 8;
const MAX_PAUSE_MS = 100;

const selectPurchases = (db: Database) =>
  db
    .select({ purchase: getTableColumns(purchases), license: getTableColumns(licenses) })
    .from(purchases)
    .leftJoin(licenses, eq(licenses.id, purchases.licenseId));

const findPurchases = (db: Database, where: SQL | undefined): Promise<Found[]> =>
  selectPurchases(db).where(where).orderBy(purchases.id);

const isPurchase = (marketId: number, item: string, reference: string): SQL | undefined =>
  and(
    eq(purchases.marketId, marketId),
    eq(purchases.item, item),
    eq(purchases.reference, reference),
  );

const storedReference = ({ isTest }: Grant, reference: string): string =>
  isTest ? `test:${reference}` : reference;

/** The purchase of a notice, also as a former version has stored it. */
async function findGranted(db: Database, marketId: number, notice: Grant): Promise<Found[]> {
  const { item, reference, formerReference } = notice;
  const findBy = (sent: string) =>
    findPurchases(db, isPurchase(marketId, item, storedReference(notice, sent)));
  const found = await findBy(reference);
  return found.length > 0 || formerReference === undefined ? found : findBy(formerReference);
}

const findOrder = (
  db: Database,
  marketId: number,
  orderId: string | null,
): Promise<OrderRow | undefined> =>
  orderId === null
    ? Promise.resolve(undefined)
    : db
        .select()
        .from(marketOrders)
        .where(and(eq(marketOrders.marketId, marketId), eq(marketOrders.orderId, orderId)))
        .get();

/** The order is as it was read. */
const isSameOrder = (
  { id }: MarketRow,
  orderId: string | null,
  order: OrderRow | undefined,
): Condition[] => {
  if (orderId === null) return [];
  const row = sql`select 1 from market_orders where market_id = ${id} and order_id = ${orderId}`;
  return [
    stillHolds(
      order ? sql`exists (${row} and revision = ${order.revision})` : sql`not exists (${row})`,
    ),
  ];
};

const isOvertaken = (error: unknown): boolean =>
  error instanceof DomainError && error.kind === 'overtaken';

/**
 * Applies a notice. A concurrent notice about the same purchase makes it begin again.
 *
 * @param newSender the sender, whose clock is read for each attempt
 * @throws DomainError if others change the purchase all the time: the market repeats the notice
 */
export async function applyNotice(
  newSender: () => Sender,
  seller: Seller,
  notice: Notice,
): Promise<Applied> {
  for (let attempt = 1; ; attempt++) {
    try {
      const sender = newSender();
      if (notice.do === 'grant') return await grant(sender, seller, notice);
      return await addToPurchases(sender, seller, notice);
    } catch (error) {
      if (!isOvertaken(error) || attempt === MAX_ATTEMPTS) throw error;
    }
    // Random, so that two concurrent notices do not collide again.
    await wait(Math.random() * MAX_PAUSE_MS);
  }
}

async function grant(sender: Sender, seller: Seller, notice: Grant): Promise<Applied> {
  const { market } = seller;
  const [found, order] = await Promise.all([
    findGranted(sender.db, market.id, notice),
    findOrder(sender.db, market.id, notice.order),
  ]);
  const [first] = found;
  const facts = addPurchase(first?.purchase.facts ?? {}, notice);
  if (first?.license) {
    return converge(sender, market, {
      found,
      renewalDays: await renewalDays(sender.db, seller, notice, first.purchase, first.license),
      factsOf: () => facts,
      order,
      orderId: notice.order,
      orderFacts: order?.facts ?? {},
      bought: { orderId: notice.order, buyerId: notice.buyer.id, buyerName: notice.buyer.name },
    });
  }
  const sold: Sold = {
    ...notice,
    reference: first?.purchase.reference ?? storedReference(notice, notice.reference),
    orderId: notice.order,
    facts,
    known: first?.purchase,
    order,
  };
  const mapped = market.products.find(({ item }) => item === notice.item) ?? seller.fallback;
  if (!mapped)
    return keepUnmatched(sender, market, sold, `No product is chosen for ${notice.item}`);
  return create(sender, seller, sold, mapped);
}

/**
 * The days by which another payment of the buyer extends the license; null for a download, a repetition, and a license
 * that does not end.
 */
async function renewalDays(
  db: Database,
  { market, fallback }: Seller,
  { item, renews, boughtAt, isTest }: Grant,
  { facts }: PurchaseRow,
  { licenseType, productId }: NonNullable<Found['license']>,
): Promise<number | null> {
  if (!renews || isTest || boughtAt === null || licenseType !== 'TEMPORARY') return null;
  if (facts.boughtAt === undefined || boughtAt <= facts.boughtAt) return null;
  const mapped = market.products.find((one) => one.item === item) ?? fallback;
  if (mapped?.expiresAfterDays) return mapped.expiresAfterDays;
  return (await findProduct(db, productId))?.defaultExpiresAfterDays ?? null;
}

/** A purchase that has no license yet. */
interface Sold {
  item: string;
  reference: string;
  orderId: string | null;
  buyer: Buyer;
  quantity: number;
  isTest: boolean;
  facts: Facts;
  /** Its row, if it waits for a product. */
  known: PurchaseRow | undefined;
  order: OrderRow | undefined;
}

/** A purchase that waits, as it was sold. */
async function soldOf(db: Database, known: PurchaseRow): Promise<Sold> {
  const { item, reference, orderId, buyerId, buyerName, email, quantity, isTest, facts } = known;
  const order = await findOrder(db, known.marketId, orderId);
  const buyer = { id: buyerId, name: buyerName, email };
  return { item, reference, orderId, buyer, quantity, isTest, facts, known, order };
}

/** Nothing has changed since the purchase was read. */
const isSame = (market: MarketRow, { item, reference, known, orderId, order }: Sold) => [
  known
    ? isUnchanged(purchases, known)
    : stillHolds(
        sql`not exists (select 1 from ${purchases} where ${isPurchase(market.id, item, reference)})`,
      ),
  ...isSameOrder(market, orderId, order),
];

const rowOf = (market: MarketRow, { buyer, known, order, ...sold }: Sold, now: number) => ({
  ...sold,
  marketId: market.id,
  quantity: Math.min(sold.quantity, Number.MAX_SAFE_INTEGER),
  buyerId: buyer.id,
  buyerName: buyer.name,
  email: null,
  facts: JSON.stringify(sold.facts),
  isTest: Number(sold.isTest),
  misses: 0,
  createdAt: known?.createdAt ?? now,
  updatedAt: now,
  revision: (known?.revision ?? 0) + 1,
});

const KEY = [purchases.marketId, purchases.item, purchases.reference, purchases.unit];

/** The columns of a purchase that was known before it had a license. */
const REPLACED = {
  state: sql`excluded.state`,
  reason: sql`excluded.reason`,
  licenseId: sql`excluded.license_id`,
  deactivatedRevision: sql`excluded.deactivated_revision`,
  facts: sql`excluded.facts`,
  orderId: sql`ifnull(excluded.order_id, ${purchases.orderId})`,
  buyerId: sql`ifnull(excluded.buyer_id, ${purchases.buyerId})`,
  buyerName: sql`ifnull(excluded.buyer_name, ${purchases.buyerName})`,
  quantity: sql`excluded.quantity`,
  email: sql`excluded.email`,
  updatedAt: sql`excluded.updated_at`,
  revision: sql`excluded.revision`,
};

/** Keeps a purchase until a person chooses its product (9). */
async function keepUnmatched(
  sender: Sender,
  market: MarketRow,
  sold: Sold,
  reason: string,
): Promise<Applied> {
  const { db, now } = sender;
  const applied: Applied = { state: 'UNMATCHED', keys: [], result: reason };
  if (sold.known && JSON.stringify(sold.known.facts) === JSON.stringify(sold.facts)) return applied;
  const row = {
    ...rowOf(market, sold, now),
    email: sold.buyer.email,
    unit: 0,
    state: 'UNMATCHED',
    reason,
    licenseId: null,
    deactivatedRevision: null,
  };
  await change(sender, {
    event: sold.known
      ? null
      : {
          type: 'purchase.unmatched',
          id: purchaseIdSql(market.id, sold),
          changes: shownChanges(market, sold, { reason }),
        },
    when: isSame(market, sold),
    statements: {
      purchase: db
        .insert(purchases)
        .select(sql`select ${rowValues(purchases, row)} where true`)
        .onConflictDoUpdate({ target: KEY, set: REPLACED }),
    },
  });
  return applied;
}

const purchaseIdSql = (marketId: number, { item, reference }: Pick<Sold, 'item' | 'reference'>) =>
  sql`(select id from ${purchases} where ${isPurchase(marketId, item, reference)} and unit = 0)`;

/** The fields of a purchase in an event: none about a person. */
const shownChanges = (
  market: MarketRow,
  { item, quantity, isTest }: Pick<Sold, 'item' | 'quantity' | 'isTest'>,
  others: Record<string, unknown>,
) => {
  const shown = { market: market.name, item, quantity, ...(isTest && { isTest }), ...others };
  return Object.fromEntries(
    Object.entries(shown).map(([name, after]) => [name, { before: null, after }]),
  );
};

/** The licenses that a purchase makes: their number, their limits and their end. */
async function termsOf(db: Database, sold: Sold, mapped: MarketProduct, now: number) {
  const product = await findProduct(db, mapped.productId);
  if (!product) return `The product ${mapped.productId}, which is chosen for it, does not exist`;
  if (sold.quantity > MAX_QUANTITY)
    return `The quantity ${sold.quantity} is larger than ${MAX_QUANTITY}`;
  const isOne = mapped.quantity === 'limits';
  const times = (limit: number): number =>
    isOne && limit > 0 ? Math.min(limit * sold.quantity, MAX_LIMIT) : limit;
  const paid = paidUntil(sold.facts, sold.order?.facts ?? {});
  const days = mapped.expiresAfterDays ?? product.defaultExpiresAfterDays;
  const expiryDate = sold.isTest ? now + TEST_DAYS_MS : paid && paid + GRACE_MS;
  const isTemporary = mapped.licenseType === 'TEMPORARY' || sold.isTest;
  if (isTemporary && expiryDate === null && days === null) {
    return 'The licenses are TEMPORARY, and neither the market nor the product says for how many days';
  }
  return {
    count: isOne ? 1 : sold.quantity,
    productId: product.id,
    licenseType: isTemporary ? ('TEMPORARY' as const) : ('PERMANENT' as const),
    ...(isTemporary
      ? storedExpiryOf('TEMPORARY', {
          expiryDate,
          expiresAfterDays: expiryDate === null ? days : null,
        })
      : NEVER),
    maxIPs: times(mapped.maxIPs ?? product.defaultMaxIPs),
    maxHWIDs: times(mapped.maxHWIDs ?? product.defaultMaxHWIDs),
  };
}

/** Makes the licenses of a purchase. A purchase that was revoked before it arrived gets one that is DEACTIVATED. */
async function create(
  sender: Sender,
  { market, platform }: Seller,
  sold: Sold,
  mapped: MarketProduct,
): Promise<Applied & { licenseId?: number | null; productId?: number }> {
  const { db, now } = sender;
  const { buyer, isTest } = sold;
  const terms = await termsOf(db, sold, mapped, now);
  if (typeof terms === 'string') return keepUnmatched(sender, market, sold, terms);
  const { count, ...values } = terms;
  const reasons = reasonsToRevoke(sold.facts, sold.order?.facts ?? {}, market);
  const isRevoked = reasons.length > 0;
  const state = isRevoked ? 'REVOKED' : 'GRANTED';
  const reason = reasons.join(', ') || null;
  const note = [isTest && `Test of ${market.name}`, isRevoked && noteOf(market, reason, now)];
  const row = rowValues(purchases, {
    ...rowOf(market, sold, now),
    unit: sql`k.key`,
    state,
    reason,
    licenseId: sql`l.id`,
    deactivatedRevision: isRevoked ? now : null,
  });
  const stored = await insertLicenses(
    sender,
    {
      ...values,
      licensePlatform: buyer.id === null ? null : platform,
      licensePlatformOther: buyer.id !== null && platform === 'OTHER' ? market.name : '',
      ownerPlatformId: buyer.id ?? '',
      ownerChatId: '',
      ownerChatUsername: '',
      state: isRevoked ? 'DEACTIVATED' : 'ACTIVE',
      notes: note.filter(Boolean).join('\n'),
      ips: [],
      hwids: [],
    },
    buyer.email === null ? undefined : { id: null, email: buyer.email, username: buyer.name },
    count,
    {
      when: isSame(market, sold),
      events: [
        {
          type: 'purchase.granted',
          id: purchaseIdSql(market.id, sold),
          changes: shownChanges(market, sold, { ...(reason && { reason }) }),
        },
      ],
      statements: (keys) => [
        db
          .insert(purchases)
          .select(
            sql`select ${row} from json_each(${keys}) k
              join licenses l on l.license_key_normalized = k.value where true`,
          )
          .onConflictDoUpdate({ target: KEY, set: REPLACED }),
        ...(buyer.name === null || buyer.email !== null
          ? []
          : [nameCustomer(db, buyer.name, keys)]),
      ],
    },
  );
  const keys = stored.map(({ licenseKey }) => licenseKey);
  return {
    licenseId: stored[0]?.id ?? null,
    productId: terms.productId,
    state,
    keys: isRevoked ? [] : keys,
    result: isRevoked ? `Granted, and revoked at once: ${reason}` : grantedText(count, isTest),
  };
}

const grantedText = (count: number, isTest: boolean): string =>
  `Granted ${count === 1 ? 'a license' : `${count} licenses`}${isTest ? ' for a day: it is a test' : ''}`;

/** Gives a customer without a name the one that the market knows for the account. */
const nameCustomer = (db: Database, name: string, keys: string) =>
  db
    .update(customers)
    .set({ username: name, revision: sql`${customers.revision} + 1` })
    .where(
      sql`${customers.id} = (select customer_id from licenses
        where license_key_normalized = json_extract(${keys}, '$[0]')) and ${customers.username} is null`,
    );

const noteOf = (market: MarketRow, what: string | null, now: number): string =>
  `${toTimestamp(now).slice(0, 10)}, ${market.name}: ${what}`;

/** Adds a fact to the purchases that it is about, also to those that arrive later. */
async function addToPurchases(sender: Sender, seller: Seller, fact: Fact): Promise<Applied> {
  const { db } = sender;
  const { market } = seller;
  const { target } = fact;
  if ('order' in target) {
    const orderId = target.order;
    const [found, order] = await Promise.all([
      findPurchases(db, and(eq(purchases.marketId, market.id), eq(purchases.orderId, orderId))),
      findOrder(db, market.id, orderId),
    ]);
    const orderFacts = addFact(order?.facts ?? {}, fact);
    const factsOf = ({ purchase }: Found) => purchase.facts;
    const applied = await converge(sender, market, { found, factsOf, order, orderId, orderFacts });
    return (await grantPaid(sender, seller, fact, found)) ?? applied;
  }
  const { item, reference } = target;
  const found = await findPurchases(db, isPurchase(market.id, item, reference));
  const [first] = found;
  if (!first) return keepFact(sender, market, fact, { item, reference });
  const orderId = first.purchase.orderId;
  const order = await findOrder(db, market.id, orderId);
  const facts = addFact(first.purchase.facts, fact);
  const orderFacts = order?.facts ?? {};
  const applied = await converge(sender, market, {
    found,
    factsOf: () => facts,
    order,
    orderId,
    orderFacts,
  });
  return (await grantPaid(sender, seller, fact, found)) ?? applied;
}

/**
 * Grants a purchase that waits, perhaps for the end of its subscription, which a payment names.
 *
 * @returns undefined if none waits
 */
async function grantPaid(
  sender: Sender,
  seller: Seller,
  fact: Fact,
  found: readonly Found[],
): Promise<Applied | undefined> {
  const waiting = found.find(
    ({ purchase, license }) => !license && purchase.facts.boughtAt !== undefined,
  );
  if (fact.do !== 'extend' || !waiting) return undefined;
  const { id, item } = waiting.purchase;
  const mapped = seller.market.products.find((one) => one.item === item);
  const [now] = await findPurchases(sender.db, eq(purchases.id, id));
  if (!mapped || !now || now.license) return undefined;
  return create(sender, seller, await soldOf(sender.db, now.purchase), mapped);
}

/** Keeps a fact for a purchase that is not known yet. */
async function keepFact(
  sender: Sender,
  market: MarketRow,
  fact: Fact,
  { item, reference }: { item: string; reference: string },
): Promise<Applied> {
  const { db, now } = sender;
  const sold: Sold = {
    item,
    reference,
    orderId: null,
    buyer: { id: null, name: null, email: null },
    quantity: 1,
    isTest: false,
    facts: addFact({}, fact),
    known: undefined,
    order: undefined,
  };
  const reasons = reasonsToRevoke(sold.facts, {}, market);
  const row = {
    ...rowOf(market, sold, now),
    unit: 0,
    state: reasons.length > 0 ? 'REVOKED' : 'UNMATCHED',
    reason: reasons.join(', ') || 'The purchase has not arrived yet',
    licenseId: null,
    deactivatedRevision: null,
  };
  await change(sender, {
    event: null,
    when: isSame(market, sold),
    statements: { purchase: db.insert(purchases).select(sql`select ${rowValues(purchases, row)}`) },
  });
  return { state: null, keys: [], result: 'Kept for a purchase that has not arrived yet' };
}

interface Converging {
  found: readonly Found[];
  /** The facts about a purchase, with the new one. */
  factsOf: (one: Found) => Facts;
  orderId: string | null;
  order: OrderRow | undefined;
  orderFacts: Facts;
  /** What a purchase tells that a fact before it did not. */
  bought?: Bought;
  renewalDays?: number | null;
}

type Bought = Pick<PurchaseRow, 'orderId' | 'buyerId' | 'buyerName'>;

/** Brings purchases and their licenses to the state that follows from all facts. Writes nothing that is so already. */
async function converge(
  sender: Sender,
  market: MarketRow,
  { found, factsOf, orderId, order, orderFacts, bought, renewalDays = null }: Converging,
): Promise<Applied> {
  const { db, now } = sender;
  const changed = found.flatMap((one) => {
    const next = nextOf(
      one,
      { facts: factsOf(one), orderBefore: order?.facts ?? {}, orderFacts, bought, renewalDays },
      market,
      now,
    );
    return next ? [{ ...one, ...next }] : [];
  });
  const isOrderChanged = JSON.stringify(orderFacts) !== JSON.stringify(order?.facts ?? {});
  const state = commonState(found, changed);
  const delivered = found.flatMap(({ license }) =>
    license && license.state !== 'DELETED' ? license.licenseKey : [],
  );
  const keys = state === 'GRANTED' ? delivered : [];
  if (changed.length === 0 && !isOrderChanged) {
    const isDeleted = state === 'GRANTED' && keys.length === 0;
    const result = isDeleted
      ? 'The license of the purchase is deleted'
      : RESULTS[state ?? 'UNMATCHED'];
    return { state, keys, result };
  }
  const written = changed.flatMap(({ license, licenseAfter }) =>
    license && licenseAfter ? [{ license, after: licenseAfter }] : [],
  );
  const ids = written.map(({ license }) => license.id);
  await change(sender, {
    event: [
      ...written.map(({ license, after }) => ({
        type: 'license.updated' as const,
        id: license.id,
        changes: licenseChanges(license, after, now),
      })),
      ...changed.flatMap(({ purchase, event }) =>
        event && purchase.unit === 0
          ? [
              {
                type: event.type,
                id: purchase.id,
                changes: shownChanges(market, purchase, event.shown),
              },
            ]
          : [],
      ),
    ],
    touches: ids.length === 0 ? [] : [touchLicenses(isOneOf(licenses.id, ids), now)],
    when: [
      ...isSameOrder(market, orderId, order),
      ...(found.length === 0
        ? []
        : [
            areUnchanged(
              purchases,
              found.map((one) => one.purchase),
            ),
          ]),
      ...(written.length === 0
        ? []
        : [
            areUnchanged(
              licenses,
              written.map((one) => one.license),
            ),
          ]),
    ],
    statements: {
      order:
        orderId !== null && isOrderChanged
          ? [
              db
                .insert(marketOrders)
                .values({
                  marketId: market.id,
                  orderId,
                  facts: orderFacts,
                  revision: 1,
                  expiresAt: found.length === 0 ? now + ORDER_KEPT_MS : null,
                })
                .onConflictDoUpdate({
                  target: [marketOrders.marketId, marketOrders.orderId],
                  set: {
                    facts: sql`excluded.facts`,
                    expiresAt: sql`excluded.expires_at`,
                    revision: sql`${marketOrders.revision} + 1`,
                  },
                }),
            ]
          : [],
      purchases: changed.length === 0 ? [] : [updatePurchases(db, changed, now)],
      licenses: written.length === 0 ? [] : [updateLicenses(db, written, now)],
    },
  });
  const results = [...new Set(changed.flatMap(({ event }) => event?.result ?? []))];
  const nothing = found.length === 0 ? 'Kept for a purchase that has not arrived yet' : 'Noted';
  return { state, keys, result: results.join('; ') || nothing };
}

const RESULTS: Readonly<Record<PurchaseState, string>> = {
  GRANTED: 'Already granted: the same license',
  REVOKED: 'Already revoked',
  UNMATCHED: 'It waits for a product',
};

function commonState(
  found: readonly Found[],
  changed: readonly { purchase: PurchaseRow; state: PurchaseState }[],
): PurchaseState | null {
  const [first] = found;
  if (!first) return null;
  const after = changed.find(({ purchase }) => purchase.id === first.purchase.id);
  return after?.state ?? first.purchase.state;
}

interface LicenseAfter {
  state: 'ACTIVE' | 'DEACTIVATED' | 'DELETED';
  expiresAt: number | null;
  expiresAfterDays: number | null;
  notes: string;
  revision: number;
}

interface Next extends Bought {
  facts: Facts;
  state: PurchaseState;
  reason: string | null;
  deactivatedRevision: number | null;
  licenseAfter: LicenseAfter | null;
  event: {
    type: 'purchase.revoked' | 'purchase.restored' | 'purchase.extended';
    shown: Record<string, unknown>;
    result: string;
  } | null;
}

/** The next state of a purchase and its license; undefined if both stay. A change of the license by hand stays, too. */
function nextOf(
  { purchase, license }: Found,
  {
    facts,
    orderBefore,
    orderFacts,
    bought,
    renewalDays,
  }: {
    facts: Facts;
    orderBefore: Facts;
    orderFacts: Facts;
    bought: Bought | undefined;
    renewalDays: number | null;
  },
  market: MarketRow,
  now: number,
): Next | undefined {
  // The reasons that were applied, perhaps under other settings of the market.
  const before: readonly string[] =
    purchase.state === 'REVOKED' ? (purchase.reason ?? '').split(', ') : [];
  const reasons = reasonsToRevoke(facts, orderFacts, market);
  const added = reasons.filter((reason) => !before.includes(reason));
  const reason = reasons.join(', ') || (license ? null : purchase.reason);
  const state = reasons.length > 0 ? 'REVOKED' : license ? 'GRANTED' : 'UNMATCHED';
  const next: Next = {
    facts,
    state,
    reason,
    orderId: purchase.orderId ?? bought?.orderId ?? null,
    buyerId: purchase.buyerId ?? bought?.buyerId ?? null,
    buyerName: purchase.buyerName ?? bought?.buyerName ?? null,
    deactivatedRevision: purchase.deactivatedRevision,
    licenseAfter: null,
    event: null,
  };
  if (license) {
    const revision = nextRevision(license.revision, now);
    const isOurs = license.revision === purchase.deactivatedRevision;
    const after: LicenseAfter = { ...license, revision };
    if (added.length > 0 && license.state === 'ACTIVE') {
      after.state = 'DEACTIVATED';
      after.notes = withNote(license.notes, noteOf(market, added.join(', '), now));
      next.deactivatedRevision = revision;
    }
    if (reasons.length === 0 && before.length > 0 && license.state === 'DEACTIVATED' && isOurs) {
      after.state = 'ACTIVE';
      after.notes = withNote(license.notes, noteOf(market, 'restored', now));
      next.deactivatedRevision = null;
    }
    const paid = paidUntil(facts, orderFacts);
    const isExtended =
      paid !== null && !purchase.isTest && paid !== paidUntil(purchase.facts, orderBefore);
    if (isExtended && canExtend(license, paid + GRACE_MS)) {
      after.expiresAt = paid + GRACE_MS;
      after.expiresAfterDays = null;
    }
    const isTemporary = license.licenseType === 'TEMPORARY';
    if (isTemporary && renewalDays !== null && license.expiresAfterDays !== null) {
      after.expiresAfterDays = Math.min(
        license.expiresAfterDays + renewalDays,
        MAX_EXPIRES_AFTER_DAYS,
      );
    } else if (isTemporary && renewalDays !== null) {
      // The time that was left is paid for, unless it was paid back.
      const from = before.length > 0 ? now : Math.max(now, license.expiresAt ?? now);
      after.expiresAt = from + renewalDays * DAY_MS;
    }
    if (isEndChanged(license, after)) {
      if (isOurs && after.state === 'DEACTIVATED') next.deactivatedRevision = revision;
    }
    if (after.state !== license.state || isEndChanged(license, after)) next.licenseAfter = after;
    next.event = eventOf(purchase, next, license, added);
  }
  const isSameState = state === purchase.state && reason === purchase.reason;
  const isSameFacts = JSON.stringify(facts) === JSON.stringify(purchase.facts);
  const isSameSale =
    next.orderId === purchase.orderId &&
    next.buyerId === purchase.buyerId &&
    next.buyerName === purchase.buyerName;
  return isSameState && isSameFacts && isSameSale && next.licenseAfter === null ? undefined : next;
}

function eventOf(
  purchase: PurchaseRow,
  { state, licenseAfter }: Next,
  license: NonNullable<Found['license']>,
  added: readonly string[],
): Next['event'] {
  if (added.length > 0) {
    const isDone = licenseAfter?.state === 'DEACTIVATED';
    const result = isDone ? 'the license is deactivated' : 'the license was not active';
    const reason = added.join(', ');
    return {
      type: 'purchase.revoked',
      shown: { reason },
      result: `Revoked (${reason}): ${result}`,
    };
  }
  if (state === 'GRANTED' && purchase.state === 'REVOKED') {
    const isDone = licenseAfter?.state === 'ACTIVE' && license.state !== 'ACTIVE';
    const result = isDone
      ? 'Restored: the license is active again'
      : 'Restored; the license was changed by hand since, and stays as it is';
    return { type: 'purchase.restored', shown: {}, result };
  }
  if (licenseAfter && isEndChanged(license, licenseAfter)) {
    const { expiresAt, expiresAfterDays } = licenseAfter;
    if (expiresAfterDays !== null) {
      const result = `Extended to ${expiresAfterDays} days from the first use`;
      return { type: 'purchase.extended', shown: { expiresAfterDays }, result };
    }
    const until = expiresAt === null ? null : toTimestamp(expiresAt);
    return {
      type: 'purchase.extended',
      shown: { expiryDate: until },
      result: `Extended to ${until}`,
    };
  }
  return null;
}

type End = Pick<LicenseAfter, 'expiresAt' | 'expiresAfterDays'>;

const isEndChanged = (before: End, after: End): boolean =>
  before.expiresAt !== after.expiresAt || before.expiresAfterDays !== after.expiresAfterDays;

/** Whether a paid time moves the end of a license, also of one whose days have not begun. A later end stays. */
const canExtend = (
  { licenseType, expiresAt }: NonNullable<Found['license']>,
  until: number,
): boolean =>
  licenseType === 'TEMPORARY' && (expiresAt === EXPIRES_LATER || (expiresAt ?? 0) < until);

const withNote = (notes: string, note: string): string => {
  const noted = notes === '' ? note : `${notes}\n${note}`;
  return noted.length > MAX_LONG_TEXT_LENGTH ? notes : noted;
};

function licenseChanges(
  license: NonNullable<Found['license']>,
  licenseAfter: LicenseAfter,
  now: number,
) {
  const shown = (one: Pick<LicenseAfter, 'state'> & End) => ({
    licenseStatus: statusAt(one, now),
    expiryDate:
      one.expiresAt === null || one.expiresAt === EXPIRES_LATER ? null : toTimestamp(one.expiresAt),
    expiresAfterDays: one.expiresAfterDays,
  });
  const [before, after] = [shown(license), shown(licenseAfter)];
  return Object.fromEntries(
    (['licenseStatus', 'expiryDate', 'expiresAfterDays'] as const).flatMap((name) =>
      before[name] === after[name] ? [] : [[name, { before: before[name], after: after[name] }]],
    ),
  );
}

const value = (name: string): SQL => sql.raw(`o.value ->> '$.${name}'`);

function updatePurchases(
  db: Database,
  changed: readonly (Next & { purchase: PurchaseRow })[],
  now: number,
) {
  const list = changed.map(({ purchase, facts, state, reason, deactivatedRevision, ...next }) => ({
    id: purchase.id,
    orderId: next.orderId,
    buyerId: next.buyerId,
    buyerName: next.buyerName,
    facts: JSON.stringify(facts),
    state,
    reason,
    deactivatedRevision,
  }));
  return db
    .update(purchases)
    .set({
      orderId: value('orderId'),
      buyerId: value('buyerId'),
      buyerName: value('buyerName'),
      facts: value('facts'),
      state: value('state'),
      reason: value('reason'),
      deactivatedRevision: value('deactivatedRevision'),
      misses: 0,
      updatedAt: now,
      revision: sql`${purchases.revision} + 1`,
    })
    .from(sql`json_each(${JSON.stringify(list)}) o`)
    .where(sql`${purchases.id} = ${value('id')}`);
}

function updateLicenses(
  db: Database,
  written: readonly { license: { id: number }; after: LicenseAfter }[],
  now: number,
) {
  const list = written.map(({ license, after }) => ({
    id: license.id,
    state: after.state,
    expiresAt: after.expiresAt,
    expiresAfterDays: after.expiresAfterDays,
    notes: after.notes,
    revision: after.revision,
  }));
  return db
    .update(licenses)
    .set({
      state: value('state'),
      expiresAt: value('expiresAt'),
      expiresAfterDays: value('expiresAfterDays'),
      notes: value('notes'),
      revision: value('revision'),
      updatedAt: now,
    })
    .from(sql`json_each(${JSON.stringify(list)}) o`)
    .where(sql`${licenses.id} = ${value('id')}`);
}

/**
 * Gives a purchase a new license of a product, as a person has chosen it.
 *
 * @throws DomainError if it has a license, or cannot get one
 */
export async function grantWith(
  sender: Sender,
  seller: Seller,
  purchase: PurchaseRow,
  mapped: MarketProduct,
): Promise<ListedPurchase> {
  if (purchase.licenseId !== null) {
    throw new DomainError('conflict', 'The purchase has a license: send licenseId to change it');
  }
  const applied = await create(sender, seller, await soldOf(sender.db, purchase), mapped);
  const { state, licenseId = null, productId = null } = applied;
  if (state === 'UNMATCHED' || state === null) {
    throw new DomainError('invalid', applied.result, 'productId');
  }
  const revision = purchase.revision + 1;
  const reason = state === 'GRANTED' ? null : purchase.reason;
  return { ...purchase, state, reason, licenseId, productId, revision, updatedAt: sender.now };
}

/** Gives a purchase an existing license: the market delivers its key from now on. */
export async function bindLicense(
  sender: Sender,
  market: MarketRow,
  purchase: PurchaseRow,
  licenseId: number,
): Promise<ListedPurchase> {
  const { db, now } = sender;
  await checkLicense(db, licenseId);
  const { row } = await change(sender, {
    event: {
      type: 'purchase.granted',
      id: purchase.id,
      changes: {
        ...shownChanges(market, purchase, {}),
        licenseId: { before: purchase.licenseId, after: licenseId },
      },
    },
    when: [isUnchanged(purchases, purchase)],
    statements: {
      purchase: db
        .update(purchases)
        .set({
          licenseId,
          state: purchase.state === 'REVOKED' ? 'REVOKED' : 'GRANTED',
          reason: purchase.state === 'REVOKED' ? purchase.reason : null,
          deactivatedRevision: null,
          email: null,
          updatedAt: now,
          revision: purchase.revision + 1,
        })
        .where(eq(purchases.id, purchase.id)),
      row: db.select(purchaseColumns).from(purchases).where(eq(purchases.id, purchase.id)),
    },
  });
  return only(row);
}

/** @throws DomainError for a license that there is not */
async function checkLicense(db: Database, licenseId: number): Promise<void> {
  const isThere = and(eq(licenses.id, licenseId), ne(licenses.state, 'DELETED'));
  if ((await db.$count(licenses, isThere)) > 0) return;
  throw new DomainError('invalid', `licenseId ${licenseId} does not exist`, 'licenseId');
}

/** A purchase of before, for which the market delivers the key of a license. @throws DomainError if it is known */
export async function insertPurchase(
  sender: Sender,
  market: MarketRow,
  sent: {
    item: string;
    reference: string;
    order: string | null;
    buyerId: string | null;
    buyerName: string | null;
    licenseId: number;
  },
): Promise<ListedPurchase> {
  const { db, now } = sender;
  const { order: orderId, licenseId, item, reference } = sent;
  await checkLicense(db, licenseId);
  const order = await findOrder(db, market.id, orderId);
  const reasons = reasonsToRevoke({}, order?.facts ?? {}, market);
  if (reasons.length > 0) {
    throw new DomainError('conflict', `The order is revoked: ${reasons.join(', ')}`);
  }
  const { row } = await change(sender, {
    when: isSameOrder(market, orderId, order),
    event: {
      type: 'purchase.granted',
      id: purchaseIdSql(market.id, sent),
      changes: shownChanges(market, { item, quantity: 1, isTest: false }, { licenseId }),
    },
    statements: {
      purchase: db.insert(purchases).values({
        marketId: market.id,
        item,
        reference,
        unit: 0,
        orderId,
        buyerId: sent.buyerId,
        buyerName: sent.buyerName,
        quantity: 1,
        isTest: false,
        state: 'GRANTED',
        facts: {},
        licenseId,
        createdAt: now,
        updatedAt: now,
      }),
      row: db
        .select(purchaseColumns)
        .from(purchases)
        .where(isPurchase(market.id, item, reference)),
    },
    creates: idOfNewest(purchases),
    errors: {
      unique: new DomainError('conflict', 'The purchase is known: change its license', 'reference'),
    },
  });
  return only(row);
}
