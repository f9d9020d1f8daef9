import { env } from 'cloudflare:workers';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { type Isolate, newIsolate, settled, type ValidationResponse } from '../support/app.ts';
import { create, get, type License } from '../support/client.ts';
import { captureConsole } from '../support/console.ts';
import { withFaults } from '../support/faults.ts';
import { emptyHistory } from '../support/history.ts';
import { askFor, openShop } from '../support/shop.ts';

/** No record is lost to load (decisions 1.6): validations wait while too many records are pending. */

const shop = openShop();
const UNLIMITED = { VALIDATION_LIMITER: 1e9, REFUSED_LIMITER: 1e9 };
const MAX_PENDING = 3_000;
const CLIENTS = 250;

let consoleLines: string[];

beforeEach(async () => {
  await emptyHistory();
  consoleLines = captureConsole();
});
afterEach(settled);

/** D1 with a pause before each write of records. */
const pausing = (pause: () => Promise<unknown>): D1Database =>
  withFaults(env.DB, async (sql) => {
    if (sql.includes('insert into "requests"')) await pause();
    return null;
  });

const wait = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** Sends validations from many clients at once, each after the response to the one before. */
async function flood(isolate: Isolate, license: License, count: number) {
  const responses: ValidationResponse[] = [];
  let left = count;
  const client = async () => {
    while (left-- > 0) responses.push(await isolate.validate(askFor(license)));
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
  return {
    statuses: responses.map(({ status }) => status),
    recorded: Promise.all(responses.map(({ recorded }) => recorded)),
  };
}

it('admitted validations are all recorded by a database that takes 300 ms for each batch [1.6.1]', async () => {
  const license = await shop.newLicense();
  const isolate = newIsolate({ ...UNLIMITED, DB: pausing(() => wait(300)) });
  const { statuses, recorded } = await flood(isolate, license, 5_000);
  await recorded;
  // A slow machine rejects some.
  const valid = statuses.filter((status) => status === 200).length;
  expect(valid).toBeGreaterThanOrEqual(MAX_PENDING);
  expect(statuses.every((status) => status === 200 || status === 503)).toBe(true);
  expect((await get.license(license.id)).totalRequests).toBe(valid);
  expect(consoleLines).toEqual([]);
});

it('admitted validations are all recorded by a database that hangs for four seconds [1.6.1]', {
  tags: 'long',
}, async () => {
  const license = await shop.newLicense();
  const hanging = wait(4_000);
  const isolate = newIsolate({ ...UNLIMITED, DB: pausing(() => hanging) });
  const { statuses, recorded } = await flood(isolate, license, 4_000);
  await recorded;
  const valid = statuses.filter((status) => status === 200).length;
  expect(valid).toBeGreaterThanOrEqual(MAX_PENDING);
  expect(statuses.every((status) => status === 200 || status === 503)).toBe(true);
  expect((await get.license(license.id)).totalRequests).toBe(valid);
  expect(consoleLines).toEqual([]);
});

const BUSY = { valid: false, message: 'Service is busy, try again' };

it('a validation that finds no room for two seconds gets 503 and leaves nothing behind [1.6.5]', {
  tags: 'long',
}, async () => {
  const license = await shop.newLicense({ maxIPs: 2 });
  const { token } = await create.token(['LICENSE_VALIDATE']);
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const isolate = newIsolate({ ...UNLIMITED, DB: pausing(() => released) });
  // However slow this machine is, the database has not hung for five seconds yet.
  const startedAt = performance.now();
  vi.stubGlobal('performance', { now: () => startedAt });
  const { recorded } = await flood(isolate, license, MAX_PENDING);
  const v1 = { version: 'v1', headers: {} } as const;
  const sent = isolate.send('POST', '/api/v1/validate', { token: null, body: {} });
  const rejected = await Promise.all(
    [
      { body: askFor(license, { ip: '192.0.2.77' }), options: v1 },
      { body: askFor(license), options: { version: 'v2', headers: { TOKEN: token } } as const },
      { body: { ...askFor(license), nonce: 'n'.repeat(22) }, options: v1 },
      { body: { ...askFor(license), licenseKey: 'unknown' }, options: v1 },
      { body: {}, options: v1 },
    ].map(({ body, options }) => isolate.validate(body, options)),
  );
  expect((await sent).headers.get('Retry-After')).toBe('2');
  for (const { status, json } of rejected) {
    expect(status).toBe(503);
    expect(json).toStrictEqual(BUSY);
  }
  vi.unstubAllGlobals();
  release();
  await recorded;
  const { ips, totalRequests } = await get.license(license.id);
  expect(ips).not.toContain('192.0.2.77');
  expect(totalRequests).toBe(MAX_PENDING);
  expect((await isolate.validate(askFor(license))).status).toBe(200);
});
