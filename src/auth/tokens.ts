import { coveredIntents } from '@licet/contract/consent';
import { MINUTE_MS } from '@licet/contract/durations';
import { API_INTENTS, type ApiIntent } from '@licet/contract/enums';
import { and, eq, isNull, lt, or, type SQL, sql } from 'drizzle-orm';
import type { TokenSnapshot } from '../cache/snapshots.ts';
import type { Condition } from '../db/change.ts';
import type { Database } from '../db/client.ts';
import { toBase64url } from '../lib/base64url.ts';
import { DomainError } from '../lib/errors.ts';
import { activeRootToken } from '../lib/root-token.ts';
import { sha256, sha256Hex } from '../lib/sha256.ts';
import { tokens } from '../resources/tokens/schema.ts';
import type { Grant } from './grants.ts';
import type { Session } from './sessions.ts';

const PREFIX = 'licet_';
/** Precision of the last use of a token. */
export const LAST_USED_PRECISION_MS = 5 * MINUTE_MS;

/** The error for a request without a live token. */
export const NOT_LIVE = new DomainError(
  'not live',
  'Token is missing, unknown, expired or revoked',
);
export const NOT_ALLOWED = new DomainError('not allowed', 'Token lacks a required intent');

/** The sender of a request: a token, or the secret ROOT_TOKEN, which has no id. */
export interface Actor {
  tokenId: number | null;
  intents: readonly ApiIntent[];
  lastUsedAt: number | null;
  /** Whether the request came by a session of the console (4). */
  isConsole: boolean;
  /** SHA-256 of the token that consented to a grant (12.7), which must also be allowed to do what the grant does. */
  consenterHash?: string;
  /** Whether an assistant sends it (12). */
  isMcp: boolean;
}

const ROOT: Actor = {
  tokenId: null,
  intents: ['ALL_READ_WRITE'],
  lastUsedAt: null,
  isConsole: false,
  isMcp: false,
};

/** Whether a token is neither revoked nor expired. @param now milliseconds since 1970 */
export const isLive = (
  { revokedAt, expiresAt }: Pick<TokenSnapshot, 'revokedAt' | 'expiresAt'>,
  now: number,
): boolean => revokedAt === null && (expiresAt === null || expiresAt > now);

/** {@link isLive} in a select from the tokens. */
const isLiveSql = (now: number): SQL =>
  sql`${tokens.revokedAt} is null and ifnull(${tokens.expiresAt} > ${now}, true)`;

/** A new API token: a prefix for secret scanners, and 256 random bits [5]. */
export const newToken = (): string =>
  PREFIX + toBase64url(crypto.getRandomValues(new Uint8Array(32)));

async function isRootToken(token: string, secret: string | undefined): Promise<boolean> {
  const rootToken = activeRootToken(secret);
  if (rootToken === undefined) return false;
  return crypto.subtle.timingSafeEqual(await sha256(token), await sha256(rootToken));
}

/**
 * The sender of a request; null for a token that is missing, unknown, expired or revoked (3.2).
 *
 * @param header the header `TOKEN`
 * @param find finds a token by its hash
 * @param now milliseconds since 1970
 */
export async function authenticate(
  header: string | undefined,
  rootToken: string | undefined,
  find: (hash: string) => Promise<TokenSnapshot | null>,
  now: number,
): Promise<Actor | null> {
  const token = header?.trim() ?? '';
  if (token === '') return null;
  if (await isRootToken(token, rootToken)) return ROOT;
  return actorOf(await find(await sha256Hex(token)), now);
}

/** The sender with a token; null unless the token is live. */
function actorOf(token: TokenSnapshot | null, now: number): Actor | null {
  if (!token || !isLive(token, now)) return null;
  const { id, intents, lastUsedAt } = token;
  return { tokenId: id, intents, lastUsedAt, isConsole: false, isMcp: false };
}

/**
 * The sender of a request with a session: its token, as it is now. Null if that is not live, and for ROOT_TOKEN
 * after its change.
 *
 * @param now milliseconds since 1970
 */
export async function authenticateSession(
  { tokenHash, token }: Session,
  secret: string | undefined,
  now: number,
): Promise<Actor | null> {
  const isRoot = (await rootHashOf(secret)) === tokenHash;
  const actor = isRoot ? ROOT : actorOf(token, now);
  return actor && { ...actor, isConsole: true };
}

/** SHA-256 of ROOT_TOKEN; undefined if that is off. */
export async function rootHashOf(secret: string | undefined): Promise<string | undefined> {
  const rootToken = activeRootToken(secret);
  return rootToken === undefined ? undefined : sha256Hex(rootToken);
}

/**
 * The sender with an access token of a grant (12.7), with what the token which consented may do too. Null unless
 * both are live, and after a change of the ROOT_TOKEN that consented.
 *
 * @param now milliseconds since 1970
 */
export async function authenticateGrant(
  { token, consenterHash, consenter }: Grant,
  secret: string | undefined,
  now: number,
): Promise<Actor | null> {
  const actor = actorOf(token, now);
  if (actor && (await rootHashOf(secret)) === consenterHash) return actor;
  const giver = actorOf(consenter, now);
  if (!actor || !giver) return null;
  const intents = coveredIntents(coveredIntents(API_INTENTS, actor.intents), giver.intents);
  return { ...actor, intents, consenterHash };
}

/** Stores the last use of a token. */
export async function markUsed(db: Database, id: number, now: number): Promise<void> {
  const isOld = or(isNull(tokens.lastUsedAt), lt(tokens.lastUsedAt, now - LAST_USED_PRECISION_MS));
  await db
    .update(tokens)
    .set({ lastUsedAt: now })
    .where(and(eq(tokens.id, id), isOld));
}

/**
 * The conditions of a change by an actor. The token counts as it is at the time of the write, not of the request (3.2).
 *
 * @param intents any one of them is enough
 * @param now milliseconds since 1970
 */
export function permissionsOf(
  { tokenId, consenterHash }: Actor,
  intents: readonly ApiIntent[],
  now: number,
): Condition[] {
  if (tokenId === null) return [];
  const holders = [sql`${tokens.id} = ${tokenId}`];
  if (consenterHash !== undefined) holders.push(sql`${tokens.tokenHash} = ${consenterHash}`);
  return holders.flatMap((isHolder): Condition[] => [
    {
      constraint: 'token_is_live',
      holds: sql`exists (select 1 from ${tokens} where ${isHolder}
        and ${isLiveSql(now)})`,
      error: NOT_LIVE,
    },
    {
      constraint: 'token_is_allowed',
      holds: sql`exists (select 1 from ${tokens}, json_each(${tokens.intents}) held
        where ${isHolder} and held.value in (select value from json_each(${JSON.stringify(intents)})))`,
      error: NOT_ALLOWED,
    },
  ]);
}
