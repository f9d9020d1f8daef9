import { createExecutionContext } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { afterEach, beforeAll, expect, it, vi } from 'vitest';
import { app } from '../../src/routes/app.ts';
import type { Bindings } from '../../src/services.ts';
import { type Isolate, newIsolate, settled } from '../support/app.ts';
import {
  call,
  create,
  expectError,
  get,
  historyOf,
  type License,
  type ReadResponse,
  readResponse,
  requestTo,
  validate,
} from '../support/client.ts';
import { takeClock } from '../support/clock.ts';
import { captureConsole } from '../support/console.ts';
import { spyOnDatabase } from '../support/d1-spy.ts';
import { withFaults } from '../support/faults.ts';
import { spyOnKv } from '../support/kv-spy.ts';
import { isAllPublished } from '../support/published.ts';
import { ROOT_TOKEN } from '../support/root-token.ts';
import { askFor } from '../support/shop.ts';

/** The rate limits of decisions 1.7: by the real local limiters, by such as the tests make, and by none. */

const WINDOW_MS = 60_000;
const TOO_MANY = { valid: false, message: 'Too many requests' };

function expectLimited({ status, json, headers }: ReadResponse): void {
  expect(status).toBe(429);
  expect(json).toStrictEqual(TOO_MANY);
  expect(headers.get('Retry-After')).toBe('60');
}

// A clock that jumps would end the timeouts of writes that are still running.
afterEach(settled);

let addresses = 0;
/** An address from which nobody has asked yet. */
const nextAddress = () => `198.18.${addresses >> 8}.${addresses++ & 255}`;

const newLicense = async () => {
  const { id, licenseKey, productId } = await create.license({ maxIPs: -1, maxHWIDs: -1 });
  return { id, asked: { licenseKey, productId } };
};

/**
 * How many requests are let through before the first that is refused, all in one minute: where a
 * minute ends in between the count starts again, and so does this, with another subject.
 */
async function askUntilLimited<Subject>(
  newSubject: () => Promise<Subject>,
  ask: (subject: Subject, attempt: number) => Promise<ReadResponse>,
): Promise<{ subject: Subject; allowed: ReadResponse[]; limited: ReadResponse }> {
  for (;;) {
    const subject = await newSubject();
    const minute = Math.floor(Date.now() / WINDOW_MS);
    const allowed: ReadResponse[] = [];
    let response = await ask(subject, 0);
    while (response.status !== 429 && allowed.length < 200) {
      allowed.push(response);
      response = await ask(subject, allowed.length);
    }
    if (Math.floor(Date.now() / WINDOW_MS) === minute) {
      return { subject, allowed, limited: response };
    }
  }
}

it('validations of one key from one address are limited to 120 a minute [1.1.4, 1.3, 1.7.4, 1.7.7, interface 8]', async () => {
  const { allowed, limited } = await askUntilLimited(
    async () => ({ ...(await newLicense()), connectingAddress: nextAddress() }),
    ({ asked, connectingAddress }) => validate(asked, { connectingAddress }),
  );
  expect(allowed.map(({ status }) => status)).toEqual(Array(120).fill(200));
  expectLimited(limited);
});

it.each<[string, (attempt: number, license: License) => object]>([
  ['unknown keys', (attempt) => ({ licenseKey: `guess-${attempt}` })],
  ['a wrong product', (_, { productId }) => ({ productId: productId + 100_000 })],
  ['a deleted license', (_, deleted) => ({ licenseKey: deleted.licenseKey })],
])(
  'validations of %s are rejected 100 times a minute to one address, then limited as spam, while a known key stays valid [1.1.4, 1.6.18, 1.7.10]',
  async (_, change) => {
    const { asked } = await newLicense();
    const deleted = await create.license({ productId: asked.productId });
    await call('DELETE', `/api/v2/licenses/${deleted.id}`);
    expect((await validate(asked, { connectingAddress: nextAddress() })).status).toBe(200);
    const { subject, allowed, limited } = await askUntilLimited(
      async () => nextAddress(),
      (connectingAddress, attempt) =>
        validate({ ...asked, ...change(attempt, deleted) }, { connectingAddress }),
    );
    expect(allowed.map(({ status }) => status)).toEqual(Array(100).fill(400));
    expectLimited(limited);
    const records = await historyOf({ ip: subject }, 101);
    const marked = records.filter(({ rateLimited, spam }) => rateLimited || spam);
    expect(marked).toMatchObject([
      { responseType: 'RATE_LIMITED', rateLimited: true, spam: true, valid: false },
    ]);
    expect((await validate(asked, { connectingAddress: subject })).status).toBe(200);
  },
);

it('failed tokens are limited to 60 a minute for one address, and one that was used before is not [1.1.4, 1.7.14, 1.7.19]', async () => {
  const { token } = await create.token(['LICENSE_VALIDATE']);
  expect((await call('GET', '/api/v2/ping', { token })).status).toBe(200);
  const { subject, allowed, limited } = await askUntilLimited(
    async () => ({ 'CF-Connecting-IP': nextAddress() }),
    (headers, attempt) =>
      call('GET', '/api/v2/ping', { token: attempt % 2 === 0 ? null : 'guess', headers }),
  );
  expect(allowed.map(({ status }) => status)).toEqual(Array(60).fill(401));
  expectError(limited, 429, 'Too many requests without a live token');
  expect(limited.headers.get('Retry-After')).toBe('60');
  expect((await call('GET', '/api/v2/ping', { token, headers: subject })).status).toBe(200);
});

it('forty servers behind one address that restart together with forty keys all get through [1.7.21]', {
  tags: 'long',
}, async () => {
  const { id: productId } = await create.product();
  const licenses = await Promise.all(
    Array.from({ length: 40 }, () => create.license({ productId, maxIPs: -1, maxHWIDs: -1 })),
  );
  const connectingAddress = nextAddress();
  for (const ip of [undefined, nextAddress()]) {
    const responses = await Promise.all(
      licenses.flatMap(({ licenseKey }) =>
        // Each asks more than once while it starts.
        [1, 2].map(() => validate({ licenseKey, productId, ip }, { connectingAddress })),
      ),
    );
    expect(responses.map(({ status }) => status)).toEqual(Array(80).fill(200));
  }
  await historyOf({ productId: String(productId), valid: 'true' }, 160);
});

/** A limiter that lets so many through of each key, and what it was asked. */
function newLimiter(limit: number): { limiter: RateLimit; keys: string[] } {
  const keys: string[] = [];
  const limiter = {
    limit: async ({ key }: RateLimitOptions) => {
      keys.push(key);
      return { success: keys.filter((other) => other === key).length <= limit };
    },
  };
  return { limiter, keys };
}

/** Asks so many times, one after another, and gives the statuses. */
async function repeat(
  times: number,
  ask: (attempt: number) => Promise<{ status: number }>,
): Promise<number[]> {
  const statuses: number[] = [];
  for (let attempt = 0; attempt < times; attempt++) statuses.push((await ask(attempt)).status);
  return statuses;
}

/** An isolate whose limiter of validations refuses from the eleventh of a minute. */
const newStrictIsolate = () => {
  const { limiter, keys } = newLimiter(10);
  return { isolate: newIsolate({ VALIDATION_LIMITER: limiter }), keys };
};

it('one key has one limit however it is spelled, under v1 and v2, which both respond in two fields [1.7.7]', async () => {
  const { asked } = await newLicense();
  const { isolate } = newStrictIsolate();
  const headers = { 'CF-Connecting-IP': '198.51.100.1' };
  await repeat(10, () => isolate.validate(asked, { headers }));
  const spelled = { ...asked, licenseKey: ` ${asked.licenseKey.toLowerCase()}\n` };
  const v2 = { version: 'v2', headers: { ...headers, TOKEN: ROOT_TOKEN } } as const;
  for (const response of [
    await isolate.validate(spelled, { headers }),
    await isolate.validate(asked, v2),
    await isolate.validate(spelled, v2),
  ]) {
    expect(response.status).toBe(429);
    expect(response.json).toStrictEqual(TOO_MANY);
  }
});

it('validations of one license are counted together, and made-up keys are not [1.7.8, 1.7.9]', async () => {
  const { id, asked } = await newLicense();
  const { isolate, keys } = newStrictIsolate();
  const headers = { 'CF-Connecting-IP': '198.51.100.1' };
  const unknown = { ...asked, licenseKey: crypto.randomUUID() };
  expect(await repeat(15, () => isolate.validate(unknown, { headers }))).toEqual(
    Array(15).fill(400),
  );
  expect(keys).toEqual([]);
  expect((await repeat(11, () => isolate.validate(asked, { headers }))).at(-1)).toBe(429);
  expect(new Set(keys)).toEqual(new Set([`198.51.100.1 ${id}`]));
});

it('validations are counted by the connecting address, of IPv6 its /64, whatever address the body has [1.7.2, 1.7.7]', async () => {
  const { asked } = await newLicense();
  const { isolate } = newStrictIsolate();
  const ask = (connectingAddress: string) => {
    const headers = { 'CF-Connecting-IP': connectingAddress };
    return isolate.validate({ ...asked, ip: nextAddress() }, { headers });
  };
  await repeat(10, (attempt) => ask(`2001:db8::${attempt}`));
  expect((await ask('2001:DB8:0:0:f::1')).status).toBe(429);
  expect((await ask('2001:db8:0:1::1')).status).toBe(200);
  await repeat(10, () => ask('198.51.100.1'));
  expect((await ask('::ffff:198.51.100.1')).status).toBe(429);
  expect((await ask('198.51.100.2')).status).toBe(200);
});

it('validations are not counted where the connecting address is unknown', async () => {
  const { asked } = await newLicense();
  const { isolate, keys } = newStrictIsolate();
  const ask = () => isolate.validate({ ...asked, ip: '198.51.100.1' });
  expect(await repeat(15, ask)).toEqual(Array(15).fill(200));
  expect(keys).toEqual([]);
});

const flooder = { 'CF-Connecting-IP': '203.0.113.66' };

/** A cold isolate with limits of its own, what it sends to D1, and what it responds to a flood. */
function newFloodedIsolate(bindings: Partial<Bindings> = {}) {
  const { spy: DB, roundTrips } = spyOnDatabase(env.DB);
  const limits = { VALIDATION_LIMITER: '120', REFUSED_LIMITER: 100, FAILED_TOKEN_LIMITER: 60 };
  // From the beginning of a minute, of which the test takes a moment only.
  const clock = takeClock();
  clock.elapse(WINDOW_MS - (Date.now() % WINDOW_MS));
  const statementsWith = (text: string) =>
    roundTrips.flat().filter(({ sql }) => sql.includes(text)).length;
  const isolate = newIsolate({ DB, ...limits, ...bindings });
  /** Sends validations one after another. @returns the number of responses by status */
  async function flood(
    times: number,
    body: object | ((attempt: number) => object),
    tokenOf?: (attempt: number) => string,
  ): Promise<Record<number, number>> {
    const counts: Record<number, number> = {};
    for (let attempt = 0; attempt < times; attempt++) {
      const asked = typeof body === 'function' ? body(attempt) : body;
      const { status } = await isolate.validate(asked, {
        version: tokenOf ? 'v2' : 'v1',
        headers: { ...flooder, ...(tokenOf && { TOKEN: tokenOf(attempt) }) },
      });
      counts[status] = (counts[status] ?? 0) + 1;
    }
    return counts;
  }
  const ping = (token: string) => isolate.call('GET', '/api/v2/ping', { token, headers: flooder });
  return { isolate, statementsWith, flood, ping };
}

/** Programs behind the same address as the flood, each asked once before it. */
let licenses: License[];
let productId: number;
beforeAll(async () => {
  ({ id: productId } = await create.product());
  const newProgram = () => create.license({ productId, maxIPs: -1, maxHWIDs: -1 });
  licenses = await Promise.all(Array.from({ length: 40 }, newProgram));
});
async function askAll(isolate: Isolate): Promise<number[]> {
  const responses = await Promise.all(
    licenses.map((license) => isolate.validate(askFor(license), { headers: flooder })),
  );
  return responses.map(({ status }) => status);
}
const ALL_VALID = Array(40).fill(200);

it('a flood of unreadable requests leaves eleven short records [1.7.25]', {
  tags: 'long',
}, async () => {
  const { isolate, flood } = newFloodedIsolate();
  expect(await askAll(isolate)).toEqual(ALL_VALID);
  const long = 'x'.repeat(2_000);
  const body = { licenseKey: long, productId: 'none', hwid: long, operatingSystem: long };
  expect(await flood(1_000, body)).toEqual({ 400: 100, 429: 900 });
  expect(await askAll(isolate)).toEqual(ALL_VALID);
  await settled();
  const { json } = await call(
    'GET',
    `/api/v2/requests?ip=${flooder['CF-Connecting-IP']}&valid=false`,
  );
  expect(json).toHaveLength(11);
  expect(JSON.stringify(json).length).toBeLessThan(11 * 1_000);
});

it('a flood of unknown keys leaves ten long records, and then short ones [1.7.26]', async () => {
  const { flood } = newFloodedIsolate();
  const hwid = 'x'.repeat(500);
  const licenseKey = `unknown-${crypto.randomUUID()}`;
  const body = { licenseKey, productId, hwid, operatingSystem: 'Linux' };
  expect(await flood(60, body)).toEqual({ 400: 60 });
  await settled();
  const history = await historyOf({ licenseKey, limit: '100' }, 60);
  expect(history.filter((record) => record.hwid === hwid)).toHaveLength(10);
  expect(history.filter((record) => record.operatingSystem !== null)).toHaveLength(10);
  expect(new Set(history.map(({ ip }) => ip))).toEqual(new Set([flooder['CF-Connecting-IP']]));
});

it('a known key is valid 120 times a minute for a client over the limit of refused validations [1.7.13]', async () => {
  const { isolate, flood } = newFloodedIsolate();
  expect(await askAll(isolate)).toEqual(ALL_VALID);
  await flood(101, {});
  const [license] = licenses;
  if (!license) throw new Error('There is no license');
  expect(await flood(150, askFor(license))).toEqual({ 200: 119, 429: 31 });
});

it('licenses in memory stay valid on one machine, whenever they were loaded, while their client is over the limit [1.7.13]', async () => {
  const { isolate, statementsWith, flood } = newFloodedIsolate({ SNAPSHOTS: undefined });
  expect(await askAll(isolate)).toEqual(ALL_VALID);
  // The next minute of the limits, in which all snapshots are older than 30 seconds.
  takeClock().elapse(WINDOW_MS);
  await flood(101, {});
  const before = statementsWith('"license_key_normalized" in');
  expect(await askAll(isolate)).toEqual(ALL_VALID);
  expect(statementsWith('"license_key_normalized" in')).toBe(before);
});

it('over the limit of refused validations KV is asked for 300 keys a minute, and memory for all [1.7.13]', async () => {
  const { spy: SNAPSHOTS, operations } = spyOnKv(env.SNAPSHOTS);
  const { isolate, flood } = newFloodedIsolate({ SNAPSHOTS });
  expect(await askAll(isolate)).toEqual(ALL_VALID);
  await flood(101, {});
  await settled();
  operations.length = 0;
  const madeUp = (attempt: number) => ({ licenseKey: `kv-${attempt}`, productId });
  expect(await flood(400, madeUp)).toEqual({ 429: 400 });
  await settled();
  expect(operations.filter(({ key }) => key.startsWith('license'))).toHaveLength(300);
  expect(await askAll(isolate)).toEqual(ALL_VALID);
});

it('a flood of unknown keys asks D1 for no more of them than the limit [1.7.3, 1.7.11, 1.7.12]', {
  tags: 'long',
}, async () => {
  const { isolate, statementsWith, flood } = newFloodedIsolate();
  expect(await askAll(isolate)).toEqual(ALL_VALID);
  const before = statementsWith('"license_key_normalized" in');
  const unknown = (attempt: number) => ({ licenseKey: `flood-${attempt}`, productId });
  expect(await flood(300, unknown)).toEqual({ 400: 100, 429: 200 });
  expect(statementsWith('"license_key_normalized" in') - before).toBe(101);
  expect(await askAll(isolate)).toEqual(ALL_VALID);
});

it('a flood of spellings of one key asks D1 for no more of them than the limits [1.2.26, 1.7.8, 1.7.11]', {
  tags: 'long',
}, async () => {
  const { isolate, statementsWith, flood } = newFloodedIsolate();
  expect(await askAll(isolate)).toEqual(ALL_VALID);
  const [license] = licenses;
  if (!license) throw new Error('There is no license');
  const before = statementsWith('"license_key_normalized" in');
  const spelled = (attempt: number) => ({
    ...askFor(license),
    licenseKey: license.licenseKey + '\u200b'.repeat(attempt + 1),
  });
  expect(await flood(400, spelled)).toEqual({ 200: 119, 429: 281 });
  expect(statementsWith('"license_key_normalized" in') - before).toBe(119 + 101);
  expect(await flood(1, askFor(license))).toEqual({ 429: 1 });
});

it('validations that fail without the database all return 503, and leave 300 records and a line in the log [1.7.27]', {
  tags: 'long',
}, async () => {
  let isDown = true;
  const DB = withFaults(env.DB, (sql) =>
    isDown && !sql.includes('insert into "requests"') ? 'fails' : null,
  );
  const { isolate } = newFloodedIsolate({ DB });
  const lines = captureConsole();
  const ask = (connectingAddress: string) => (attempt: number) =>
    isolate.validate(
      { licenseKey: `outage-${attempt}`, productId },
      { headers: { 'CF-Connecting-IP': connectingAddress } },
    );
  const statuses = [
    ...(await repeat(310, ask('203.0.113.67'))),
    ...(await repeat(10, ask('203.0.113.68'))),
  ];
  isDown = false;
  expect(statuses).toEqual(Array(320).fill(503));
  expect(lines.filter((line) => line.includes('Validations failed'))).toHaveLength(1);
  await settled();
  await historyOf({ ip: '203.0.113.67' }, 300);
  const others = await historyOf({ ip: '203.0.113.68' }, 10);
  expect(others[0]).toMatchObject({ responseType: 'ERROR', successful: false });
});

it('a flood of made-up addresses asks a full license for a slot once a second [1.7.29]', async () => {
  const { isolate, statementsWith, flood } = newFloodedIsolate();
  const full = await create.license({ productId, maxIPs: 1, ips: ['192.0.2.1'] });
  expect(await askAll(isolate)).toEqual(ALL_VALID);
  const madeUp = (attempt: number) =>
    askFor(full, { ip: `100.64.${attempt >> 8}.${attempt & 255}` });
  expect(await flood(300, madeUp)).toEqual({ 400: 100, 429: 200 });
  expect(statementsWith('insert into "bindings"')).toBeLessThan(10);
  expect(await askAll(isolate)).toEqual(ALL_VALID);
});

it('a flood of requests that would take a license over reads its slots once a second [1.7.29, 1.8.41]', async () => {
  const { statementsWith, flood } = newFloodedIsolate();
  const full = await create.license({ productId, maxIPs: 1, ips: ['192.0.2.1'] });
  const madeUp = (attempt: number) =>
    askFor(full, { ip: `100.64.${attempt >> 8}.${attempt & 255}`, takeOver: true });
  expect(await flood(300, madeUp)).toEqual({ 400: 100, 429: 200 });
  expect(statementsWith('where place = 1')).toBeLessThan(10);
  expect(statementsWith('insert into "bindings"')).toBeLessThan(10);
});

it('a flood of unknown tokens asks D1 for no more of them than the limit, under v2 validate as well [1.1.4, 1.7.14, 1.7.19]', async () => {
  const { statementsWith, flood, ping } = newFloodedIsolate();
  const { token } = await create.token(['ALL_READ']);
  expect((await ping(token)).status).toBe(200);
  const before = statementsWith('from "tokens"');
  const statuses = await repeat(100, (attempt) => ping(`flood-${attempt}`));
  expect(statuses).toEqual([...Array(60).fill(401), ...Array(40).fill(429)]);
  expect(await flood(100, {}, (attempt) => `more-${attempt}`)).toEqual({ 429: 100 });
  expect(statementsWith('from "tokens"') - before).toBe(61);
  expect((await ping(token)).status).toBe(200);
});

it('a flood of unknown tokens with made-up keys looks up no more licenses than the limit [1.7.20]', async () => {
  const { spy: SNAPSHOTS, operations } = spyOnKv(env.SNAPSHOTS);
  const { flood } = newFloodedIsolate({ SNAPSHOTS });
  const madeUp = (attempt: number) => ({ licenseKey: `guess-${attempt}`, productId });
  const tokenOf = (attempt: number) => `guess-${attempt}`;
  expect(await flood(300, madeUp, tokenOf)).toEqual({ 401: 60, 429: 240 });
  await settled();
  // Each of the 60 reads its token and its license, and the others their token; the policy is read once.
  expect(operations.filter(({ key }) => key.startsWith('license')).length).toBeLessThanOrEqual(61);
  expect(operations.length).toBeLessThanOrEqual(363);
});

it('a flood of a revoked token asks D1 for it no more often than of unknown ones', async () => {
  const { statementsWith, ping } = newFloodedIsolate();
  const { id, token } = await create.token(['ALL_READ']);
  expect((await ping(token)).status).toBe(200);
  expect((await call('DELETE', `/api/v2/tokens/${id}`)).status).toBe(204);
  const before = statementsWith('from "tokens"');
  const statuses = await repeat(100, () => ping(token));
  expect(statuses).toEqual([...Array(60).fill(401), ...Array(40).fill(429)]);
  expect(statementsWith('from "tokens"') - before).toBeLessThanOrEqual(61);
});

it('a flood of failed tokens leaves a live token valid that only KV has [1.7.19]', async () => {
  const { flood, ping } = newFloodedIsolate();
  const { asked } = await newLicense();
  const { token } = await create.token(['LICENSE_VALIDATE']);
  await isAllPublished();
  await repeat(61, (attempt) => ping(`flood-${attempt}`));
  expect(await flood(1, asked, () => token)).toEqual({ 200: 1 });
});

it('a rate limit goes before the blacklist [1.3, 1.7.3]', async () => {
  const { asked } = await newLicense();
  const ip = '198.51.100.66';
  await create.blacklist({ data: ip });
  const isolate = newIsolate({ VALIDATION_LIMITER: newLimiter(10).limiter });
  const headers = { 'CF-Connecting-IP': ip };
  await repeat(10, () => isolate.validate(asked, { headers }));
  const { status, json } = await isolate.validate(asked, { headers });
  expect(status).toBe(429);
  expect(json).toStrictEqual(TOO_MANY);
});

it('a flood is recorded once a minute, and again in the next [1.6.18, 1.6.20, 1.7.5, 1.7.22]', async () => {
  const clock = takeClock();
  clock.elapse(WINDOW_MS - (Date.now() % WINDOW_MS));
  const { id, asked } = await newLicense();
  const { limiter, keys } = newLimiter(10);
  const isolate = newIsolate({ VALIDATION_LIMITER: limiter });
  const headers = { 'CF-Connecting-IP': '198.51.100.1' };
  const ask = () => isolate.validate(asked, { headers });
  for (const minute of [1, 2]) {
    const responses = await Promise.all(Array.from({ length: 50 }, ask));
    await Promise.all(responses.map(({ recorded }) => recorded));
    expect(responses.filter(({ status }) => status === 429)).toHaveLength(40);
    const refused = { licenseKey: asked.licenseKey, valid: 'false' };
    const records = await historyOf(refused, minute);
    expect(records).toMatchObject(Array(minute).fill({ rateLimited: true, spam: false }));
    expect((await get.license(id)).totalRequests).toBe(minute * 10);
    await settled();
    clock.elapse(WINDOW_MS);
    keys.length = 0;
  }
});

const headers = { 'CF-Connecting-IP': '198.51.100.99' };

it('every request goes through while the limiter fails [1.7.6]', async () => {
  const { asked } = await newLicense();
  const broken = { limit: () => Promise.reject(new Error('The limiter is down')) };
  const isolate = newIsolate({
    VALIDATION_LIMITER: broken,
    REFUSED_LIMITER: broken,
    FAILED_TOKEN_LIMITER: broken,
  });
  const unknown = { ...asked, licenseKey: 'unknown' };
  const ping = () => isolate.call('GET', '/api/v2/ping', { token: 'guess', headers });
  expect(await repeat(15, () => isolate.validate(asked, { headers }))).toEqual(Array(15).fill(200));
  expect(await repeat(15, () => isolate.validate(unknown, { headers }))).toEqual(
    Array(15).fill(400),
  );
  expect(await repeat(15, ping)).toEqual(Array(15).fill(401));
});

const send = (bindings: object, path: string, body: object) => async () => {
  const request = requestTo('POST', path, { body, token: null, headers });
  return readResponse(request, await app.fetch(request, bindings, createExecutionContext()));
};
/** Only the Worker's database. */
const newBindings = () => ({ DB: env.DB, ROOT_TOKEN });
const filled = (count: number, status: number, rest: number) => [
  ...Array(count).fill(status),
  ...Array(rest).fill(429),
];

it('one isolate counts the same limits by itself where no limiter is bound [1.7.1]', async () => {
  vi.useFakeTimers({ toFake: ['Date'] });
  const { asked } = await newLicense();
  const bindings = newBindings();
  const unknown = { ...asked, licenseKey: 'unknown' };
  expect(await repeat(130, send(bindings, '/api/v1/validate', asked))).toEqual(
    filled(120, 200, 10),
  );
  const keys = Array.from({ length: 110 }, (_, index) => ({
    ...unknown,
    licenseKey: `U-${index}`,
  }));
  const responses = keys.map((body) => send(bindings, '/api/v1/validate', body)());
  expect((await Promise.all(responses)).map(({ status }) => status).sort()).toEqual(
    filled(100, 400, 10),
  );
  expect(await repeat(70, send(bindings, '/api/v2/validate', asked))).toEqual(filled(60, 401, 10));
});
