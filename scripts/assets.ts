import { copyFileSync, existsSync, readFileSync } from 'node:fs';
import { fail } from '../packages/cli/src/terminal.ts';
import { ensureConsole } from './console/ensure.ts';

/**
 * Copies files from elsewhere into `public`, the folder that is served. When wrangler runs this before its build, it
 * also builds the console. `npm start` has built the console before.
 */

const FILES = {
  'docs/openapi.json': 'public/openapi.json',
  // For a person who opens the address of the service.
  'public/docs.html': 'public/index.html',
  'node_modules/swagger-ui-dist/swagger-ui.css': 'public/docs/swagger-ui.css',
  'node_modules/swagger-ui-dist/swagger-ui-bundle.js': 'public/docs/swagger-ui-bundle.js',
};

for (const [from, to] of Object.entries(FILES)) {
  // An equal file is not written, because `npm run dev` would reload the service.
  if (!existsSync(to) || !readFileSync(from).equals(readFileSync(to))) copyFileSync(from, to);
}

if (import.meta.main) {
  await ensureConsole(console.error).catch((error) => fail(String(error.message)));
}
