import { reset } from 'cloudflare:test';
import { waitForGlobalWaitUntil } from 'cloudflare:test-internal';
import { env } from 'cloudflare:workers';
import { afterAll, afterEach, expect, vi } from 'vitest';
import { restart, settled } from './client.ts';
import { newEvents } from './events.ts';
import './timers.ts';

/**
 * The files that a worker runs share its process and its modules, because loading them takes most of a
 * second. Each file finds the service as it starts: a cold isolate, and storage that is empty but for the
 * migrations.
 */

restart();
newEvents();
await vi.waitFor(
  async () => {
    await reset();
    const tables = env.DB.prepare(`select name from sqlite_master where name = 'products'`);
    // Rarely the old tables are still there: then they are deleted once more.
    expect(await tables.first()).toBeNull();
  },
  { timeout: 10_000 },
);
// In one round trip, which takes longer than the statements.
await env.DB.batch(
  env.MIGRATIONS.flatMap(({ queries }) => queries.map((query) => env.DB.prepare(query))),
);

// Without this, a test would leave its clock and its spies to all later tests. A file that replaces timers waits
// for `settled` in an `afterEach` of its own, which comes before this one.
afterEach(() => {
  // Spies first: one on a fake timer would put that timer back.
  vi.restoreAllMocks();
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

// Work that a request left running must not reach the next file's database. Awaiting it directly continues
// in the context of that request, which is cut off with it: a timer stays in the context of this file.
afterAll(async () => {
  let isRunning = true;
  const stop = () => {
    isRunning = false;
  };
  Promise.all([settled(), waitForGlobalWaitUntil()]).then(stop, stop);
  while (isRunning) await new Promise((resolve) => setTimeout(resolve, 1));
});
