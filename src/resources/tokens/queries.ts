import { and, asc, eq, gt, isNull } from 'drizzle-orm';
import type { Database } from '../../db/client';
import { changesBetween, newestId } from '../../db/events';
import { logNew, logTokens, nextRevision } from '../../db/outbox';
import { existsUnchanged, isUnchanged, type Page } from '../../db/predicates';
import { tokens } from '../../db/schema';
import type { Writer } from '../../db/writer';
import { toOptionalTimestamp } from '../../lib/time';
import { settable } from '../fields';
import { type TokenRow, type TokenValues, tokenFields } from './schema';

/** The fields that events show. They do not include the secret. */
const FIELDS = Object.keys(settable(tokenFields));

/** The fields of a token that a client sets, as GET shows them. */
const shown = ({ name, intents, expiresAt }: TokenValues) => ({
  name,
  intents,
  expiresAt: toOptionalTimestamp(expiresAt),
});

/** The row of a revoked token stays, so that its id and name stay known. Nothing else shows it. */
const isLive = isNull(tokens.revokedAt);

/** The tokens that are not revoked, sorted by id. */
export const listTokens = (db: Database) => ({
  read: ({ limit, after = 0 }: Page): Promise<TokenRow[]> =>
    db
      .select()
      .from(tokens)
      .where(and(isLive, gt(tokens.id, after)))
      .orderBy(asc(tokens.id))
      .limit(limit),
  count: () => db.$count(tokens, isLive),
});

/** The token with an id, unless it is revoked. */
export const findToken = (db: Database, id: number): Promise<TokenRow | undefined> =>
  db
    .select()
    .from(tokens)
    .where(and(isLive, eq(tokens.id, id)))
    .get();

/** Stores a new token; `now` in milliseconds since 1970. */
export async function insertToken(
  { db, guard, event, changed, remember }: Writer,
  values: TokenValues & Pick<TokenRow, 'tokenHash'>,
  now: number,
): Promise<TokenRow> {
  const [, changes, [row]] = await db.batch([
    guard(),
    logNew(db, `token:${values.tokenHash}`, now),
    db
      .insert(tokens)
      .values({ ...values, createdAt: now, updatedAt: now, revision: now })
      .returning(),
    event('token.created', newestId(tokens), changesBetween(FIELDS, null, shown(values))),
    // Its secret is not stored anywhere.
    ...remember(null),
  ]);
  changed(changes);
  if (!row) throw new Error('The token was not stored');
  return row;
}

/**
 * Changes a token, or revokes it if `revokedAt` is set (milliseconds since 1970).
 *
 * @returns undefined if another request has changed it since it was read
 */
export async function updateToken(
  { db, guard, event, changed }: Writer,
  row: TokenRow,
  changes: Partial<TokenValues> & { revokedAt?: number },
  now: number,
): Promise<TokenRow | undefined> {
  const isRevoked = changes.revokedAt !== undefined;
  const [, logged, , [updated]] = await db.batch([
    guard(),
    logTokens(db, isUnchanged(tokens, row), now),
    event(
      isRevoked ? 'token.deleted' : 'token.updated',
      row.id,
      changesBetween(FIELDS, shown(row), isRevoked ? null : shown({ ...row, ...changes })),
      existsUnchanged(tokens, row),
    ),
    db
      .update(tokens)
      .set({ ...changes, updatedAt: now, revision: nextRevision(row.revision, now) })
      .where(isUnchanged(tokens, row))
      .returning(),
  ]);
  changed(logged);
  return updated;
}
