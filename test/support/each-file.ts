import { applyD1Migrations, reset } from 'cloudflare:test';
import { waitForGlobalWaitUntil } from 'cloudflare:test-internal';
import { env } from 'cloudflare:workers';
import { afterAll, afterEach, vi } from 'vitest';

/**
 * The files that a worker runs share its process, because a new one costs a second. Each finds the
 * service as it starts: its modules are loaded anew, its storage is empty but for the migrations.
 */

vi.resetModules();
await reset();
await applyD1Migrations(env.DB, env.MIGRATIONS);

// A test that set the clock would otherwise leave its time to all files after it.
afterEach(() => {
  vi.useRealTimers();
});

// Work that a request left running must not reach the next file's database. Awaiting it directly continues
// in the context of that request, which is cut off with it: a timer stays in the context of this file.
afterAll(async () => {
  let isRunning = true;
  const stop = () => {
    isRunning = false;
  };
  // The modules of this file, which are loaded after this one was.
  const { settled } = await import('./client');
  Promise.all([settled(), waitForGlobalWaitUntil()]).then(stop, stop);
  while (isRunning) await new Promise((resolve) => setTimeout(resolve, 1));
});
