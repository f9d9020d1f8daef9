import { and, eq, isNull, lt, or } from 'drizzle-orm';
import type { Database } from '../db/client';
import { tokens } from '../db/schema';
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
 * @param afterAnswer keeps a promise alive after the answer: the time of use is written then
 */
export async function authenticate(
  db: Database,
  token: string,
  rootToken: string | undefined,
  now: number,
  afterAnswer: (write: Promise<unknown>) => void,
): Promise<readonly ApiIntent[] | null> {
  if (token === '') return null;
  if (await isRootToken(token, rootToken)) return ['ALL_READ_WRITE'];

  const [row] = await db
    .select({
      id: tokens.id,
      intents: tokens.intents,
      expiresAt: tokens.expiresAt,
      lastUsedAt: tokens.lastUsedAt,
    })
    .from(tokens)
    .where(and(eq(tokens.tokenHash, await hashToken(token)), isNull(tokens.revokedAt)));
  if (!row || (row.expiresAt !== null && row.expiresAt <= now)) return null;

  const staleBefore = now - LAST_USED_PRECISION_MS;
  if (row.lastUsedAt === null || row.lastUsedAt < staleBefore) {
    const isStale = or(isNull(tokens.lastUsedAt), lt(tokens.lastUsedAt, staleBefore));
    afterAnswer(
      db
        .update(tokens)
        .set({ lastUsedAt: now })
        .where(and(eq(tokens.id, row.id), isStale)),
    );
  }
  return row.intents;
}
