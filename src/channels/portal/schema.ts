import { type SQL, sql } from 'drizzle-orm';
import {
  type AnySQLiteColumn,
  check,
  index,
  integer,
  sqliteTable,
  text,
} from 'drizzle-orm/sqlite-core';
import { createdAt } from '../../db/columns.ts';

/** Replaced by {@link pageLinks}: only the previous version reads it, and its old rows are removed. Without a rowid. */
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

/** Replaced by {@link pageSessions}, likewise. Without a rowid. */
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
