import type { Context, MiddlewareHandler } from 'hono';
import { matchedRoutes } from 'hono/route';
import { tokenSnapshot } from '../cache/snapshots';
import { type EventSender, insertEvent } from '../db/events';
import type { Writer } from '../db/writer';
import { ApiError } from '../http/errors';
import { isolateOf } from '../isolate';
import { DATABASE_TIMEOUT_MS, withTimeout } from '../lib/async';
import type { ApiIntent } from '../lib/enums';
import { clientOf, connectingAddressOf } from '../lib/ip';
import { logFailure } from '../lib/log';
import { WINDOW_SECONDS } from '../lib/rate-limiter';
import type { RequestTimings } from '../lib/request-timings';
import type { AppEnv } from '../middleware/request-log';
import {
  type Actor,
  authenticate,
  guard,
  guardFailure,
  LAST_USED_PRECISION_MS,
  markUsed,
} from './tokens';

export interface AuthEnv extends AppEnv {
  Variables: AppEnv['Variables'] & {
    actor: Actor;
    /** The intents that the route accepts. */
    intents: readonly ApiIntent[];
  };
}

/** A context of a validation or of management. */
type AnyContext = Pick<Context<AppEnv>, 'env' | 'req'> & { get(key: 'timings'): RequestTimings };

const NOT_LIVE = 'Token is missing, unknown, expired or revoked';
const NOT_ALLOWED = 'Token lacks a required intent';

const WRONG_HEADER = 'Send the token in the header TOKEN, not in Authorization';

const addressIn = (c: AnyContext): string | null =>
  connectingAddressOf(c.req.raw, isolateOf(c.env).trustedProxies);

/** The client that the limit counts (1.7); null if its address is unknown. */
function clientIn(c: AnyContext): string | null {
  const address = addressIn(c);
  return address && clientOf(address);
}

async function rejectToken(c: AnyContext): Promise<never> {
  const client = clientIn(c);
  if (client && (await isolateOf(c.env).limits.failedTokens.count(client))) {
    throw new ApiError(429, 'Too many requests without a live token', {
      'Retry-After': String(WINDOW_SECONDS),
    });
  }
  const isInWrongHeader = !c.req.header('TOKEN') && c.req.header('Authorization');
  throw new ApiError(401, isInWrongHeader ? WRONG_HEADER : NOT_LIVE);
}

/** Whether a client sent so many failed tokens that the database is not asked for more of them (1.7). */
const isOverLimit = (c: AnyContext, client: string | null): client is string =>
  client !== null && isolateOf(c.env).limits.failedTokens.isOver(client);

const isAllowed = (actor: Actor, intents: readonly ApiIntent[]): boolean =>
  actor.intents.some((intent) => intents.includes(intent));

/** Stores the last use of a token, unless a use in the last minutes is stored already. */
function noteUse(c: AnyContext, { tokenId, lastUsedAt }: Actor): void {
  if (tokenId === null) return;
  const isolate = isolateOf(c.env);
  const now = Date.now();
  if (!isolate.shouldMarkUsed({ id: tokenId, lastUsedAt }, now, LAST_USED_PRECISION_MS)) return;
  c.get('timings').waitUntil(
    markUsed(isolate.db, tokenId, now).catch((error) =>
      logFailure('The use of a token was not written', error),
    ),
  );
}

/**
 * Rejects requests without a live token, before any other check [5]. The token is read from the database, so
 * that a revoked one is rejected everywhere at once (1.5).
 */
export const requireToken = (): MiddlewareHandler<AuthEnv> =>
  async function requireToken(c, next) {
    const { db, liveTokens } = isolateOf(c.env);
    const find = async (hash: string) => {
      if (!liveTokens.has(hash) && isOverLimit(c, clientIn(c))) return null;
      const startedAt = performance.now();
      const found = await withTimeout(tokenSnapshot.load(db, [hash]), DATABASE_TIMEOUT_MS);
      c.get('timings').record('d1', performance.now() - startedAt);
      const token = found.get(hash) ?? null;
      const isLive = token?.revokedAt === null && (token.expiresAt ?? Infinity) > Date.now();
      if (isLive) liveTokens.set(hash, true);
      else liveTokens.delete(hash);
      return token;
    };
    const actor = await authenticate(c.req.header('TOKEN'), c.env.ROOT_TOKEN, find, Date.now());
    if (!actor) return rejectToken(c);
    noteUse(c, actor);
    c.set('actor', actor);
    c.set('tokenId', actor.tokenId);
    c.set('isTrusted', true);
    await next();
  };

type IntentGuard = MiddlewareHandler<AuthEnv> & { readonly intents: readonly ApiIntent[] };

/** Declares the intents that a route accepts, beside its path. One of them is enough [5]. */
export function requireIntents(intents: readonly ApiIntent[]): IntentGuard {
  const check: MiddlewareHandler<AuthEnv> = async function requireIntents(c, next) {
    if (!isAllowed(c.get('actor'), intents)) throw new ApiError(403, NOT_ALLOWED);
    c.set('intents', intents);
    await next();
  };
  return Object.assign(check, { intents });
}

/**
 * Checks the token and the intents of a validation. The token comes from the cache.
 *
 * @throws ApiError if the request may not validate
 */
export async function authorizeValidation(
  c: Context<AppEnv>,
  intents: readonly ApiIntent[],
): Promise<void> {
  const { caches, ceilings, recorder } = isolateOf(c.env);
  const timings = c.get('timings');
  const now = Date.now();
  const find = async (hash: string) => {
    const client = clientIn(c);
    const token = isOverLimit(c, client)
      ? await caches.tokens.findNear(
          hash,
          timings,
          async () => !(await ceilings.publishedReads.count(client)),
        )
      : await caches.tokens.find(hash, timings);
    c.set('token', token);
    return token?.value ?? null;
  };
  const actor = await authenticate(c.req.header('TOKEN'), c.env.ROOT_TOKEN, find, now);
  if (actor) {
    noteUse(c, actor);
    c.set('tokenId', actor.tokenId);
  }
  if (actor && isAllowed(actor, intents)) {
    c.set('isTrusted', true);
    return;
  }
  const token = c.get('token');
  // Nothing is recorded, but a snapshot was used.
  if (token?.value)
    recorder.record({ record: null, used: [token], usedAt: now }, timings.waitUntil);
  if (actor) throw new ApiError(403, NOT_ALLOWED);
  await rejectToken(c);
}

/** The error of a batch whose {@link guard} failed; any other error as it is. */
export function guardError(error: Error): Error {
  const failure = guardFailure(error);
  if (failure === 'notLive') return new ApiError(401, NOT_LIVE);
  return failure === 'notAllowed' ? new ApiError(403, NOT_ALLOWED) : error;
}

/** The sender of a request, as an event names it (5). */
export const eventSender = (
  c: AnyContext,
  { tokenId, isConsole = false }: Pick<Actor, 'tokenId' | 'isConsole'>,
): EventSender => ({ tokenId, isConsole, ip: addressIn(c) });

/** The context in which a handler changes something. */
export function writerOf(c: Context<AuthEnv>): Writer {
  const { db, caches } = isolateOf(c.env);
  const timings = c.get('timings');
  timings.startDatabase();
  return {
    db,
    guard: () => guard(db, c.get('actor'), c.get('intents'), Date.now()),
    event: (event, condition) =>
      insertEvent(db, eventSender(c, c.get('actor')), event, Date.now(), condition),
    changed(changes, unlogged = []) {
      caches.invalidate(changes);
      caches.invalidate(unlogged);
      timings.waitUntil(caches.publish(changes));
    },
    remember: () => [],
  };
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
