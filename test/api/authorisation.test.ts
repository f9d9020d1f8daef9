import { API_INTENTS, type ApiIntent } from '@licet/contract/enums';
import { beforeAll, describe, expect, it } from 'vitest';
import { declaredIntents } from '../../src/auth/middleware.ts';
import { routes as appRoutes } from '../../src/routes/app.ts';
import { call, create, expectError, type ReadResponse } from '../support/client.ts';
import { ENDPOINTS, PUBLIC } from '../support/endpoints.ts';

/** The routes of v2 and the metrics as they are mounted, each once, with what their handlers declare. */
const declared = new Map<string, readonly ApiIntent[] | undefined>();
for (const { method, path, handler } of appRoutes) {
  if (!/^\/(api\/v2|metrics)\b/.test(path) || method === 'ALL') continue;
  const name = `${method} ${path}`;
  declared.set(name, declared.get(name) ?? declaredIntents(handler));
}

const routes = [...declared.keys()]
  .filter((name) => !PUBLIC.includes(name))
  .map((name) => {
    const [method = '', pattern = ''] = name.split(' ');
    return {
      name,
      method,
      // Ids that do not exist: what is let through reads and changes nothing.
      path: pattern.replace(':platform/', 'CHAT/').replace(/:\w+/g, '999999'),
      intents: ENDPOINTS[name] ?? [],
    };
  });

const UNAUTHORISED = 'Token is missing, unknown, expired or revoked';
const FORBIDDEN = 'Token lacks a required intent';

const tokens = new Map<ApiIntent, string>();
const badTokens = new Map<string, string | null>([
  ['no', null],
  ['an empty', ''],
  ['an unknown', 'licet_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA'],
]);
const BAD_TOKENS = ['no', 'an empty', 'an unknown', 'an expired', 'a revoked'];

const tokenWith = (intent: ApiIntent): string => tokens.get(intent) ?? '';

beforeAll(async () => {
  for (const intent of API_INTENTS) tokens.set(intent, (await create.token([intent])).token);

  const expired = await create.token(API_INTENTS, { expiresAt: '2020-01-01T00:00:00Z' });
  badTokens.set('an expired', expired.token);

  const revoked = await create.token(API_INTENTS);
  expect((await call('GET', '/api/v2/ping', { token: revoked.token })).status).toBe(200);
  expect((await call('DELETE', `/api/v2/tokens/${revoked.id}`)).status).toBe(204);
  badTokens.set('a revoked', revoked.token);
});

/** A request without a live token, of each kind. */
const callWithBadTokens = (method: string, path: string, body?: unknown): Promise<ReadResponse[]> =>
  Promise.all(
    BAD_TOKENS.map((kind) => {
      const token = badTokens.get(kind);
      if (token === undefined) throw new Error(`There is no ${kind} token`);
      return call(method, path, { token, ...(body !== undefined && { body }) });
    }),
  );

it('every route declares the intents of the interface, and nothing else is public [3.1.2, 3.52, 5.20, 6.16, 8.1.1, 9.1.1, 13.1.1, 13.2.3, 13.9.1, 13.9.2, interface 1, interface 4, interface 9]', () => {
  const names = [...declared.keys()];
  expect(names.filter((name) => declared.get(name) === undefined)).toEqual(PUBLIC);
  const intents = Object.fromEntries([...declared].filter(([name]) => !PUBLIC.includes(name)));
  expect(intents).toEqual(ENDPOINTS);
});

it('a token that may change an object may read it, so that its own events show it nothing new [5.22, 5.23]', () => {
  const changes = [...declared].filter(([name]) => name.startsWith('PUT '));
  expect(changes).toHaveLength(10);
  for (const [name, intents = []] of changes) {
    const readers = declared.get(name.replace('PUT', 'GET'));
    expect(readers, name).toEqual(expect.arrayContaining([...intents]));
  }
});

/** The path with an id and a query that would return 400. */
const worse = (path: string): string =>
  `${path.replace('CHAT', 'nowhere').replace('999999', 'x')}?nonsense=1`;

describe.each(routes)('$name', ({ name, method, path, intents }) => {
  it('the endpoint takes a token with one of its intents, and no other [1.1.19, 3.1.3, 3.2.8, interface 1, interface 4, interface 4.6, interface 5, interface 7]', async () => {
    for (const intent of API_INTENTS) {
      const response = await call(method, path, { token: tokenWith(intent) });
      // Past the check: the empty body is bad, the id unknown, the list there.
      if (intents.includes(intent)) expect([200, 400, 404], intent).toContain(response.status);
      else expectError(response, 403, FORBIDDEN, intents);
    }
  });

  it('a bad token is rejected before the path, the query and the body are read [1.1.20, 3.1.6, interface 4.1, interface 5, interface 7]', async () => {
    const body = method === 'GET' ? undefined : '{"broken';
    for (const response of await callWithBadTokens(method, worse(path), body)) {
      expectError(response, 401, UNAUTHORISED, intents);
    }
  });

  it('a missing intent is rejected before the body, the path and the query are read [3.1.6]', async () => {
    const outsider = API_INTENTS.find((intent) => !intents.includes(intent));
    if (outsider === undefined) return; // ping and tokens/self take them all.
    const body = method === 'GET' ? {} : { body: '{"broken' };
    const response = await call(method, worse(path), { token: tokenWith(outsider), ...body });
    expectError(response, 403, FORBIDDEN, intents);
  });

  it('the id of the own token opens the list of events alone to a token without an intent [5.21, 5.22]', async () => {
    const outsider = API_INTENTS.find((intent) => !intents.includes(intent));
    if (outsider === undefined) return;
    const { id, token } = await create.token([outsider]);
    const statusOf = async (query: string) => {
      const response = await call(method, `${path}?${query}`, { token });
      if (response.status !== 200) expectError(response, 403, FORBIDDEN, intents);
      return response.status;
    };
    expect(await statusOf(`tokenId=${id}`)).toBe(name === 'GET /api/v2/events' ? 200 : 403);
    for (const other of [`tokenId=${id - 1}`, 'tokenId=null', 'tokenId=', `tokenid=${id}`]) {
      expect(await statusOf(other), other).toBe(403);
    }
  });
});

it.each([
  ['GET', '/api/v2'],
  ['GET', '/api/v2/nowhere'],
  ['GET', '/api/v2/licenses/1/nowhere'],
  ['POST', '/api/v2/nowhere'],
  ['PATCH', '/api/v2/products/1'],
  ['DELETE', '/api/v2/products'],
  ['POST', '/api/v2/healthy'],
  ['OPTIONS', '/api/v2/licenses'],
])('%s %s without a live token is 401, not 404 or 405 [3.1.6]', async (method, path) => {
  for (const response of await callWithBadTokens(method, path)) {
    expectError(response, 401, UNAUTHORISED, []);
    expect(response.headers.get('Allow')).toBeNull();
  }
});

it('a body that is too big is 401 without a live token, not 413', async () => {
  const body = 'x'.repeat(2 * 1024 * 1024);
  for (const [path, response] of [
    ['products', await call('POST', '/api/v2/products', { body, token: null })],
    ['validate', await call('POST', '/api/v2/validate', { body, token: null })],
  ] as const) {
    expectError(response, 401, UNAUTHORISED, ENDPOINTS[`POST /api/v2/${path}`]);
  }
});

it('the consent to an assistant, and its tools, need a live token, and read nothing before it [12.1.2, 12.7.5]', async () => {
  for (const [method, path] of [
    ['GET', '/oauth/consent?client_id=nowhere'],
    ['POST', '/oauth/consent'],
    ['POST', '/mcp'],
  ] as const) {
    const body = method === 'GET' ? undefined : '{"broken';
    for (const response of await callWithBadTokens(method, path, body)) {
      expectError(response, 401, UNAUTHORISED, []);
    }
  }
});

it('no other route is outside v2, beside those that need no token or have a session or signature of their own', () => {
  const others = appRoutes
    .filter(
      ({ method, path }) => method !== 'ALL' && !/^\/(api|markets|metrics|my|discord)\b/.test(path),
    )
    .map(({ method, path }) => `${method} ${path}`);
  expect([...new Set(others)].toSorted()).toEqual([
    'DELETE /console/session',
    'GET /',
    'GET /.well-known/jwks.json',
    'GET /.well-known/oauth-authorization-server',
    'GET /.well-known/oauth-protected-resource',
    'GET /.well-known/oauth-protected-resource/mcp',
    'GET /oauth/consent',
    'OPTIONS /.well-known/jwks.json',
    'POST /console/session',
    'POST /mail/resend',
    'POST /mcp',
    'POST /oauth/consent',
    'POST /oauth/register',
    'POST /oauth/token',
  ]);
});

it('a client without a live token cannot learn which ids and keys exist [3.1.6]', async () => {
  const { id, licenseKey, productId } = await create.license();
  for (const [known, unknown] of [
    [`/products/${productId}`, '/products/999999'],
    [`/licenses/${id}`, '/licenses/999999'],
    [`/licenses/by-license-key/${licenseKey}`, '/licenses/by-license-key/nothing'],
    [`/licenses/${id}`, '/licenses/nothing'],
  ]) {
    const [one] = await callWithBadTokens('GET', `/api/v2${known}`);
    const [other] = await callWithBadTokens('GET', `/api/v2${unknown}`);
    expect([one?.status, one?.text]).toEqual([401, other?.text]);
  }
});

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];
const pathPatterns = [...new Set([...declared.keys()].map((name) => name.split(' ')[1] ?? ''))];
const wrongMethods = pathPatterns.flatMap((pattern) => {
  const path = pattern.replace(':platform/', 'CHAT/').replace(/:\w+/g, '999999');
  const names = [...declared.keys()].filter((name) => name.endsWith(` ${pattern}`));
  const known = METHODS.filter((method) => names.some((name) => name.startsWith(`${method} `)));
  // A preflight is for browsers, which do not read Allow.
  const allowed = known.filter((method) => method !== 'OPTIONS');
  return METHODS.filter((method) => !known.includes(method)).map((method) => ({
    method,
    path,
    allowed,
    intents: API_INTENTS.filter((intent) =>
      names.some((name) => !name.startsWith('OPTIONS') && ENDPOINTS[name]?.includes(intent)),
    ),
  }));
});

it.each(wrongMethods)(
  '$method $path is 405 [1.1.8, 3.1.3, interface 4.5, interface 7]',
  async ({ method, path, allowed, intents }) => {
    const response = await call(method, path, { token: tokenWith('PRODUCTS_READ') });
    expectError(response, 405, 'Method not allowed', intents);
    expect(response.headers.get('Allow')).toBe(allowed.join(', '));
  },
);

it.each(['/api/v2', '/api/v2/nowhere', '/api/v2/licenses/1/nowhere'])(
  '%s is 404 with a live token [3.1.2, interface 7]',
  async (path) => {
    const response = await call('GET', path, { token: tokenWith('PRODUCTS_READ') });
    expectError(response, 404, 'Path not found', []);
  },
);

it('a v2 validation whose body comes after its token was revoked is rejected', async () => {
  const { licenseKey, productId } = await create.license();
  const { id, token } = await create.token(['LICENSE_VALIDATE']);
  const body = { licenseKey, productId };
  // From here on the token is in memory.
  expect((await call('POST', '/api/v2/validate', { token, body })).status).toBe(200);
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const sent = call('POST', '/api/v2/validate', { token, body: readable });
  const writer = writable.getWriter();
  const [first, rest] = [JSON.stringify(body).slice(0, 1), JSON.stringify(body).slice(1)];
  await writer.write(new TextEncoder().encode(first));
  await call('DELETE', `/api/v2/tokens/${id}`);
  await writer.write(new TextEncoder().encode(rest));
  await writer.close();
  expect((await sent).status).toBe(401);
});
