import { API_INTENTS, type ApiIntent } from '@licet/contract/enums';
import { WRONG_HOST } from '@licet/contract/messages';
import type { Context, MiddlewareHandler } from 'hono';
import { getCookie } from 'hono/cookie';
import { matchedRoutes } from 'hono/route';
import type { CacheHit } from '../cache/snapshot-cache.ts';
import { type TokenSnapshot, tokenSnapshot } from '../cache/snapshots.ts';
import type { Sender } from '../db/change.ts';
import type { Database } from '../db/client.ts';
import { connectingAddressOf } from '../http/connection.ts';
import { ApiError } from '../http/errors.ts';
import type { Operation } from '../http/operation.ts';
import { DATABASE_TIMEOUT_MS, withTimeout } from '../lib/async.ts';
import { logFailure } from '../lib/log.ts';
import { clientOf } from '../lib/networks.ts';
import { WINDOW_SECONDS } from '../lib/rate-limiter.ts';
import type { RequestTimings } from '../lib/request-timings.ts';
import { activeRootToken } from '../lib/root-token.ts';
import { sha256Hex } from '../lib/sha256.ts';
import { type AppEnv, senderOf, servicesOf } from '../services.ts';
import { findGrant, type GrantSecret, readGrantSecret } from './grants.ts';
import { isConsoleHost, isFromOwnPage, isPageSessionHost } from './own-page.ts';
import { findSession, isUseDue, markSessionUsed } from './sessions.ts';
import {
  type Actor,
  authenticate,
  authenticateGrant,
  authenticateSession,
  isLive,
  LAST_USED_PRECISION_MS,
  markUsed,
  NOT_ALLOWED,
  NOT_LIVE,
  permissionsOf,
} from './tokens.ts';

export interface AuthEnv extends AppEnv {
  Variables: AppEnv['Variables'] & {
    actor: Actor;
    /** The intents that the route accepts. */
    intents: readonly ApiIntent[];
  };
}

const TOO_MANY_FAILED = new ApiError(429, 'Too many requests without a live token', {
  headers: { 'Retry-After': String(WINDOW_SECONDS) },
});

/** A context of a validation or of management. */
type AnyContext = Pick<Context<AppEnv>, 'env' | 'req'> & { get(key: 'timings'): RequestTimings };

const WRONG_TYPE = 'A change with a session needs the header Content-Type: application/json';
const WRONG_HEADER = 'Send the token in the header TOKEN, not in Authorization';

export const addressIn = (c: AnyContext): string | null =>
  connectingAddressOf(c.req.raw, servicesOf(c.env).trustedProxies);

/** The client that the limit counts (1.7); null if its address is unknown. */
function clientIn(c: AnyContext): string | null {
  const address = addressIn(c);
  return address && clientOf(address);
}

/**
 * Counts a failed token, and each log-in and log-out, whatever its outcome (1.7, 4).
 *
 * @throws ApiError over the limit
 */
export async function countFailedToken(c: AnyContext): Promise<void> {
  const client = clientIn(c);
  if (!client || !(await servicesOf(c.env).limits.failedTokens.count(client))) return;
  throw TOO_MANY_FAILED;
}

/** @throws ApiError for a client that has sent too many failed tokens. It counts nothing. */
export function rejectOverLimit(c: AnyContext): void {
  if (isOverLimit(c, clientIn(c))) throw TOO_MANY_FAILED;
}

/** A client at an address whose requests have a secret or a signature, and no token. */
function clientAt(c: AnyContext, address: string): string | null {
  const client = clientIn(c);
  return client && `${client} ${address}`;
}

/** Counts a rejection at such an address (1.7). @returns whether the client is over the limit there */
export async function countRejection(c: AnyContext, address: string): Promise<boolean> {
  const client = clientAt(c, address);
  return client !== null && (await servicesOf(c.env).limits.failedTokens.count(client));
}

/** Whether a client is over the limit of rejections at an address. Its requests are then rejected unread. Counts nothing. */
export const isRejectedUnread = (c: AnyContext, address: string): boolean =>
  isOverLimit(c, clientAt(c, address));

async function rejectToken(c: AnyContext, takesBearer = false): Promise<never> {
  await countFailedToken(c);
  const isInWrongHeader = !takesBearer && !c.req.header('TOKEN') && c.req.header('Authorization');
  throw isInWrongHeader ? new ApiError(401, WRONG_HEADER) : NOT_LIVE;
}

/** Whether a client has sent too many failed tokens: the database is not asked for its next ones (1.7). */
const isOverLimit = (c: AnyContext, client: string | null): client is string =>
  client !== null && servicesOf(c.env).limits.failedTokens.isOver(client);

const isAllowed = (actor: Actor, intents: readonly ApiIntent[]): boolean =>
  actor.intents.some((intent) => intents.includes(intent));

const writeLater = (c: AnyContext, failure: string, writing: Promise<void>): void =>
  c.get('timings').waitUntil(writing.catch((error) => logFailure(failure, error)));

/** Stores the last use of a token, unless a use in the last minutes is stored already. */
function noteUse(c: AnyContext, { tokenId, lastUsedAt }: Actor): void {
  if (tokenId === null) return;
  const services = servicesOf(c.env);
  const now = Date.now();
  if (!services.shouldMarkUsed({ id: tokenId, lastUsedAt }, now, LAST_USED_PRECISION_MS)) return;
  writeLater(c, 'The use of a token was not written', markUsed(services.db, tokenId, now));
}

/**
 * Looks a token or a session up in the database, unless the client is over the limit of failed tokens (1.7).
 *
 * @param load null for one that is not live
 */
export async function findLive<Live>(
  c: AnyContext,
  hash: string,
  load: (db: Database) => Promise<Live | null>,
): Promise<Live | null> {
  const { db, liveTokens } = servicesOf(c.env);
  if (!liveTokens.has(hash) && isOverLimit(c, clientIn(c))) return null;
  const live = await withTimeout(load(db), DATABASE_TIMEOUT_MS);
  c.get('timings').noteRead('d1');
  if (live) liveTokens.set(hash, true);
  else liveTokens.delete(hash);
  return live;
}

const tokenFinder = (c: AnyContext) => (hash: string) =>
  findLive(c, hash, async (db) => {
    const token = (await tokenSnapshot.load(db, [hash])).get(hash);
    return token && isLive(token, Date.now()) ? token : null;
  });

/** The session that a page stores itself, where the browser keeps no cookie (4). */
const pageSessionOf = (c: AnyContext): string | undefined => c.req.header('SESSION');

export const sessionOf = (c: Context): string | undefined =>
  pageSessionOf(c) ?? getCookie(c, 'licet', 'host');

/**
 * @param isOfPage whether the page stores the session itself
 * @throws ApiError for a session or a log-in under a name that is not the console's (4)
 */
export async function requireConsoleHost(
  c: AnyContext,
  isOfPage = pageSessionOf(c) !== undefined,
): Promise<void> {
  const { consoleHosts } = servicesOf(c.env);
  const isRight = isOfPage
    ? isPageSessionHost(c.req.url, consoleHosts)
    : await isConsoleHost(c.req.url, consoleHosts, activeRootToken(c.env.ROOT_TOKEN));
  if (isRight) return;
  await countFailedToken(c);
  throw new ApiError(401, WRONG_HOST);
}

/**
 * The sender of a request with a session of the console (4); null for a session that is not live, and for a
 * request that does not come from a page of this service.
 */
async function findSessionActor(c: Context<AuthEnv>): Promise<Actor | null> {
  const secret = sessionOf(c);
  if (secret === undefined || !isFromOwnPage(c.req.raw)) return null;
  await requireConsoleHost(c);
  const hash = await sha256Hex(secret);
  const now = Date.now();
  return findLive(c, hash, async (db) => {
    const session = await findSession(db, hash, now);
    const actor = session ? await authenticateSession(session, c.env.ROOT_TOKEN, now) : null;
    if (session && actor && isUseDue(session, now)) {
      writeLater(c, 'The use of a session was not written', markSessionUsed(db, hash, now));
    }
    return actor;
  });
}

/** The token of a scheme that tools send by themselves (RFC 6750). */
const bearerTokenOf = (c: AnyContext): string | undefined =>
  /^Bearer +(\S+) *$/i.exec(c.req.header('Authorization') ?? '')?.[1];

/** The sender with an access token of a grant (12.7); null for one that is not live. */
async function findGrantActor(c: AnyContext, secret: GrantSecret): Promise<Actor | null> {
  const now = Date.now();
  return findLive(c, secret.hash, async (db) => {
    const grant = await findGrant(db, secret, now);
    return grant ? authenticateGrant(grant, c.env.ROOT_TOKEN, now) : null;
  });
}

const JSON_TYPE = /^application\/json\s*(;|$)/i;

/** Rejects a change with a session unless its content type is one that no form can send (4). */
export function requireJson({ method, headers }: Request): void {
  const isSafe = method === 'GET' || method === 'HEAD';
  if (isSafe || JSON_TYPE.test(headers.get('Content-Type') ?? '')) return;
  throw new ApiError(403, WRONG_TYPE);
}

function setActor(c: Context<AuthEnv>, actor: Actor): void {
  noteUse(c, actor);
  c.set('actor', actor);
  c.set('tokenId', actor.tokenId);
}

/** The actors of requests that the service makes itself. No request from outside is among them. */
const actors = new WeakMap<Request, Actor>();

/** Lets a request that the service makes itself pass as that of an actor whose token was checked. */
export const actAs = (request: Request, actor: Actor): void => {
  actors.set(request, actor);
};

/**
 * Rejects requests without a live token or session, before any other check [5]. Both are read from the database,
 * so that a revoked token is rejected everywhere at once (1.5). A session counts only without a token.
 *
 * @param takesBearer whether the token may also come as `Authorization: Bearer`, for programs: a session opens nothing there
 */
export const requireToken = ({ takesBearer = false } = {}): MiddlewareHandler<AuthEnv> =>
  async function requireToken(c, next) {
    // By a grant.
    if (c.get('actor')) return next();
    const header = c.req.header('TOKEN') ?? (takesBearer ? bearerTokenOf(c) : undefined);
    const actor =
      actors.get(c.req.raw) ??
      (header !== undefined
        ? await authenticate(header, c.env.ROOT_TOKEN, tokenFinder(c), Date.now())
        : takesBearer
          ? null
          : await findSessionActor(c));
    if (!actor) return rejectToken(c, takesBearer);
    if (actor.isConsole) requireJson(c.req.raw);
    setActor(c, actor);
    await next();
  };

/**
 * Sets the sender with an access token of a grant, which opens nothing but the paths of this middleware (12.7). It leaves
 * other tokens to {@link requireToken}.
 */
export const acceptGrants = (): MiddlewareHandler<AuthEnv> =>
  async function acceptGrants(c, next) {
    const secret = await readGrantSecret('access', bearerTokenOf(c) ?? '');
    const actor = secret && (await findGrantActor(c, secret));
    if (actor) setActor(c, actor);
    await next();
  };

/**
 * Sets the sender of a log-in: the owner of a token, or ROOT_TOKEN.
 *
 * @throws DomainError without a live token
 */
export async function acceptLogin(c: Context<AuthEnv>, token: string | undefined): Promise<void> {
  const actor = await authenticate(token, c.env.ROOT_TOKEN, tokenFinder(c), Date.now());
  if (!actor) throw NOT_LIVE;
  setActor(c, { ...actor, isConsole: true });
  c.set('intents', API_INTENTS);
}

export const hasIntent = (c: Context<AuthEnv>, intents: readonly ApiIntent[]): boolean =>
  isAllowed(c.get('actor'), intents);

type IntentGuard = MiddlewareHandler<AuthEnv> & { readonly intents: readonly ApiIntent[] };

/**
 * Declares the intents that a route accepts, and its operation, beside its path. One intent is enough [5].
 *
 * @param isForAny whether a request needs none of these intents; it is asked before the request is checked
 */
export const requireIntents =
  (intents: readonly ApiIntent[], isForAny: (c: Context<AuthEnv>) => boolean = () => false) =>
  (operation: Operation): IntentGuard => {
    const check: MiddlewareHandler<AuthEnv> = async function requireIntents(c, next) {
      if (!isAllowed(c.get('actor'), intents) && !isForAny(c)) throw NOT_ALLOWED;
      c.set('intents', intents);
      await next();
    };
    return Object.assign(check, { intents, operation });
  };

/**
 * Checks the token and the intents of a validation. The token comes from the cache.
 *
 * @returns the token; undefined for ROOT_TOKEN
 * @throws ApiError if the request may not validate
 */
export async function authorizeValidation(
  c: Context<AppEnv>,
  intents: readonly ApiIntent[],
): Promise<CacheHit<TokenSnapshot> | undefined> {
  const { caches, ceilings, recorder } = servicesOf(c.env);
  const timings = c.get('timings');
  const now = Date.now();
  let token: CacheHit<TokenSnapshot> | undefined;
  const find = async (hash: string) => {
    const client = clientIn(c);
    token = isOverLimit(c, client)
      ? await caches.tokens.findCachedOnly(
          hash,
          timings,
          async () => !(await ceilings.publishedReads.count(client)),
        )
      : await caches.tokens.find(hash, timings);
    return token?.value ?? null;
  };
  const actor = await authenticate(c.req.header('TOKEN'), c.env.ROOT_TOKEN, find, now);
  if (actor) {
    noteUse(c, actor);
    c.set('tokenId', actor.tokenId);
  }
  if (actor && isAllowed(actor, intents)) return token;
  // Nothing is recorded, but a snapshot from KV must be compared.
  if (token?.needsComparison)
    recorder.record({ record: null, used: [token], usedAt: now }, timings.waitUntil);
  if (actor) throw NOT_ALLOWED;
  return rejectToken(c);
}

/** The database, for a handler that only reads. */
export function databaseOf(c: AnyContext): Database {
  c.get('timings').noteRead('d1');
  return servicesOf(c.env).db;
}

/** The sender of the change that a request asks for, for its handler. */
export function senderIn(c: Context<AuthEnv>): Sender {
  const timings = c.get('timings');
  const actor = c.get('actor');
  timings.noteRead('d1');
  const author = {
    tokenId: actor.tokenId,
    isConsole: actor.isConsole,
    isMcp: actor.isMcp,
    ip: addressIn(c),
    permissions: () => permissionsOf(actor, c.get('intents'), Date.now()),
  };
  return senderOf(servicesOf(c.env), author, timings.waitUntil);
}

const isIntentGuard = (handler: object): handler is IntentGuard => 'intents' in handler;

/** The intents that a handler declares; undefined if it declares none. */
export const declaredIntents = (handler: object): readonly ApiIntent[] | undefined =>
  isIntentGuard(handler) ? handler.intents : undefined;

/** The intents that the route of the request accepts; none for an unknown path. */
export const acceptedIntents = (c: Context): readonly ApiIntent[] =>
  matchedRoutes(c)
    .map((route) => declaredIntents(route.handler))
    .find((intents) => intents !== undefined) ?? [];
