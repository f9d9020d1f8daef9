import { MAIL_KINDS, MAIL_LANGUAGES, MAIL_STATES } from '@licet/contract/mail-kinds';
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
import { createdAt, id, oneOf } from '../../db/columns.ts';

/** Mails to customers (13). Neither address nor text is stored: both are read when a mail is sent. */
export const mails = sqliteTable(
  'mails',
  {
    id: id(),
    kind: text('kind', { enum: MAIL_KINDS }).notNull(),
    /** Its identity (see `causes.ts`): no cause has a second mail. */
    cause: text('cause').notNull(),
    licenseId: integer('license_id'),
    customerId: integer('customer_id'),
    /** Null for the one that the customer or the settings have when it is sent. */
    language: text('language', { enum: MAIL_LANGUAGES }),
    state: text('state', { enum: MAIL_STATES }).notNull(),
    /** Counts the attempts. The outcome of an attempt is stored only while its number is the last. */
    attempts: integer('attempts').notNull(),
    /** The next delay in the schedule of retries. */
    step: integer('step').notNull(),
    /** When the next attempt is due; null without one. During an attempt it is the end of its lease. */
    nextAt: integer('next_at'),
    /** Until when an attempt under way has the mail for itself; null for none under way. */
    leaseUntil: integer('lease_until'),
    /** The attempts that perhaps sent it. */
    losses: integer('losses').notNull(),
    /** HMAC of the connecting address that asked for a link. */
    askedFrom: text('asked_from'),
    /** The id that the sender gave it, by which bounces name it. */
    providerId: text('provider_id'),
    error: text('error'),
    createdAt: createdAt(),
    /** When it was sent, or perhaps sent, for the last time. */
    sentAt: integer('sent_at'),
  },
  (t) => [
    uniqueIndex('mails_cause').on(t.cause),
    // Reminders wait behind all others.
    index('mails_due').on(t.kind, t.nextAt).where(sql`${t.nextAt} is not null`),
    index('mails_created').on(t.createdAt),
    index('mails_sent').on(t.sentAt).where(sql`${t.sentAt} is not null`),
    index('mails_license').on(t.licenseId).where(sql`${t.licenseId} is not null`),
    index('mails_customer').on(t.customerId).where(sql`${t.customerId} is not null`),
    index('mails_asked').on(t.askedFrom, t.createdAt).where(sql`${t.askedFrom} is not null`),
    index('mails_provider').on(t.providerId).where(sql`${t.providerId} is not null`),
    check('mails_kind', oneOf(t.kind, MAIL_KINDS)),
    check('mails_state', oneOf(t.state, MAIL_STATES)),
  ],
);

export type MailRow = typeof mails.$inferSelect;

const BLOCK_SCOPES = ['all', 'reminders'] as const;
const BLOCK_REASONS = ['BOUNCED', 'COMPLAINED', 'REFUSED', 'UNSUBSCRIBED'] as const;
export type BlockReason = (typeof BLOCK_REASONS)[number];

/** Addresses that get no mail, or no reminders (13). Without a rowid. */
export const mailBlocks = sqliteTable(
  'mail_blocks',
  {
    /** HMAC of the normalized address, by a key of ROOT_TOKEN. */
    addressHash: text('address_hash').notNull(),
    scope: text('scope', { enum: BLOCK_SCOPES }).notNull(),
    reason: text('reason', { enum: BLOCK_REASONS }).notNull(),
    createdAt: createdAt(),
  },
  (t) => [
    primaryKey({ columns: [t.addressHash, t.scope] }),
    check('mail_blocks_scope', oneOf(t.scope, BLOCK_SCOPES)),
    check('mail_blocks_reason', oneOf(t.reason, BLOCK_REASONS)),
  ],
);
