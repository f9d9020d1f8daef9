import { inject, vi } from 'vitest';

declare module 'vitest' {
  interface ProvidedContext {
    sharedService: string;
  }
}

/**
 * The address of a service that runs for all files, as soon as it answers. Others use it at the same
 * time: what it holds and records is not one file's alone.
 */
export async function sharedService(): Promise<string> {
  const address = inject('sharedService');
  await vi.waitFor(() => fetch(address), { timeout: 60_000, interval: 100 });
  return address;
}
