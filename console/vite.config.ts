import tailwindcss from '@tailwindcss/vite';
import { defineConfig } from 'vite';

/**
 * The console's build, into the files that the service serves. For work on it, `npx vite console` beside
 * `npm start`; LICET_URL names another service.
 */
const service = process.env.LICET_URL ?? 'http://localhost:8787';

export default defineConfig({
  root: import.meta.dirname,
  base: '/console/',
  plugins: [tailwindcss()],
  server: {
    proxy: {
      '/api': service,
      '/console/session': service,
      '/docs': service,
      '/.well-known': service,
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
      output: {
        // The texts of the examples apart: they are no part of the page's budget, and a viewer loads one.
        chunkFileNames: ({ facadeModuleId }) =>
          facadeModuleId?.endsWith('?raw')
            ? 'assets/examples/[name]-[hash].js'
            : 'assets/[name]-[hash].js',
      },
      onwarn(warning, warn) {
        // 'use client' in the libraries means nothing here.
        if (warning.code !== 'MODULE_LEVEL_DIRECTIVE') warn(warning);
      },
    },
  },
});
