import { registerHooks } from 'node:module';

/**
 * Loaded before `npm start`, which takes half of the time then: what it builds is built once for all services of a run.
 * miniflare copies its message to the runtime, with the Worker in it, for each 4 KB that it adds: here it doubles the room.
 */

const BUILDERS: Record<string, string> = {
  esbuild: '/scripts/local/build.ts',
  './console/ensure.ts': '/scripts/start.ts',
};
const MINIFLARE = '/miniflare/dist/src/index.js';
const GROWTH = 'new ArrayBuffer(srcBuffer.byteLength + minSize)';
const LARGER_GROWTH = 'new ArrayBuffer(2 * srcBuffer.byteLength + minSize)';

registerHooks({
  resolve(specifier, context, nextResolve) {
    const importer = BUILDERS[specifier];
    if (importer === undefined || !context.parentURL?.endsWith(importer))
      return nextResolve(specifier, context);
    return nextResolve(new URL('built-once.ts', import.meta.url).href, context);
  },
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context);
    if (!url.endsWith(MINIFLARE)) return loaded;
    return { ...loaded, source: String(loaded.source).replace(GROWTH, LARGER_GROWTH) };
  },
});
