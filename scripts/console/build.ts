import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'vite';
import { buildDocuments } from './documents.ts';
import { BUILT, hashOfSources, PAGES, STAMP } from './ensure.ts';

/** Builds the console and the documents, in a process of its own: it takes memory that a service does not need. */

// Everybody may read the files, even if the data of the service is private.
process.umask(0o022);
// Tests have an environment of their own, in which Vite would build the development version of the page.
process.env.NODE_ENV = 'production';

const hash = hashOfSources();
buildDocuments();
const folder = mkdtempSync(join(tmpdir(), 'licet-console-'));
try {
  await build({
    root: 'console',
    configFile: 'console/vite.config.ts',
    // Vite's own loader writes a file into node_modules.
    configLoader: 'native',
    logLevel: 'warn',
    build: { outDir: folder, emptyOutDir: true },
  });
  // A service that runs meanwhile must find whole files, and the page last. Another build may run as well.
  const [built, assets] = [join(folder, 'assets'), join(BUILT, 'assets')];
  cpSync(built, assets, { recursive: true });
  for (const name of PAGES) {
    const page = join(BUILT, name);
    const copy = `${page}.${process.pid}`;
    copyFileSync(join(folder, name), copy);
    renameSync(copy, page);
  }
  for (const name of readdirSync(assets)) {
    if (!existsSync(join(built, name))) rmSync(join(assets, name), { force: true });
  }
  writeFileSync(STAMP, hash);
} finally {
  rmSync(folder, { recursive: true });
}
