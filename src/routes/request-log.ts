import type { Context, MiddlewareHandler } from 'hono';
import { routePath } from 'hono/route';
import { connectingAddressOf, drainBody } from '../http/connection.ts';
import { clientOf } from '../lib/networks.ts';
import { RequestTimings } from '../lib/request-timings.ts';
import { parseLogSetting } from '../lib/settings.ts';
import type { RequestKind } from '../requests/metrics.ts';
import { type AppEnv, servicesOf } from '../services.ts';

const METHODS = ['GET', 'POST', 'PUT', 'DELETE', 'HEAD', 'OPTIONS', 'PATCH'];

/** Any other id of a client is replaced. */
const REQUEST_ID = /^[\w=-]{1,64}$/;

/** Sets the request id, from the client or a new one, and starts the timings. */
export function beginRequest(c: Context<AppEnv>): void {
  const sentId = c.req.raw.headers.get('X-Request-Id');
  const isGood = sentId !== null && REQUEST_ID.test(sentId);
  c.set('requestId', isGood ? sentId : crypto.randomUUID());
  c.set('timings', new RequestTimings((work) => c.executionCtx.waitUntil(work)));
}

export const commonHeaders = (c: Context<AppEnv>): Record<string, string> => ({
  'X-Request-Id': c.get('requestId'),
  'Cache-Control': 'no-store',
});

/** Counts the request, and logs it in one event, by the pattern of its route: a path can hold license keys. */
export function endRequest(c: Context<AppEnv>, status: number, kind: RequestKind = 'other'): void {
  servicesOf(c.env).requestCounts.add(kind, c.get('outcome'), c.get('timings').durationMs);
  if (isWanted(c) && isLogged(c, status)) logRequest(c, status);
}

/** Valid validations, of which LOG_REQUESTS = "failures" logs one: they show that the service responds. */
const VALID_PER_ENTRY = 100;

/** Whether LOG_REQUESTS wants the request in the log. */
function isWanted(c: Context<AppEnv>): boolean {
  const setting = parseLogSetting(c.env.LOG_REQUESTS);
  if (setting !== 'failures' || c.get('outcome') !== 'VALID') return Boolean(setting);
  const services = servicesOf(c.env);
  services.validSinceEntry = (services.validSinceEntry + 1) % VALID_PER_ENTRY;
  return services.validSinceEntry === 0;
}

/** The same as middleware. Validations call the functions above themselves. */
export const observe = (): MiddlewareHandler<AppEnv> =>
  async function observe(c, next) {
    beginRequest(c);
    await next();
    // c.header() would copy the response.
    const { headers } = c.res;
    for (const [name, value] of Object.entries(commonHeaders(c))) {
      // A route may have set its own value, such as for caching.
      if (!headers.has(name)) headers.set(name, value);
    }
    endRequest(c, c.res.status);
    await drainBody(c.req.raw);
  };

/**
 * Whether a rejection can come in a flood: one over a limit, and one without a live token. Validations have limits of
 * their own.
 */
function canFlood(c: Context<AppEnv>, status: number): boolean {
  if (status === 429) return true;
  const isWithoutToken = c.get('tokenId') === undefined && c.get('outcome') === undefined;
  return isWithoutToken && status >= 400 && status < 500;
}

/** False for such a rejection after the first of its client, status and minute: a flood must not fill the log (1.7). */
function isLogged(c: Context<AppEnv>, status: number): boolean {
  if (!canFlood(c, status)) return true;
  const { ceilings, trustedProxies } = servicesOf(c.env);
  const address = connectingAddressOf(c.req.raw, trustedProxies);
  return address === null || !ceilings.rejectedLogEntries.count(`${clientOf(address)} ${status}`);
}

function logRequest(c: Context<AppEnv>, status: number): void {
  const { tier, durationMs } = c.get('timings');
  const method = METHODS.includes(c.req.method) ? c.req.method : 'OTHER';
  const route = routePath(c);
  const event = {
    message: `${method} ${route} ${status}`,
    event: 'request',
    requestId: c.get('requestId'),
    method,
    route,
    status,
    outcome: c.get('outcome') ?? outcomeOf(status),
    tokenId: describeToken(c.get('tokenId')),
    tier,
    durationMs: Math.round(durationMs),
    colo: c.req.raw.cf?.colo ?? null,
  };
  // As text: an object costs the runtime more to print than the rest of a response.
  console.log(JSON.stringify(event));
}

/** Null without a live token. */
const describeToken = (id: number | null | undefined): number | 'root' | null =>
  id === undefined ? null : (id ?? 'root');

function outcomeOf(status: number): 'OK' | 'REFUSED' | 'FAILED' {
  if (status >= 500) return 'FAILED';
  return status >= 400 ? 'REFUSED' : 'OK';
}
