/** @module-tag long */

import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { readRootToken } from '@licet/cli/root-token';
import { type License, Licet } from '@licet/client';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { databaseFile } from '../../scripts/local/database.ts';
import { isLong } from '../support/long.ts';
import { hasOwnNames, runtimeWithOwnNames } from './names.ts';
import { listen, ownFolder } from './own.ts';
import { freePort, spawnGroup, startArgs, type Watched, watch } from './service.ts';
import { newLicense } from './shop.ts';

/** Faults of others, for which `npm start` restarts nothing, and restarts and stops that lose nothing. */

/** By `short-minutes.ts`, which changes the timers of its process. */
const MINUTE_HAS_PASSED = 'A minute has passed';

const folder = ownFolder();
const canFailNames = hasOwnNames('the markets and Discord by names without an address');

let port: number;
let licet: Licet;
let watched: Watched;
let stop: () => Promise<void>;

/** Starts the service, whose minutes take a moment, on the same data and port as before. */
async function start(): Promise<void> {
  const child = spawnGroup(
    process.execPath,
    [
      ...['--import', pathToFileURL('test/node/short-minutes.ts').href],
      ...startArgs(),
      ...['--port', String(port), '--persist-to', folder, '--var', 'OUTBOUND_PRIVATE:true'],
      ...['--var', 'VALIDATION_LIMITER:1000000'],
    ],
    {
      ...process.env,
      ...(canFailNames && { MINIFLARE_WORKERD_PATH: runtimeWithOwnNames(folder) }),
    },
  );
  watched = watch(child);
  stop = async () => {
    child.kill('SIGTERM');
    await watched.ended;
  };
  await watched.printed('Licet runs on');
}

beforeAll(async () => {
  port = await freePort();
  licet = new Licet({ url: `http://127.0.0.1:${port}`, token: readRootToken() });
  await start();
});
afterAll(() => stop());
afterEach(async () => {
  while (received.length > 0) respond(204);
  for (const { id } of await licet.webhooks.list()) await licet.webhooks.delete(id);
});

const runtime = (): number => Number(readFileSync(join(folder, 'workerd.pid'), 'utf8'));
const countOf = (text: string): number => watched.output().split(text).length - 1;

/** A new event, for each webhook. */
const change = () => licet.products.create({ name: 'Plugin', productType: 'OTHER' });

/** Causes work for the scheduled handler, until it has run so often. */
async function runs(count: number, cause: () => unknown): Promise<void> {
  const first = countOf(MINUTE_HAS_PASSED);
  await vi.waitFor(
    async () => {
      await cause();
      expect(countOf(MINUTE_HAS_PASSED) - first).toBeGreaterThan(count);
    },
    { timeout: 30_000, interval: 50 },
  );
}

/** Tries what a test does, and expects the same runtime afterwards, and no word of a failed run or a restart. */
async function expectNoRestart(act: () => Promise<void>): Promise<void> {
  const before = runtime();
  const logged = watched.log().length;
  await act();
  expect(runtime()).toBe(before);
  expect(watched.log().slice(logged)).not.toMatch(/scheduled tasks failed|started again/);
}

/** The requests that a receiver has not responded to. */
const received: ServerResponse[] = [];
let receiver = '';
beforeAll(async () => {
  receiver = await listen((_request, response) => received.push(response));
});
const respond = (status: number) => received.shift()?.writeHead(status).end();
/** Makes a change, which the receiver gets. */
async function changeAndReceive(): Promise<void> {
  received.length = 0;
  await change();
  await vi.waitFor(() => expect(received).toHaveLength(1));
}

describe('a fault of others restarts nothing', () => {
  const certificate = () =>
    listen((_request, response) => response.end(), {
      cert: readFileSync('test/cli/test-only-certificate.pem'),
      key: readFileSync('test/cli/test-only-key.pem'),
    });

  const unreachable: [name: string, addressOf: () => string | Promise<string>][] = [
    ['a name that does not resolve', () => 'https://no-such-name.invalid/hook'],
    ['a certificate that nobody has signed', certificate],
  ];
  if (canFailNames) {
    unreachable.push(['Discord, not resolved', () => 'https://discord.com/api/webhooks/1/abc']);
  }
  it.each(unreachable)(
    'deliveries in each run restart nothing: %s [8.4.4]',
    async (_name, addressOf) => {
      const { id } = await licet.webhooks.create({ url: await addressOf(), types: ['product.*'] });
      await expectNoRestart(() => runs(5, change));
      const deliveries = await licet.webhooks.deliveries(id).list();
      const errors = deliveries.flatMap(({ error }) => error ?? []);
      expect(errors.length).toBeGreaterThan(4);
      const reason =
        'The receiver could not be reached: its name leads to no public address, or it has no valid certificate';
      expect(new Set(errors)).toEqual(new Set([reason]));
    },
  );

  it.skipIf(!canFailNames)(
    'a market that does not resolve in each run restarts nothing [8.4.4]',
    async () => {
      const { id: productId } = await change();
      await licet.markets.create({
        kind: 'voxel',
        name: 'Voxel Shop',
        products: [{ item: '1', productId }],
        apiToken: 'token-of-the-market',
      });
      const database = new DatabaseSync(databaseFile(folder), { timeout: 5_000 });
      const failure = '"message":"A market was not compared"';
      const failed = countOf(failure);
      await expectNoRestart(() =>
        runs(5, () => database.exec('update markets set comparison_due_at = null')),
      );
      database.close();
      expect(countOf(failure) - failed).toBeGreaterThan(3);
    },
  );

  it('runs that wait for a slow receiver go on, and restart nothing [8.3.10, 8.4.4]', async () => {
    await licet.webhooks.create({ url: receiver, types: ['product.*'] });
    await changeAndReceive();
    // After a failure, the scheduled handler makes the attempts.
    respond(500);
    const late = 'The scheduled tasks have not ended yet';
    const logged = countOf(late);
    await expectNoRestart(() => runs(5, change));
    expect(countOf(late)).toBeGreaterThan(logged);
  });
});

it('a stop waits for the outcomes of attempts, so that none is repeated [8.3.3]', async () => {
  const { id } = await licet.webhooks.create({ url: receiver, types: ['product.*'] });
  await changeAndReceive();
  const stopped = stop();
  await vi.waitFor(() => expect(watched.log()).toContain('"event":"stop"'));
  // Longer than a stop that has only records to store.
  setTimeout(() => respond(204), 1_000);
  await stopped;
  await start();
  const [delivery] = await licet.webhooks.deliveries(id).list();
  expect(delivery).toMatchObject({ state: 'DELIVERED', attempts: 1 });
});

/** Validates without a pause until the service is gone. @returns the number of 200 responses */
async function validateUntilGone({ licenseKey, productId }: License): Promise<number> {
  let responded = 0;
  const ask = async (): Promise<void> => {
    for (;;) {
      const body = JSON.stringify({ licenseKey, productId });
      const url = `http://127.0.0.1:${port}/api/v1/validate`;
      const response = await fetch(url, { method: 'POST', body }).catch(() => undefined);
      if (response?.status !== 200) return;
      responded++;
    }
  };
  await Promise.all(Array.from({ length: 4 }, ask));
  return responded;
}

const silences = [
  {
    fault: 'it hangs for a while',
    begin: (pid: number) => process.kill(pid, 'SIGSTOP'),
    end: (pid: number) => process.kill(pid, 'SIGCONT'),
  },
  {
    fault: 'the file of its socket is removed',
    begin: () => rmSync(readFileSync(join(folder, 'workerd.socket'), 'utf8')),
    end: () => undefined,
  },
];
it.each(isLong ? silences : silences.slice(0, 1))(
  'a runtime that does not respond is started again with a word in the log, and no record is lost: $fault [8.4.4]',
  async ({ begin, end }) => {
    const logged = watched.log().length;
    const license = await newLicense(licet, { maxIPs: 5 });
    const before = runtime();
    const load = validateUntilGone(license);
    const total = () =>
      licet.licenses.get(license.id).then(
        ({ totalRequests }) => totalRequests ?? 0,
        () => 0,
      );
    await vi.waitFor(async () => expect(await total()).toBeGreaterThan(50), { timeout: 20_000 });
    begin(before);
    await vi.waitFor(
      () =>
        expect(watched.log().slice(logged)).toContain(
          'The runtime has not responded in 3 runs of the scheduled tasks: ' +
            'it is started again, once the records are stored',
        ),
      { timeout: 30_000 },
    );
    end(before);
    const responded = await load;
    // The runtime before can still respond while it stores its records.
    await vi.waitFor(() => expect(runtime()).not.toBe(before), { timeout: 30_000 });
    await vi.waitFor(async () => expect(await total()).toBe(responded), { timeout: 30_000 });
  },
);

it('a runtime that cannot start is tried again after longer and longer pauses, and goes on when it can', async () => {
  const place = join(folder, 'failing');
  mkdirSync(place);
  const isBroken = join(place, 'broken');
  const program = join(place, 'workerd');
  // The module of the runtime is the path of its program.
  const workerd: unknown = createRequire(import.meta.url)('workerd').default;
  const script = `#!/bin/sh\n[ -e ${isBroken} ] && exit 1\nexec ${workerd} "$@"\n`;
  writeFileSync(program, script, { mode: 0o755 });
  const own = await freePort();
  const args = [...startArgs(), '--port', String(own), '--persist-to', place];
  const child = spawnGroup(process.execPath, args, {
    ...process.env,
    MINIFLARE_WORKERD_PATH: program,
  });
  const { log, printed, ended } = watch(child);
  try {
    await printed('Licet runs on');
    writeFileSync(isBroken, '');
    process.kill(Number(readFileSync(join(place, 'workerd.pid'), 'utf8')), 'SIGKILL');
    const failures = () =>
      log()
        .split('\n')
        .filter((line) => line.includes('The runtime did not start'))
        .map((line) => Date.parse(JSON.parse(line).time));
    await vi.waitFor(() => expect(failures().length).toBeGreaterThan(2), { timeout: 60_000 });
    const [first = 0, second = 0, third = 0] = failures();
    expect(second - first).toBeGreaterThan(900);
    expect(third - second).toBeGreaterThan(1_900);
    rmSync(isBroken);
    const other = new Licet({ url: `http://127.0.0.1:${own}`, token: readRootToken() });
    await vi.waitFor(() => other.tokens.self(), { timeout: 60_000 });
  } finally {
    child.kill('SIGTERM');
    await ended;
  }
});
