import { execFileSync } from 'node:child_process';
import {
  copyFileSync,
  cpSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';

/**
 * `npm run pack`: makes a file of each package that `npm install` takes. Node runs no TypeScript in `node_modules`, so a
 * package contains compiled JavaScript and declarations. It is packed from a copy, whose package.json names these.
 */

const PACKAGES = ['contract', 'client', 'cli'];
/** The sources name them. A package of another machine has no folder of the project. */
const DOCUMENTS = globSync('docs/*.md');

const copies = mkdtempSync(join(tmpdir(), 'licet-pack-'));
try {
  const folders = PACKAGES.map((name) => {
    const source = join('packages', name);
    const copy = join(copies, name);
    rmSync(join(source, 'dist'), { recursive: true, force: true });
    execFileSync('tsc', ['--build', source], { stdio: 'inherit' });
    mkdirSync(join(copy, 'docs'), { recursive: true });
    cpSync(join(source, 'dist'), join(copy, 'dist'), { recursive: true });
    copyFileSync(join(source, 'README.md'), join(copy, 'README.md'));
    if (name === 'cli') {
      for (const file of DOCUMENTS) copyFileSync(file, join(copy, 'docs', basename(file)));
    }
    const text = readFileSync(join(source, 'package.json'), 'utf8');
    const { scripts, ...manifest } = JSON.parse(
      text.replaceAll(/"(\.\/)?src\/([^"]+)\.ts"/g, '"$1dist/$2.js"'),
    );
    writeFileSync(join(copy, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
    return copy;
  });
  execFileSync('npm', ['pack', ...folders, ...process.argv.slice(2)], { stdio: 'inherit' });
} finally {
  rmSync(copies, { recursive: true });
}
