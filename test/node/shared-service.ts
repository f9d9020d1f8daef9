import { cpSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, inject, vi } from 'vitest';
import { type RunningService, startService } from './service.ts';

declare module 'vitest' {
  interface ProvidedContext {
    sharedService: string;
    migratedFolder: string;
  }
}

const WAIT = { timeout: 60_000, interval: 100 };

let answered: Promise<unknown> | undefined;

/**
 * The address of a service that runs for all files, as soon as it answers. Others use it at the same
 * time: what it holds and records is not one file's alone.
 */
export async function sharedService(): Promise<string> {
  const address = inject('sharedService');
  answered ??= vi.waitFor(() => fetch(address, { method: 'HEAD' }), WAIT);
  await answered;
  return address;
}

/** Gives a folder without a database an empty one: a copy, because its migrations take wrangler seconds of CPU time. */
export async function copyEmptyDatabase(folder: string): Promise<void> {
  if (existsSync(join(folder, 'v3'))) return;
  const migrated = inject('migratedFolder');
  await vi.waitFor(() => expect(existsSync(migrated)).toBe(true), WAIT);
  cpSync(migrated, folder, { recursive: true });
}

/** Starts a service with a database of its own, as a start of `npm start` that is not the first. */
export async function startOwnService(
  folder: string,
  options: readonly string[] = [],
): Promise<RunningService> {
  await copyEmptyDatabase(folder);
  return startService(folder, undefined, options);
}
