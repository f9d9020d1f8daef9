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

// What a request left to be written after its answer must not reach the next file's database. Who
// awaits a request's promise goes on in that request, and is cut off with it: the next file then waits
// for ever. A timer brings this file back to where it was.
afterAll(async () => {
  let isRunning = true;
  const stop = () => {
    isRunning = false;
  };
  waitForGlobalWaitUntil().then(stop, stop);
  while (isRunning) await new Promise((resolve) => setTimeout(resolve, 1));
});

// Each request to the Worker imports its main module, about which Vite is asked in another process.
// While a file runs nothing of it changes: once is enough.
const { moduleRunner } = __vitest_mocker__;
Reflect.deleteProperty(moduleRunner, 'import');
const importModule = moduleRunner.import.bind(moduleRunner);
let main: Promise<unknown> | undefined;
moduleRunner.import = (name) => {
  if (!name.endsWith('/src/index.ts')) return importModule(name);
  main ??= importModule(name);
  return main;
};
