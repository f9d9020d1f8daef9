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
import { REPOSITORY } from '../console/src/screens/program/packages.ts';

/**
 * `npm run pack`: makes a file of each package that `npm install` takes. Node runs no TypeScript in `node_modules`, so a
 * package contains compiled JavaScript and declarations. It is packed from a copy, whose package.json names these.
 */

const PACKAGES = ['contract', 'client', 'cli'];
/** The sources name them. A package of another machine has no folder of the project. */
const DOCUMENTS = globSync('docs/*.md');

const { version }: { version: string } = JSON.parse(readFileSync('package.json', 'utf8'));

const copies = mkdtempSync(join(tmpdir(), 'licet-pack-'));
try {
  const folders = PACKAGES.map((name) => {
    const source = join('packages', name);
    const copy = join(copies, name);
    rmSync(join(source, 'dist'), { recursive: true, force: true });
    execFileSync('tsc', ['--build', source], { stdio: 'inherit' });
    mkdirSync(join(copy, 'docs'), { recursive: true });
    cpSync(join(source, 'dist'), join(copy, 'dist'), { recursive: true });
    const readme = readFileSync(join(source, 'README.md'), 'utf8');
    // Only one package has the documents.
    const documents = name === 'cli' ? 'docs/' : `${REPOSITORY}/blob/v${version}/docs/`;
    writeFileSync(join(copy, 'README.md'), readme.replaceAll('](../../docs/', `](${documents}`));
    if (name === 'cli') {
      for (const file of DOCUMENTS) copyFileSync(file, join(copy, 'docs', basename(file)));
    }
    const text = readFileSync(join(source, 'package.json'), 'utf8');
    // The sources cannot be published by mistake; the packed file can be published.
    const {
      scripts,
      private: _,
      ...manifest
    } = JSON.parse(text.replaceAll(/"(\.\/)?src\/([^"]+)\.ts"/g, '"$1dist/$2.js"'));
    const repository = { type: 'git', url: `git+${REPOSITORY}.git` };
    writeFileSync(
      join(copy, 'package.json'),
      `${JSON.stringify({ ...manifest, repository }, null, 2)}\n`,
    );
    return copy;
  });
  execFileSync('npm', ['pack', ...folders, ...process.argv.slice(2)], { stdio: 'inherit' });
} finally {
  rmSync(copies, { recursive: true });
}
