import type { EntitlementEnds, OwnEntitlements } from '@licet/contract/entitlements';
import {
  LICENSE_DATA_TYPES,
  LICENSE_PLATFORMS,
  LICENSE_STATES,
  LICENSE_TYPES,
  SERVICE_EVENT_TYPES,
} from '@licet/contract/enums';
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
import { createdAt, id, metadata, oneOf, textOrEmpty, updatedAt } from '../../db/columns.ts';
import { customers } from '../customers/schema.ts';
import { products } from '../products/schema.ts';

/**
 * [2.2] `licenseKeyNormalized` is the key as it is compared, because imported keys have any format. The first
 * `revision` is the time of creation: a license created again under an earlier key is newer than every snapshot
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
    metadata: metadata(),
    /** Those of the license itself (11), and the ends of some; null without any. */
    entitlements: text('entitlements', { mode: 'json' }).$type<OwnEntitlements>(),
    entitlementsExpire: text('entitlements_expire', { mode: 'json' }).$type<EntitlementEnds>(),
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

/** The replaced keys of licenses (7). Without a rowid. */
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
