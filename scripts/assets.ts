import { copyFileSync, existsSync, readFileSync, rmSync } from 'node:fs';
import { fail } from '@licet/cli/terminal';
import { ensureConsole } from './console/ensure.ts';

/** Copies files into `public`, the folder that is served, and builds the console. wrangler runs it before its build. */

const FILES = {
  'docs/openapi.json': 'public/openapi.json',
  'node_modules/swagger-ui-dist/swagger-ui.css': 'public/docs/swagger-ui.css',
  'node_modules/swagger-ui-dist/swagger-ui-bundle.js': 'public/docs/swagger-ui-bundle.js',
};

/** Copies files from elsewhere into `public`. */
export function copyAssets(): void {
  // An earlier version made it. It would be in the place of the way to the console.
  rmSync('public/index.html', { force: true });
  for (const [from, to] of Object.entries(FILES)) {
    // An equal file is not written, because `npm run dev` would reload the service.
    if (!existsSync(to) || !readFileSync(from).equals(readFileSync(to))) copyFileSync(from, to);
  }
}

if (import.meta.main) {
  copyAssets();
  await ensureConsole(console.error).catch((error) => fail(String(error.message)));
}
