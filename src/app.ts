import { type Context, Hono } from 'hono';
import { HTTPException } from 'hono/http-exception';
import { getPath } from 'hono/utils/url';
import type { ErrorAnswer } from './api/answers';
import { v1 } from './api/v1/validate';
import { v2 } from './api/v2';
import { refuse } from './api/validate';
import { acceptedIntents, declaredIntents } from './auth/middleware';
import { drainBody } from './body';
import { API_INTENTS, type ApiIntent } from './enums';
import { ApiError } from './errors';
import { logFailure } from './log';
import { type AppEnv, observe } from './observe';

const VALIDATION_PATHS = ['/api/v1/validate', '/api/v2/validate'];
const METHODS = ['GET', 'POST', 'PUT', 'DELETE'];

/** Shipped clients double slashes and end with one: the path is answered in place, not redirected. */
const plainPath = (request: Request): string =>
  getPath(request)
    .replace(/\/{2,}/g, '/')
    .replace(/(.)\/$/, '$1');

export const app = new Hono<AppEnv>({ getPath: plainPath })
  .use(observe())
  .use(async function forbidCaching(c, next) {
    await next();
    // Not by c.header(), which would make the answer once more.
    c.res.headers.set('Cache-Control', 'no-store');
  })
  .use(async function drainUnread(c, next) {
    await next();
    await drainBody(c.req.raw);
  })
  .route('/api/v1', v1)
  .route('/api/v2', v2)
  .notFound(notFoundOrWrongMethod)
  .onError(answerError);

function errorResponse(c: Context, error: ApiError, intents: readonly ApiIntent[]): Response {
  const answer: ErrorAnswer = { message: error.message, accepted_intents: [...intents] };
  return c.json(answer, error.status, error.headers);
}

/** No handler answered: 405 where the path has other methods, 404 where it has none. */
function notFoundOrWrongMethod(c: Context): Response {
  const declared = METHODS.map((method) => ({
    method,
    // A match is a list of [[handler, route], parameters].
    routes: app.router.match(method, c.req.path)[0].map(([[, route]]) => route),
  })).filter(({ method, routes }) => routes.some((route) => route.method === method));
  if (declared.length === 0) return errorResponse(c, new ApiError(404, 'Path not found'), []);

  const allow = declared.map(({ method }) => method).join(', ');
  const intents = new Set(
    declared.flatMap(({ routes }) =>
      routes.flatMap(({ handler }) => declaredIntents(handler) ?? []),
    ),
  );
  return errorResponse(
    c,
    new ApiError(405, 'Method not allowed', { Allow: allow }),
    API_INTENTS.filter((intent) => intents.has(intent)),
  );
}

/** The one place where errors become answers; what is not ours to tell becomes a bare 500. */
function answerError(error: Error, c: Context): Response {
  if (error instanceof ApiError) return errorResponse(c, error, acceptedIntents(c));
  if (error instanceof HTTPException && error.status < 500) {
    // The body is no JSON: the only thing that Hono itself refuses here.
    return errorResponse(c, new ApiError(400, error.message), acceptedIntents(c));
  }
  logFailure('A request failed', error);
  if (VALIDATION_PATHS.includes(c.req.path)) {
    return refuse(c, 503, 'Service temporarily unavailable');
  }
  return errorResponse(c, new ApiError(500, 'Internal server error'), acceptedIntents(c));
}
