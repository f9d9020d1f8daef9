import { PUT_INTERVAL_MS } from '../../src/cache/publisher.ts';

/**
 * The plugin takes a stack trace for each timer, to recognize vitest's timers without a delay. The service sets a timer
 * with a delay for each database query. Timers with a delay go directly to the platform, without a trace.
 *
 * The local KV takes any number of writes a second for a key. Half of all tests would wait for the next write.
 */

const byPlugin = globalThis.setTimeout;
const byPlatform: typeof setTimeout = Object.getPrototypeOf(globalThis).setTimeout;

globalThis.setTimeout = new Proxy(byPlugin, {
  apply: (_, self, [callback, delayMs, ...args]) =>
    delayMs > 0
      ? Reflect.apply(byPlatform, self, [
          callback,
          delayMs === PUT_INTERVAL_MS ? 1 : delayMs,
          ...args,
        ])
      : Reflect.apply(byPlugin, self, [callback, delayMs, ...args]),
});
