import { rmSync } from 'node:fs';
import type { TestProject } from 'vitest/node';
import { freePort, newFolder, startService } from './service.ts';

/** Starts the service of `shared-service.ts`, and waits for nothing: who needs it does. */
export default async function setup({ provide }: TestProject): Promise<() => Promise<void>> {
  const folder = newFolder();
  const port = await freePort();
  const starting = startService(folder, port);
  starting.catch(() => undefined);
  provide('sharedService', `http://localhost:${port}`);
  return async () => {
    await (await starting).stop();
    rmSync(folder, { recursive: true });
  };
}
