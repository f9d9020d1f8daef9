import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { build, type Plugin } from 'vite';
import { BUILT, hashOf, SOURCES, STAMP, type Stamp } from './ensure.ts';

/** Builds the console. Runs in a process of its own, because Vite takes memory that a service does not need. */

// Everybody may read the files, even if the data of the service is private.
process.umask(0o022);
// Tests have an environment of their own, in which Vite would build the development version of the page.
process.env.NODE_ENV = 'production';

const others = new Set<string>();
/** Collects the files outside of `console/` that are part of the build. */
const noteSources: Plugin = {
  name: 'licet-sources',
  buildEnd() {
    for (const id of this.getModuleIds()) {
      const file = relative('.', id.replace(/\?.*$/s, ''));
      const isOwn = file.startsWith(`${SOURCES}/`);
      if (!isOwn && !/^(\.\.|\0|node_modules)/.test(file)) others.add(file);
    }
  },
};

const PAGE = 'index.html';

const temporary = mkdtempSync(join(tmpdir(), 'licet-console-'));
// A folder inside, because only the owner may read the temporary one, and copies would keep that.
const folder = join(temporary, 'console');
try {
  await build({
    root: SOURCES,
    configFile: join(SOURCES, 'vite.config.ts'),
    // Vite's own loader writes a file into node_modules.
    configLoader: 'native',
    logLevel: 'warn',
    plugins: [noteSources],
    build: { outDir: folder, emptyOutDir: true },
  });
  const stamp: Stamp = { others: [...others].toSorted(), hash: hashOf([...others]) };
  // A service that runs meanwhile must find whole files, and the page last. Another build may run as well.
  const built = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => relative(folder, join(parentPath, name)));
  mkdirSync(BUILT, { recursive: true });
  for (const file of built.filter((name) => name !== PAGE)) {
    const target = join(BUILT, file);
    mkdirSync(dirname(target), { recursive: true });
    copyFileSync(join(folder, file), target);
  }
  const page = join(BUILT, `${PAGE}.${process.pid}`);
  copyFileSync(join(folder, PAGE), page);
  renameSync(page, join(BUILT, PAGE));
  const old = readdirSync(BUILT, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.name.startsWith(PAGE))
    .map(({ parentPath, name }) => join(parentPath, name))
    .filter((file) => !built.includes(relative(BUILT, file)));
  for (const file of old) rmSync(file, { force: true });
  writeFileSync(STAMP, JSON.stringify(stamp));
} finally {
  rmSync(temporary, { recursive: true });
}
