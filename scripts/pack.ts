import { execFileSync } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';

/**
 * Prepares `npm pack` in a folder of `packages/`. Node runs no TypeScript in `node_modules`, so a package contains
 * compiled JavaScript and declarations in `dist`. npm packs the package.json of the folder. `prepack` makes it name
 * `dist`, and `postpack` makes it name the sources again.
 */

const MANIFEST = 'package.json';

function rename(from: RegExp, to: string): void {
  writeFileSync(MANIFEST, readFileSync(MANIFEST, 'utf8').replaceAll(from, to));
}

if (process.argv[2] === 'before') {
  rmSync('dist', { recursive: true, force: true });
  execFileSync('tsc', ['--build'], { stdio: 'inherit' });
  rename(/"(\.\/)?src\/([^"]+)\.ts"/g, '"$1dist/$2.js"');
} else {
  rename(/"(\.\/)?dist\/([^"]+)\.js"/g, '"$1src/$2.ts"');
}
