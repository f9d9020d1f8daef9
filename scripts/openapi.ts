import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { done } from '@licet/cli/terminal';
import { build } from 'esbuild';
import { clientTypes } from './client-types.ts';

/** `npm run openapi`: writes the OpenAPI document of the routes, and the client's types. */

const FILE = 'docs/openapi.json';
const TYPES_FILE = 'packages/client/src/types.ts';

const folder = mkdtempSync(join('node_modules', '.licet-openapi-'));
try {
  // The imports of `src` have no file extensions, so Node cannot resolve them.
  const outfile = join(folder, 'document.mjs');
  await build({
    entryPoints: ['openapi/document.ts'],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    packages: 'external',
    logLevel: 'error',
  });
  const { openApiDocument } = await import(pathToFileURL(outfile).href);
  const document = openApiDocument();
  writeFileSync(FILE, `${JSON.stringify(document, null, 2)}\n`);
  // Parsed again, because JSON drops undefined values.
  writeFileSync(TYPES_FILE, clientTypes(JSON.parse(JSON.stringify(document))));
  done(`${FILE} and ${TYPES_FILE} are written`);
} finally {
  rmSync(folder, { recursive: true });
}
