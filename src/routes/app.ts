import { MCP_PATH } from '@licet/contract/assistants';
import { API_INTENTS } from '@licet/contract/enums';
import { INTENTS } from '@licet/contract/intents';
import { PORTAL_PATH } from '@licet/contract/portal-page';
import { keySet } from '@licet/contract/signing';
import { type Context, Hono, type MiddlewareHandler } from 'hono';
import { getPath } from 'hono/utils/url';
import { declaredIntents } from '../auth/middleware.ts';
import { expectReading, ownResponse } from '../http/connection.ts';
import { ApiError, BUSY, BUSY_FOR_MARKETS } from '../http/errors.ts';
import { jsonResponse } from '../http/json.ts';
import type { Operation } from '../http/operation.ts';
import { type AppEnv, servicesOf } from '../services.ts';
import { consolePage, consoleRoutes, isConsolePage } from './console.ts';
import { allowPages, preflight } from './cors.ts';
import { discordRoutes } from './discord.ts';
import { errorResponse, respondToError } from './error-response.ts';
import { mailRoutes } from './mail.ts';
import { marketRoutes } from './markets.ts';
import { mcpRoutes } from './mcp.ts';
import { metricsRoutes } from './metrics.ts';
import { oauthRoutes } from './oauth.ts';
import { isPortalPage, portalPage, portalRoutes } from './portal.ts';
import { observe } from './request-log.ts';
import { v1 } from './v1.ts';
import { v2 } from './v2/index.ts';
import { validation } from './validate.ts';

/** Tools fetch the keys; programs have them pinned (1.8). */
const KEYS_MAX_AGE_SECONDS = 300;

const GET_KEYS: Operation = {
  operationId: 'getSigningKeys',
  tag: 'Validation',
  summary: 'List the public keys of signed responses',
  description:
    'For tools. Programs have their keys built in, because a fake server would list keys of its own. An extension.',
  success: { description: 'The keys.', body: keySet },
};

const METHODS = ['GET', 'POST', 'PUT', 'DELETE'];

/** The path without double and final slashes. Shipped clients send them, and a redirect would fail them. */
function plainPath(request: Request): string {
  const path = getPath(request);
  if (!path.includes('//') && !path.endsWith('/')) return path;
  return path.replace(/\/{2,}/g, '/').replace(/(.)\/$/, '$1');
}

/** Validations, with a router of fixed paths and no middleware: routing took a tenth of their time. */
const validations = new Hono<AppEnv>({ getPath: plainPath })
  .post(
    '/api/v1/validate',
    validation('V1_VALIDATE', {
      operationId: 'validateLicense',
      summary: 'Validate a license',
      description:
        'Exactly 200 means valid. `//api/v1/validate` and `/api/v1/validate/` respond in the same way, without a redirect, to any content type. [4.6]',
    }),
  )
  .post(
    '/api/v2/validate',
    validation(
      'V2_VALIDATE',
      {
        operationId: 'validateLicenseWithToken',
        summary: 'Validate a license, with a token',
        description: 'The same as under v1, with a token. [4.6]',
      },
      INTENTS.validate,
    ),
  );

const isForMarkets = (path: string): boolean => /^\/(markets|api\/v1\/bbb)\//.test(path);

/** Lets requests wait while too many others begin. */
const admit = (): MiddlewareHandler<AppEnv> =>
  async function admit(c, next) {
    const { waitUntil } = c.get('timings');
    if (!(await servicesOf(c.env).admission.management.enter(waitUntil))) {
      throw isForMarkets(c.req.path) ? BUSY_FOR_MARKETS : BUSY;
    }
    await next();
  };

const management = new Hono<AppEnv>({ getPath: plainPath })
  .use(observe(), admit())
  .get('/', (c) => c.redirect('/console'))
  .get('/.well-known/jwks.json', allowPages('GET', GET_KEYS), (c) => {
    c.header('Cache-Control', `public, max-age=${KEYS_MAX_AGE_SECONDS}`);
    return jsonResponse(c, { keys: servicesOf(c.env).signingKeys?.publicKeys() ?? [] });
  })
  .options('/.well-known/jwks.json', preflight('GET', 'allowSigningKeys', 'Validation'))
  .route('/markets', marketRoutes)
  .route('/mail', mailRoutes)
  .route('/metrics', metricsRoutes)
  // Before the resource that its grants open.
  .route('/', oauthRoutes)
  .route(MCP_PATH, mcpRoutes)
  .route('/', discordRoutes)
  .route('/api/v1', v1)
  .route('/api/v2', v2)
  .route('/console', consoleRoutes)
  .route(PORTAL_PATH, portalRoutes)
  .notFound(notFoundOrWrongMethod)
  .onError(respondToError);

export const app = validations.notFound(async (c) => {
  const isFile = !/^\/api(\/|$)/.test(c.req.path) && ['GET', 'HEAD'].includes(c.req.method);
  const file = isFile ? await fileResponse(c) : undefined;
  const response = file ?? (await management.fetch(c.req.raw, c.env, c.executionCtx));
  expectReading(c);
  return response;
});

/** All routes, with the intents and the inputs that their handlers declare. */
export const routes = [...validations.routes, ...management.routes];

/** Responds with a file; undefined if there is none at the path. */
async function fileResponse(c: Context<AppEnv>): Promise<Response | undefined> {
  const { files } = servicesOf(c.env).admission;
  const isAdmitted = await files.enter((work) => c.executionCtx.waitUntil(work));
  if (!isAdmitted) return errorResponse(c, BUSY, []);
  if (isConsolePage(c.req.path)) return ownResponse(c, await consolePage(c));
  if (isPortalPage(c.req.path)) return ownResponse(c, await portalPage(c));
  const file = await c.env.ASSETS.fetch(c.req.raw);
  return file.status === 404 ? undefined : ownResponse(c, file);
}

/** The page for a browser that follows a link to a document that is not there; undefined if it is not built. */
async function noDocument(c: Context<AppEnv>): Promise<Response | undefined> {
  const isFollowed = c.req.method === 'GET' && c.req.header('Accept')?.includes('text/html');
  if (!isFollowed || !c.req.path.startsWith('/docs/')) return undefined;
  const page = await c.env.ASSETS.fetch(new URL('/docs/404', c.req.url));
  return page.status === 200
    ? new Response(page.body, { status: 404, headers: page.headers })
    : undefined;
}

/** Responds with 405 if the path has other methods, else with 404. */
async function notFoundOrWrongMethod(c: Context<AppEnv>): Promise<Response> {
  const matching = METHODS.flatMap((method) =>
    // A match is a list of [[handler, route], parameters].
    [validations, management].flatMap(({ router }) =>
      router.match(method, c.req.path)[0].map(([[, route]]) => route),
    ),
  );
  // A fixed path, such as that of a batch, is an id to other routes.
  const own = matching.filter(({ path }) => path === c.req.path);
  const declared = own.length > 0 ? own : matching;
  const allowed = METHODS.filter((method) => declared.some((route) => route.method === method));
  if (allowed.length === 0) {
    return (await noDocument(c)) ?? errorResponse(c, new ApiError(404, 'Path not found'), []);
  }

  const intents = new Set(declared.flatMap(({ handler }) => declaredIntents(handler) ?? []));
  return errorResponse(
    c,
    new ApiError(405, 'Method not allowed', { headers: { Allow: allowed.join(', ') } }),
    API_INTENTS.filter((intent) => intents.has(intent)),
  );
}
