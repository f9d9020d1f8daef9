import { createExecutionContext, createScheduledController } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { beforeAll, beforeEach, expect, it, vi } from 'vitest';
import operations from '../../docs/operations.md?raw';
import worker from '../../src/index.ts';
import { newIsolate } from '../support/app.ts';
import { call, create, type License } from '../support/client.ts';
import { captureConsole } from '../support/console.ts';
import { newEvents, takeEvent } from '../support/events.ts';
import { databaseError, unreachable, withFaults } from '../support/faults.ts';
import { isAllPublished } from '../support/published.ts';
import { ROOT_TOKEN } from '../support/root-token.ts';
import { newWarmIsolate, newWatchedIsolate } from '../support/watched-isolate.ts';

/** The events of requests, for operators (docs/operations.md). All other tests check their form. */

let license: License;

beforeAll(async () => {
  license = await create.license({ maxIPs: -1, maxHWIDs: -1 });
});

beforeEach(() => {
  newEvents();
});

const asked = () => ({ licenseKey: license.licenseKey, productId: license.productId });

it('the event of a request has the outcome of a validation and the farthest tier that was read', async () => {
  const isolate = newWatchedIsolate();
  const tiersOf = async (body: object) => {
    const { recorded } = await isolate.validate(body);
    await recorded;
    return newEvents().map(({ outcome, status, tier }) => ({ outcome, status, tier }));
  };
  const valid = { outcome: 'VALID', status: 200 };
  expect(await tiersOf(asked())).toEqual([{ ...valid, tier: 'd1' }]);
  expect(await tiersOf(asked())).toEqual([{ ...valid, tier: 'memory' }]);
  const other = await create.license({ productId: license.productId, maxIPs: -1, maxHWIDs: -1 });
  await isAllPublished();
  newEvents();
  const { licenseKey, productId } = other;
  expect(await tiersOf({ licenseKey, productId })).toEqual([{ ...valid, tier: 'kv' }]);
  expect(await tiersOf({ licenseKey: crypto.randomUUID(), productId })).toEqual([
    { outcome: 'LICENSE_NOT_FOUND', status: 400, tier: 'd1' },
  ]);
  expect(await tiersOf({})).toEqual([{ outcome: 'INVALID_REQUEST', status: 400, tier: null }]);
  isolate.conditions.database = () => 'fails';
  isolate.conditions.kv = () => true;
  await isolate.validate({ licenseKey: crypto.randomUUID(), productId });
  isolate.conditions.database = () => null;
  // Memory had the policy, and nobody had the license.
  expect(newEvents()).toMatchObject([{ outcome: 'ERROR', status: 503, tier: 'memory' }]);
});

it('the event of a request for management has the tier d1, whatever memory has', async () => {
  const isolate = await newWarmIsolate();
  const { token } = await create.token(['ALL_READ_WRITE']);
  newEvents();
  const product = { name: crypto.randomUUID(), productType: 'OTHER' };
  for (const [method, path, options] of [
    ['GET', '/products?limit=1', {}],
    ['GET', `/licenses/${license.id}`, {}],
    ['POST', '/products', { body: product }],
    ['GET', '/ping', { token }],
  ] as const) {
    await isolate.call(method, `/api/v2${path}`, options);
  }
  expect(newEvents().map(({ tier }) => tier)).toEqual(['d1', 'd1', 'd1', 'd1']);
});

it('the event of a request is as docs/operations.md shows it', async () => {
  await (await newIsolate().validate(asked())).recorded;
  const [, example = ''] = operations.match(/```json\n(.*?)\n```/s) ?? [];
  const [event] = newEvents();
  expect(Object.keys(JSON.parse(example))).toEqual(Object.keys(event ?? {}));
  expect(takeEvent([example])).toBe(true);
  const [beforeMetrics = ''] = operations.split('## Metrics');
  for (const [, field = ''] of beforeMetrics.matchAll(/^\| `(\w+)` \|/gm)) {
    expect(event).toHaveProperty(field);
  }
});

it('the event of a request names the token by its id, under v2 and v2 validate', async () => {
  const { id, token } = await create.token(['ALL_READ_WRITE']);
  const isolate = newIsolate();
  newEvents();
  await isolate.call('GET', '/api/v2/ping', { token });
  await isolate.call('POST', '/api/v2/validate', { token, body: asked() });
  await isolate.call('GET', '/api/v2/ping', { token: ROOT_TOKEN });
  await isolate.call('GET', '/api/v2/ping', { token: 'unknown' });
  expect(newEvents().map(({ tokenId }) => tokenId)).toEqual([id, id, 'root', null]);
});

it('the event of a request names the route by its pattern, and never a key', async () => {
  const path = `/api/v2/licenses/by-license-key/${license.licenseKey}`;
  expect((await call('GET', path)).status).toBe(200);
  expect((await call('GET', `//api/v2/nothing/${license.licenseKey}`)).status).toBe(404);
  expect((await call('PATCH', path)).status).toBe(405);
  const events = newEvents();
  expect(events).toMatchObject([
    {
      message: 'GET /api/v2/licenses/by-license-key/:licenseKey 200',
      method: 'GET',
      route: '/api/v2/licenses/by-license-key/:licenseKey',
      status: 200,
      outcome: 'OK',
    },
    { method: 'GET', status: 404, outcome: 'REFUSED' },
    { method: 'PATCH', status: 405, outcome: 'REFUSED' },
  ]);
  expect(JSON.stringify(events)).not.toContain(license.licenseKey);
});

it('only the first limited request of an address and minute is logged [1.7.23]', async () => {
  vi.useFakeTimers({ toFake: ['Date'] });
  try {
    const isolate = newIsolate({ REFUSED_LIMITER: 1, FAILED_TOKEN_LIMITER: 1 });
    const flood = async (address: string) => {
      const headers = { 'CF-Connecting-IP': address };
      for (let request = 0; request < 4; request++) {
        await isolate.validate({}, { headers });
        await isolate.call('GET', '/api/v2/ping', { token: 'unknown', headers });
      }
      return newEvents().map(({ status }) => status);
    };
    expect(await flood('198.51.100.1')).toEqual([400, 401, 429]);
    expect(await flood('198.51.100.2')).toEqual([400, 401, 429]);
    vi.setSystemTime(Date.now() + 60_000);
    expect(await flood('198.51.100.1')).toEqual([400, 401, 429]);
  } finally {
    vi.useRealTimers();
  }
});

it('the first rejection without a live token of a client, status and minute is logged [1.7.23]', async () => {
  vi.useFakeTimers({ toFake: ['Date'] });
  try {
    const isolate = newIsolate({ FAILED_TOKEN_LIMITER: 1_000 });
    const { token } = await create.token(['ALL_READ_WRITE']);
    newEvents();
    const flood = async (address: string, method: string, path: string, sent?: string) => {
      const headers = { 'CF-Connecting-IP': address };
      for (let request = 0; request < 4; request++) {
        await isolate.call(method, path, { token: sent ?? null, headers });
      }
      return newEvents().map(({ status }) => status);
    };
    for (const address of ['198.51.100.1', '198.51.100.2']) {
      expect(await flood(address, 'GET', '/nothing')).toEqual([404]);
      expect(await flood(address, 'POST', '/markets/nothing')).toEqual([]);
      expect(await flood(address, 'POST', '/discord/interactions')).toEqual([401]);
      expect(await flood(address, 'GET', '/api/v2/products', 'unknown')).toEqual([]);
      expect(await flood(address, 'PUT', '/my/session')).toEqual([405]);
    }
    const missing = '/api/v2/products/999999';
    expect(await flood('198.51.100.1', 'GET', missing, token)).toEqual([404, 404, 404, 404]);
    vi.setSystemTime(Date.now() + 60_000);
    expect(await flood('198.51.100.1', 'GET', '/nothing')).toEqual([404]);
  } finally {
    vi.useRealTimers();
  }
});

it('failures of the service are logged once a minute, with their number [1.7.24]', async () => {
  vi.useFakeTimers({ toFake: ['Date'] });
  try {
    const isolate = newIsolate({ DB: unreachable(env.DB) });
    const lines = captureConsole();
    const fail = () => isolate.call('GET', '/api/v2/products', { token: ROOT_TOKEN });
    for (let request = 0; request < 10; request++) expect((await fail()).status).toBe(500);
    expect(lines).toEqual(['{"message":"Requests failed: 1","error":"Error"}']);
    vi.setSystemTime(Date.now() + 60_000);
    await fail();
    expect(lines.slice(1)).toEqual(['{"message":"Requests failed: 10","error":"Error"}']);
  } finally {
    vi.useRealTimers();
  }
});

it('the number of failures is logged a minute later also if no further one comes', async () => {
  vi.useFakeTimers({ toFake: ['Date'] });
  try {
    let isDown = true;
    const isolate = newIsolate({ DB: withFaults(env.DB, () => (isDown ? 'fails' : null)) });
    const lines = captureConsole();
    const fail = () => isolate.call('GET', '/api/v2/products', { token: ROOT_TOKEN });
    for (let request = 0; request < 10; request++) expect((await fail()).status).toBe(500);
    isDown = false;
    await isolate.runScheduled();
    expect(lines).toEqual(['{"message":"Requests failed: 1","error":"Error"}']);
    vi.setSystemTime(Date.now() + 60_000);
    await isolate.runScheduled();
    expect(lines.slice(1)).toEqual(['{"message":"Requests failed: 9","error":"Error"}']);
  } finally {
    vi.useRealTimers();
  }
});

it('a request is not logged where LOG_REQUESTS is not true', async () => {
  const isolate = newIsolate({ LOG_REQUESTS: 'false' });
  const { headers } = await isolate.call('GET', '/api/v2/healthy');
  expect(headers.get('X-Request-Id')).toMatch(/./);
  expect(newEvents()).toEqual([]);
});

it('LOG_REQUESTS = failures leaves out the valid validations but every hundredth', async () => {
  const isolate = newIsolate({ LOG_REQUESTS: 'failures' });
  const { licenseKey, productId } = await create.license({ maxIPs: -1 });
  newEvents();
  const isValid = async (count: number): Promise<void> => {
    const { status, recorded } = await isolate.validate(
      { licenseKey, productId },
      { headers: { 'CF-Connecting-IP': `192.0.2.${count}` } },
    );
    expect(status).toBe(200);
    await recorded;
  };
  await Promise.all(Array.from({ length: 99 }, (_, index) => isValid(index + 1)));
  expect(newEvents()).toEqual([]);
  const asked = { licenseKey, productId };
  const address = { headers: { 'CF-Connecting-IP': '192.0.2.100' } };
  expect((await isolate.validate(asked, address)).status).toBe(200);
  expect((await isolate.validate({ ...asked, licenseKey: 'unknown' }, address)).status).toBe(400);
  await isolate.call('GET', '/api/v2/healthy');
  expect(newEvents()).toMatchObject([
    { outcome: 'VALID' },
    { outcome: 'LICENSE_NOT_FOUND' },
    { outcome: 'OK' },
  ]);
});

it('a request is logged where LOG_REQUESTS is True', async () => {
  await newIsolate({ LOG_REQUESTS: 'True' }).call('GET', '/api/v2/healthy');
  expect(newEvents()).toHaveLength(1);
});

it('the event of a request tells a failure of our own from a rejection', async () => {
  const isolate = newIsolate({
    DB: Object.assign(Object.create(null), {
      prepare: () => {
        throw databaseError('select 1');
      },
    }),
  });
  const { status } = await isolate.call('GET', '/api/v2/products');
  expect(status).toBe(500);
  expect(newEvents()).toMatchObject([{ route: '/api/v2/products', outcome: 'FAILED' }]);
});

it.each([
  ['order-4711_b', /^order-4711_b$/],
  ...[undefined, '', 'a'.repeat(65), 'two words', "a'; drop table licenses"].map(
    (given) => [given, /^[0-9a-f-]{36}$/] as const,
  ),
] as const)(
  'X-Request-Id %j is returned, or another one in its place, and is in the log',
  async (given, id) => {
    const headers = given === undefined ? {} : { 'X-Request-Id': given };
    const response = await call('GET', '/api/v2/healthy', { headers });
    const [event] = newEvents();
    expect(event?.requestId).toMatch(id);
    expect(response.headers.get('X-Request-Id')).toBe(event?.requestId);
  },
);

it('X-Request-Id is on every response, rejections and failures too', async () => {
  const headers = { 'X-Request-Id': 'one' };
  const options = { token: null, headers };
  for (const response of [
    await call('POST', '/api/v1/validate', { body: 'x'.repeat(17 * 1024), ...options }),
    await call('GET', '/nothing', options),
    await call('GET', '/api/v1/nothing', options),
    await call('GET', '/api/v2/products', options),
  ]) {
    expect(response.headers.get('X-Request-Id')).toBe('one');
  }
});

it('a run of the scheduled handler that fails outside its tasks is logged, and its outcome says so', async () => {
  const log = vi.spyOn(console, 'error').mockImplementation(() => undefined);
  const bindings = { ...env };
  Reflect.deleteProperty(bindings, 'DB');
  const run = worker.scheduled(createScheduledController(), bindings, createExecutionContext());
  await expect(run).rejects.toThrow(TypeError);
  expect(log.mock.calls).toEqual([
    ['{"message":"The scheduled tasks failed","error":"TypeError"}'],
  ]);
  log.mockRestore();
});
