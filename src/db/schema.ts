import { type SQL, sql } from 'drizzle-orm';
import type { AnySQLiteColumn } from 'drizzle-orm/sqlite-core';
import {
  check,
  index,
  integer,
  primaryKey,
  sqliteTable,
  text,
  uniqueIndex,
} from 'drizzle-orm/sqlite-core';
import type { ApiIntent } from '../enums';
import {
  LICENSE_DATA_TYPES,
  LICENSE_PLATFORMS,
  LICENSE_STATES,
  LICENSE_TYPES,
  PRODUCT_TYPES,
  REQUEST_TYPES,
  RESPONSE_TYPES,
} from '../enums';

/**
 * The tables in D1. What a wrong program could store, the constraints refuse: duplicate keys and
 * bindings, unknown enum values, impossible limits, a license without its product.
 *
 * - Times are milliseconds since 1970 in UTC (`…At`).
 * - `revision` starts at 1 and grows with every change that an administrator or a binding makes;
 *   it is the ETag and what concurrent writers compare.
 * - AUTOINCREMENT where the interface hands out ids: they are never used again.
 * - No foreign key cascades: what goes with a product is deleted by name.
 */

const oneOf = (column: AnySQLiteColumn, values: readonly string[]): SQL =>
  sql`${column} in (${sql.raw(values.map((value) => `'${value}'`).join(', '))})`;

const id = () => integer('id').primaryKey({ autoIncrement: true });
const revision = () => integer('revision').notNull().default(1);
const createdAt = () => integer('created_at').notNull();
const updatedAt = () => integer('updated_at').notNull();
const textOrEmpty = (name: string) => text(name).notNull().default('');

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
  },
  (t) => [
    check('products_product_type', oneOf(t.productType, PRODUCT_TYPES)),
    check('products_default_max_ips', sql`${t.defaultMaxIPs} >= -1`),
    check('products_default_max_hwids', sql`${t.defaultMaxHWIDs} >= -1`),
  ],
);

/**
 * [2.5] without `passwordHash`, the chat tokens and what belongs to a login: Licet has no logins, and
 * what is not stored cannot leak.
 * `otherAccountId` is the owner of licenses with platform OTHER; it is never on the wire.
 */
export const customers = sqliteTable(
  'customers',
  {
    id: id(),
    firstName: text('first_name'),
    lastName: text('last_name'),
    username: text('username'),
    email: text('email'),
    emailFolded: text('email_folded'),
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
    uniqueIndex('customers_email').on(t.emailFolded).where(sql`${t.emailFolded} is not null`),
    uniqueIndex('customers_chat').on(t.chatId).where(sql`${t.chatId} is not null`),
    uniqueIndex('customers_platform_a').on(t.platformAId).where(sql`${t.platformAId} is not null`),
    uniqueIndex('customers_platform_b').on(t.platformBId).where(sql`${t.platformBId} is not null`),
    uniqueIndex('customers_platform_c').on(t.platformCId).where(sql`${t.platformCId} is not null`),
    uniqueIndex('customers_market_a').on(t.marketAId).where(sql`${t.marketAId} is not null`),
    uniqueIndex('customers_market_b').on(t.marketBId).where(sql`${t.marketBId} is not null`),
    uniqueIndex('customers_other').on(t.otherAccountId).where(sql`${t.otherAccountId} is not null`),
  ],
);

/** [2.2] `licenseKeyFolded` is the key as it is compared: imported keys have any format. */
export const licenses = sqliteTable(
  'licenses',
  {
    id: id(),
    licenseKey: text('license_key').notNull(),
    licenseKeyFolded: text('license_key_folded').notNull(),
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
    /** What was counted before `license_totals` was there, or elsewhere: see `licenseTotals`. */
    earlierRequests: integer('total_requests').notNull().default(0),
    state: text('state', { enum: LICENSE_STATES }).notNull().default('ACTIVE'),
    notes: textOrEmpty('notes'),
    customerId: integer('customer_id').references(() => customers.id),
    createdAt: createdAt(),
    updatedAt: updatedAt(),
    revision: revision(),
  },
  (t) => [
    uniqueIndex('licenses_key').on(t.licenseKeyFolded),
    index('licenses_product').on(t.productId),
    index('licenses_customer').on(t.customerId),
    index('licenses_chat').on(t.ownerChatId),
    index('licenses_platform').on(t.ownerPlatformId, t.licensePlatform),
    check('licenses_license_type', oneOf(t.licenseType, LICENSE_TYPES)),
    check('licenses_license_platform', oneOf(t.licensePlatform, LICENSE_PLATFORMS)),
    check('licenses_state', oneOf(t.state, LICENSE_STATES)),
    check('licenses_expiry', sql`(${t.licenseType} = 'TEMPORARY') = (${t.expiresAt} is not null)`),
    check('licenses_max_ips', sql`${t.maxIPs} >= -1`),
    check('licenses_max_hwids', sql`${t.maxHWIDs} >= -1`),
    check('licenses_total_requests', sql`${t.earlierRequests} >= 0`),
  ],
);

/**
 * How many of a license's requests were recorded here, none without a row. Apart from `licenses`, of
 * whose wide rows each count would rewrite a page: of these narrow ones hundreds share a page.
 */
export const licenseTotals = sqliteTable(
  'license_totals',
  {
    licenseId: integer('license_id')
      .primaryKey()
      .references(() => licenses.id),
    requests: integer('requests').notNull(),
  },
  (t) => [check('license_totals_requests', sql`${t.requests} >= 0`)],
);

/** The addresses and hardware IDs bound to a license, in the order of `id`. */
export const bindings = sqliteTable(
  'bindings',
  {
    id: integer('id').primaryKey(),
    licenseId: integer('license_id')
      .notNull()
      .references(() => licenses.id),
    kind: text('kind', { enum: LICENSE_DATA_TYPES }).notNull(),
    value: text('value').notNull(),
  },
  (t) => [
    uniqueIndex('bindings_value').on(t.licenseId, t.kind, t.value),
    check('bindings_kind', oneOf(t.kind, LICENSE_DATA_TYPES)),
  ],
);

/** [2.3] An entry without a product is for all products. IP data is a canonical address or CIDR. */
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
    // In a unique index two nulls differ, hence the second one for entries that are for all products.
    uniqueIndex('blacklists_entry').on(t.licenseDataType, t.data, t.productId),
    uniqueIndex('blacklists_entry_for_all')
      .on(t.licenseDataType, t.data)
      .where(sql`${t.productId} is null`),
    index('blacklists_product').on(t.productId),
    check('blacklists_license_data_type', oneOf(t.licenseDataType, LICENSE_DATA_TYPES)),
  ],
);

/**
 * [2.4] The history. The id carries the time of the request (see `requests/id.ts`), so that newest
 * first, `from`, `to` and retention need no index. It names a license and a product that may be
 * gone: history stays.
 */
export const requests = sqliteTable(
  'requests',
  {
    id: integer('id').primaryKey(),
    /** Tells a repeated write of this record from another record that drew the same id. */
    nonce: text('nonce').notNull(),
    licenseId: integer('license_id'),
    licenseKey: text('license_key'),
    licenseKeyFolded: text('license_key_folded'),
    productId: integer('product_id'),
    productVersion: text('product_version'),
    ip: text('ip'),
    hwid: text('hwid'),
    macAddress: text('mac_address'),
    operatingSystem: text('operating_system'),
    operatingSystemVersion: text('operating_system_version'),
    operatingSystemArchitecture: text('operating_system_architecture'),
    javaVersion: text('java_version'),
    requestType: text('request_type', { enum: REQUEST_TYPES }).notNull(),
    /**
     * `valid`, `successful`, `blocked` and `rateLimited` follow from it. Without a check: outcomes
     * are ours to add to, and SQLite changes a check only by rebuilding the table.
     */
    responseType: text('response_type', { enum: RESPONSE_TYPES }).notNull(),
    blockReason: text('block_reason'),
    remarks: text('remarks'),
    spam: integer('spam', { mode: 'boolean' }).notNull().default(false),
  },
  // No index: each would cost every validation a written row. See `requestBlocks`.
  (t) => [check('requests_request_type', oneOf(t.requestType, REQUEST_TYPES))],
);

/**
 * The index of the history, built later and for thousands of records at once (see
 * `requests/terms.ts`). A block is a set of records that have been indexed together; every record is
 * in one block at most.
 */
export const requestBlocks = sqliteTable('request_blocks', {
  newestId: integer('newest_id').primaryKey(),
  oldestId: integer('oldest_id').notNull(),
  /** How many records it was made of, and how many of them were not VALID. */
  records: integer('records').notNull(),
  refused: integer('refused').notNull(),
  /**
   * Made of records that came when the others of their time were indexed already. The other blocks
   * follow one another without overlap, and have indexed all that is not late up to the newest one.
   */
  isLate: integer('is_late', { mode: 'boolean' }).notNull(),
});

/** What the records of a block are found by: a row for each of up to 64 buckets of terms. */
export const requestTerms = sqliteTable('request_terms', {
  /** The block's `newestId` * 64 + the bucket: above 2^53, so that no program may read it. */
  id: integer('id').primaryKey(),
  /** JSON: for each term the ids of its records. */
  recordIds: text('record_ids').notNull(),
});

/**
 * Records that came when the others of their time were indexed already, until they are a block of
 * their own. A trigger on `requests` writes it, in the transaction of the record.
 */
export const lateRequests = sqliteTable('late_requests', { id: integer('id').primaryKey() });

/** API tokens; only the SHA-256 of the secret. A revoked token's row stays, so its id does too. */
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
 * What has changed of that which is also held outside of the database: licenses (`license:` and the
 * folded key), tokens (`token:` and the hash), and the blacklist as a whole (`blacklist`). Triggers
 * write it, in the transaction of the change, so that no writer can forget it. It tells which copies
 * are stale, and which are still to be published (see docs/edge.md).
 *
 * - `seq` grows with every change to anything: who has read up to one reads on from there.
 * - `publishedRevision` is the revision that was put into KV last; below `revision` it has to be put.
 * - `publishedAt` is when, until it is confirmed that KV holds it; then null.
 */
export const changes = sqliteTable(
  'changes',
  {
    subject: text('subject').primaryKey(),
    seq: integer('seq').notNull(),
    revision: integer('revision').notNull(),
    publishedRevision: integer('published_revision').notNull().default(0),
    publishedAt: integer('published_at'),
  },
  (t) => [uniqueIndex('changes_seq').on(t.seq)],
);

/**
 * The ids of what was deleted, and when that had been created: nothing else ever has them. AUTOINCREMENT
 * sees to it for what is made here; an import brings its ids. Triggers write it. It has no rowid, so that
 * a deletion costs one row.
 */
export const deletedIds = sqliteTable(
  'deleted_ids',
  {
    kind: text('kind', { enum: ['products', 'licenses', 'blacklists'] }).notNull(),
    id: integer('id').notNull(),
    createdAt: createdAt(),
  },
  (t) => [primaryKey({ columns: [t.kind, t.id] })],
);
