import { HOUR_MS, MINUTE_MS, SESSION_LIFE_MS } from '@licet/contract/durations';
import { and, eq, lte, ne, sql } from 'drizzle-orm';
import { type TokenSnapshot, tokenColumns } from '../cache/snapshots.ts';
import { change, type Sender } from '../db/change.ts';
import type { Database } from '../db/client.ts';
import { removeOld } from '../db/remove-old.ts';
import type { Task } from '../db/task.ts';
import { toBase64url } from '../lib/base64url.ts';
import { sha256Hex } from '../lib/sha256.ts';
import { tokens } from '../resources/tokens/schema.ts';
import { sessions } from './schema.ts';

/** Sessions of the console (4). A session acts as its token: it has the same intents and ends with it. */

const IDLE_LIFE_MS = HOUR_MS;
const LAST_USED_PRECISION_MS = 5 * MINUTE_MS;

/** Stands in the place of a token's hash in the row of a used log-in code. No token has this hash. */
const USED_CODE = 'code';

/** A session that has not expired. */
export interface Session {
  tokenHash: string;
  lastUsedAt: number;
  /** Null for ROOT_TOKEN, and for one that is gone. */
  token: TokenSnapshot | null;
}

/** A new session: 256 random bits for the cookie. */
export const newSession = (): string => toBase64url(crypto.getRandomValues(new Uint8Array(32)));

/**
 * Reads the session with a hash, and the current state of its token. Returns undefined if there is no such session.
 *
 * @param now milliseconds since 1970
 */
export async function findSession(
  db: Database,
  hash: string,
  now: number,
): Promise<Session | undefined> {
  const row = await db
    .select({
      tokenHash: sessions.tokenHash,
      createdAt: sessions.createdAt,
      lastUsedAt: sessions.lastUsedAt,
      token: tokenColumns,
    })
    .from(sessions)
    .leftJoin(tokens, eq(tokens.tokenHash, sessions.tokenHash))
    .where(eq(sessions.sessionHash, hash))
    .get();
  const isLive =
    row && row.createdAt + SESSION_LIFE_MS > now && row.lastUsedAt + IDLE_LIFE_MS > now;
  return isLive ? row : undefined;
}

/**
 * Stores a session and its event, and marks its log-in code as used.
 *
 * @param session the value of the cookie, of which only the hash is stored
 * @throws if the code was used before
 */
export async function insertSession(
  sender: Sender,
  session: { secret: string; tokenHash: string; code: string | undefined },
): Promise<void> {
  const { db, now } = sender;
  const rowOf = async (secret: string, tokenHash: string) => ({
    sessionHash: await sha256Hex(secret),
    tokenHash,
    createdAt: now,
    lastUsedAt: now,
  });
  const rows = [await rowOf(session.secret, session.tokenHash)];
  // The row is removed like a session, long after its code has expired.
  if (session.code !== undefined) rows.push(await rowOf(session.code, USED_CODE));
  await change(sender, {
    event: { type: 'session.created', id: null, changes: null },
    statements: { sessions: db.insert(sessions).values(rows) },
  });
}

/** Whether the stored last use of a session is old enough to be replaced. */
export const isUseDue = ({ lastUsedAt }: Session, now: number): boolean =>
  now - lastUsedAt >= LAST_USED_PRECISION_MS;

export async function markSessionUsed(db: Database, hash: string, now: number): Promise<void> {
  const isOld = lte(sessions.lastUsedAt, now - LAST_USED_PRECISION_MS);
  await db
    .update(sessions)
    .set({ lastUsedAt: now })
    .where(and(eq(sessions.sessionHash, hash), isOld));
}

/** Ends a session. A used code stays used, even if it is sent as the cookie. */
export async function endSession(db: Database, secret: string): Promise<void> {
  const isSession = eq(sessions.sessionHash, await sha256Hex(secret));
  await db.delete(sessions).where(and(isSession, ne(sessions.tokenHash, USED_CODE)));
}

export const REMOVE_SESSIONS: Task = {
  failure: 'Old sessions were not removed',
  most: 1,
  async run({ db, now }) {
    const isTooLong = lte(sessions.createdAt, now - SESSION_LIFE_MS);
    const isIdle = lte(sessions.lastUsedAt, now - IDLE_LIFE_MS);
    await removeOld(db, sessions, sql`session_hash`, sql`${isTooLong} or ${isIdle}`);
  },
};
