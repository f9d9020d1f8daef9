import { execFileSync } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';

/**
 * `npm pack` in a folder of `packages/`. Node runs TypeScript in this project, and none in `node_modules`: the packed
 * package has JavaScript and declarations in `dist`. npm packs the package.json of the folder, so before it (prepack)
 * that file names `dist`, and after it (postpack) the sources again.
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
