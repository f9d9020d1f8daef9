import type { DynamicSettings } from '@licet/contract/dynamic-market';
import {
  DISPUTE_ACTIONS,
  MARKET_KINDS,
  NOTICE_EFFECTS,
  PURCHASE_STATES,
  REFUND_ACTIONS,
} from '@licet/contract/enums';
import type { MarketProduct } from '@licet/contract/markets';
import { sql } from 'drizzle-orm';
import {
  check,
  index,
  integer,
  primaryKey,
  sqliteTable,
  text,
  uniqueIndex,
} from 'drizzle-orm/sqlite-core';
import { createdAt, id, oneOf, revision, updatedAt } from '../../db/columns.ts';

/** Markets that sell keys (9). */
export const markets = sqliteTable(
  'markets',
  {
    id: id(),
    kind: text('kind', { enum: MARKET_KINDS }).notNull(),
    name: text('name').notNull(),
    isEnabled: integer('is_enabled', { mode: 'boolean' }).notNull(),
    /** 192 random bits, the end of the address to which the market sends. */
    path: text('path').notNull(),
    products: text('products', { mode: 'json' }).$type<readonly MarketProduct[]>().notNull(),
    onRefund: text('on_refund', { enum: REFUND_ACTIONS }).notNull(),
    onDispute: text('on_dispute', { enum: DISPUTE_ACTIONS }).notNull(),
    settings: text('settings', { mode: 'json' }).$type<DynamicSettings>(),
    /** They verify signatures, so they are stored themselves and not their hashes. */
    secrets: text('secrets', { mode: 'json' }).$type<readonly string[]>().notNull(),
    apiToken: text('api_token'),
    /** When its purchases were last compared. */
    reconciledAt: integer('reconciled_at'),
    /** When the event of failing requests was last made. */
    failingAt: integer('failing_at'),
    createdAt: createdAt(),
    updatedAt: updatedAt(),
    revision: revision(),
    /** When they are compared again; null before the first time. */
    comparisonDueAt: integer('comparison_due_at'),
    /** Whether its buyers get the key by mail (13); null for the default of the kind of market. */
    mailsKey: integer('mails_key', { mode: 'boolean' }),
  },
  (t) => [
    uniqueIndex('markets_path').on(t.path),
    check('markets_products', sql`json_valid(${t.products})`),
  ],
);

/**
 * Whether this version knows the kind of a market. The database takes any kind: a later version may have stored one, before
 * an operator went back to this version.
 */
export const isOfKnownKind = oneOf(markets.kind, MARKET_KINDS);

/** A payment of a subscription: an invoice, or the order of a renewal. */
export interface PaidPeriod {
  /** The time of the payment, in milliseconds since 1970: the latest one decides. */
  at: number;
  /** Null if the market has not said until when it is paid. */
  until: number | null;
  /** A payment of zero is a trial or a change of the plan. Null if the market has not said it. */
  amount: number | null;
}

/** The amount of a payment, as the market says it. */
export interface Price {
  /** The time of the payment, in milliseconds since 1970: the first one counts. */
  at: number;
  /** In whole units, such as `9.99`. */
  amount: string;
  /** A code of ISO 4217; null if the market does not name it. */
  currency: string | null;
  /** The order line that it is of, where an order has several. */
  line?: string;
}

/** The payments of a buyer who pays again for the same purchase, by their times, in milliseconds since 1970. */
export interface PaymentTimes {
  /** The newest ones, newest first. */
  times: readonly number[];
  /** Payments until this time count as known: they are no longer listed, or an earlier version did not list them. */
  since: number;
}

/**
 * The facts about a purchase or a subject (9). They are merged and never taken back. The state of a purchase is a function
 * of them: it depends neither on the order of the notices nor on their repetitions.
 */
export interface Facts {
  /** The latest purchase, in milliseconds since 1970. A buyer may buy again after a refund. */
  boughtAt?: number;
  payments?: PaymentTimes;
  refunded?: number;
  removed?: number;
  /** The end of an item of a subscription that was removed. */
  removedUntil?: number;
  missing?: number;
  /** The last steps of disputes, by their ids. */
  disputes?: Record<string, 'opened' | 'won' | 'lost'>;
  /** When the market reported that a subscription has ended, and that it goes on. */
  ended?: number;
  continued?: number;
  /** Until when something is paid by a payment that the market does not name. */
  paidUntil?: number;
  paid?: PaidPeriod;
  /** When the market reported that a subscription is paused, unpaid, and active or paid. None of these takes back an end. */
  paused?: number;
  unpaid?: number;
  active?: number;
  /** When the market reported that a subscription, which is still active, is not to be renewed. */
  cancels?: number;
  /** The amount of an order, a line or a payment, and what was paid back of it, by the ids of the refunds. */
  total?: number;
  refunds?: Record<string, number>;
  /** The order line of a purchase or a subject, where an order has several. */
  line?: string;
  /** The product that a subscription has one purchase of: each order names another line of it. */
  product?: string;
  /** The e-mail of the buyer, if another notice than the one of the purchase has it. */
  email?: string;
  /** The number of licenses that an invoice names. */
  quantity?: number;
  /** 1 if more may have been bought than the notice says, and 1 if the quantity is known. */
  unclear?: number;
  counted?: number;
  /** The quantity that the seller has put into the metadata. */
  stated?: number;
  /** Other ids by which the seller may have chosen the product. */
  items?: readonly string[];
  price?: Price;
  /** The time at which a person entered a purchase from before. */
  entered?: number;
}

/**
 * Purchases at markets, each with one license (9). The first to store a purchase grants it: its reference, item and
 * unit are unique.
 */
export const purchases = sqliteTable(
  'purchases',
  {
    id: id(),
    marketId: integer('market_id').notNull(),
    /** The product of the market. */
    item: text('item').notNull(),
    /** The buyer, where one buys once, else the order line. */
    reference: text('reference').notNull(),
    /** Counts the licenses of a quantity. */
    unit: integer('unit').notNull(),
    orderId: text('order_id'),
    buyerId: text('buyer_id'),
    buyerName: text('buyer_name'),
    /** For a purchase that waits for a product; then the customer has it. */
    email: text('email'),
    quantity: integer('quantity').notNull(),
    isTest: integer('is_test', { mode: 'boolean' }).notNull(),
    state: text('state', { enum: PURCHASE_STATES }).notNull(),
    /** Why it is not GRANTED. */
    reason: text('reason'),
    /** The facts about it (see `facts.ts`). */
    facts: text('facts', { mode: 'json' }).$type<Facts>().notNull(),
    licenseId: integer('license_id'),
    /** The revision of a license that the version before `licenses.deactivated_by` deactivated. */
    deactivatedRevision: integer('deactivated_revision'),
    /** Consecutive comparisons in which the market did not list it. */
    misses: integer('misses').notNull().default(0),
    createdAt: createdAt(),
    updatedAt: updatedAt(),
    revision: revision(),
    /** The price of all its licenses, in whole units; null if the market has not said it. */
    amount: text('amount'),
    currency: text('currency'),
    /** The time at which a person decided that it needs no license. */
    ignoredAt: integer('ignored_at'),
    revokedAt: integer('revoked_at'),
  },
  (t) => [
    uniqueIndex('purchases_reference').on(t.marketId, t.item, t.reference, t.unit),
    index('purchases_order').on(t.marketId, t.orderId).where(sql`${t.orderId} is not null`),
    index('purchases_license').on(t.licenseId).where(sql`${t.licenseId} is not null`),
    index('purchases_market').on(t.marketId, t.id),
    index('purchases_created').on(t.marketId, t.createdAt),
    // The sales of a market are counted without their rows.
    index('purchases_sold')
      .on(t.marketId, t.createdAt)
      .where(
        sql`${t.unit} = 0 and ${t.isTest} = 0 and ${t.licenseId} is not null and ${t.facts} ->> 'entered' is null`,
      ),
    index('purchases_revoked').on(t.revokedAt).where(sql`${t.revokedAt} is not null`),
    index('purchases_waiting')
      .on(t.updatedAt)
      .where(sql`${t.licenseId} is null and ${t.buyerId} is null`),
    index('purchases_email').on(t.email).where(sql`${t.email} is not null`),
    index('purchases_unmatched').on(t.id).where(sql`${t.state} = 'UNMATCHED'`),
    check('purchases_state', oneOf(t.state, PURCHASE_STATES)),
  ],
);

/**
 * Subjects are what a market has an id for (9): an order, a payment, an invoice, a subscription. Each has its facts, also
 * before its purchase, and may belong to another one. Without a rowid.
 */
export const subjects = sqliteTable(
  'market_orders',
  {
    marketId: integer('market_id').notNull(),
    id: text('order_id').notNull(),
    facts: text('facts', { mode: 'json' }).$type<Facts>().notNull(),
    revision: revision(),
    /** When it is removed, unless a purchase has come by then; null for one that stays. */
    expiresAt: integer('expires_at'),
    /** The subject to which it belongs: the invoice of a payment, the subscription of an invoice. */
    parent: text('parent'),
  },
  (t) => [
    primaryKey({ columns: [t.marketId, t.id] }),
    index('market_orders_expiry').on(t.expiresAt).where(sql`${t.expiresAt} is not null`),
    index('market_orders_parent').on(t.marketId, t.parent).where(sql`${t.parent} is not null`),
  ],
);

/** The requests of markets of 30 days (9), without secrets. Without a rowid. */
export const marketDeliveries = sqliteTable(
  'market_deliveries',
  {
    marketId: integer('market_id').notNull(),
    /** Holds the time. */
    id: integer('id').notNull(),
    type: text('type'),
    eventId: text('event_id'),
    isAccepted: integer('is_accepted', { mode: 'boolean' }).notNull(),
    status: integer('status').notNull(),
    result: text('result').notNull(),
    body: text('body'),
    /** Null for a request that did not come from the market, or that the service could not apply. */
    effect: text('effect', { enum: NOTICE_EFFECTS }),
    /** The product of the market, and the order or else the reference of the purchase that it is about. */
    item: text('item'),
    orderId: text('order_id'),
  },
  (t) => [
    primaryKey({ columns: [t.marketId, t.id] }),
    index('market_deliveries_order').on(t.marketId, t.orderId).where(sql`${t.orderId} is not null`),
  ],
);
