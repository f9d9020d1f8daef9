import { env } from 'cloudflare:workers';
import { API_INTENTS } from '@licet/contract/enums';
import { localConsoleName, newLoginCode } from '@licet/contract/login-code';
import { WRONG_HOST } from '@licet/contract/messages';
import { afterEach, beforeAll, expect, it, vi } from 'vitest';
import * as z from 'zod';
import { newIsolate, settled } from '../support/app.ts';
import {
  type CallOptions,
  call,
  create,
  expectError,
  get,
  type ReadResponse,
} from '../support/client.ts';
import { ENDPOINTS } from '../support/endpoints.ts';
import { HOUR_MS, MINUTE_MS, setNow } from '../support/history.ts';
import { sha256Hex } from '../support/published.ts';
import { ROOT_TOKEN } from '../support/root-token.ts';

/** Sessions of the console, and the page [decision 4]. */

const LOGIN = '/console/session';
const NOT_LIVE = 'Token is missing, unknown, expired or revoked';
const START = Date.parse('2026-03-01T00:00:00Z');

/** The headers that a browser sends with a request of the own page, and of a page of another site. */
const OWN_PAGE = { 'Sec-Fetch-Site': 'same-origin', Origin: 'http://licet.test' };
const JSON_TYPE = { 'Content-Type': 'application/json' };

afterEach(settled);

let addresses = 0;
/** Each log-in has an address of its own, so that no limit counts them together. */
const logIn = (options: CallOptions): Promise<ReadResponse> => {
  const address = `198.51.${addresses >> 8}.${addresses++ & 255}`;
  const headers = { 'CF-Connecting-IP': address, ...options.headers };
  return call('POST', LOGIN, { ...options, headers });
};

const cookieIn = ({ headers }: ReadResponse): string =>
  headers.get('Set-Cookie')?.split(';')[0] ?? '';

/** Logs in with a token. @returns the header `Cookie` of the browser from then on */
async function sessionOf(token: string | null = ROOT_TOKEN): Promise<string> {
  const response = await logIn({ token });
  expect(response.status, response.text).toBe(204);
  return cookieIn(response);
}

/** A request of the own page with a session. */
const callAs = (
  cookie: string,
  method: string,
  path: string,
  { headers, ...options }: CallOptions = {},
): Promise<ReadResponse> =>
  call(method, path, {
    token: null,
    ...options,
    headers: { ...OWN_PAGE, ...JSON_TYPE, Cookie: cookie, ...headers },
  });

const ping = (cookie: string): Promise<ReadResponse> => callAs(cookie, 'GET', '/api/v2/ping');

const secretIn = (cookie: string): string => cookie.slice('__Host-licet='.length);

const sessionRow = async (cookie: string) =>
  env.DB.prepare('select * from sessions where session_hash = ?')
    .bind(await sha256Hex(secretIn(cookie)))
    .first();

it('a log-in with a live token returns 204 with the cookie [4.2]', async () => {
  const { token } = await create.token(['PRODUCTS_READ']);
  const { status, text, headers } = await logIn({ token });
  expect([status, text]).toEqual([204, '']);
  const [pair, ...attributes] = headers.get('Set-Cookie')?.split('; ') ?? [];
  // 43 characters of base64url are 256 bits.
  expect(pair).toMatch(/^__Host-licet=[A-Za-z0-9_-]{43}$/);
  expect(attributes.toSorted()).toEqual(['HttpOnly', 'Path=/', 'SameSite=Strict', 'Secure']);
  expect(headers.get('Cache-Control')).toBe('no-store');
});

it('a log-in stores only the hash of the session, with the hash of its token [4.3]', async () => {
  const { token } = await create.token(['PRODUCTS_READ']);
  const cookie = await sessionOf(token);
  const row = await sessionRow(cookie);
  expect(row).toMatchObject({ token_hash: await sha256Hex(token) });
  expect(JSON.stringify(row)).not.toContain(secretIn(cookie));
});

it("a log-in takes the session from the platform's secure random source [4.2]", async () => {
  const secureSource = vi.spyOn(crypto, 'getRandomValues').mockImplementation((array) => array);
  const cookie = await sessionOf();
  secureSource.mockRestore();
  expect(secretIn(cookie)).toBe('A'.repeat(43));
});

it.each([null, '', 'licet_nobody', `${ROOT_TOKEN}x`])(
  'a log-in with the token %j returns 401 without a cookie',
  async (token) => {
    const response = await logIn({ token });
    expectError(response, 401, NOT_LIVE);
    expect(response.headers.get('Set-Cookie')).toBeNull();
  },
);

it('a log-in with an expired or revoked token returns 401', async () => {
  const expired = await create.token(['ALL_READ'], { expiresAt: '2020-01-01' });
  expectError(await logIn({ token: expired.token }), 401, NOT_LIVE);
  const revoked = await create.token(['ALL_READ']);
  await call('DELETE', `/api/v2/tokens/${revoked.id}`);
  expectError(await logIn({ token: revoked.token }), 401, NOT_LIVE);
});

it('a log-in counts towards the limit of failed tokens, even with a live token [4.22]', async () => {
  setNow(START);
  const isolate = newIsolate({ FAILED_TOKEN_LIMITER: 3 });
  const headers = { 'CF-Connecting-IP': '203.0.113.40' };
  const statuses: number[] = [];
  for (const token of [ROOT_TOKEN, 'licet_nobody', ROOT_TOKEN, ROOT_TOKEN]) {
    statuses.push((await isolate.call('POST', LOGIN, { token, headers })).status);
  }
  expect(statuses).toEqual([204, 401, 204, 429]);
  const limited = await isolate.call('POST', LOGIN, { token: ROOT_TOKEN, headers });
  expectError(limited, 429, 'Too many requests without a live token');
  expect(limited.headers.get('Retry-After')).toBe('60');
});

it('log-ins and log-outs share a limit [4.22]', async () => {
  setNow(START);
  const isolate = newIsolate({ FAILED_TOKEN_LIMITER: 2 });
  const address = { 'CF-Connecting-IP': '203.0.113.42' };
  const logOut = (headers = {}) =>
    isolate.call('DELETE', LOGIN, { token: null, headers: { ...address, ...headers } });
  const cookie = { Cookie: '__Host-licet=nobody' };
  // Without a cookie the database is not asked.
  for (let attempt = 1; attempt <= 3; attempt++) expect((await logOut()).status).toBe(204);
  for (const status of [204, 204, 429]) expect((await logOut(cookie)).status).toBe(status);
  const limited = await isolate.call('POST', LOGIN, { token: ROOT_TOKEN, headers: address });
  expect(limited.status).toBe(429);
});

it.each([
  [{ 'Sec-Fetch-Site': 'cross-site' }],
  [{ 'Sec-Fetch-Site': 'same-site', Origin: 'http://licet.test' }],
  [{ Origin: 'https://evil.example' }],
  [{ Origin: 'null' }],
])('a log-in sent by another page, %j, returns 403 [4.23]', async (headers) => {
  const response = await logIn({ headers });
  expectError(response, 403, 'Only the page of the console can log in and out');
  expect(response.headers.get('Set-Cookie')).toBeNull();
});

const BAD_CODE =
  'The log-in link has expired or was used before. Make another one: npm run licet -- console';
const logInWith = (code: unknown, headers = {}) =>
  logIn({ token: null, body: { code }, headers: { ...OWN_PAGE, ...headers } });

it('GET tokens/self returns the token of the request, or of its session, with any intent [4.7]', async () => {
  const path = '/api/v2/tokens/self';
  for (const intent of API_INTENTS) {
    const { id, token } = await create.token([intent]);
    for (const self of [
      await call('GET', path, { token }),
      await callAs(await sessionOf(token), 'GET', path),
    ]) {
      expect(self.json, intent).toMatchObject({ id, intents: [intent] });
      expect(self.text).not.toContain(token);
    }
  }
  expect((await call('GET', path)).json).toMatchObject({ id: null, name: 'root' });
  expect((await call('GET', path, { token: null })).status).toBe(401);
});

it('a log-in code works once, as ROOT_TOKEN, and stays used after its session has ended [4.8, 4.10]', async () => {
  const code = await newLoginCode(ROOT_TOKEN, Date.now());
  const response = await logInWith(code);
  expect(response.status, response.text).toBe(204);
  const cookie = cookieIn(response);
  const self = await callAs(cookie, 'GET', '/api/v2/tokens/self');
  expect(self.json).toMatchObject({ id: null, name: 'root' });
  expectError(await logInWith(code), 401, BAD_CODE);
  for (const ended of [cookie, `__Host-licet=${code}`]) {
    expect((await callAs(ended, 'DELETE', LOGIN)).status).toBe(204);
    expectError(await logInWith(code), 401, BAD_CODE);
  }
});

it('a log-in code works once, even with several log-ins at the same time [4.10]', async () => {
  const code = await newLoginCode(ROOT_TOKEN, Date.now());
  const responses = await Promise.all(Array.from({ length: 5 }, () => logInWith(code)));
  expect(responses.map(({ status }) => status).toSorted()).toEqual([204, 401, 401, 401, 401]);
});

it('a log-in code works for five minutes [4.10]', async () => {
  const [early, late] = [
    await newLoginCode(ROOT_TOKEN, START),
    await newLoginCode(ROOT_TOKEN, START),
  ];
  setNow(START + 5 * MINUTE_MS - 1);
  expect((await logInWith(early)).status).toBe(204);
  setNow(START + 5 * MINUTE_MS);
  expectError(await logInWith(late), 401, BAD_CODE);
});

it('a log-in code is refused with another secret, with a changed expiry, and as a cookie [4.10]', async () => {
  const code = await newLoginCode(ROOT_TOKEN, Date.now());
  const [expiry = '', random, signature = ''] = code.split('.');
  const later = [Number(expiry) + 1, random, signature].join('.');
  const changed = [expiry, random, signature.replace(/^./, (digit) => (digit === '0' ? '1' : '0'))];
  const distant = await newLoginCode(ROOT_TOKEN, Date.now() + HOUR_MS);
  const foreign = await newLoginCode('another root token of thirty-two characters', Date.now());
  for (const bad of [later, changed.join('.'), distant, foreign, '', 'nonsense', `${code}0`]) {
    expectError(await logInWith(bad), 401, BAD_CODE);
  }
  expect((await logInWith(code)).status).toBe(204);
  expectError(await ping(`__Host-licet=${code}`), 401, NOT_LIVE);
});

it('a log-in code is refused without a root token of 32 characters', async () => {
  const short = 'r'.repeat(31);
  const code = await newLoginCode(short, Date.now());
  const response = await newIsolate({ ROOT_TOKEN: short }).call('POST', LOGIN, {
    token: null,
    body: { code },
  });
  expectError(response, 401, BAD_CODE);
});

it('a log-in code sent by another page returns 403, so that nobody is logged in as somebody else [4.23]', async () => {
  const code = await newLoginCode(ROOT_TOKEN, Date.now());
  const response = await logInWith(code, { 'Sec-Fetch-Site': 'cross-site' });
  expectError(response, 403, 'Only the page of the console can log in and out');
  expect((await logInWith(code)).status).toBe(204);
});

it('a log-in body of more than 1,024 bytes returns 413', async () => {
  expect((await logInWith('x'.repeat(2_000))).status).toBe(413);
});

it('a session has the intents of its token, also when they change [4.6]', async () => {
  const { id, name, token } = await create.token(['PRODUCTS_READ'], { expiresAt: '2035-01-01' });
  const cookie = await sessionOf(token);
  expect((await callAs(cookie, 'GET', '/api/v2/products')).status).toBe(200);
  const refused = await callAs(cookie, 'GET', '/api/v2/licenses');
  expectError(refused, 403, 'Token lacks a required intent', ENDPOINTS['GET /api/v2/licenses']);
  const self = await callAs(cookie, 'GET', '/api/v2/tokens/self');
  expect(self.json).toEqual({
    id,
    name,
    intents: ['PRODUCTS_READ'],
    expiresAt: '2035-01-01T00:00:00.000+00:00',
  });
  await call('PUT', `/api/v2/tokens/${id}`, { body: { intents: ['LICENSES_READ'] } });
  expect((await callAs(cookie, 'GET', '/api/v2/products')).status).toBe(403);
  expect((await callAs(cookie, 'GET', '/api/v2/licenses')).status).toBe(200);
});

it('a session of ROOT_TOKEN has ALL_READ_WRITE, and can make changes [4.6]', async () => {
  const cookie = await sessionOf();
  const body = { name: 'By console', productType: 'OTHER' };
  expect((await callAs(cookie, 'POST', '/api/v2/products', { body })).status).toBe(201);
  const self = await callAs(cookie, 'GET', '/api/v2/tokens/self');
  expect(self.json).toEqual({
    id: null,
    name: 'root',
    intents: ['ALL_READ_WRITE'],
    expiresAt: null,
  });
});

it('a session ends with its token at the next request, also for a stolen cookie [4.6]', async () => {
  const { id, token } = await create.token(['ALL_READ_WRITE']);
  const cookie = await sessionOf(token);
  expect((await ping(cookie)).status).toBe(200);
  expect((await call('DELETE', `/api/v2/tokens/${id}`)).status).toBe(204);
  expectError(await ping(cookie), 401, NOT_LIVE);
  const { id: productId } = await create.product();
  expectError(await callAs(cookie, 'DELETE', `/api/v2/products/${productId}`), 401, NOT_LIVE);
});

it('a session ends when its token expires [4.6]', async () => {
  setNow(START);
  const { token } = await create.token(['ALL_READ'], { expiresAt: '2026-03-01T00:00:10Z' });
  const cookie = await sessionOf(token);
  setNow(START + 9_999);
  expect((await ping(cookie)).status).toBe(200);
  setNow(START + 10_000);
  expectError(await ping(cookie), 401, NOT_LIVE);
});

it('a session of ROOT_TOKEN ends when the secret is changed or removed [4.6]', async () => {
  const headers = { ...OWN_PAGE, Cookie: await sessionOf() };
  const pingWith = async (secret: string) =>
    (await newIsolate({ ROOT_TOKEN: secret }).call('GET', '/api/v2/ping', { token: null, headers }))
      .status;
  expect(await pingWith(ROOT_TOKEN)).toBe(200);
  expect(await pingWith('another root token of thirty-two characters')).toBe(401);
  expect(await pingWith('')).toBe(401);
});

it('DELETE ends a session and removes the cookie [4.5]', async () => {
  const cookie = await sessionOf();
  const response = await callAs(cookie, 'DELETE', LOGIN);
  expect([response.status, response.text]).toEqual([204, '']);
  expect(response.headers.get('Set-Cookie')).toMatch(/^__Host-licet=; Max-Age=0;.* Secure/);
  expect(response.headers.get('Clear-Site-Data')).toBe('"cache"');
  expectError(await ping(cookie), 401, NOT_LIVE);
  expect(await sessionRow(cookie)).toBeNull();
  expect((await callAs(cookie, 'DELETE', LOGIN)).status).toBe(204);
});

it('a session lasts 12 hours, even if it is used [4.4]', async () => {
  setNow(START);
  const cookie = await sessionOf();
  for (let minutes = 50; minutes < 12 * 60; minutes += 50) {
    setNow(START + minutes * MINUTE_MS);
    expect((await ping(cookie)).status).toBe(200);
    await settled();
  }
  setNow(START + 12 * HOUR_MS);
  expectError(await ping(cookie), 401, NOT_LIVE);
});

it('a session lasts an hour without use [4.4]', async () => {
  setNow(START);
  const [used, unused] = [await sessionOf(), await sessionOf()];
  setNow(START + HOUR_MS - 1);
  expect((await ping(used)).status).toBe(200);
  await settled();
  setNow(START + HOUR_MS);
  expectError(await ping(unused), 401, NOT_LIVE);
  expect((await ping(used)).status).toBe(200);
});

it('the last use of a session is stored at most every 5 minutes [4.4]', async () => {
  setNow(START);
  const cookie = await sessionOf();
  const uses: unknown[] = [];
  for (const seconds of [0, 299, 300, 400, 599, 600]) {
    setNow(START + seconds * 1000);
    await ping(cookie);
    await settled();
    uses.push((await sessionRow(cookie))?.last_used_at);
  }
  const at = (seconds: number) => START + seconds * 1000;
  expect(uses).toEqual([at(0), at(0), at(300), at(300), at(300), at(600)]);
});

it('an expired session is removed by the scheduled handler [4.4]', async () => {
  setNow(START);
  const [old, recent] = [await sessionOf(), await sessionOf()];
  const code = await newLoginCode(ROOT_TOKEN, Date.now());
  await logIn({ token: null, body: { code } });
  setNow(START + HOUR_MS - 1);
  await ping(recent);
  await settled();
  setNow(START + HOUR_MS);
  await newIsolate().runScheduled();
  expect(await sessionRow(old)).toBeNull();
  expect(await sessionRow(recent)).not.toBeNull();
  const codes = env.DB.prepare('select * from sessions where session_hash = ?');
  expect(await codes.bind(await sha256Hex(code)).first()).toBeNull();
});

let cookie: string;
let productId: number;
beforeAll(async () => {
  cookie = await sessionOf();
  productId = (await create.product()).id;
});

const change = (headers: Record<string, string>) =>
  call('PUT', `/api/v2/products/${productId}`, {
    token: null,
    body: { name: 'Changed from elsewhere' },
    headers: { Cookie: cookie, ...headers },
  });
const expectUnchanged = async () =>
  expect((await get.product(productId)).name).not.toBe('Changed from elsewhere');

it.each([
  ["another site's fetch", { 'Sec-Fetch-Site': 'cross-site', Origin: 'https://evil.example' }],
  ["another site's link", { 'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-Mode': 'navigate' }],
  [
    "another site's fetch that claims our origin",
    { 'Sec-Fetch-Site': 'cross-site', Origin: 'http://licet.test' },
  ],
  ['a same-site sibling', { 'Sec-Fetch-Site': 'same-site', Origin: 'http://sibling.licet.test' }],
  ['no page', { 'Sec-Fetch-Site': 'none' }],
  ['another origin in a browser without Sec-Fetch-Site', { Origin: 'https://evil.example' }],
  ['another port in a browser without Sec-Fetch-Site', { Origin: 'http://licet.test:8080' }],
  ['a hidden origin in a browser without Sec-Fetch-Site', { Origin: 'null' }],
  ['neither Sec-Fetch-Site nor Origin', {}],
])('the cookie is not accepted from %s [4.17, 4.19]', async (_, headers) => {
  expectError(
    await change({ ...JSON_TYPE, ...headers }),
    401,
    NOT_LIVE,
    ENDPOINTS['PUT /api/v2/products/:id'],
  );
  await expectUnchanged();
  const response = await call('GET', '/api/v2/products', {
    token: null,
    headers: { Cookie: cookie, ...headers },
  });
  expectError(response, 401, NOT_LIVE, ENDPOINTS['GET /api/v2/products']);
});

it.each([
  'application/x-www-form-urlencoded',
  'multipart/form-data; boundary=x',
  'text/plain',
  'text/plain; application/json',
  'application/jsonp',
  '',
])('a request with the cookie and the content type %j changes nothing [4.20]', async (type) => {
  const response = await change({ ...OWN_PAGE, 'Content-Type': type });
  const message = 'A change with a session needs the header Content-Type: application/json';
  expectError(response, 403, message, ENDPOINTS['PUT /api/v2/products/:id']);
  await expectUnchanged();
});

it('DELETE with the cookie needs a JSON content type [4.20]', async () => {
  const { id } = await create.product();
  const remove = (headers: Record<string, string>) =>
    call('DELETE', `/api/v2/products/${id}`, {
      token: null,
      headers: { ...OWN_PAGE, Cookie: cookie, ...headers },
    });
  expect((await remove({})).status).toBe(403);
  expect((await get.product(id)).id).toBe(id);
  expect((await remove(JSON_TYPE)).status).toBe(204);
});

it.each(['http://licet.test', 'https://licet.test'])(
  'the cookie is accepted from the origin %s in a browser without Sec-Fetch-Site, also behind a proxy with TLS [4.17, 4.18]',
  async (origin) => {
    const headers = { Cookie: cookie, Origin: origin };
    const response = await call('GET', '/api/v2/ping', { token: null, headers });
    expect(response.status).toBe(200);
  },
);

it('the cookie is ignored beside a TOKEN header of any value [4.17]', async () => {
  for (const token of ['', 'licet_nobody']) {
    expectError(await callAs(cookie, 'GET', '/api/v2/ping', { token }), 401, NOT_LIVE);
  }
  const { token } = await create.token(['PRODUCTS_READ']);
  const response = await callAs(cookie, 'GET', '/api/v2/tokens/self', { token });
  expect(response.json).toMatchObject({ intents: ['PRODUCTS_READ'] });
});

it('the cookie is ignored by v1 and v2 validate [4.21]', async () => {
  const body = { licenseKey: 'NO-SUCH-KEY', productId };
  const v2 = await callAs(cookie, 'POST', '/api/v2/validate', { body });
  expectError(v2, 401, NOT_LIVE, ENDPOINTS['POST /api/v2/validate']);
  const withCookie = await callAs(cookie, 'POST', '/api/v1/validate', { body });
  const without = await call('POST', '/api/v1/validate', { body, token: null });
  expect([withCookie.status, withCookie.text]).toEqual([without.status, without.text]);
  expect(withCookie.headers.get('Access-Control-Allow-Credentials')).toBeNull();
});

it('GET with the cookie changes nothing, on any path of v2 [4.20]', async () => {
  const state = async () =>
    JSON.stringify([
      (await env.DB.prepare('select count(*), max(id) from events').raw())[0],
      (await env.DB.prepare('select count(*) from sessions').raw())[0],
    ]);
  const before = await state();
  for (const name of Object.keys(ENDPOINTS)) {
    const path = (name.split(' ')[1] ?? '')
      .replace(':platform/', 'CHAT/')
      .replace(/:\w+/g, String(productId));
    await callAs(cookie, 'GET', path, { headers: { 'X-HTTP-Method-Override': 'DELETE' } });
  }
  expect(await state()).toBe(before);
});

it.each([
  'Cookie: other=1',
  '__Host-licet=',
  `__Host-licet=${'B'.repeat(43)}`,
  `licet=${'B'.repeat(43)}`,
])('a stale or invented cookie, %j, returns 401', async (made) => {
  expectError(await ping(made), 401, NOT_LIVE);
});

it('a log-out from another page ends no session [4.23]', async () => {
  const headers = { Cookie: cookie, 'Sec-Fetch-Site': 'same-site' };
  expect((await call('DELETE', LOGIN, { token: null, headers })).status).toBe(403);
  expect((await ping(cookie)).status).toBe(200);
});

const nameAt = (port: string, token = ROOT_TOKEN) =>
  localConsoleName(token, new URL(`http://localhost:${port}`));
/** A service on one machine, with a proxy for a name. */
const machine = () => newIsolate({ CONSOLE_HOSTS: 'Console.example, console.example:8443' });
const WRONG_HOSTS = [
  'localhost:8787',
  '127.0.0.1:8787',
  // A name of another site that leads to this machine (DNS rebinding).
  'evil.example:8787',
  'console.example:8787',
  'licet-8787.localhost:8787',
  async () => `${await nameAt('8787')}:9999`,
  async () => `${await nameAt('8787', 'another root token of thirty-two characters')}:8787`,
];
const isOwn = { 'Sec-Fetch-Site': 'same-origin' };

it('on one machine, sessions work under the name for the port of the browser, and under those of CONSOLE_HOSTS [4.11]', async () => {
  const isolate = machine();
  const hosts = ['console.example', 'console.example:8443'];
  for (const port of ['8787', '9999']) hosts.push(`${await nameAt(port)}:${port}`);
  hosts.push(await nameAt(''));
  for (const host of hosts) {
    const code = await newLoginCode(ROOT_TOKEN, Date.now());
    const options = { host, token: null, headers: isOwn };
    const response = await isolate.call('POST', LOGIN, { ...options, body: { code } });
    expect(response.status, host).toBe(204);
    const headers = { ...isOwn, ...JSON_TYPE, Cookie: cookieIn(response) };
    const withCookie = { ...options, headers };
    expect((await isolate.call('GET', '/api/v2/ping', withCookie)).status, host).toBe(200);
    expect((await isolate.call('DELETE', LOGIN, withCookie)).status, host).toBe(204);
  }
});

it('on one machine, codes, tokens and cookies are refused under any other name, and the code stays unused [4.11, 4.15]', async () => {
  const isolate = machine();
  const cookie = await sessionOf();
  const code = await newLoginCode(ROOT_TOKEN, Date.now());
  for (const given of WRONG_HOSTS) {
    const host = typeof given === 'string' ? given : await given();
    const headers = { ...isOwn, ...JSON_TYPE };
    const options = { host, token: null, headers };
    const refused = [
      await isolate.call('POST', LOGIN, { ...options, body: { code } }),
      await isolate.call('POST', LOGIN, { ...options, token: ROOT_TOKEN }),
      await isolate.call('DELETE', LOGIN, {
        ...options,
        headers: { ...headers, Cookie: cookie },
      }),
    ];
    for (const response of refused) {
      expectError(response, 401, WRONG_HOST);
      expect(response.headers.get('Set-Cookie')).toBeNull();
    }
    const withCookie = { ...options, headers: { ...headers, Cookie: cookie } };
    const ping = await isolate.call('GET', '/api/v2/ping', withCookie);
    expectError(ping, 401, WRONG_HOST, ENDPOINTS['GET /api/v2/ping']);
    expect((await isolate.call('GET', '/api/v2/ping', { host })).status, host).toBe(200);
    const body = { name: 'By token', productType: 'OTHER' };
    expect((await isolate.call('POST', '/api/v2/products', { host, body })).status, host).toBe(201);
  }
  expect((await ping(cookie)).status).toBe(200);
  const host = 'console.example';
  const response = await isolate.call('POST', LOGIN, { host, token: null, body: { code } });
  expect(response.status).toBe(204);
});

/** The host of a page, and whether the service is on one machine. */
const PAGES: [host: string, isOnOneMachine: boolean][] = [
  ['evil.example:8787', true],
  ['console.example', true],
  ['localhost.evil.example:8787', true],
  ['localhost:8787', false],
];

it('on one machine, a page of this machine can keep its session itself and send it in the header SESSION [4.29]', async () => {
  const isolate = machine();
  for (const host of [
    'localhost:8787',
    '127.0.0.1:8787',
    `${await nameAt('8787')}:8787`,
    'a.shop.localhost:8787',
  ]) {
    const code = await newLoginCode(ROOT_TOKEN, Date.now());
    const options = { host, token: null, headers: { ...isOwn, ...JSON_TYPE } };
    const logInAgain = () =>
      isolate.call('POST', `${LOGIN}?store=page`, { ...options, body: { code } });
    const response = await logInAgain();
    expect(response.status, host).toBe(200);
    expect(response.headers.get('Set-Cookie')).toBeNull();
    expect((await logInAgain()).status).toBe(401);
    const { session: SESSION } = z.object({ session: z.string().length(43) }).parse(response.json);
    const send = (method: string, path: string, headers: Record<string, string> = {}) =>
      isolate.call(method, path, {
        ...options,
        headers: { ...options.headers, SESSION, ...headers },
      });
    expect((await send('GET', '/api/v2/ping')).status, host).toBe(200);
    // Another server of this machine is another site's page to the browser, or the same site's.
    for (const site of ['same-site', 'cross-site', 'none']) {
      const response = await send('GET', '/api/v2/ping', { 'Sec-Fetch-Site': site });
      expectError(response, 401, NOT_LIVE, ENDPOINTS['GET /api/v2/ping']);
    }
    expect((await send('DELETE', LOGIN)).status).toBe(204);
    expect((await send('GET', '/api/v2/ping')).status).toBe(401);
  }
});

it.each(PAGES)(
  'a page at %s keeps no session itself, on one machine: %s [4.29]',
  async (host, isOnOneMachine) => {
    const isolate = isOnOneMachine ? machine() : newIsolate();
    const options = { host, token: ROOT_TOKEN, headers: isOwn };
    const response = await isolate.call('POST', `${LOGIN}?store=page`, options);
    expectError(response, 401, WRONG_HOST);
    const started = await machine().call('POST', `${LOGIN}?store=page`, {
      ...options,
      host: 'localhost:8787',
    });
    const { session: SESSION } = z.object({ session: z.string() }).parse(started.json);
    const withSession = { host, token: null, headers: { ...isOwn, SESSION } };
    const ping = await isolate.call('GET', '/api/v2/ping', withSession);
    expectError(ping, 401, WRONG_HOST, ENDPOINTS['GET /api/v2/ping']);
    expectError(await isolate.call('DELETE', LOGIN, withSession), 401, WRONG_HOST);
  },
);

it('a session under a wrong name counts towards the limit of failed tokens [4.13]', async () => {
  setNow(START);
  const isolate = newIsolate({ CONSOLE_HOSTS: '', FAILED_TOKEN_LIMITER: 1 });
  const headers = { 'CF-Connecting-IP': '203.0.113.43' };
  for (const status of [401, 429]) {
    expect((await isolate.call('POST', LOGIN, { headers })).status).toBe(status);
  }
});
