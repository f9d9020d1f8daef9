import { copyFileSync, existsSync, readFileSync } from 'node:fs';

/** Puts into `public` what is served as it is and kept elsewhere; wrangler runs this before it builds. */

const FILES = {
  'docs/openapi.json': 'public/openapi.json',
  'node_modules/swagger-ui-dist/swagger-ui.css': 'public/docs/swagger-ui.css',
  'node_modules/swagger-ui-dist/swagger-ui-bundle.js': 'public/docs/swagger-ui-bundle.js',
};

for (const [from, to] of Object.entries(FILES)) {
  // Left alone where it is the same: a service that runs would see it change, and start anew.
  if (!existsSync(to) || !readFileSync(from).equals(readFileSync(to))) copyFileSync(from, to);
}
