import { createExecutionContext } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { afterEach, expect, it, vi } from 'vitest';
import { app } from '../../src/routes/app.ts';
import { newIsolate, settled } from '../support/app.ts';
import { call, create, expectError, get, readResponse, requestTo } from '../support/client.ts';
import { takeClock } from '../support/clock.ts';
import { MINUTE_MS, setNow } from '../support/history.ts';
import { isAllPublished, sha256Hex } from '../support/published.ts';
import { idsOf, tokens } from '../support/resources.ts';

const ROOT_TOKEN = env.ROOT_TOKEN;
const UNAUTHORISED = 'Token is missing, unknown, expired or revoked';
const START = Date.parse('2026-03-01T00:00:00Z');

afterEach(settled);

const ping = (token: string | null) => call('GET', '/api/v2/ping', { token });
const put = (id: number, body: object) => call('PUT', `${tokens.path}/${id}`, { body });

it.each([
  null,
  '',
  'no-such-token',
  `licet_${'A'.repeat(43)}`,
  'x'.repeat(5_000),
  `${ROOT_TOKEN}x`,
  ROOT_TOKEN.slice(1),
  ROOT_TOKEN.toUpperCase(),
  `Bearer ${ROOT_TOKEN}`,
])('the header TOKEN with %j returns 401 [3.1.3, interface 5]', async (token) => {
  expectError(await ping(token), 401, UNAUTHORISED);
});

it('the header TOKEN is the only place for a token [interface 5]', async () => {
  const headers = { Authorization: `Bearer ${ROOT_TOKEN}`, Cookie: `TOKEN=${ROOT_TOKEN}` };
  const response = await call('GET', `/api/v2/ping?TOKEN=${ROOT_TOKEN}`, {
    token: null,
    headers,
  });
  expectError(response, 401, 'Send the token in the header TOKEN, not in Authorization');
});

it('a token has the permissions of all its intents together [interface 5]', async () => {
  const { token } = await create.token(['PRODUCTS_READ', 'CUSTOMERS_READ']);
  const status = async (path: string) => (await call('GET', `/api/v2${path}`, { token })).status;
  expect(await status('/products')).toBe(200);
  expect(await status('/customers')).toBe(200);
  expect(await status('/licenses')).toBe(403);
});

it('a token is 256 random bits behind a prefix that is easily recognized [3.2.5]', async () => {
  const created = await Promise.all(Array.from({ length: 5 }, () => create.token(['ALL_READ'])));
  const secrets = created.map(({ token }) => token);
  // 43 characters of base64url are 32 bytes.
  for (const secret of secrets) expect(secret).toMatch(/^licet_[A-Za-z0-9_-]{43}$/);
  expect(new Set(secrets).size).toBe(5);
});

it("a token comes from the platform's secure source [3.2.5]", async () => {
  const secureSource = vi.spyOn(crypto, 'getRandomValues').mockImplementation((array) => array);
  const { token } = await create.token(['ALL_READ']);
  secureSource.mockRestore();
  expect(token).toBe(`licet_${'A'.repeat(43)}`);
});

it('a token is shown once, when it is created [3.2.5]', async () => {
  const { id, token } = await create.token(['ALL_READ']);
  const responses = [
    await call('GET', `${tokens.path}/${id}`),
    await call('GET', tokens.path),
    await put(id, { name: 'again' }),
  ];
  for (const { text } of responses) {
    expect(text).toContain(`"id":${id}`);
    expect(text).not.toContain(token);
  }
});

it('a token is stored as its SHA-256 only [3.2.5]', async () => {
  const { id, token } = await create.token(['ALL_READ']);
  const row = await env.DB.prepare('select * from tokens where id = ?').bind(id).first();
  expect(row).toMatchObject({ token_hash: await sha256Hex(token) });
  expect(JSON.stringify(row)).not.toContain(token.slice('licet_'.length));
});

it('a token has each intent once, in the order of the interface', async () => {
  const { intents } = await create.token(['ALL_READ', 'PRODUCTS_READ', 'ALL_READ']);
  expect(intents).toEqual(['PRODUCTS_READ', 'ALL_READ']);
});

it('a token that has expired returns 401 from the very millisecond [3.1.3]', async () => {
  setNow(START);
  const { token } = await create.token(['ALL_READ'], { expiresAt: '2026-03-01T00:00:01.000Z' });
  setNow(START + 999);
  expect((await ping(token)).status).toBe(200);
  setNow(START + 1_000);
  expectError(await ping(token), 401, UNAUTHORISED);
});

it('a token that is revoked returns 401 at the very next request and is found no more [1.5.11, 3.1.3, 3.2.9]', async () => {
  const { id, token } = await create.token(['ALL_READ']);
  expect((await ping(token)).status).toBe(200);
  expect((await call('DELETE', `${tokens.path}/${id}`)).status).toBe(204);
  expectError(await ping(token), 401, UNAUTHORISED);
  expectError(await call('GET', `${tokens.path}/${id}`), 404, 'Token not found');
  expect(await idsOf(tokens.path)).not.toContain(id);
});

it('a token that is changed has its new intents at the very next request [3.2.9]', async () => {
  const { id, token } = await create.token(['PRODUCTS_READ']);
  const status = async (path: string) => (await call('GET', path, { token })).status;
  expect(await status('/api/v2/products')).toBe(200);
  expect((await put(id, { intents: ['LICENSES_READ'] })).status).toBe(200);
  expect(await status('/api/v2/products')).toBe(403);
  expect(await status('/api/v2/licenses')).toBe(200);
});

const expectLastUsed = async (id: number, milliseconds: number) => {
  await settled();
  expect(Date.parse((await get.token(id)).lastUsedAt ?? '')).toBe(milliseconds);
};

it('lastUsedAt is null until the token is used, and follows its use to within 5 minutes [3.2.6]', async () => {
  const { id, token } = await create.token(['ALL_READ']);
  expect((await get.token(id)).lastUsedAt).toBeNull();
  for (const use of [START, START + 5 * MINUTE_MS + 1, START + 60 * MINUTE_MS]) {
    setNow(use);
    await ping(token);
    vi.useRealTimers();
    await expectLastUsed(id, use);
  }
});

it('lastUsedAt moves without the ETag and updatedAt, which are of changes', async () => {
  const { id, token, updatedAt } = await create.token(['ALL_READ']);
  const etag = async () => (await call('GET', `${tokens.path}/${id}`)).headers.get('ETag');
  const before = await etag();
  setNow(START);
  await ping(token);
  vi.useRealTimers();
  await expectLastUsed(id, START);
  expect(await etag()).toBe(before);
  expect((await get.token(id)).updatedAt).toBe(updatedAt);
});

it.each([
  ['expired', 'ping'],
  ['expired', 'validate'],
  ['revoked', 'ping'],
  ['revoked', 'validate'],
])(
  'lastUsedAt is not written for a token that is %s and sent to %s [3.2.6]',
  async (state, endpoint) => {
    takeClock({ skipsPauses: true });
    const expiresAt = state === 'expired' ? '2001-01-01' : null;
    const { id, token } = await create.token(['ALL_READ_WRITE'], { expiresAt });
    if (state === 'revoked') await call('DELETE', `${tokens.path}/${id}`);
    await isAllPublished();
    const isolate = newIsolate();
    const method = endpoint === 'ping' ? 'GET' : 'POST';
    // To the end of all that the request does.
    const response = await isolate.call(method, `/api/v2/${endpoint}`, { token });
    expectError(response, 401, UNAUTHORISED);
    const row = env.DB.prepare('select last_used_at from tokens where id = ?').bind(id);
    expect(await row.first('last_used_at')).toBeNull();
  },
);

const pingWith = async (rootToken: string | undefined, token: string) => {
  const request = requestTo('GET', '/api/v2/ping', { token });
  const bindings = { ...env, DB: env.DB, ROOT_TOKEN: rootToken };
  return readResponse(request, await app.fetch(request, bindings, createExecutionContext()));
};

it('the root token acts as a token with ALL_READ_WRITE, and so creates the first ones [3.2.7, interface 5]', async () => {
  const { token } = await create.token(['PRODUCTS_READ_WRITE']);
  expect((await call('GET', '/api/v2/tokens', { token: ROOT_TOKEN })).status).toBe(200);
  expect((await call('GET', '/api/v2/products', { token })).status).toBe(200);
});

it('the root token is on with 32 characters and off with fewer [3.2.7]', async () => {
  const long = 'r'.repeat(32);
  const short = 'r'.repeat(31);
  expect((await pingWith(long, long)).status).toBe(200);
  expect((await pingWith(short, short)).status).toBe(401);
});

it.each(['', undefined])('a root token of %j is off for any token [3.2.7]', async (rootToken) => {
  expect((await pingWith(rootToken, '')).status).toBe(401);
  expect((await pingWith(rootToken, 'undefined')).status).toBe(401);
});
