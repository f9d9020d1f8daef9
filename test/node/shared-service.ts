import { inject, vi } from 'vitest';

declare module 'vitest' {
  interface ProvidedContext {
    sharedService: string;
  }
}

const WAIT = { timeout: 60_000, interval: 100 };

let responded: Promise<unknown> | undefined;

/**
 * The address of a service that runs for all files, as soon as it responds. Others use it at the same
 * time: what it holds and records is not one file's alone.
 */
export async function sharedService(): Promise<string> {
  const address = inject('sharedService');
  responded ??= vi.waitFor(() => fetch(address, { method: 'HEAD' }), WAIT);
  await responded;
  return address;
}
