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
  },
  (t) => [
    uniqueIndex('tokens_hash').on(t.tokenHash),
    check('tokens_intents', sql`json_valid(${t.intents})`),
  ],
);
