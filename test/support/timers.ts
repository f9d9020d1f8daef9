/**
 * The plugin takes a stack trace for each timer, to find those of vitest without a delay. The service sets a timer
 * for each look into the database: a timer with a delay goes to the platform at once.
 */

const byPlugin = globalThis.setTimeout;
const byPlatform: typeof setTimeout = Object.getPrototypeOf(globalThis).setTimeout;

globalThis.setTimeout = new Proxy(byPlugin, {
  apply: (_, self, args) => Reflect.apply(args[1] > 0 ? byPlatform : byPlugin, self, args),
});
