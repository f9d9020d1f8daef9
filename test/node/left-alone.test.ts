/** @module-tag long */

import { type ChildProcess, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as wait } from 'node:timers/promises';
import { readRootToken } from '@licet/cli/root-token';
import { type License, Licet } from '@licet/client';
import { afterAll, describe, expect, it } from 'vitest';
import { databaseFile } from '../../scripts/local/database.ts';
import { ownFolder } from './own.ts';
import { freePort, spawnGroup, startArgs, type Watched, watch } from './service.ts';
import { sharedService } from './shared-service.ts';
import { newLicense } from './shop.ts';
import { canRun } from './tools.ts';

/** A service that nobody looks after: processes that end, a disk that is full, clients that lie or ask too much. */

const root = ownFolder();

let child: ChildProcess | undefined;
let watched: Watched | undefined;
/** The arguments of the service that runs. */
let running: string | undefined;
async function stop(): Promise<void> {
  child?.kill('SIGTERM');
  await watched?.ended;
}
afterAll(stop);

let address = '';
/** Starts the service in the place of the one before. Without npm: a signal is for the process itself. */
async function start(folder: string, ...options: string[]): Promise<Watched> {
  await stop();
  const port = address === '' ? await freePort() : Number(new URL(address).port);
  address = `http://127.0.0.1:${port}`;
  const args = [...startArgs(), '--port', String(port), '--persist-to', folder, ...options];
  child = spawnGroup(process.execPath, args);
  watched = watch(child);
  void watched.ended.then(() => (running = undefined));
  await watched.printed('Licet runs on');
  running = String([folder, ...options]);
  return watched;
}

/** The service with these options, which several tests share: it is started if it does not run. */
const ensureStarted = async (folder: string, ...options: string[]): Promise<Watched> =>
  watched && running === String([folder, ...options]) ? watched : start(folder, ...options);

const runtimeOf = (folder: string): number =>
  Number(readFileSync(join(folder, 'workerd.pid'), 'utf8'));

const licet = (): Licet => new Licet({ url: address, token: readRootToken() });

const createLicense = (): Promise<License> => newLicense(licet(), { maxIPs: 5 });

/** The status of a validation; 0 for none. */
async function validate(
  { licenseKey, productId }: License,
  ip?: string,
  headers: Record<string, string> = {},
): Promise<number> {
  try {
    const body = JSON.stringify({ licenseKey, productId, ip });
    const response = await fetch(`${address}/api/v1/validate`, { method: 'POST', body, headers });
    await response.text();
    return response.status;
  } catch {
    return 0;
  }
}

const addressesOf = async ({ id }: License) => (await licet().licenses.get(id)).ips;
const totalOf = async ({ id }: License) => (await licet().licenses.get(id)).totalRequests;

/** Validates without a pause until the service is gone. @returns the number of 200 responses */
async function validateUntilGone(license: License): Promise<number> {
  let responded = 0;
  const ask = async (): Promise<void> => {
    while ((await validate(license)) === 200) responded++;
  };
  await Promise.all(Array.from({ length: 8 }, ask));
  return responded;
}

/** Sends the beginning of a request. @returns all that came back, once the service closes the connection */
const sendPart = (port: string, part: string): Promise<string> =>
  new Promise((resolve) => {
    const socket = connect(Number(port), '127.0.0.1', () => socket.write(part));
    let received = '';
    socket.on('data', (chunk) => (received += chunk));
    socket.on('error', () => undefined);
    socket.on('close', () => resolve(received));
  });

/** Asks for more than the kernel takes, and reads nothing. @returns the time until the service closes the connection */
async function askWithoutReading(port: number): Promise<number> {
  const script = 'GET /docs/swagger-ui-bundle.js HTTP/1.1\r\nHost: licet\r\n\r\n';
  const socket = connect({
    port,
    host: '127.0.0.1',
    onread: { buffer: Buffer.alloc(1), callback: () => false },
  });
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  socket.write(script.repeat(20));
  const hex = (port: number | undefined) => port?.toString(16).toUpperCase().padStart(4, '0');
  // The service's side of the connection, and ESTABLISHED.
  const open = new RegExp(`:${hex(port)} 0100007F:${hex(socket.localPort)} 01 `);
  const sentAt = performance.now();
  while (open.test(readFileSync('/proc/net/tcp', 'utf8'))) await wait(200);
  socket.destroy();
  return performance.now() - sentAt;
}

/** The responses to slow clients of another service, where they wait while the other tests run. */
async function startSlowClients(): Promise<string[]> {
  const { port } = new URL(await sharedService());
  const head = 'POST /api/v1/validate HTTP/1.1\r\nHost: licet\r\n';
  const parts = ['', head, `${head}Content-Length: 100\r\n\r\n{`];
  return Promise.all(parts.map((part) => sendPart(port, part)));
}
const fromSlowClients = startSlowClients();
const unreadMs = sharedService().then((url) => askWithoutReading(Number(new URL(url).port)));

const PATIENT = { timeout: 20_000 };
const UNLIMITED = [
  ...['--var', 'VALIDATION_LIMITER:1000000'],
  ...['--var', 'TRUSTED_PROXIES:127.0.0.0/8'],
];
const folder = join(root, 'data');

const LIES = {
  'CF-Connecting-IP': '203.0.113.9',
  'X-Forwarded-For': '203.0.113.9',
  'MF-CF-Blob': '{"clientIp":"203.0.113.9:1"}',
  'CF-Blob': '{"clientIp":"203.0.113.9:1"}',
  undefined: '{"clientIp":"203.0.113.9:1"}',
};

it('the connecting address is the one that a trusted proxy names', async () => {
  await ensureStarted(folder, ...UNLIMITED);
  const license = await createLicense();
  expect(await validate(license, undefined, LIES)).toBe(200);
  expect(await addressesOf(license)).toEqual(['203.0.113.9']);
});

/** Sends many requests at once on one connection. */
function pipeline(count: number): { socket: Socket; responded: () => number } {
  const request = 'GET /.well-known/jwks.json HTTP/1.1\r\nHost: licet\r\n\r\n';
  const { port } = new URL(address);
  let responded = 0;
  const socket = connect(Number(port), '127.0.0.1', () => socket.write(request.repeat(count)));
  socket.on(
    'data',
    (chunk) => (responded += chunk.toString('latin1').split('HTTP/1.1 ').length - 1),
  );
  return { socket, responded: () => responded };
}

it('a new connection is served while others never pause [1.6.13, 1.6.14]', async () => {
  await ensureStarted(folder, ...UNLIMITED);
  const others = Array.from({ length: 40 }, () => pipeline(100));
  const total = () => others.reduce((sum, { responded }) => sum + responded(), 0);
  await expect.poll(total, { timeout: 10_000, interval: 10 }).toBeGreaterThan(400);
  expect((await fetch(`${address}/api/v2/healthy`)).status).toBe(200);
  expect(total()).toBeLessThan(2_000);
  for (const { socket } of others) socket.destroy();
});

const FEW = 1_024;

it('more connections than there are descriptors lose no record, and the service goes on [1.6.15]', async () => {
  const port = await freePort();
  const start = [process.execPath, ...startArgs(), '--port', String(port)];
  const place = ['--persist-to', join(root, 'few')];
  const child = spawnGroup('sh', ['-c', `ulimit -n ${FEW}; exec "$@"`, 'sh', ...start, ...place]);
  const { log, printed, ended } = watch(child);
  await printed('Licet runs on');
  expect(log()).toContain(`(ulimit -n: ${FEW}) allows 256 connections`);
  const licet = new Licet({ url: `http://127.0.0.1:${port}`, token: readRootToken() });
  const { id, licenseKey, productId } = await newLicense(licet);

  let responded = 0;
  for (let opened = 0; opened < FEW && !log().includes('is started again'); opened++) {
    const socket = connect(port, '127.0.0.1').on('error', () => undefined);
    await once(socket, 'connect').catch(() => undefined);
    if (opened % 8 > 0) continue;
    const validation = licet.validate({ licenseKey, productId });
    await validation.then(
      () => responded++,
      () => undefined,
    );
  }
  expect(responded).toBeGreaterThan(25);
  const total = () =>
    licet.licenses.get(id).then(
      ({ totalRequests }) => totalRequests,
      () => 0,
    );
  await expect.poll(total, PATIENT).toBeGreaterThanOrEqual(responded);
  expect(log()).not.toContain('Too many open files');
  child.kill('SIGTERM');
  expect((await ended).code).toBe(0);
});

describe('the processes', () => {
  it('SIGTERM under load stores every record that got a response, and ends within 10 seconds with status 0; a flood at the next start gets responses', async () => {
    const { ended } = await ensureStarted(folder, ...UNLIMITED);
    const license = await createLicense();
    const other = await createLicense();
    expect(await validate(license)).toBe(200);
    const load = validateUntilGone(license);
    await expect.poll(() => totalOf(license), PATIENT).toBeGreaterThan(50);
    const stoppedAt = performance.now();
    // To the whole process group, as Ctrl+C in a terminal does.
    process.kill(-(child?.pid ?? Number.NaN), 'SIGTERM');
    expect((await ended).code).toBe(0);
    expect(performance.now() - stoppedAt).toBeLessThan(10_000);
    const responded = 1 + (await load);

    // During the first scheduled run, and however much they log.
    await start(folder, ...UNLIMITED);
    const flood = await Promise.all(Array.from({ length: 600 }, () => validate(other)));
    expect(new Set(flood)).toEqual(new Set([200]));
    expect(await totalOf(license)).toBe(responded);
  });

  it('kill -9 under load loses no record older than two seconds, and the next start takes over', async () => {
    await ensureStarted(folder, ...UNLIMITED);
    const license = await createLicense();
    let responded = 0;
    const load = (async () => {
      // A pause, because the load goes on for two seconds.
      for (; (await validate(license)) === 200; responded++) await wait(5);
    })();
    await expect.poll(() => responded, PATIENT).toBeGreaterThan(100);
    const beforeKill = responded;
    const at = performance.now();
    await expect.poll(() => performance.now() - at, { timeout: 5_000 }).toBeGreaterThan(2_000);
    const runtime = runtimeOf(folder);
    const socket = readFileSync(join(folder, 'workerd.socket'), 'utf8');
    expect(existsSync(socket)).toBe(true);
    child?.kill('SIGKILL');
    await watched?.ended;
    // The runtime goes on, and holds the port and the database.
    expect(() => process.kill(runtime, 0)).not.toThrow();

    const { output } = await start(folder);
    await load;
    expect(() => process.kill(runtime, 0)).toThrow();
    expect(existsSync(dirname(socket))).toBe(false);
    expect(output()).not.toContain('✗');
    expect(await totalOf(license)).toBeGreaterThanOrEqual(beforeKill);
    expect(await validate(license)).toBe(200);
  });

  it('a runtime that dies is started again', { tags: 'short' }, async () => {
    const { log } = await ensureStarted(folder);
    const license = await createLicense();
    const runtime = runtimeOf(folder);
    process.kill(runtime, 'SIGKILL');
    await expect.poll(() => validate(license), PATIENT).toBe(200);
    expect(runtimeOf(folder)).not.toBe(runtime);
    expect(log()).toContain('"level":"error","message":"The runtime ended by SIGKILL');
    // Everything in the log is JSON, with a time and a level.
    const lines = log().trimEnd().split('\n');
    expect(lines.map((line) => Object.keys(JSON.parse(line)).slice(0, 2))).toEqual(
      lines.map(() => ['time', 'level']),
    );
  });

  it('the scheduled tasks run, and their failures are in the log', async () => {
    await stop();
    const database = new DatabaseSync(databaseFile(folder), { timeout: 5_000 });
    database.exec('alter table idempotency_keys rename to away');
    const { log } = await start(folder);
    await expect.poll(log, PATIENT).toContain('"message":"Idempotency keys were not removed"');
    expect(log()).toMatch(/"level":"error","message":"Idempotency keys were not removed"/);
    database.exec('alter table away rename to idempotency_keys');
    database.close();
  });
});

describe('slow clients', () => {
  it('slow clients lose their connection within 20 seconds [3.2.3]', async () => {
    const [nothing, half, body] = await fromSlowClients;
    expect([nothing, half]).toEqual(['', '']);
    expect(body).toMatch(/^HTTP\/1.1 400 /);
    expect(body).toContain('{"valid":false,"message":"Body must arrive within 10 seconds"}');
  });

  it('clients that never read lose their connection within 30 seconds', async () => {
    const closedAfterMs = await unreadMs;
    expect(closedAfterMs).toBeGreaterThan(5_000);
    expect(closedAfterMs).toBeLessThan(30_000);
  }, 45_000);
});

it('a bound slot has its record although its client disconnects [1.6.12]', async () => {
  const url = new URL(await sharedService());
  const service = new Licet({ url: url.href, token: readRootToken() });
  const { id: productId } = await service.products.create({ name: 'Lost', productType: 'OTHER' });
  const license = { productId, licenseType: 'PERMANENT', maxIPs: 1, count: 300 } as const;
  const licenses = await service.licenses.createBatch(license);
  const disconnect = async (licenseKey: string): Promise<void> => {
    const body = JSON.stringify({ licenseKey, productId });
    const head = `POST /api/v1/validate HTTP/1.1\r\nHost: licet\r\nContent-Length: ${body.length}`;
    const socket = connect(Number(url.port), url.hostname).on('error', () => undefined);
    await once(socket, 'connect');
    socket.write(`${head}\r\n\r\n${body}`);
    await wait(Math.random() * 15);
    socket.resetAndDestroy();
  };
  for (let first = 0; first < licenses.length; first += 10) {
    const some = licenses.slice(first, first + 10);
    await Promise.all(some.map(({ licenseKey }) => disconnect(licenseKey)));
  }
  const unrecorded = async () =>
    (await service.licenses.byProductId(productId).list()).filter(
      ({ ips, totalRequests }) => ips.length > (totalRequests ?? 0),
    ).length;
  await expect.poll(unrecorded, PATIENT).toBe(0);
  const bound = (await service.licenses.byProductId(productId).list()).filter(
    ({ ips }) => ips.length > 0,
  );
  expect(bound.length).toBeGreaterThan(0);
});

it('the connecting address is that of the connection, whatever a client sends', {
  tags: 'short',
}, async () => {
  await ensureStarted(folder);
  const license = await createLicense();
  expect(await validate(license, undefined, LIES)).toBe(200);
  expect(await addressesOf(license)).toEqual(['127.0.0.1']);
});

it('a stop that cannot store every record logs an error, and ends with status 1', async () => {
  const { log, ended } = await ensureStarted(folder);
  const license = await createLicense();
  expect(await validate(license)).toBe(200);
  const database = new DatabaseSync(databaseFile(folder), { timeout: 5_000 });
  database.exec('begin immediate');
  try {
    expect(await validate(license)).toBe(200);
    child?.kill('SIGTERM');
    await expect.poll(log, PATIENT).toContain('"event":"stop"');
    // Instead of the nine seconds after which the stop goes on.
    process.kill(runtimeOf(folder), 'SIGKILL');
    expect((await ended).code).toBe(1);
  } finally {
    database.close();
  }
  expect(log()).toContain('"level":"error","message":"Not all requests were stored');
});

describe('a full disk', () => {
  /** A disk of 4 MB, once it is mounted. */
  const disk = join(root, 'disk');
  mkdirSync(disk);
  const mount = () =>
    spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=4m', 'tmpfs', disk]).status === 0;
  const unmount = () => spawnSync('umount', [disk]);
  const canMount = canRun(mount(), 'the right to mount', 'a full disk below the service');
  unmount();
  afterAll(async () => {
    await stop();
    unmount();
  });

  it.skipIf(!canMount)(
    'a full disk gets 503 for what has to be stored first, and the service recovers',
    async () => {
      mount();
      await start(disk);
      // Longer than the pages that the migrations have left free in the file.
      const notes = '€'.repeat(10_000);
      const license = await newLicense(licet(), { maxIPs: 5, notes });
      expect(await validate(license, '192.0.2.1')).toBe(200);
      const filler = join(disk, 'filler');
      try {
        writeFileSync(filler, Buffer.alloc(8 << 20));
      } catch {
        // Now it is full.
      }
      expect(await validate(license, '192.0.2.2')).toBe(503);
      // Bound already.
      expect(await validate(license, '192.0.2.1')).toBe(200);
      rmSync(filler);
      expect(await validate(license, '192.0.2.2')).toBe(200);
      // None of the records was lost.
      await expect.poll(() => totalOf(license), PATIENT).toBe(4);
    },
  );
});
