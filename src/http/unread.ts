import type { Context } from 'hono';
import { BODY_TIMEOUT_MS } from './body.ts';

/** Longer than most work after a response, which ends with the connection. Another request takes over the rest. */
const MAX_UNREAD_MS = 25_000;

const timers = new WeakMap<object, ReturnType<typeof setTimeout>>();

/** Only `npm start` sets TRUSTED_PROXIES. Cloudflare looks after its connections itself. */
export const isOnOneMachine = ({ env }: Context): boolean => env.TRUSTED_PROXIES !== undefined;

function expectWithin(c: Context, timeoutMs: number, giveUp: () => void): void {
  clearTimeout(timers.get(c.executionCtx));
  timers.set(c.executionCtx, setTimeout(giveUp, timeoutMs));
}

/**
 * Starts again the time in which the client must read the bytes that were sent. After that time its connection is
 * closed, because it would stay open for ever. The timer ends with the request.
 */
export function expectReading(c: Context, timeoutMs = MAX_UNREAD_MS): void {
  const { executionCtx } = c;
  if (!isOnOneMachine(c) || !('abort' in executionCtx)) return;
  const { abort } = executionCtx;
  if (typeof abort !== 'function') return;
  expectWithin(c, timeoutMs, () => abort.call(executionCtx, 'The client does not read'));
}

/**
 * Starts the time in which the client must send its body and then read the response. One timer serves for both: two
 * took a tenth of the time of a hot validation.
 *
 * @returns a promise that resolves after ten seconds; undefined at Cloudflare
 */
export function expectBody(c: Context): Promise<void> | undefined {
  if (!isOnOneMachine(c)) return undefined;
  const { promise, resolve } = Promise.withResolvers<void>();
  expectWithin(c, BODY_TIMEOUT_MS, () => {
    resolve();
    expectReading(c, MAX_UNREAD_MS - BODY_TIMEOUT_MS);
  });
  return promise;
}

/** The same response with a body that this Worker sends. One that the runtime passes on outlives the request. */
export function ownResponse(c: Context, response: Response): Response {
  if (!isOnOneMachine(c) || response.body === null) return response;
  const passing = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      controller.enqueue(chunk);
      expectReading(c);
    },
  });
  return new Response(response.body.pipeThrough(passing), response);
}
