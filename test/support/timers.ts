/**
 * The plugin takes a stack trace for each timer, to recognize vitest's timers without a delay. The service sets a timer
 * with a delay for each database query. Timers with a delay go directly to the platform, without a trace.
 */

const byPlugin = globalThis.setTimeout;
const byPlatform: typeof setTimeout = Object.getPrototypeOf(globalThis).setTimeout;

globalThis.setTimeout = new Proxy(byPlugin, {
  apply: (_, self, args) => Reflect.apply(args[1] > 0 ? byPlatform : byPlugin, self, args),
});
