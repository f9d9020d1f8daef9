import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { done } from './terminal.ts';

/** `npm run openapi`: writes the OpenAPI document of the routes as they are. */

const FILE = 'docs/openapi.json';

const folder = mkdtempSync(join('node_modules', '.licet-openapi-'));
try {
  // The sources import one another as a bundler has it, which Node does not follow.
  const outfile = join(folder, 'document.mjs');
  await build({
    entryPoints: ['src/api/openapi/document.ts'],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    packages: 'external',
    logLevel: 'error',
  });
  const { openApiDocument } = await import(pathToFileURL(outfile).href);
  writeFileSync(FILE, `${JSON.stringify(openApiDocument(), null, 2)}\n`);
  done(`${FILE} is written`);
} finally {
  rmSync(folder, { recursive: true });
}
