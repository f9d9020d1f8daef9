import type { ApiIntent } from '@licet/contract/enums';
import { sql } from 'drizzle-orm';
import { check, integer, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core';
import { createdAt, id, revision, updatedAt } from '../../db/columns.ts';

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
    /** The host of the assistant that got it by consent (12.7); null for a token with a secret. */
    client: text('client'),
  },
  (t) => [
    uniqueIndex('tokens_hash').on(t.tokenHash),
    check('tokens_intents', sql`json_valid(${t.intents})`),
  ],
);

/**
 * The grants of assistants (12.7). Each belongs to a token that no secret of its own opens. Secrets name that token, and
 * the SHA-256 of their 256 random bits is here.
 */
export const grants = sqliteTable('grants', {
  tokenId: integer('token_id')
    .primaryKey()
    .references(() => tokens.id),
  /** SHA-256 of the token that consented, also of ROOT_TOKEN: the grant ends with it. */
  consenterHash: text('consenter_hash').notNull(),
  /** SHA-256 of the client's id, which can have 2 KB. */
  clientHash: text('client_hash').notNull(),
  redirectUri: text('redirect_uri').notNull(),
  codeHash: text('code_hash').notNull(),
  codeChallenge: text('code_challenge').notNull(),
  codeExpiresAt: integer('code_expires_at').notNull(),
  /** Null until the code was redeemed. */
  accessHash: text('access_hash'),
  accessExpiresAt: integer('access_expires_at'),
  refreshHash: text('refresh_hash'),
  /** The refresh token before this one. */
  usedRefreshHash: text('used_refresh_hash'),
  refreshedAt: integer('refreshed_at'),
});
