import { settable } from '@licet/contract/resource';
import { toOptionalTimestamp, toTimestamp } from '@licet/contract/time';
import { type OwnToken, pickToken, tokenFields } from '@licet/contract/tokens';
import { and, eq, isNull, sql } from 'drizzle-orm';
import { change, isUnchanged, only, type Sender } from '../../db/change.ts';
import type { Database, Statement } from '../../db/client.ts';
import { differ, newestId } from '../../db/events.ts';
import { nextRevision, touchToken } from '../../db/outbox.ts';
import { rowsById } from '../../db/predicates.ts';
import { grants, tokens } from './schema.ts';

type TokenRow = typeof tokens.$inferSelect;
/** The columns that a client sets. */
type TokenValues = Pick<TokenRow, 'name' | 'intents' | 'expiresAt'>;

/** A token as responses show it, without its secret. */
export const toToken = (row: TokenRow) =>
  pickToken({
    ...row,
    intents: [...row.intents],
    expiresAt: toOptionalTimestamp(row.expiresAt),
    lastUsedAt: toOptionalTimestamp(row.lastUsedAt),
    createdAt: toTimestamp(row.createdAt),
    updatedAt: toTimestamp(row.updatedAt),
  });

/** The fields that events show. They do not include the secret. */
const diff = differ(Object.keys(settable(tokenFields)));

/** The fields of a token that a client sets, as GET shows them. */
const shown = ({ name, intents, expiresAt }: TokenValues) => ({
  name,
  intents: [...intents],
  expiresAt: toOptionalTimestamp(expiresAt),
});

/** The token of a request; `id` is null for ROOT_TOKEN. */
export const toOwnToken = ({ id, ...values }: TokenValues & { id: number | null }): OwnToken => ({
  id,
  ...shown(values),
});

/**
 * The row of a revoked token stays, so that its id and name stay known. Nothing else shows it, nor the grants to which it
 * consented (12.7).
 */
const isShown = and(
  isNull(tokens.revokedAt),
  sql`not (${tokens.client} is not null and exists (select 1 from ${grants} as given, ${tokens} as consenter
    where given.token_id = ${tokens.id} and consenter.token_hash = given.consenter_hash
      and consenter.revoked_at is not null))`,
);

export const listTokens = (db: Database) => rowsById(db, tokens, isShown);

/** The token with an id, unless it is revoked. */
export const findToken = (db: Database, id: number): Promise<TokenRow | undefined> =>
  db
    .select()
    .from(tokens)
    .where(and(isShown, eq(tokens.id, id)))
    .get();

/** @param grant stores the grant of the token, if it has one */
export async function insertToken(
  sender: Sender,
  values: TokenValues & Pick<TokenRow, 'tokenHash'> & Partial<Pick<TokenRow, 'client'>>,
  grant: readonly Statement[] = [],
): Promise<TokenRow> {
  const { db, now } = sender;
  const { stored } = await change(sender, {
    event: { type: 'token.created', id: newestId(tokens), changes: diff(null, shown(values)) },
    touches: [touchToken(values.tokenHash, now)],
    statements: {
      stored: db
        .insert(tokens)
        .values({ ...values, createdAt: now, updatedAt: now, revision: now })
        .returning(),
      grant,
    },
    // Its secret is not stored anywhere.
    creates: null,
  });
  return only(stored);
}

/** Changes a token, or revokes it. @throws DomainError if another request has changed it since it was read */
export async function updateToken(
  sender: Sender,
  row: TokenRow,
  values: Partial<TokenValues & Pick<TokenRow, 'revokedAt'>>,
): Promise<TokenRow> {
  const { db, now } = sender;
  const updated = { ...row, ...values };
  const isRevoked = updated.revokedAt !== null;
  const type = isRevoked ? 'token.deleted' : 'token.updated';
  const after = isRevoked ? null : shown(updated);
  const revision = nextRevision(row.revision, now);
  const { stored } = await change(sender, {
    event: { type, id: row.id, changes: diff(shown(row), after) },
    touches: [touchToken(row.tokenHash, revision)],
    when: [isUnchanged(tokens, row)],
    statements: {
      stored: db
        .update(tokens)
        .set({ ...values, updatedAt: now, revision })
        .where(eq(tokens.id, row.id))
        .returning(),
    },
  });
  return only(stored);
}

/** Revokes a token. Throws like {@link updateToken}. */
export const revokeToken = (sender: Sender, row: TokenRow): Promise<TokenRow> =>
  updateToken(sender, row, { revokedAt: sender.now });
