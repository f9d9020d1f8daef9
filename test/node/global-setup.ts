import { spawnSync } from 'node:child_process';
import { mkdirSync, rmSync, symlinkSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { ensureConsole } from '../../scripts/console/ensure.ts';
import { freePort, newFolder, startService } from './service.ts';

/**
 * Builds the console, starts the service of `shared-service.ts`, and makes the folder of `example-programs.ts`. Does not
 * wait for the service: the tests that need it do.
 */
export default async function setup({ provide }: TestProject): Promise<() => Promise<void>> {
  await ensureConsole(console.log);
  const folder = newFolder();
  // All processes of the tests inherit these.
  process.env.PATH = [ownPython(join(folder, 'tools')), process.env.PATH].join(delimiter);
  process.env.LICET_BUNDLES = join(folder, 'bundles');
  mkdirSync(process.env.LICET_BUNDLES);
  const port = await freePort();
  const starting = startService(folder, [], port);
  starting.catch(() => undefined);
  provide('sharedService', `http://localhost:${port}`);
  const exampleFolder = join(folder, 'examples');
  mkdirSync(exampleFolder);
  provide('exampleFolder', exampleFolder);
  return async () => {
    await (await starting).stop();
    rmSync(folder, { recursive: true });
  };
}

/** Makes a folder with Python itself, which some version managers start by a script of 0.3 seconds. */
function ownPython(folder: string): string {
  mkdirSync(folder);
  const program = 'import sys; print(sys.executable)';
  const { status, stdout } = spawnSync('python3', ['-c', program], { encoding: 'utf8' });
  if (status === 0) symlinkSync(stdout.trim(), join(folder, 'python3'));
  return folder;
}
