import { and, asc, count, eq, gt, isNull, type SQL } from 'drizzle-orm';
import { logNew, logTokens, nextRevision } from '../../db/change-log';
import type { Database } from '../../db/client';
import type { Page } from '../../db/predicates';
import { tokens } from '../../db/schema';
import type { Writer } from '../../db/writer';
import type { TokenRow, TokenValues } from './schema';

/** A revoked token is gone for everyone but the database, which keeps its id and name. */
const isLive = isNull(tokens.revokedAt);

/** A page of the live tokens that match, sorted by id. */
export const listTokens = (db: Database, page: Page): Promise<TokenRow[]> =>
  db
    .select()
    .from(tokens)
    .where(and(isLive, gt(tokens.id, page.after ?? 0)))
    .orderBy(asc(tokens.id))
    .limit(page.limit);

/** How many live tokens match. */
export async function countTokens(db: Database): Promise<number> {
  const [row] = await db.select({ total: count() }).from(tokens).where(isLive);
  return row?.total ?? 0;
}

/** The live token with an id. */
export async function findToken(db: Database, id: number): Promise<TokenRow | undefined> {
  const [row] = await db
    .select()
    .from(tokens)
    .where(and(isLive, eq(tokens.id, id)));
  return row;
}

/** Stores a new live token; `now` in milliseconds since 1970. */
export async function insertToken(
  { db, guard, changed }: Writer,
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
  ]);
  changed(changes);
  if (!row) throw new Error('The token was not stored');
  return row;
}

const isUnchanged = (row: TokenRow): SQL | undefined =>
  and(eq(tokens.id, row.id), eq(tokens.revision, row.revision));

/**
 * The token as changed or, with `revokedAt` (milliseconds since 1970), as revoked; undefined when
 * somebody else has changed it since it was read.
 */
export async function updateToken(
  { db, guard, changed }: Writer,
  row: TokenRow,
  changes: Partial<TokenValues> & { revokedAt?: number },
  now: number,
): Promise<TokenRow | undefined> {
  const [, logged, [updated]] = await db.batch([
    guard(),
    logTokens(db, isUnchanged(row), now),
    db
      .update(tokens)
      .set({ ...changes, updatedAt: now, revision: nextRevision(row.revision, now) })
      .where(isUnchanged(row))
      .returning(),
  ]);
  changed(logged);
  return updated;
}
