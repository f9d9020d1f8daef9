import { registerHooks } from 'node:module';
import { resolve } from 'node:path';
import { defineConfig } from 'vitest/config';

import { ALIASES } from './console/aliases.ts';
import { isLong } from './test/support/long.ts';
import { ROOT_TOKEN } from './test/support/root-token.ts';

// A request may await what another one settles: so it is on Workers since 2024, and the service relies on
// it. The plugin turns that off with a compatibility flag, and has no option to leave it on.
const FLAG = 'runnerWorker.compatibilityFlags.push("no_handle_cross_request_promise_resolution");';
const unhook = registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context);
    if (!url.endsWith('/@cloudflare/vitest-plugin/dist/pool/index.mjs')) return loaded;
    const source = String(loaded.source);
    if (!source.includes(FLAG)) throw new Error('The plugin no longer sets the flag');
    return { ...loaded, source: source.replace(FLAG, '') };
  },
});
const { cloudflareTest, readD1Migrations } = await import('@cloudflare/vitest-plugin');
unhook.deregister();

export default defineConfig({
  test: {
    // Many tests wait for processes: three workers keep two cores busy, and more only slow each other down.
    maxWorkers: 3,
    // `npm test` leaves out what is tagged `long`, but for what is tagged `short` in it; LICET_LONG=1 runs all.
    tags: [{ name: 'long' }, { name: 'short' }],
    projects: [
      {
        // Runs in workerd, with the real local D1.
        plugins: [
          cloudflareTest(async () => ({
            main: './src/index.ts',
            wrangler: { configPath: './wrangler.toml' },
            miniflare: {
              bindings: {
                ROOT_TOKEN,
                MIGRATIONS: await readD1Migrations('./drizzle'),
                IS_LONG: isLong,
              },
              // Nothing leaves the machine: each address responds with 204.
              serviceBindings: { OUTBOUND: () => new Response(null, { status: 204 }) },
            },
          })),
        ],
        test: {
          name: 'workers',
          // Tests are fast, but for a machine that does much else.
          testTimeout: 60_000,
          include: ['test/**/*.test.ts'],
          exclude: ['test/{cli,console,docs,node,simulation}/**'],
          // One Worker runs many files, and is as good as new for each: the set-up sees to it.
          isolate: false,
          setupFiles: ['./test/support/each-file.ts'],
          // Bundled, and not loaded module by module.
          deps: {
            optimizer: {
              ssr: {
                enabled: true,
                include: [
                  'zod',
                  'hono',
                  'drizzle-orm',
                  'drizzle-orm/d1',
                  'drizzle-orm/sqlite-core',
                  'fast-check',
                  'ipaddr.js',
                  '@cfworker/json-schema',
                  '@hono/zod-validator',
                  'hono/cookie',
                  'hono/cors',
                  'hono/etag',
                  'hono/route',
                  'hono/http-exception',
                  'hono/utils/url',
                  '@modelcontextprotocol/server',
                ],
              },
            },
          },
        },
      },
      {
        // Runs in Node: tests that start, pack or read the project from outside.
        test: {
          name: 'node',
          include: ['test/{cli,docs,node}/**/*.test.ts'],
          exclude: isLong ? [] : ['**/*.long.test.ts'],
          globalSetup: ['./test/node/global-setup.ts'],
          // One process runs many files: they share the browser, and load their imports once.
          isolate: false,
          setupFiles: ['./test/node/checked-fetch.ts'],
          // Programs that tests start, wrangler above all, are compiled once and not by each process.
          env: { NODE_COMPILE_CACHE: resolve('node_modules/.cache/node') },
          // Long for machines that do much else: some tests install, build and start.
          testTimeout: 180_000,
          hookTimeout: 180_000,
          expect: { poll: { timeout: 20_000 } },
        },
      },
      {
        // Runs in Node: the logic of the console without a browser, over a service that each test makes up.
        resolve: { alias: ALIASES },
        test: {
          name: 'console',
          include: ['test/console/**/*.test.ts'],
          isolate: false,
          setupFiles: ['./test/console/page.ts'],
          // Only for inlined packages is React replaced, too.
          server: { deps: { inline: [/@tanstack/, /@base-ui/] } },
        },
      },
      {
        // Runs in Node as well: the service over fakes of the platform.
        test: {
          name: 'simulation',
          include: ['test/simulation/**/*.test.ts'],
          testTimeout: 60_000,
        },
      },
    ],
  },
});
