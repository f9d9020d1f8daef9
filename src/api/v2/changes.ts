import type { MiddlewareHandler } from 'hono';
import type { AuthEnv } from '../../auth/middleware';
import { edgeOf } from '../../edge/edge';

const WRITING_METHODS = ['POST', 'PUT', 'DELETE'];

/**
 * After a change, however it ended: asks the log what has changed, so that the next request in this
 * isolate sees it, and publishes it, so that every other one does (1.5). The log knows what a handler
 * changed; none has to say it.
 */
export const shareChanges = (): MiddlewareHandler<AuthEnv> =>
  async function shareChanges(c, next) {
    if (!WRITING_METHODS.includes(c.req.method)) return next();
    const edge = edgeOf(c.env);
    const beforeChange = edge.feed.begin();
    await next();
    // What was refused changed nothing.
    if (c.res.status >= 400 && c.res.status < 500) return;
    const unpublished = await edge.catchUp(beforeChange, c.res.ok);
    c.executionCtx.waitUntil(edge.publish(unpublished));
  };
