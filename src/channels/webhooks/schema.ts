import { WEBHOOK_FORMATS, type WebhookType } from '@licet/contract/enums';
import { sql } from 'drizzle-orm';
import { check, index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import { createdAt, id, oneOf, revision, textOrEmpty, updatedAt } from '../../db/columns.ts';

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

export type WebhookRow = typeof webhooks.$inferSelect;

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
