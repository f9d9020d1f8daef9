import { Licet } from '@licet/client';
import { INTENTS } from '@licet/contract/intents';
import { type Context, Hono, type MiddlewareHandler } from 'hono';
import { type AuthEnv, actAs, requireToken, senderIn } from '../auth/middleware.ts';
import { isConsoleHost, isOwnOrigin } from '../auth/own-page.ts';
import type { Caller } from '../channels/assistants/tool.ts';
import { readUtf8 } from '../http/connection.ts';
import { ApiError } from '../http/errors.ts';
import { publicUrlOf } from '../lib/public-url.ts';
import { WINDOW_SECONDS } from '../lib/rate-limiter.ts';
import { activeRootToken } from '../lib/root-token.ts';
import { type AppEnv, servicesOf } from '../services.ts';
import { respondToError } from './error-response.ts';
import { beginRequest } from './request-log.ts';
import { v2 } from './v2/index.ts';

/** The address of assistants (12). Each call of a tool is requests to v2, by the token of the call. */

const MAX_MESSAGE_BYTES = 64 * 1024;

const ELSEWHERE = new ApiError(403, 'A page of another site may not send requests to assistants');
const TOO_MANY_CALLS = new ApiError(429, 'At most 60 calls a minute: try again in a minute', {
  headers: { 'Retry-After': String(WINDOW_SECONDS) },
});

/** v2 for requests that the service makes itself. */
const inside = new Hono<AppEnv>()
  .use(async (c, next) => {
    beginRequest(c);
    await next();
  })
  .route('/api/v2', v2)
  .onError(respondToError);

/** Rejects a page of another site, as the protocol demands, also one under a name that leads here without the seller's will. */
const rejectOtherPages = (): MiddlewareHandler<AppEnv> =>
  async function rejectOtherPages(c, next) {
    const origin = c.req.header('Origin');
    if (origin !== undefined) {
      const { consoleHosts } = servicesOf(c.env);
      const rootToken = activeRootToken(c.env.ROOT_TOKEN);
      const isOwn = isOwnOrigin(origin, c.req.url);
      if (!isOwn || !(await isConsoleHost(c.req.url, consoleHosts, rootToken))) throw ELSEWHERE;
    }
    await next();
  };

/** @throws ApiError for a body that is not one message */
async function readMessage({ req }: Context): Promise<object> {
  const text = await readUtf8(req.raw, MAX_MESSAGE_BYTES);
  let message: unknown;
  try {
    message = JSON.parse(text);
  } catch {
    throw new ApiError(400, 'Body must be JSON', { code: 'INVALID_JSON' });
  }
  if (typeof message === 'object' && message !== null && !Array.isArray(message)) return message;
  throw new ApiError(400, 'Body must be one message of JSON-RPC: an object');
}

function callerOf(c: Context<AuthEnv>): Caller {
  const actor = { ...c.get('actor'), isMcp: true };
  const { origin } = new URL(c.req.url);
  return {
    tokenId: actor.tokenId,
    intents: actor.intents,
    licet: new Licet({
      url: origin,
      fetch: async (request) => {
        // The address of the client stands in the events.
        const { cf } = c.req.raw;
        const sent = new Request(request, cf ? { cf } : {});
        const address = c.req.header('CF-Connecting-IP');
        if (address !== undefined) sent.headers.set('CF-Connecting-IP', address);
        actAs(sent, actor);
        return inside.fetch(sent, c.env, c.executionCtx);
      },
    }),
    origin: publicUrlOf(c.env, c.req.url).origin,
    rootToken: activeRootToken(c.env.ROOT_TOKEN),
    newSender: () => {
      c.set('intents', INTENTS.any);
      return senderIn(c);
    },
    noteFailure: (error) => servicesOf(c.env).failedRequests.count(error),
    readFile: async (path) => {
      const file = await c.env.ASSETS.fetch(new URL(path, origin));
      if (!file.ok) throw new Error(`${path} is not built`);
      return file.text();
    },
  };
}

/** Whether a message is a call of a tool, which is limited. */
const isCall = (message: object): boolean => 'method' in message && message.method === 'tools/call';

/** Whether a message would open a stream of changes. Nothing here changes while a client is connected. */
const isSubscription = (message: object): boolean =>
  'method' in message && message.method === 'subscriptions/listen';

/** The messages of assistants. OAuth for clients in a browser belongs beside the token (12). */
export const mcpRoutes = new Hono<AuthEnv>()
  .post('/', rejectOtherPages(), requireToken({ takesBearer: true }), async (c) => {
    const message = await readMessage(c);
    const { tokenId } = c.get('actor');
    if (isCall(message) && servicesOf(c.env).ceilings.assistantCalls.count(String(tokenId))) {
      throw TOO_MANY_CALLS;
    }
    if (isSubscription(message)) throw new ApiError(400, 'This server has no subscriptions');
    const { respond } = await import('../channels/assistants/server.ts');
    return respond(c.req.raw, message, callerOf(c));
  })
  .onError((error, c) => {
    const response = respondToError(error, c);
    // Clients of the protocol look for it (RFC 6750).
    if (response.status === 401) response.headers.set('WWW-Authenticate', 'Bearer');
    return response;
  });
