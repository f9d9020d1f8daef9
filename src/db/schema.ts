import type { DynamicSettings } from '@licet/contract/dynamic-market';
import {
  type ApiIntent,
  DISPUTE_ACTIONS,
  EVENT_RESOURCES,
  EVENT_TYPES,
  LICENSE_DATA_TYPES,
  LICENSE_PLATFORMS,
  LICENSE_STATES,
  LICENSE_STATUSES,
  LICENSE_TYPES,
  MARKET_KINDS,
  NOTICE_EFFECTS,
  PRODUCT_TYPES,
  PURCHASE_STATES,
  REFUND_ACTIONS,
  SERVICE_EVENT_TYPES,
  WEBHOOK_FORMATS,
  type WebhookType,
} from '@licet/contract/enums';
import type { MarketProduct } from '@licet/contract/markets';
import { type SQL, sql } from 'drizzle-orm';
import {
  type AnySQLiteColumn,
  check,
  customType,
  index,
  integer,
  primaryKey,
  type SQLiteColumn,
  sqliteTable,
  text,
  uniqueIndex,
} from 'drizzle-orm/sqlite-core';
import { REQUEST_TYPE_CODES, RESPONSE_TYPE_CODES } from './codes.ts';

/**
 * The tables in D1. The constraints reject the rows of a faulty program: duplicate keys and bindings, unknown
 * enum values, impossible limits, a license without its product.
 *
 * - Times are milliseconds since 1970 in UTC (`…At`).
 * - `revision` grows with every change by an administrator or a binding. It is the ETag, the version of a
 *   snapshot, and the value that concurrent writers compare.
 * - AUTOINCREMENT for the ids of the interface, because no id is used again.
 * - No cascades and no triggers: every statement is in the source.
 * - A table whose primary key is its only index has no rowid: each row then costs one written row. Drizzle
 *   cannot express it, so the migration does.
 */

const oneOf = (column: AnySQLiteColumn, values: readonly string[]): SQL =>
  sql`${column} in (${sql.raw(values.map((value) => `'${value}'`).join(', '))})`;

const id = () => integer('id').primaryKey({ autoIncrement: true });
const revision = () => integer('revision').notNull().default(1);
const createdAt = () => integer('created_at').notNull();
const updatedAt = () => integer('updated_at').notNull();
const textOrEmpty = (name: string) => text(name).notNull().default('');

/** A partial index: a row with null takes no space in it. */
const uniqueUnlessNull = (name: string, column: SQLiteColumn) =>
  uniqueIndex(name).on(column).where(sql`${column} is not null`);

/** [2.1] */
export const products = sqliteTable(
  'products',
  {
    id: id(),
    name: text('name').notNull(),
    description: textOrEmpty('description'),
    productType: text('product_type', { enum: PRODUCT_TYPES }).notNull(),
    productTypeOther: textOrEmpty('product_type_other'),
    defaultMaxIPs: integer('default_max_ips').notNull(),
    defaultMaxHWIDs: integer('default_max_hwids').notNull(),
    roleId: text('role_id'),
    purchaseRoleId: text('purchase_role_id'),
    url: text('url'),
    imageUrl: text('image_url'),
    createdAt: createdAt(),
    updatedAt: updatedAt(),
    revision: revision(),
    /** How long a lease lets a program run without the network (1.8); 0 for no leases. */
    offlineDays: integer('offline_days').notNull().default(0),
    /** Days after which a bound address, or hardware ID, that nobody uses gives way (7); null for never. */
    ipIdleDays: integer('ip_idle_days'),
    hwidIdleDays: integer('hwid_idle_days'),
    /** `expiresAfterDays` of TEMPORARY licenses without an expiry of their own (7). */
    defaultExpiresAfterDays: integer('default_expires_after_days'),
    /** How often customers may free slots of a license themselves in 30 days (10). */
    selfResets: integer('self_resets').notNull().default(0),
  },
  (t) => [
    // Covers the products with leases, which each load of the policy reads.
    index('products_offline_days').on(t.offlineDays).where(sql`${t.offlineDays} > 0`),
    check('products_offline_days', sql`${t.offlineDays} between 0 and 90`),
    check('products_product_type', oneOf(t.productType, PRODUCT_TYPES)),
    check('products_default_max_ips', sql`${t.defaultMaxIPs} >= -1`),
    check('products_default_max_hwids', sql`${t.defaultMaxHWIDs} >= -1`),
  ],
);

/**
 * [2.5] without `passwordHash`, the chat tokens and the other fields of a login: Licet has no logins, and
 * secrets that are not stored cannot leak.
 * `otherAccountId` is the owner of licenses with platform OTHER. It is never on the wire.
 */
export const customers = sqliteTable(
  'customers',
  {
    id: id(),
    firstName: text('first_name'),
    lastName: text('last_name'),
    username: text('username'),
    email: text('email'),
    emailNormalized: text('email_normalized'),
    phoneNumber: text('phone_number'),
    profilePictureUrl: text('profile_picture_url'),
    role: text('role'),
    status: text('status'),
    chatId: text('chat_id'),
    chatUsername: text('chat_username'),
    chatAvatarUrl: text('chat_avatar_url'),
    platformAId: text('platform_a_id'),
    platformAUsername: text('platform_a_username'),
    platformBId: text('platform_b_id'),
    platformBUsername: text('platform_b_username'),
    platformCId: text('platform_c_id'),
    platformCUsername: text('platform_c_username'),
    marketAId: text('market_a_id'),
    marketAUsername: text('market_a_username'),
    marketBId: text('market_b_id'),
    marketBUsername: text('market_b_username'),
    otherAccountId: text('other_account_id'),
    createdAt: createdAt(),
    revision: revision(),
  },
  (t) => [
    uniqueUnlessNull('customers_email', t.emailNormalized),
    uniqueUnlessNull('customers_chat', t.chatId),
    uniqueUnlessNull('customers_platform_a', t.platformAId),
    uniqueUnlessNull('customers_platform_b', t.platformBId),
    uniqueUnlessNull('customers_platform_c', t.platformCId),
    uniqueUnlessNull('customers_market_a', t.marketAId),
    uniqueUnlessNull('customers_market_b', t.marketBId),
    uniqueUnlessNull('customers_other', t.otherAccountId),
  ],
);

/**
 * [2.2] `licenseKeyNormalized` is the key as it is compared, because imported keys have any format. The first
 * `revision` is the time of creation: a license created again under an old key is newer than every snapshot
 * of the old one.
 */
export const licenses = sqliteTable(
  'licenses',
  {
    id: id(),
    licenseKey: text('license_key').notNull(),
    licenseKeyNormalized: text('license_key_normalized').notNull(),
    productId: integer('product_id')
      .notNull()
      .references(() => products.id),
    licenseType: text('license_type', { enum: LICENSE_TYPES }).notNull(),
    licensePlatform: text('license_platform', { enum: LICENSE_PLATFORMS }),
    licensePlatformOther: textOrEmpty('license_platform_other'),
    ownerPlatformId: textOrEmpty('owner_platform_id'),
    ownerChatId: textOrEmpty('owner_chat_id'),
    ownerChatUsername: textOrEmpty('owner_chat_username'),
    expiresAt: integer('expires_at'),
    maxIPs: integer('max_ips').notNull(),
    maxHWIDs: integer('max_hwids').notNull(),
    /** Requests counted by another service, or by installations that were removed (see `installations`). */
    pastRequests: integer('past_requests').notNull().default(0),
    state: text('state', { enum: LICENSE_STATES }).notNull().default('ACTIVE'),
    notes: textOrEmpty('notes'),
    customerId: integer('customer_id').references(() => customers.id),
    createdAt: createdAt(),
    updatedAt: updatedAt(),
    revision: integer('revision').notNull(),
    /**
     * The days from the first VALID validation to the expiry (7); null for a license that has its expiry or needs none.
     * Until then `expiresAt` is the last time there is (EXPIRES_LATER), because TEMPORARY has one.
     */
    expiresAfterDays: integer('expires_after_days'),
    /** The purchase that has deactivated it (9), and may activate it again; null after a change of the status by hand. */
    deactivatedBy: integer('deactivated_by'),
  },
  (t) => [
    uniqueIndex('licenses_key').on(t.licenseKeyNormalized),
    // Also has what the statistics count.
    index('licenses_product').on(t.productId, t.id, t.state, t.expiresAt),
    index('licenses_customer').on(t.customerId),
    index('licenses_chat').on(t.ownerChatId),
    index('licenses_expiry').on(t.expiresAt).where(sql`${t.expiresAt} is not null`),
    index('licenses_platform').on(t.ownerPlatformId, t.licensePlatform),
    check('licenses_license_type', oneOf(t.licenseType, LICENSE_TYPES)),
    check('licenses_license_platform', oneOf(t.licensePlatform, LICENSE_PLATFORMS)),
    check('licenses_state', oneOf(t.state, LICENSE_STATES)),
    check('licenses_expiry', sql`(${t.licenseType} = 'TEMPORARY') = (${t.expiresAt} is not null)`),
    check('licenses_max_ips', sql`${t.maxIPs} >= -1`),
    check('licenses_max_hwids', sql`${t.maxHWIDs} >= -1`),
    check('licenses_past_requests', sql`${t.pastRequests} >= 0`),
  ],
);

/** The addresses and hardware IDs bound to a license, in the order of `position`. Without a rowid. */
export const bindings = sqliteTable(
  'bindings',
  {
    licenseId: integer('license_id')
      .notNull()
      .references(() => licenses.id),
    type: text('type', { enum: LICENSE_DATA_TYPES }).notNull(),
    value: text('value').notNull(),
    position: integer('position').notNull(),
    /**
     * When the value was bound, or last used by an installation that was removed or erased. Null for one that was bound
     * before this column.
     */
    usedAt: integer('used_at'),
  },
  (t) => [
    primaryKey({ columns: [t.licenseId, t.type, t.value] }),
    check('bindings_type', oneOf(t.type, LICENSE_DATA_TYPES)),
  ],
);

/** The former keys of licenses that got a new one (7). Without a rowid. */
export const replacedKeys = sqliteTable(
  'replaced_keys',
  {
    licenseKeyNormalized: text('license_key_normalized').primaryKey(),
    licenseId: integer('license_id')
      .notNull()
      .references(() => licenses.id),
    replacedAt: integer('replaced_at').notNull(),
  },
  (t) => [index('replaced_keys_license').on(t.licenseId)],
);

/** [2.3] An entry without a product is for all products. An IP is a canonical address or CIDR range. */
export const blacklists = sqliteTable(
  'blacklists',
  {
    id: id(),
    licenseDataType: text('license_data_type', { enum: LICENSE_DATA_TYPES }).notNull(),
    data: text('data').notNull(),
    productId: integer('product_id').references(() => products.id),
    reason: textOrEmpty('reason'),
    createdAt: createdAt(),
    updatedAt: updatedAt(),
    revision: revision(),
  },
  (t) => [
    // Two nulls differ in a unique index, so entries for all products have an index of their own.
    uniqueIndex('blacklists_entry').on(t.licenseDataType, t.data, t.productId),
    uniqueIndex('blacklists_entry_for_all')
      .on(t.licenseDataType, t.data)
      .where(sql`${t.productId} is null`),
    index('blacklists_product').on(t.productId),
    check('blacklists_license_data_type', oneOf(t.licenseDataType, LICENSE_DATA_TYPES)),
  ],
);

/** Stores a value of an enumeration as a small integer. */
const coded = <Value extends string>(codes: Readonly<Record<Value, number>>) =>
  customType<{ data: Value; driverData: number }>({
    dataType: () => 'integer',
    toDriver: (value) => codes[value],
    fromDriver(code) {
      for (const value in codes) if (codes[value] === code) return value;
      throw new Error(`Unknown code ${code}`);
    },
  });

const requestType = coded(REQUEST_TYPE_CODES);
const responseType = coded(RESPONSE_TYPE_CODES);

/**
 * One row for each license and set of values that a program sends. Records of the history refer to it, because nearly
 * all of a record repeats the one before. Beyond a number of new installations a day, the others of a license share a
 * row (see `requests/insert.ts`).
 *
 * `lastSeenAt` and `requests` cover the buckets up to `aggregatedBucket`; later records are in the history
 * (see `totals.ts`). Rate-limited requests do not count.
 */
export const installations = sqliteTable(
  'installations',
  {
    id: integer('id').primaryKey(),
    licenseKeyNormalized: text('license_key_normalized').notNull(),
    /** 96 bits of SHA-256 over the columns from `licenseId` to `javaVersion`, and `kid`. */
    fingerprint: text('fingerprint').notNull(),
    licenseId: integer('license_id').notNull(),
    licenseKey: text('license_key').notNull(),
    productId: integer('product_id'),
    productVersion: text('product_version'),
    ip: text('ip'),
    hwid: text('hwid'),
    macAddress: text('mac_address'),
    operatingSystem: text('operating_system'),
    operatingSystemVersion: text('operating_system_version'),
    operatingSystemArchitecture: text('operating_system_architecture'),
    javaVersion: text('java_version'),
    firstSeenAt: integer('first_seen_at').notNull(),
    lastSeenAt: integer('last_seen_at').notNull(),
    requests: integer('requests').notNull().default(0),
    aggregatedBucket: integer('aggregated_bucket').notNull(),
    /** The signing key of the responses (1.8); null for a program that asks for no signature. */
    kid: text('kid'),
  },
  (t) => [
    // Also finds the installations of a license key.
    uniqueIndex('installations_identity').on(t.licenseKeyNormalized, t.fingerprint),
    index('installations_ip').on(t.ip).where(sql`${t.ip} is not null`),
    index('installations_hwid').on(t.hwid).where(sql`${t.hwid} is not null`),
    // Counts the new installations of a license and day.
    index('installations_first_seen').on(t.licenseId, t.firstSeenAt),
  ],
);

/** The hours that have records, as hours since 2025 (see `lib/time-id.ts`). Look-ups walk over them. */
export const buckets = sqliteTable('buckets', { bucket: integer('bucket').primaryKey() });

/**
 * [2.4] The history: one written row for each record, clustered by hour and installation. The primary key is
 * the identity of a record, so a repeated write conflicts with itself. Without a rowid.
 *
 * A record of no license has NO_PRODUCT and NO_INSTALLATION, and all fields of the program in `details`:
 * made-up keys must not fill `installations`.
 */
export const requests = sqliteTable(
  'requests',
  {
    bucket: integer('bucket').notNull(),
    productId: integer('product_id').notNull(),
    installationId: integer('installation_id').notNull(),
    /** Holds the time of the request (see `lib/time-id.ts`). */
    id: integer('id').notNull(),
    /** A random number, by which two records of an installation with the same id differ. */
    nonce: integer('nonce').notNull(),
    type: requestType('type').notNull(),
    /** Also gives `valid`, `successful`, `blocked` and `rateLimited`. */
    outcome: responseType('outcome').notNull(),
    /** JSON of the fields that the installation does not have; null for none. */
    details: text('details'),
  },
  (t) => [primaryKey({ columns: [t.bucket, t.productId, t.installationId, t.id, t.nonce] })],
);

/**
 * Gaps in the history: the number of requests that an isolate gave up, because D1 did not respond or rejected them.
 * `id` is that of the first one.
 */
export const gaps = sqliteTable('gaps', {
  id: integer('id').primaryKey(),
  requests: integer('requests').notNull(),
});

/** Records per product (or NO_PRODUCT, ALL_PRODUCTS) and outcome. Without a rowid. */
const rollupTable = (
  name: string,
  key: readonly ['bucket', 'outcome'] | readonly ['outcome', 'bucket'],
) =>
  sqliteTable(
    name,
    {
      bucket: integer('bucket').notNull(),
      productId: integer('product_id').notNull(),
      outcome: responseType('outcome').notNull(),
      requests: integer('requests').notNull(),
    },
    (t) => [primaryKey({ columns: [t.productId, t[key[0]], t[key[1]]] })],
  );

export const rollups = rollupTable('rollups', ['bucket', 'outcome']);
/** The sums of whole days. `bucket` is the first hour of the day. */
export const dailyRollups = rollupTable('daily_rollups', ['outcome', 'bucket']);

/** The number of licenses of each product and status on a day of the past (6). Without a rowid. */
export const dailyCounts = sqliteTable(
  'daily_counts',
  {
    /** Days since 1970 in UTC. */
    day: integer('day').notNull(),
    productId: integer('product_id').notNull(),
    status: text('status', { enum: LICENSE_STATUSES }).notNull(),
    count: integer('count').notNull(),
  },
  (t) => [primaryKey({ columns: [t.day, t.productId, t.status] })],
);

/** API tokens, with the SHA-256 of the secret. The row of a revoked token stays, for its id to stay reserved. */
export const tokens = sqliteTable(
  'tokens',
  {
    id: id(),
    name: text('name').notNull(),
    tokenHash: text('token_hash').notNull(),
    intents: text('intents', { mode: 'json' }).$type<readonly ApiIntent[]>().notNull(),
    expiresAt: integer('expires_at'),
    lastUsedAt: integer('last_used_at'),
    revokedAt: integer('revoked_at'),
    createdAt: createdAt(),
    updatedAt: updatedAt(),
    revision: revision(),
  },
  (t) => [
    uniqueIndex('tokens_hash').on(t.tokenHash),
    check('tokens_intents', sql`json_valid(${t.intents})`),
  ],
);

/**
 * The outbox: the changes of licenses, tokens and the policy that are still to be published, written in the
 * transaction of the change. Bindings and most new licenses of a batch or an import are not in it. `subject` is
 * `license:` and the normalized key, `token:` and the hash, or `policy`. Without a rowid.
 */
export const outbox = sqliteTable(
  'outbox',
  {
    subject: text('subject').primaryKey(),
    revision: integer('revision').notNull(),
  },
  // The oldest changes are found without a pass over all: the handler looks each minute.
  (t) => [index('outbox_revision').on(t.revision)],
);

/**
 * The events (5): one for each change, with its sender. `id` holds the time (see `lib/time-id.ts`), so that a range
 * of time needs no index. `changes` is JSON of the values before and after, by field.
 */
export const events = sqliteTable(
  'events',
  {
    id: integer('id').primaryKey(),
    type: text('type', { enum: EVENT_TYPES }).notNull(),
    /** Null for ROOT_TOKEN. */
    tokenId: integer('token_id'),
    isConsole: integer('is_console', { mode: 'boolean' }).notNull(),
    ip: text('ip'),
    resourceType: text('resource_type', { enum: EVENT_RESOURCES }).notNull(),
    /** Null for a change of many objects at once. */
    resourceId: integer('resource_id'),
    changes: text('changes'),
    /** Null for a change that came with a token or ROOT_TOKEN. */
    actor: text('actor').$type<'service' | 'customer' | `discord:${string}`>(),
    /** The customer who made the change (10). */
    customerId: integer('customer_id'),
  },
  (t) => [
    index('events_resource').on(t.resourceType, t.resourceId),
    index('events_service').on(t.id).where(sql`${t.actor} is not null`),
  ],
);

/** The addresses to which events are sent (8). */
export const webhooks = sqliteTable(
  'webhooks',
  {
    id: id(),
    url: text('url').notNull(),
    format: text('format', { enum: WEBHOOK_FORMATS }).notNull(),
    /** Types of events and their groups; none for all events. */
    types: text('types', { mode: 'json' }).$type<readonly WebhookType[]>().notNull(),
    isEnabled: integer('is_enabled', { mode: 'boolean' }).notNull(),
    description: textOrEmpty('description'),
    /** Signs each message, so it is stored itself and not its hash. */
    secret: text('secret').notNull(),
    /** The secret before the last rotation, which also signs until a time. */
    previousSecret: text('previous_secret'),
    previousSecretUntil: integer('previous_secret_until'),
    disabledReason: text('disabled_reason'),
    /** The origin of the console, for links in messages; null if it is not public. */
    consoleOrigin: text('console_origin'),
    /** To within five minutes. */
    lastSuccessAt: integer('last_success_at'),
    failingSince: integer('failing_since'),
    /** No attempt is made before this time, because the receiver asked for a pause. */
    pausedUntil: integer('paused_until'),
    createdAt: createdAt(),
    updatedAt: updatedAt(),
    revision: revision(),
  },
  (t) => [
    check('webhooks_format', oneOf(t.format, WEBHOOK_FORMATS)),
    check('webhooks_types', sql`json_valid(${t.types})`),
  ],
);

/**
 * The deliveries of events to webhooks (8), stored in the transaction of the event. The body of a message is made from
 * the event, which does not change. Without a rowid.
 */
export const deliveries = sqliteTable(
  'deliveries',
  {
    webhookId: integer('webhook_id').notNull(),
    /** The id of the event. That of a ping holds its time, too. */
    id: integer('id').notNull(),
    /** The type of the event, or `ping`. */
    type: text('type').notNull(),
    /** Counts the attempts. The result of an attempt is stored only while its number is the last. */
    attempts: integer('attempts').notNull(),
    /** The next delay in the schedule of retries. */
    step: integer('step').notNull(),
    /** When the next attempt is due; null without one. During an attempt it is the end of its lease. */
    nextAt: integer('next_at'),
    /** Until when an attempt under way has the delivery for itself; null for none under way. */
    leaseUntil: integer('lease_until'),
    attemptedAt: integer('attempted_at'),
    /** The HTTP status of the last attempt. */
    status: integer('status'),
    error: text('error'),
    response: text('response'),
    durationMs: integer('duration_ms'),
  },
  (t) => [
    primaryKey({ columns: [t.webhookId, t.id] }),
    // Only open deliveries take space in it.
    index('deliveries_due').on(t.webhookId, t.nextAt).where(sql`${t.nextAt} is not null`),
  ],
);

/** When the service last made an event of a type about a license: at most once a day (8). Without a rowid. */
export const alerts = sqliteTable(
  'alerts',
  {
    licenseId: integer('license_id').notNull(),
    type: text('type', { enum: SERVICE_EVENT_TYPES }).notNull(),
    raisedAt: integer('raised_at').notNull(),
  },
  (t) => [primaryKey({ columns: [t.licenseId, t.type] })],
);

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
  },
  (t) => [
    uniqueIndex('markets_path').on(t.path),
    check('markets_kind', oneOf(t.kind, MARKET_KINDS)),
    check('markets_products', sql`json_valid(${t.products})`),
  ],
);

/** A payment of a subscription: an invoice, or the order of a renewal. */
export interface PaidPeriod {
  /** Of the payment, in milliseconds since 1970: the latest one decides. */
  at: number;
  /** Null if the market has not said until when it is paid. */
  until: number | null;
  /** A payment of zero is a trial or a change of the plan. Null if the market has not said it. */
  amount: number | null;
}

/**
 * The facts about a purchase or a subject (9). They are merged and never taken back, and the state of a
 * purchase is a function of them: it does not depend on the order of the notices, nor on their repetitions.
 */
export interface Facts {
  /** The latest purchase, in milliseconds since 1970. A buyer may buy again after a refund. */
  boughtAt?: number;
  refunded?: number;
  removed?: number;
  missing?: number;
  /** The last steps of disputes, by their ids. */
  disputes?: Record<string, 'opened' | 'won' | 'lost'>;
  /** When a subscription was told to have ended, and to go on. */
  ended?: number;
  continued?: number;
  /** Until when something is paid by a payment that the market does not name. */
  paidUntil?: number;
  paid?: PaidPeriod;
  /** When a subscription was told to be paused, unpaid, and active. */
  paused?: number;
  unpaid?: number;
  active?: number;
  /** The amount of an order or a line, and what was paid back of it, by the ids of the refunds. */
  total?: number;
  refunds?: Record<string, number>;
  /** The order line of a purchase or a subject, where an order has several. */
  line?: string;
  /** The e-mail of the buyer, which another notice than that of the purchase gives. */
  email?: string;
  /** The number of licenses that an invoice names. */
  quantity?: number;
  /** 1 if more may have been bought than the notice says, and if another one has said it. */
  unclear?: number;
  counted?: number;
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
    /** Replaced by `licenses.deactivated_by`: only the previous version reads it. */
    deactivatedRevision: integer('deactivated_revision'),
    /** Consecutive comparisons in which the market did not list it. */
    misses: integer('misses').notNull().default(0),
    createdAt: createdAt(),
    updatedAt: updatedAt(),
    revision: revision(),
  },
  (t) => [
    uniqueIndex('purchases_reference').on(t.marketId, t.item, t.reference, t.unit),
    index('purchases_order').on(t.marketId, t.orderId).where(sql`${t.orderId} is not null`),
    index('purchases_license').on(t.licenseId).where(sql`${t.licenseId} is not null`),
    index('purchases_market').on(t.marketId, t.id),
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
  },
  (t) => [primaryKey({ columns: [t.marketId, t.id] })],
);

/** The sessions of the console (4). A session that was ended or is too old is removed. Without a rowid. */
export const sessions = sqliteTable('sessions', {
  /** SHA-256 of the 256 random bits in the cookie. */
  sessionHash: text('session_hash').primaryKey(),
  /** SHA-256 of the token, also of ROOT_TOKEN: a session is its token. */
  tokenHash: text('token_hash').notNull(),
  createdAt: createdAt(),
  lastUsedAt: integer('last_used_at').notNull(),
});

/** The slots that customers freed themselves (10), for the budget of 30 days. Without a rowid. */
export const selfResets = sqliteTable(
  'self_resets',
  {
    licenseId: integer('license_id').notNull(),
    /** Milliseconds since 1970, and the revision of the license that it made. */
    resetAt: integer('reset_at').notNull(),
  },
  (t) => [primaryKey({ columns: [t.licenseId, t.resetAt] })],
);

/** Replaced by {@link pageLinks}: only the previous version reads it. Without a rowid. */
export const portalCodes = sqliteTable(
  'portal_codes',
  {
    codeHash: text('code_hash').primaryKey(),
    customerId: integer('customer_id').notNull(),
    createdAt: createdAt(),
    usedAt: integer('used_at'),
  },
  (t) => [index('portal_codes_created').on(t.createdAt)],
);

/** Replaced by {@link pageSessions}: only the previous version reads it. Without a rowid. */
export const portalSessions = sqliteTable(
  'portal_sessions',
  {
    sessionHash: text('session_hash').primaryKey(),
    customerId: integer('customer_id').notNull(),
    createdAt: createdAt(),
  },
  (t) => [index('portal_sessions_created').on(t.createdAt)],
);

/** A link or session belongs to a customer, or to an account at Discord, which may have licenses of several (10). */
const pageOwner = () => ({ customerId: integer('customer_id'), chatId: text('chat_id') });
const isOneOwner = (t: { customerId: AnySQLiteColumn; chatId: AnySQLiteColumn }): SQL =>
  sql`(${t.customerId} is null) <> (${t.chatId} is null)`;

/** The links to the customer's page (10), each of one use. Without a rowid. */
export const pageLinks = sqliteTable(
  'page_links',
  {
    /** SHA-256 of the 256 random bits in the link. */
    codeHash: text('code_hash').primaryKey(),
    ...pageOwner(),
    expiresAt: integer('expires_at').notNull(),
    usedAt: integer('used_at'),
  },
  (t) => [index('page_links_expiry').on(t.expiresAt), check('page_links_owner', isOneOwner(t))],
);

/** The sessions of the customer's page (10). Without a rowid. */
export const pageSessions = sqliteTable(
  'page_sessions',
  {
    /** SHA-256 of the 256 random bits in the cookie. */
    sessionHash: text('session_hash').primaryKey(),
    ...pageOwner(),
    createdAt: createdAt(),
  },
  (t) => [
    index('page_sessions_created').on(t.createdAt),
    check('page_sessions_owner', isOneOwner(t)),
  ],
);

/** The codes by which a customer's page links an account at Discord (10): the newest one of each customer. */
export const discordLinkCodes = sqliteTable(
  'discord_link_codes',
  {
    customerId: integer('customer_id').primaryKey(),
    codeHash: text('code_hash').notNull(),
    expiresAt: integer('expires_at').notNull(),
  },
  (t) => [uniqueIndex('discord_link_codes_hash').on(t.codeHash)],
);

/** Settings of the service that administrators change while it runs (10). Without a rowid. */
export const settings = sqliteTable('settings', {
  name: text('name', { enum: ['portal', 'discord'] }).primaryKey(),
  /** JSON of the fields. */
  value: text('value').notNull(),
  updatedAt: updatedAt(),
  revision: revision(),
});

/** The interactions of the last minutes (10): each is handled once. Without a rowid. */
export const discordInteractions = sqliteTable(
  'discord_interactions',
  {
    id: text('id').primaryKey(),
    handledAt: integer('handled_at').notNull(),
  },
  (t) => [index('discord_interactions_handled').on(t.handledAt)],
);

/** The products of which an account at Discord has got its license by a role (10): one each. Without a rowid. */
export const discordClaims = sqliteTable(
  'discord_claims',
  {
    chatId: text('chat_id').notNull(),
    productId: integer('product_id').notNull(),
  },
  (t) => [primaryKey({ columns: [t.chatId, t.productId] })],
);

/** The roles that were given at Discord (10). Without a rowid. */
export const discordRoles = sqliteTable(
  'discord_roles',
  {
    chatId: text('chat_id').notNull(),
    roleId: text('role_id').notNull(),
    /** When it is next looked at whether a license still gives the role. */
    dueAt: integer('due_at').notNull(),
  },
  (t) => [primaryKey({ columns: [t.chatId, t.roleId] }), index('discord_roles_due').on(t.dueAt)],
);

/** The POSTs with an `Idempotency-Key` of the last 24 hours (see `idempotency.ts`). */
export const idempotencyKeys = sqliteTable(
  'idempotency_keys',
  {
    id: integer('id').primaryKey(),
    /** 0 for ROOT_TOKEN. */
    tokenId: integer('token_id').notNull(),
    keyHash: text('key_hash').notNull(),
    requestHash: text('request_hash').notNull(),
    createdAt: createdAt(),
    /** The customer whose data is in `created`. */
    customerId: integer('customer_id'),
    /** The created object as JSON. Null for a token, whose secret is not stored, and a forgotten customer. */
    created: text('created'),
  },
  (t) => [uniqueIndex('idempotency_keys_key').on(t.tokenId, t.keyHash)],
);

/** Single numbers: the revision of the policy, and the progress of the scheduled tasks. */
export const counters = sqliteTable('counters', {
  name: text('name', {
    enum: [
      'policy_revision',
      'rolled_up_bucket',
      'aggregated_bucket',
      'alerted_bucket',
      'alerts_due_at',
      'alerts_since',
      'expiries_checked_at',
    ],
  }).primaryKey(),
  value: integer('value').notNull(),
});

/**
 * The ids of deleted objects, which no import may use again, and when the objects were created. AUTOINCREMENT
 * covers new objects. Without a rowid.
 */
export const deletedIds = sqliteTable(
  'deleted_ids',
  {
    type: text('type', { enum: ['products', 'licenses', 'blacklists'] }).notNull(),
    id: integer('id').notNull(),
    createdAt: createdAt(),
  },
  (t) => [primaryKey({ columns: [t.type, t.id] })],
);

const CONSTRAINTS = [
  'token_is_live',
  'token_is_allowed',
  'object_is_unchanged',
  'product_is_unused',
  'customer_is_shown',
  'customer_exists',
  'customer_has_email',
] as const;

/**
 * Always empty. A batch inserts the name of a constraint where its condition does not hold (see `change.ts`). The
 * constraint rejects its own name, which fails the batch.
 */
export const violations = sqliteTable(
  'violations',
  { name: text('name', { enum: CONSTRAINTS }).notNull() },
  (t) => CONSTRAINTS.map((name) => check(name, sql`${t.name} <> ${sql.raw(`'${name}'`)}`)),
);
