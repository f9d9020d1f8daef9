import type { Entitlements } from '@licet/contract/entitlements';
import { PRODUCT_TYPES } from '@licet/contract/enums';
import { DEFAULT_CHECK_AFTER_HOURS } from '@licet/contract/limits';
import { type SQL, sql } from 'drizzle-orm';
import {
  type AnySQLiteColumn,
  check,
  index,
  integer,
  sqliteTable,
  text,
} from 'drizzle-orm/sqlite-core';
import { createdAt, id, oneOf, revision, textOrEmpty, updatedAt } from '../../db/columns.ts';

/** Whether a product has settings that the policy has (1.8, 11). The index is used for this condition alone. */
export const isInPolicy = (
  columns: Record<'offlineDays' | 'checkAfterHours' | 'entitlements', AnySQLiteColumn>,
): SQL =>
  sql`(${columns.offlineDays} > 0 or ${columns.checkAfterHours} <> ${sql.raw(String(DEFAULT_CHECK_AFTER_HOURS))} or ${columns.entitlements} is not null)`;

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
    /** The number of times that customers may free slots of a license themselves in 30 days (10). */
    selfResets: integer('self_resets').notNull().default(0),
    /** Whether customers may replace the key of a license themselves (10). */
    selfRotate: integer('self_rotate', { mode: 'boolean' }).notNull().default(false),
    /** The hours after which a program asks again (1.8). */
    checkAfterHours: integer('check_after_hours').notNull().default(DEFAULT_CHECK_AFTER_HOURS),
    /** Null without any (11). */
    entitlements: text('entitlements', { mode: 'json' }).$type<Entitlements>(),
  },
  (t) => [
    // Covers the products that each load of the policy reads, and finds none of the others for their licenses.
    index('products_policy')
      .on(t.id, t.offlineDays, t.checkAfterHours, t.entitlements)
      .where(isInPolicy(t)),
    check('products_offline_days', sql`${t.offlineDays} between 0 and 90`),
    check('products_product_type', oneOf(t.productType, PRODUCT_TYPES)),
    check('products_default_max_ips', sql`${t.defaultMaxIPs} >= -1`),
    check('products_default_max_hwids', sql`${t.defaultMaxHWIDs} >= -1`),
  ],
);
