import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CliError, run } from '../../packages/cli/src/terminal.ts';

/** The console in `public/console`, built from its sources when they have changed. Vite is only loaded then. */

export const SOURCES = 'console';
export const BUILT = 'public/console';
/** The sources of the built files, stored beside them. The service does not serve this file. */
export const STAMP = join(BUILT, 'sources.json');

/** Files outside of the sources that every build depends on. */
const ALWAYS = ['package-lock.json'];

/** The sources of a build. */
export interface Stamp {
  /** The files outside of `console/` that are part of the build. */
  others: string[];
  hash: string;
}

/** The hash of all sources of a build. A missing file changes it too. */
export function hashOf(others: readonly string[]): string {
  const hash = createHash('sha256');
  const own = readdirSync(SOURCES, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name));
  for (const file of [...own, ...ALWAYS, ...others].toSorted()) {
    const content = existsSync(file) ? readFileSync(file) : '';
    hash.update(`${file} ${content.length}\n`).update(content);
  }
  return hash.digest('hex');
}

function isBuilt(): boolean {
  try {
    const { others, hash }: Stamp = JSON.parse(readFileSync(STAMP, 'utf8'));
    return hash === hashOf(others) && existsSync(join(BUILT, 'index.html'));
  } catch {
    // The console was never built, or a build was interrupted.
    return false;
  }
}

/**
 * Builds the console, unless its sources are those of the last build.
 *
 * @param say tells the user that this takes a while
 * @throws CliError if it cannot be built; the previous build stays
 */
export async function ensureConsole(say: (message: string) => void): Promise<void> {
  if (isBuilt()) return;
  say('The console is being built, which takes some seconds …');
  const { ok, output } = await run(process.execPath, [join(import.meta.dirname, 'build.ts')]);
  if (!ok) throw new CliError(`The console could not be built:\n${output.trim()}`);
}
