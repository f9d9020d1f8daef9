import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CliError, run } from '@licet/cli/terminal';

/** The console in `public/console`, and the documents in `public/docs`, built when their sources have changed. */

export const BUILT = 'public/console';
/** The pages of the console and of customers. */
export const PAGES = ['index.html', 'my.html'];
/** The hash of the sources of the built files, beside them. The service does not serve this file. */
export const STAMP = join(BUILT, 'sources.sha256');

/** All folders with a file that is part of a page, or makes one. */
const SOURCES = ['console', 'docs', 'examples', 'packages', 'scripts/console'];

/** Not the dates of the files: an upgrade can bring files that are older than the last build. */
export function hashOfSources(): string {
  const files = SOURCES.filter((folder) => existsSync(folder))
    .flatMap((folder) => readdirSync(folder, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))
    .filter((file) => !/\/(dist|node_modules)\//.test(file));
  const hash = createHash('sha256');
  for (const file of [...files, 'package-lock.json'].toSorted()) {
    const content = readFileSync(file);
    hash.update(`${file} ${content.length}\n`).update(content);
  }
  return hash.digest('hex');
}

const isBuilt = (): boolean =>
  PAGES.every((page) => existsSync(join(BUILT, page))) &&
  existsSync(STAMP) &&
  readFileSync(STAMP, 'utf8') === hashOfSources();

/**
 * Builds the console and the documents, unless its sources are those of the last build.
 *
 * @param say tells the user that this takes a while
 * @throws CliError if it cannot be built; the previous build stays
 */
export async function ensureConsole(say: (message: string) => void): Promise<void> {
  if (isBuilt()) return;
  say('The console is being built, which takes some seconds …');
  const { ok, output } = await run(process.execPath, [
    '--single-threaded',
    join(import.meta.dirname, 'build.ts'),
  ]);
  if (!ok) throw new CliError(`The console could not be built:\n${output.trim()}`);
}
