import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import { createdAt } from '../db/columns.ts';

/** The sessions of the console (4). A session that was ended or is too old is removed. Without a rowid. */
export const sessions = sqliteTable('sessions', {
  /** SHA-256 of the 256 random bits in the cookie. */
  sessionHash: text('session_hash').primaryKey(),
  /** SHA-256 of the token, also of ROOT_TOKEN: a session is its token. */
  tokenHash: text('token_hash').notNull(),
  createdAt: createdAt(),
  lastUsedAt: integer('last_used_at').notNull(),
});
