import { rmSync } from 'node:fs';
import type { TestProject } from 'vitest/node';
import { freePort, newFolder, npmStart } from './service.ts';

/** Starts the service of `shared-service.ts`. Does not wait for it: the tests that need it do. */
export default async function setup({ provide }: TestProject): Promise<() => Promise<void>> {
  const folder = newFolder();
  const port = await freePort();
  const starting = npmStart(folder, [], port);
  starting.catch(() => undefined);
  provide('sharedService', `http://localhost:${port}`);
  return async () => {
    await (await starting).stop();
    rmSync(folder, { recursive: true });
  };
}
