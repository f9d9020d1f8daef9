import { join } from 'node:path';
import tailwindcss from '@tailwindcss/vite';
import { defineConfig, type Plugin } from 'vite';
import manifest from '../package.json' with { type: 'json' };
import { ALIASES } from './aliases.ts';

/**
 * The console's build, into the files that the service serves. For work on it, `npx vite console` beside
 * `npm start`; LICET_URL names another service.
 */
const service = process.env.LICET_URL ?? 'http://localhost:8787';

/** On this machine sessions work under the name that the browser sends, and the proxy keeps it. */
const proxied = { target: service, changeOrigin: service.startsWith('https:') };

/** Nothing is shown before the script has set the theme. Vite drops the attribute from the page. */
const blocking: Plugin = {
  name: 'blocking',
  transformIndexHtml: {
    order: 'post',
    handler: (html) => html.replace('<script type="module"', '$& blocking="render"'),
  },
};

interface Graph {
  getModuleInfo: (id: string) => { importers: readonly string[] } | null;
}

/** Whether the customer's page needs a module. */
function isOfMyPage(id: string, graph: Graph, seen: Set<string>): boolean {
  if (seen.has(id)) return false;
  seen.add(id);
  if (id.includes('/console/src/my/')) return true;
  const { importers = [] } = graph.getModuleInfo(id) ?? {};
  return importers.some((one) => isOfMyPage(one, graph, seen));
}

/** Modules of so many parts of the console, a third of them, are one file: many small files are larger together. */
const MIN_PARTS = 10;

export default defineConfig({
  root: import.meta.dirname,
  base: '/console/',
  plugins: [tailwindcss(), blocking],
  define: { __VERSION__: JSON.stringify(manifest.version) },
  resolve: { alias: ALIASES },
  server: {
    proxy: {
      '/api': proxied,
      '/console/session': proxied,
      '/docs': proxied,
      '/.well-known': proxied,
    },
  },
  build: {
    target: 'es2022',
    outDir: '../public/console',
    emptyOutDir: true,
    // Every browser of the target preloads modules by itself.
    modulePreload: { polyfill: false },
    // The Content-Security-Policy takes scripts and styles from files only.
    assetsInlineLimit: 0,
    rolldownOptions: {
      // The console, and the customer's page.
      input: ['index.html', 'my.html'].map((page) => join(import.meta.dirname, page)),
      output: {
        codeSplitting: {
          groups: [
            {
              // The customer's page loads no more than it needs.
              debugName: 'page',
              name: (id, graph) => (isOfMyPage(id, graph, new Set()) ? 'page' : null),
              minShareCount: 2,
              priority: 2,
            },
            { name: 'parts', minShareCount: MIN_PARTS, priority: 1 },
          ],
        },
      },
      onwarn(warning, warn) {
        // 'use client' in the libraries means nothing here.
        if (warning.code !== 'MODULE_LEVEL_DIRECTIVE') warn(warning);
      },
    },
  },
});
