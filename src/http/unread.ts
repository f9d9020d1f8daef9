import type { Context } from 'hono';

/** Longer than any work that goes on after a response, which would end with the connection. */
const MAX_UNREAD_MS = 25_000;

const timers = new WeakMap<object, ReturnType<typeof setTimeout>>();

/**
 * Starts again the time in which the client must read the bytes that were sent. After that time its connection is
 * closed, because it would stay open for ever. The timer ends with the request.
 */
export function expectReading({ env, executionCtx }: Context): void {
  // Only `npm start` sets it. Cloudflare looks after its connections itself.
  if (env.TRUSTED_PROXIES === undefined || !('abort' in executionCtx)) return;
  const { abort } = executionCtx;
  if (typeof abort !== 'function') return;
  clearTimeout(timers.get(executionCtx));
  const giveUp = () => abort.call(executionCtx, 'The client does not read');
  timers.set(executionCtx, setTimeout(giveUp, MAX_UNREAD_MS));
}

/** The same response with a body that this Worker sends. One that the runtime passes on outlives the request. */
export function ownResponse(c: Context, response: Response): Response {
  if (c.env.TRUSTED_PROXIES === undefined || response.body === null) return response;
  const passing = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      controller.enqueue(chunk);
      expectReading(c);
    },
  });
  return new Response(response.body.pipeThrough(passing), response);
}
