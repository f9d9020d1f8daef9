import type { Context, MiddlewareHandler } from 'hono';
import { routePath } from 'hono/route';
import { Visit } from './edge/visit';
import type { ApiIntent, ResponseType } from './enums';

/** What is known of a request on its way, beside the request itself. */
export interface AppEnv {
  Bindings: Env;
  Variables: {
    visit: Visit;
    /** Of whoever came with a live token. */
    tokenIntents?: readonly ApiIntent[];
    /** What a validation came to. */
    outcome?: ResponseType;
  };
}

const METHODS = ['GET', 'POST', 'PUT', 'DELETE', 'HEAD', 'OPTIONS', 'PATCH'];

/** Any other id of a client's request is replaced by one of ours. */
const REQUEST_ID = /^[\w=-]{1,64}$/;

/**
 * Takes the client's `X-Request-Id`, or makes one, and gives it back. Logs each request in one event,
 * by the pattern of its route: a path can hold license keys. Who has a live token and sends
 * `X-Server-Timing: 1` also gets the times, in the header `Server-Timing`.
 */
export const observe = (): MiddlewareHandler<AppEnv> =>
  async function observe(c, next) {
    const startedAt = performance.now();
    const sentId = c.req.raw.headers.get('X-Request-Id') ?? '';
    const requestId = REQUEST_ID.test(sentId) ? sentId : crypto.randomUUID();
    const visit = new Visit((work) => c.executionCtx.waitUntil(work));
    c.set('visit', visit);
    await next();
    visit.leave();
    const durationMs = performance.now() - startedAt;
    // Not by c.header(), which would make the answer once more.
    const { headers } = c.res;
    headers.set('X-Request-Id', requestId);
    if (c.env.LOG_REQUESTS === 'true') logRequest(c, requestId, visit, durationMs);
    if (c.get('tokenIntents') && c.req.header('X-Server-Timing') === '1') {
      headers.set('Server-Timing', serverTiming(visit, durationMs));
    }
  };

function logRequest(c: Context<AppEnv>, requestId: string, visit: Visit, durationMs: number): void {
  const { status } = c.res;
  const method = METHODS.includes(c.req.method) ? c.req.method : 'OTHER';
  const route = routePath(c);
  const event = {
    message: `${method} ${route} ${status}`,
    event: 'request',
    requestId,
    method,
    route,
    status,
    outcome: c.get('outcome') ?? outcomeOf(status),
    tier: visit.tier,
    durationMs: Math.round(durationMs),
    colo: c.req.raw.cf?.colo ?? null,
  };
  // As text: an object costs the runtime more to print than all else that an answer takes.
  console.log(JSON.stringify(event));
}

function outcomeOf(status: number): 'OK' | 'REFUSED' | 'FAILED' {
  if (status >= 500) return 'FAILED';
  return status >= 400 ? 'REFUSED' : 'OK';
}

const serverTiming = ({ spentMs }: Visit, durationMs: number): string =>
  [...spentMs, ['total', durationMs] as const]
    .map(([name, milliseconds]) => `${name};dur=${Math.round(milliseconds)}`)
    .join(', ');
