import { createHash } from 'node:crypto';
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as esbuild from 'esbuild';

/**
 * In the place of esbuild and of the build of the console, in services that tests start. What the first one has bundled
 * is in the folder `LICET_BUNDLES`.
 */

/** The set-up of all tests has built it. */
export const ensureConsole = async (): Promise<void> => undefined;

export async function build(
  options: esbuild.BuildOptions & { write: false },
): Promise<{ outputFiles: { text: string }[] }> {
  const { LICET_BUNDLES } = process.env;
  if (LICET_BUNDLES === undefined) return esbuild.build(options);
  const name = createHash('sha256').update(JSON.stringify(options)).digest('hex');
  const file = join(LICET_BUNDLES, name);
  if (!existsSync(file)) {
    const { outputFiles } = await esbuild.build(options);
    const draft = `${file}.${process.pid}`;
    writeFileSync(draft, outputFiles.map(({ text }) => text).join(''));
    // Services start at the same time: none reads half a file.
    renameSync(draft, file);
  }
  return { outputFiles: [{ text: readFileSync(file, 'utf8') }] };
}

export const { stop } = esbuild;
