import { EVENT_RESOURCES, EVENT_TYPES } from '@licet/contract/enums';
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
import { createdAt } from './columns.ts';

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
    actor: text('actor').$type<'service' | 'customer' | 'program' | `discord:${string}`>(),
    /** The customer who made the change (10). */
    customerId: integer('customer_id'),
    /** Whether an assistant made the change with the token (12). */
    isMcp: integer('is_mcp', { mode: 'boolean' }).notNull().default(false),
  },
  (t) => [
    index('events_resource').on(t.resourceType, t.resourceId),
    index('events_service').on(t.id).where(sql`${t.actor} is not null`),
  ],
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
    /** The response that the version before kept: no longer read. */
    customerId: integer('customer_id'),
    created: text('created'),
    /** Those of the created objects; their type follows from the path. Null if the response has a secret. */
    ids: text('ids', { mode: 'json' }).$type<readonly number[]>(),
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
