import { and, eq, isNull, lt, or } from 'drizzle-orm';
import type { Database } from '../db/client';
import { tokens } from '../db/schema';
import type { Edge } from '../edge/edge';
import type { Visit } from '../edge/visit';
import type { ApiIntent } from '../enums';

const PREFIX = 'licet_';
const MIN_ROOT_TOKEN_LENGTH = 32;
const LAST_USED_PRECISION_MS = 5 * 60 * 1000;

/** A new API token: 256 random bits behind a prefix that secret scanners can know [5]. */
export function newToken(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(32));
  return `${PREFIX}${bytes.toBase64({ alphabet: 'base64url', omitPadding: true })}`;
}

const sha256 = (text: string): Promise<ArrayBuffer> =>
  crypto.subtle.digest('SHA-256', new TextEncoder().encode(text));

/** What is stored of a token. A fast hash is right: there is nothing to guess in 256 random bits. */
export const hashToken = async (token: string): Promise<string> =>
  new Uint8Array(await sha256(token)).toHex();

async function isRootToken(token: string, rootToken: string | undefined): Promise<boolean> {
  if (rootToken === undefined || rootToken.length < MIN_ROOT_TOKEN_LENGTH) return false;
  return crypto.subtle.timingSafeEqual(await sha256(token), await sha256(rootToken));
}

/**
 * The intents that a token holds; null for one that is unknown, expired or revoked (3.2).
 *
 * @param now milliseconds since 1970
 * @param visit after it the time of use is written
 */
export async function authenticate(
  edge: Edge,
  token: string,
  rootToken: string | undefined,
  now: number,
  visit: Visit,
): Promise<readonly ApiIntent[] | null> {
  if (token === '') return null;
  if (await isRootToken(token, rootToken)) return ['ALL_READ_WRITE'];

  const hash = await hashToken(token);
  const found = await edge.tokens.find(hash, visit);
  if (!found) return null;
  const isLive = found.revokedAt === null && (found.expiresAt === null || found.expiresAt > now);
  if (edge.isFirstUse(found, now, LAST_USED_PRECISION_MS)) {
    const checked = (isLive ? markUsed : readRevision)(edge.db, found.id, now);
    visit.afterAnswer(
      checked
        .then((revision) =>
          // The database was set back: what the copy tells was undone.
          revision === found.revision ? undefined : edge.tokens.drop(hash),
        )
        .catch(() => edge.forgetUse(found)),
    );
  }
  return isLive ? found.intents : null;
}

const selectRevision = (db: Database, id: number) =>
  db.select({ revision: tokens.revision }).from(tokens).where(eq(tokens.id, id));

async function readRevision(db: Database, id: number): Promise<number | undefined> {
  const [token] = await selectRevision(db, id);
  return token?.revision;
}

/** @returns the token's revision; undefined where there is none */
async function markUsed(db: Database, id: number, now: number): Promise<number | undefined> {
  const [, [token]] = await db.batch([
    db
      .update(tokens)
      .set({ lastUsedAt: now })
      .where(
        and(
          eq(tokens.id, id),
          or(isNull(tokens.lastUsedAt), lt(tokens.lastUsedAt, now - LAST_USED_PRECISION_MS)),
        ),
      ),
    selectRevision(db, id),
  ]);
  return token?.revision;
}
