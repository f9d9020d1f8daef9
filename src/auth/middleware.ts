import type { Context, MiddlewareHandler } from 'hono';
import { matchedRoutes } from 'hono/route';
import { edgeOf } from '../edge/edge';
import { WINDOW_SECONDS } from '../edge/limits';
import type { ApiIntent } from '../enums';
import { ApiError } from '../errors';
import { connectingAddressOf } from '../network';
import type { AppEnv } from '../observe';
import { authenticate } from './tokens';

export interface AuthEnv extends AppEnv {
  Variables: AppEnv['Variables'] & { tokenIntents: readonly ApiIntent[] };
}

/** Refuses whoever has no live token, before anything else is looked at [5]. */
export const requireToken = (): MiddlewareHandler<AuthEnv> =>
  async function requireToken(c, next) {
    const edge = edgeOf(c.env);
    const tokenIntents = await authenticate(
      edge,
      c.req.header('TOKEN') ?? '',
      c.env.ROOT_TOKEN,
      Date.now(),
      c.get('visit'),
    );
    if (!tokenIntents) {
      const address = connectingAddressOf(c.req.raw);
      const isFlood = address !== null && (await edge.limits.failedTokens.count(address)).isOver;
      if (!isFlood) throw new ApiError(401, 'Token is missing, unknown, expired or revoked');
      throw new ApiError(429, 'Too many requests without a live token', {
        'Retry-After': String(WINDOW_SECONDS),
      });
    }
    c.set('tokenIntents', tokenIntents);
    await next();
  };

type IntentGuard = MiddlewareHandler<AuthEnv> & { readonly intents: readonly ApiIntent[] };

/** Declares, beside a route's path, which intents open it; any one of them does [5]. */
export function requireIntents(intents: readonly ApiIntent[]): IntentGuard {
  const guard: MiddlewareHandler<AuthEnv> = async function requireIntents(c, next) {
    if (!c.get('tokenIntents').some((intent) => intents.includes(intent))) {
      throw new ApiError(403, 'Token lacks a required intent');
    }
    await next();
  };
  return Object.assign(guard, { intents });
}

const isIntentGuard = (handler: object): handler is IntentGuard => 'intents' in handler;

/** The intents that a route declares; undefined for a handler that declares none. */
export const declaredIntents = (handler: object): readonly ApiIntent[] | undefined =>
  isIntentGuard(handler) ? handler.intents : undefined;

/** The intents that the route of this request would have accepted; none for an unknown path. */
export const acceptedIntents = (c: Context): readonly ApiIntent[] =>
  matchedRoutes(c)
    .map((route) => declaredIntents(route.handler))
    .find((intents) => intents !== undefined) ?? [];
