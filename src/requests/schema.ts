import { LICENSE_STATUSES } from '@licet/contract/enums';
import { integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import { REQUEST_TYPE_CODES, RESPONSE_TYPE_CODES } from '../db/codes.ts';
import { coded } from '../db/columns.ts';

const requestType = coded(REQUEST_TYPE_CODES);
const responseType = coded(RESPONSE_TYPE_CODES);

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
