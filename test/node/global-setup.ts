import { cpSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { migrate } from '../../scripts/local/database.ts';
import { freePort, newFolder, startService } from './service.ts';

/**
 * Makes the migrated folder and starts the service of `shared-service.ts`. Does not wait for either: the tests that
 * need them do.
 */
export default async function setup({ provide }: TestProject): Promise<() => Promise<void>> {
  const root = newFolder();
  const folder = join(root, 'shared');
  const migrated = join(root, 'migrated');
  const port = await freePort();
  const start = async () => {
    const unfinished = join(root, 'unfinished');
    await migrate(unfinished);
    cpSync(unfinished, folder, { recursive: true });
    // The tests wait for this name.
    renameSync(unfinished, migrated);
    return startService(folder, port);
  };
  const starting = start();
  starting.catch(() => undefined);
  provide('sharedService', `http://localhost:${port}`);
  provide('migratedFolder', migrated);
  return async () => {
    await (await starting).stop();
    rmSync(root, { recursive: true });
  };
}
