import { env } from 'cloudflare:workers';
import type { ApiIntent } from '@licet/contract/enums';
import { event } from '@licet/contract/events';
import { token as tokenWire } from '@licet/contract/tokens';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type Isolate, newIsolate, settled } from '../support/app.ts';
import {
  type CallOptions,
  call,
  create,
  expectError,
  get,
  type ReadResponse,
} from '../support/client.ts';
import { interceptDatabase } from '../support/d1-intercept.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS, setNow } from '../support/history.ts';
import { Receivers } from '../support/receiver.ts';
import { ROOT_TOKEN } from '../support/root-token.ts';

/** OAuth for assistants in a browser (12.7). */

const ORIGIN = 'https://licet.test';
const RESOURCE = `${ORIGIN}/mcp`;
const DOCUMENT = 'https://assistant.example/oauth/client.json';
const CALLBACK = 'https://assistant.example/callback';
const START = Date.parse('2026-03-01T00:00:00Z');
const READ: readonly ApiIntent[] = ['LICENSES_READ', 'PRODUCTS_READ'];
const VERIFIER = 'v'.repeat(43);
/** The challenge of the verifier, by SHA-256. */
const CHALLENGE = '7w_YNF9DSfIdPf_pRjSq646_kPr-2-o9NAl16JGghdM';

let receivers: Receivers;
let isolate: Isolate;

beforeEach(() => {
  receivers = new Receivers();
  publish({});
  isolate = newIsolate({ OUTBOUND: receivers });
});
afterEach(async () => {
  vi.useRealTimers();
  await settled();
});

/** Publishes the document of a client. */
function publish(fields: object, at = DOCUMENT): void {
  const document = { client_id: at, client_name: 'Ada', redirect_uris: [CALLBACK], ...fields };
  receivers.at(at, () => Response.json(document));
}

let addresses = 0;
/** A request from an address of its own, so that no limit counts it with others. */
const send = (method: string, path: string, options: CallOptions = {}): Promise<ReadResponse> => {
  const address = `198.51.${addresses >> 8}.${addresses++ & 255}`;
  const headers = { 'CF-Connecting-IP': address, ...options.headers };
  return isolate.call(method, path, { token: null, ...options, headers });
};

const queryOf = (changes: Readonly<Record<string, string | null>> = {}): string => {
  const all = {
    response_type: 'code',
    client_id: DOCUMENT,
    redirect_uri: CALLBACK,
    code_challenge: CHALLENGE,
    code_challenge_method: 'S256',
    resource: RESOURCE,
    state: 's t&te',
    ...changes,
  };
  const sent = Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== null);
  return `?${new URLSearchParams(sent)}`;
};

const describeRequest = (query: string, token: string | null = ROOT_TOKEN) =>
  send('GET', `/oauth/consent${query}`, { token });

interface Consent {
  query?: string;
  intents?: readonly string[];
  days?: number;
}

const consent = (
  { query = queryOf(), intents = READ, ...days }: Consent = {},
  token: string | null = ROOT_TOKEN,
): Promise<ReadResponse> =>
  send('POST', '/oauth/consent', { token, body: { query, intents, ...days } });

const textIn = (json: unknown, name: string): string => {
  const value: unknown = Object.entries(json ?? {}).find(([key]) => key === name)?.[1];
  if (typeof value !== 'string') throw new Error(`There is no ${name} in ${JSON.stringify(json)}`);
  return value;
};

/** The parameters with which the person returns to the assistant. */
const returned = ({ status, text, json }: ReadResponse): URLSearchParams => {
  expect(status, text).toBe(200);
  return new URL(textIn(json, 'url')).searchParams;
};

const codeOf = (response: ReadResponse): string => returned(response).get('code') ?? '';

const FORM = { 'Content-Type': 'application/x-www-form-urlencoded' };

const askForTokens = (parameters: Record<string, string>): Promise<ReadResponse> =>
  send('POST', '/oauth/token', {
    headers: FORM,
    body: new URLSearchParams({ client_id: DOCUMENT, ...parameters }).toString(),
  });

const redeem = (code: string, changes: Record<string, string> = {}): Promise<ReadResponse> =>
  askForTokens({
    grant_type: 'authorization_code',
    code,
    code_verifier: VERIFIER,
    redirect_uri: CALLBACK,
    ...changes,
  });

const refresh = (token: string, changes: Record<string, string> = {}): Promise<ReadResponse> =>
  askForTokens({ grant_type: 'refresh_token', refresh_token: token, ...changes });

interface Issued {
  access: string;
  refresh: string;
  scope: string;
}

const issuedIn = ({ status, text, json }: ReadResponse): Issued => {
  expect(status, text).toBe(200);
  return {
    access: textIn(json, 'access_token'),
    refresh: textIn(json, 'refresh_token'),
    scope: textIn(json, 'scope'),
  };
};

/** The whole way of an assistant, from the consent to its tokens. */
const grant = async (given: Consent = {}, token = ROOT_TOKEN): Promise<Issued> =>
  issuedIn(await redeem(codeOf(await consent(given, token))));

const expectRejected = ({ status, json }: ReadResponse, error: string): void => {
  expect({ status, error: textIn(json, 'error') }).toEqual({ status: 400, error });
};

let requests = 0;
const askAssistant = (access: string, method: string, params: object): Promise<ReadResponse> =>
  send('POST', '/mcp', {
    headers: {
      Authorization: `Bearer ${access}`,
      'Content-Type': 'application/json',
      Accept: 'application/json, text/event-stream',
      'MCP-Protocol-Version': '2025-11-25',
    },
    body: { jsonrpc: '2.0', id: ++requests, method, params },
  });

/** The names of the tools that an access token opens; empty for one that opens nothing. */
async function toolsOf(access: string): Promise<string[]> {
  const { status, text } = await askAssistant(access, 'tools/list', {});
  if (status === 401) return [];
  expect(status, text).toBe(200);
  return [...text.matchAll(/"name":"(\w+)"/g)].map(([, name = '']) => name);
}

const listTokens = async () =>
  tokenWire.array().parse((await isolate.call('GET', '/api/v2/tokens')).json);

/** The token of the newest grant. */
const newestToken = async () => {
  const token = (await listTokens()).at(-1);
  if (!token) throw new Error('There is no token');
  return token;
};

describe('discovery', () => {
  it('a client without a live token learns at /mcp where to get one [12.7.1]', async () => {
    const metadata = `resource_metadata="${ORIGIN}/.well-known/oauth-protected-resource/mcp"`;
    const none = await send('POST', '/mcp', { body: {} });
    expect(none.status).toBe(401);
    expect(none.headers.get('WWW-Authenticate')).toBe(`Bearer ${metadata}`);
    const bad = await askAssistant('licet_nobody', 'tools/list', {});
    expect(bad.headers.get('WWW-Authenticate')).toBe(`Bearer ${metadata}, error="invalid_token"`);
  });

  it.each(['', '/mcp'])('the document of the resource%s names its server [12.7.1]', async (end) => {
    const path = `/.well-known/oauth-protected-resource${end}`;
    const { status, json } = await send('GET', path);
    expect(status).toBe(200);
    expect(json).toMatchObject({ resource: RESOURCE, authorization_servers: [ORIGIN] });
  });

  it('the document of the server names its endpoints, PKCE and public clients alone [12.7.1]', async () => {
    const { json } = await send('GET', '/.well-known/oauth-authorization-server');
    expect(json).toMatchObject({
      issuer: ORIGIN,
      authorization_endpoint: `${ORIGIN}/console/consent`,
      token_endpoint: `${ORIGIN}/oauth/token`,
      registration_endpoint: `${ORIGIN}/oauth/register`,
      code_challenge_methods_supported: ['S256'],
      token_endpoint_auth_methods_supported: ['none'],
      client_id_metadata_document_supported: true,
      authorization_response_iss_parameter_supported: true,
    });
  });

  it('PUBLIC_URL sets the addresses of all documents [12.7.1]', async () => {
    isolate = newIsolate({ PUBLIC_URL: 'https://license.example' });
    const { json } = await send('GET', '/.well-known/oauth-authorization-server');
    expect(textIn(json, 'token_endpoint')).toBe('https://license.example/oauth/token');
  });
});

describe('clients', () => {
  it('a document on its own host describes a client [12.7.2]', async () => {
    const { status, json } = await describeRequest(queryOf());
    expect([status, json]).toEqual([
      200,
      {
        name: 'Ada',
        host: 'assistant.example',
        returnsTo: 'assistant.example',
        isLocal: false,
        declineUrl: `${CALLBACK}?error=access_denied&state=s+t%26te&iss=${encodeURIComponent(ORIGIN)}`,
      },
    ]);
  });

  it.each([
    'https://127.0.0.1/client.json',
    'https://[::1]/client.json',
    'https://169.254.169.254/latest/meta-data',
    'https://localhost/client.json',
    'https://router.local/client.json',
    'http://assistant.example/client.json',
    'https://ada@assistant.example/client.json',
    'https://assistant.example/',
    'https://assistant.example/a/../client.json',
    'https://licet.test/client.json',
    'https://licet.test./client.json',
  ])('nothing is sent to the document %s [12.7.2]', async (id) => {
    const response = await describeRequest(queryOf({ client_id: id }));
    expect(response.status).toBe(400);
    expect(receivers.received).toEqual([]);
  });

  it.each([
    ['names another', () => Response.json({ client_id: CALLBACK, redirect_uris: [CALLBACK] })],
    ['is missing', () => new Response('', { status: 404 })],
    ['is no JSON', () => new Response('<html>')],
    ['redirects', () => Response.redirect('http://169.254.169.254/')],
    [
      'asks for a secret',
      () =>
        Response.json({
          client_id: DOCUMENT,
          redirect_uris: [CALLBACK],
          token_endpoint_auth_method: 'client_secret_basic',
        }),
    ],
    [
      'is long',
      () =>
        Response.json({
          client_id: DOCUMENT,
          redirect_uris: [CALLBACK],
          padding: 'x'.repeat(20_000),
        }),
    ],
  ])('a document that %s describes no client [12.7.2]', async (_, respond) => {
    receivers.at(DOCUMENT, respond);
    const { status, text } = await describeRequest(queryOf());
    expect([status, text]).toEqual([400, expect.stringContaining('assistant.example')]);
    expect(receivers.received).toHaveLength(1);
  });

  it.each([
    ['PUBLIC_URL', { PUBLIC_URL: 'https://license.example' }],
    ['CONSOLE_HOSTS', { CONSOLE_HOSTS: 'console.example, license.example' }],
  ])('nothing is sent to a document on the host of %s [12.7.2]', async (_, settings) => {
    isolate = newIsolate({ OUTBOUND: receivers, ...settings });
    const client_id = 'https://license.example/client.json';
    const response = await describeRequest(queryOf({ client_id, resource: null }));
    const message = 'client_id must be an address of another service, not of this one';
    expectError(response, 400, message);
    expect(receivers.received).toEqual([]);
  });

  const register = (body: unknown): Promise<ReadResponse> =>
    send('POST', '/oauth/register', { body });

  it('a client registers, and nothing is stored [12.7.3]', async () => {
    const before = await env.DB.prepare('select sum(1) as n from tokens').first();
    const { status, json } = await register({
      client_name: 'Local',
      redirect_uris: ['http://127.0.0.1/callback'],
      token_endpoint_auth_method: 'client_secret_post',
    });
    expect([status, json]).toEqual([
      201,
      expect.objectContaining({ client_name: 'Local', token_endpoint_auth_method: 'none' }),
    ]);
    expect(json).not.toHaveProperty('client_secret');
    const client_id = textIn(json, 'client_id');
    const changes = { client_id, redirect_uri: 'http://127.0.0.1:49152/callback' };
    const shown = await describeRequest(queryOf(changes));
    expect(shown.json).toMatchObject({
      name: 'Local',
      host: null,
      returnsTo: '127.0.0.1',
      isLocal: true,
    });
    expect(await env.DB.prepare('select sum(1) as n from tokens').first()).toEqual(before);
  });

  it('a client that did not register here is unknown [12.7.3]', async () => {
    const { json } = await register({ client_name: 'Local', redirect_uris: [CALLBACK] });
    const id = textIn(json, 'client_id');
    const payload = Buffer.from('["Bank","https://evil.example/"]').toString('base64url');
    const [, , signature = ''] = id.split('.');
    for (const client_id of [`licet.${payload}.${signature}`, `${id}A`, 'licet.', 'x', '']) {
      const response = await describeRequest(queryOf({ client_id }));
      const message =
        'This service does not know the assistant. Remove its connection in the assistant, and add it again';
      expectError(response, 400, message);
    }
  });

  it.each([
    'javascript:alert(1)//',
    'data:text/html,x',
    'http://assistant.example/callback',
    'https://ada:secret@assistant.example/',
    `${CALLBACK}#fragment`,
    'file:///etc/passwd',
    'mailto:ada@assistant.example',
    '//assistant.example/',
  ])('no response goes to %s [12.7.3]', async (uri) => {
    expectRejected(await register({ redirect_uris: [CALLBACK, uri] }), 'invalid_redirect_uri');
    publish({ redirect_uris: [uri, CALLBACK] });
    expect((await describeRequest(queryOf({ redirect_uri: uri }))).status).toBe(400);
    expect((await describeRequest(queryOf())).status).toBe(200);
  });

  it.each([
    'http://localhost:1234/',
    'http://[::1]/callback',
    'cursor://anysphere.cursor-mcp/oauth/callback',
    'com.example.assistant:/callback',
  ])('a response may go to %s [12.7.3]', async (uri) => {
    expect((await register({ redirect_uris: [uri] })).status).toBe(201);
  });

  it('a registration is bounded [12.7.3]', async () => {
    const uris = (count: number) =>
      Array.from({ length: count }, (_, index) => `https://a.example/${index}/${'x'.repeat(300)}`);
    expectRejected(await register({ redirect_uris: uris(10) }), 'invalid_redirect_uri');
    expectRejected(await register({ redirect_uris: [] }), 'invalid_redirect_uri');
    expectRejected(await register('no JSON'), 'invalid_client_metadata');
    expect((await register({ redirect_uris: uris(1), name: 'x'.repeat(17_000) })).status).toBe(413);
  });

  it('an address registers at most 60 clients a minute [12.7.3]', async () => {
    setNow(START);
    isolate = newIsolate({ FAILED_TOKEN_LIMITER: 3 });
    const headers = { 'CF-Connecting-IP': '203.0.113.77' };
    const body = { redirect_uris: [CALLBACK] };
    const statuses: number[] = [];
    for (let count = 0; count < 5; count++) {
      statuses.push((await send('POST', '/oauth/register', { headers, body })).status);
    }
    expect(statuses).toEqual([201, 201, 201, 429, 429]);
  });

  it('the name of a client is one line that reads as it is written [12.7.2]', async () => {
    publish({ client_name: `  A\u202Eda\n\u0000${'x'.repeat(100)}` });
    const { json } = await describeRequest(queryOf());
    expect(textIn(json, 'name')).toBe(`A da ${'x'.repeat(55)}`);
    // Letters that nobody sees.
    publish({ client_name: '\u3164\u115F\u2800' });
    expect(textIn((await describeRequest(queryOf())).json, 'name')).toBe('assistant.example');
  });
});

describe('consent', () => {
  it.each([
    ['another address of its own host', { redirect_uri: `${CALLBACK}/other` }],
    ['another host', { redirect_uri: 'https://evil.example/callback' }],
    ['no address', { redirect_uri: null }],
    ['no PKCE', { code_challenge: null, code_challenge_method: null }],
    ['plain PKCE', { code_challenge: VERIFIER, code_challenge_method: 'plain' }],
    ['another type', { response_type: 'token' }],
    ['the resource of another service', { resource: 'https://other.example/mcp' }],
    ['another resource of this service', { resource: `${ORIGIN}/api/v2` }],
  ])('a request with %s ends on the own page [12.7.4]', async (_, changes) => {
    const query = queryOf(changes);
    const shown = await describeRequest(query);
    expect([shown.status, shown.headers.get('Location')]).toEqual([400, null]);
    expect(shown.text).not.toContain('declineUrl');
    expect((await consent({ query })).status).toBe(400);
  });

  it('a parameter comes once [12.7.4]', async () => {
    const query = `${queryOf()}&redirect_uri=${encodeURIComponent('https://evil.example/')}`;
    expect((await describeRequest(query)).status).toBe(400);
    expect((await consent({ query })).status).toBe(400);
  });

  it('the person returns with a code, the state and the issuer [12.7.4]', async () => {
    const parameters = returned(await consent());
    expect(Object.fromEntries(parameters)).toEqual({
      code: expect.stringMatching(/^licet_code_\d+_[\w-]{43}$/),
      state: 's t&te',
      iss: ORIGIN,
    });
  });

  const logIn = async (token: string): Promise<string> => {
    const { status, headers } = await send('POST', '/console/session', { token });
    expect(status).toBe(204);
    return headers.get('Set-Cookie')?.split(';')[0] ?? '';
  };

  it('only the own page consents with a session [12.7.5]', async () => {
    const Cookie = await logIn(ROOT_TOKEN);
    const JSON_TYPE = { 'Content-Type': 'application/json' };
    const body = { query: queryOf(), intents: READ };
    const statusOf = async (headers: Record<string, string>) =>
      (await send('POST', '/oauth/consent', { headers: { Cookie, ...headers }, body })).status;
    expect(await statusOf({ ...JSON_TYPE, 'Sec-Fetch-Site': 'same-origin' })).toBe(200);
    for (const site of ['cross-site', 'same-site', 'none']) {
      expect(await statusOf({ ...JSON_TYPE, 'Sec-Fetch-Site': site }), site).toBe(401);
    }
    expect(await statusOf({ ...JSON_TYPE, Origin: 'https://evil.example' })).toBe(401);
    expect(await statusOf(JSON_TYPE)).toBe(401);
    expect(await statusOf({ ...FORM, 'Sec-Fetch-Site': 'same-origin' })).toBe(403);
  });

  it('without a live token nobody learns or grants anything [12.7.5]', async () => {
    for (const token of [null, 'licet_nobody']) {
      expect((await describeRequest(queryOf(), token)).status).toBe(401);
      expect((await consent({}, token)).status).toBe(401);
    }
    expect(receivers.received).toEqual([]);
  });

  it('nothing is sent to a document for a token that can consent to nothing [12.7.5]', async () => {
    // Programs that are shipped have such a token: it is public.
    const { token } = await create.token(['LICENSE_VALIDATE']);
    expect((await describeRequest(queryOf(), token)).status).toBe(403);
    expect((await consent({}, token)).status).toBe(403);
    expect(receivers.received).toEqual([]);
  });

  it.each([
    ['tokens and settings', ['ALL_READ_WRITE']],
    ['all that can be read', ['ALL_READ']],
    ['validations', ['LICENSE_VALIDATE']],
    ['products to write', ['PRODUCTS_READ_WRITE']],
    ['nothing', []],
  ])('an assistant cannot get %s [12.7.6]', async (_, intents) => {
    const { status, text } = await consent({ intents });
    expect([status, text]).toEqual([400, expect.stringContaining('"intents')]);
  });

  it('an assistant gets no more than the token that consents [12.7.6]', async () => {
    const { token } = await create.token(['LICENSES_READ_WRITE', 'PRODUCTS_READ']);
    const intentsOf = async (intents: readonly string[]) =>
      (await consent({ intents }, token)).status;
    expect(await intentsOf(['LICENSES_READ', 'PRODUCTS_READ'])).toBe(200);
    expect(await intentsOf(['LICENSES_READ_WRITE'])).toBe(200);
    expect(await intentsOf(['LICENSES_READ', 'CUSTOMERS_READ'])).toBe(403);
    expect(await intentsOf(['BLACKLISTS_READ_WRITE'])).toBe(403);
  });

  it('a token has 50 living grants, and room for another one when one ends [12.7.13]', async () => {
    const { token } = await create.token(['LICENSES_READ', 'PRODUCTS_READ']);
    const responses = await Promise.all(Array.from({ length: 55 }, () => consent({}, token)));
    const given = responses.filter(({ status }) => status === 200);
    expect(given).toHaveLength(50);
    const message = expect.stringMatching(
      /^At most 50 assistants work with your token: revoke one/,
    );
    expectError(await consent({}, token), 409, message);
    expect((await consent()).status).toBe(200);
    const [, id] = /_(\d+)_/.exec(given.map(codeOf)[0] ?? '') ?? [];
    await isolate.call('DELETE', `/api/v2/tokens/${id}`);
    expect((await consent({}, token)).status).toBe(200);
    expect((await consent({}, token)).status).toBe(409);
  });

  it('a grant ends after 30 days, or up to 90 [12.7.7]', async () => {
    setNow(START);
    await consent();
    expect((await newestToken()).expiresAt).toBe('2026-03-31T00:00:00.000+00:00');
    await consent({ days: 90 });
    expect((await newestToken()).expiresAt).toBe('2026-05-30T00:00:00.000+00:00');
    for (const days of [0, 91, 1.5]) {
      const { status, text } = await consent({ days });
      expect([status, text]).toEqual([400, expect.stringContaining('"days must be')]);
    }
  });
});

describe('a grant', () => {
  it('a grant is a token in the list, with its client and its last use, and an event [12.7.7]', async () => {
    const { access, scope } = await grant();
    expect(scope).toBe('PRODUCTS_READ LICENSES_READ');
    const listed = await newestToken();
    expect(listed).toMatchObject({
      name: 'Ada',
      client: 'assistant.example',
      intents: ['PRODUCTS_READ', 'LICENSES_READ'],
      lastUsedAt: null,
    });
    expect(await toolsOf(access)).toContain('find');
    await settled();
    expect((await newestToken()).lastUsedAt).not.toBeNull();
    const { json } = await isolate.call(
      'GET',
      `/api/v2/events?resourceType=token&resourceId=${listed.id}`,
    );
    expect(
      event
        .array()
        .parse(json)
        .map(({ type }) => type),
    ).toEqual(['token.created']);
  });

  it('no secret of a grant is stored [12.7.7]', async () => {
    const code = codeOf(await consent());
    const { access, refresh: secret } = issuedIn(await redeem(code));
    const rows = await env.DB.prepare('select * from grants').all();
    for (const one of [code, access, secret]) {
      expect(JSON.stringify(rows.results)).not.toContain(one.slice(-43));
    }
  });

  it('an access token opens /mcp alone, and only as Bearer [12.7.8]', async () => {
    const { access, refresh: secret } = await grant();
    expect(await toolsOf(access)).not.toEqual([]);
    for (const token of [access, secret]) {
      for (const path of ['/api/v2/ping', '/api/v2/licenses', '/mcp']) {
        const method = path === '/mcp' ? 'POST' : 'GET';
        expect((await send(method, path, { token })).status, path).toBe(401);
      }
      expect((await send('POST', '/console/session', { token })).status).toBe(401);
      const headers = { Authorization: `Bearer ${token}` };
      expect((await send('GET', '/metrics', { headers })).status).toBe(401);
      expect((await consent({}, token)).status).toBe(401);
    }
    expect(await toolsOf(secret)).toEqual([]);
  });

  it('a grant shows the tools of its permissions alone [12.7.8]', async () => {
    const reading = await toolsOf((await grant({ intents: ['LICENSES_READ'] })).access);
    expect(reading).toContain('show_license');
    expect(reading).not.toContain('free_slots');
    const writing = await toolsOf((await grant({ intents: ['LICENSES_READ_WRITE'] })).access);
    expect(writing).toContain('free_slots');
    expect(writing).not.toContain('block');
  });

  it('a grant is revoked in the list of tokens, at once [12.7.7]', async () => {
    const { access, refresh: secret } = await grant();
    await isolate.call('DELETE', `/api/v2/tokens/${(await newestToken()).id}`);
    expect(await toolsOf(access)).toEqual([]);
    expectRejected(await refresh(secret), 'invalid_grant');
  });

  it('a grant ends at its end [12.7.7]', async () => {
    setNow(START);
    const first = await grant({ days: 1 });
    setNow(START + DAY_MS - MINUTE_MS);
    const { access, refresh: secret } = issuedIn(await refresh(first.refresh));
    expect(await toolsOf(access)).not.toEqual([]);
    setNow(START + DAY_MS);
    expect(await toolsOf(access)).toEqual([]);
    expectRejected(await refresh(secret), 'invalid_grant');
  });
});

describe('a code', () => {
  it.each([
    ['another client', { client_id: 'https://evil.example/client.json' }, 'invalid_grant'],
    ['another address', { redirect_uri: `${CALLBACK}2` }, 'invalid_grant'],
    ['another verifier', { code_verifier: 'w'.repeat(43) }, 'invalid_grant'],
    ['no verifier', { code_verifier: '' }, 'invalid_request'],
    ['a short verifier', { code_verifier: 'v' }, 'invalid_request'],
    ['another resource', { resource: 'https://other.example/mcp' }, 'invalid_target'],
    ['another kind', { grant_type: 'client_credentials' }, 'unsupported_grant_type'],
  ])(
    'a code opens nothing for %s, and stays for its own client [12.7.9]',
    async (_, changes, error) => {
      const code = codeOf(await consent());
      expectRejected(await redeem(code, changes), error);
      issuedIn(await redeem(code, { resource: RESOURCE }));
    },
  );

  it('a code works for ten minutes [12.7.9]', async () => {
    setNow(START);
    const codes = [codeOf(await consent()), codeOf(await consent())];
    setNow(START + 10 * MINUTE_MS - 1);
    issuedIn(await redeem(codes[0] ?? ''));
    setNow(START + 10 * MINUTE_MS);
    expectRejected(await redeem(codes[1] ?? ''), 'invalid_grant');
  });

  it('one of many requests at once redeems a code [12.7.9]', async () => {
    const code = codeOf(await consent());
    const responses = await Promise.all(Array.from({ length: 20 }, () => redeem(code)));
    expect(responses.filter(({ status }) => status === 200)).toHaveLength(1);
  });

  it('a code that comes again with its proof ends the grant [12.7.9]', async () => {
    const code = codeOf(await consent());
    const { access, refresh: secret } = issuedIn(await redeem(code));
    expectRejected(await redeem(code, { code_verifier: 'w'.repeat(43) }), 'invalid_grant');
    expect(await toolsOf(access)).not.toEqual([]);
    const { id } = await newestToken();
    expectRejected(await redeem(code), 'invalid_grant');
    expect(await toolsOf(access)).toEqual([]);
    expectRejected(await refresh(secret), 'invalid_grant');
    const { json } = await isolate.call(
      'GET',
      `/api/v2/events?resourceType=token&resourceId=${id}`,
    );
    const [newest] = event.array().parse(json);
    expect(newest).toMatchObject({ type: 'token.deleted', actor: { tokenName: 'service' } });
  });

  it('many requests at once with a used code are all refused as OAuth says, and end the grant [12.7.9]', async () => {
    const code = codeOf(await consent());
    const { access } = issuedIn(await redeem(code));
    const responses = await Promise.all(Array.from({ length: 8 }, () => redeem(code)));
    for (const response of responses) expectRejected(response, 'invalid_grant');
    expect(await toolsOf(access)).toEqual([]);
  });

  it('the token of a code that nobody redeems is gone after ten minutes [12.7.9]', async () => {
    setNow(START);
    await consent();
    const { id } = await newestToken();
    setNow(START + 10 * MINUTE_MS);
    await isolate.runScheduled();
    expect((await listTokens()).map((token) => token.id)).not.toContain(id);
    const { results } = await env.DB.prepare('select 1 from grants where token_id = ?')
      .bind(id)
      .all();
    expect(results).toEqual([]);
  });
});

describe('tokens', () => {
  it('an access token works for an hour, and a refresh token gets the next one [12.7.10]', async () => {
    setNow(START);
    const first = await grant();
    setNow(START + HOUR_MS - 1);
    expect(await toolsOf(first.access)).not.toEqual([]);
    setNow(START + HOUR_MS);
    expect(await toolsOf(first.access)).toEqual([]);
    const second = issuedIn(await refresh(first.refresh));
    expect(second.refresh).not.toBe(first.refresh);
    expect(await toolsOf(second.access)).not.toEqual([]);
  });

  it('a refresh token of another client, or for another resource, opens nothing [12.7.10]', async () => {
    const { refresh: secret } = await grant();
    const other = { client_id: 'https://evil.example/client.json' };
    expectRejected(await refresh(secret, other), 'invalid_grant');
    const elsewhere = { resource: 'https://other.example/mcp' };
    expectRejected(await refresh(secret, elsewhere), 'invalid_target');
    expectRejected(await refresh(`${secret.slice(0, -1)}!`), 'invalid_grant');
    issuedIn(await refresh(secret));
  });

  it('one of many requests at once uses a refresh token, and the grant stays [12.7.10]', async () => {
    const { refresh: secret } = await grant();
    const responses = await Promise.all(Array.from({ length: 20 }, () => refresh(secret)));
    const [issued, ...more] = responses.filter(({ status }) => status === 200);
    expect(more).toEqual([]);
    if (!issued) throw new Error('No request got tokens');
    expect(await toolsOf(issuedIn(issued).access)).not.toEqual([]);
  });

  it('a used refresh token that comes again after a minute ends the grant [12.7.10]', async () => {
    setNow(START);
    const first = await grant();
    const second = issuedIn(await refresh(first.refresh));
    expectRejected(await refresh(first.refresh), 'invalid_grant');
    expect(await toolsOf(second.access)).not.toEqual([]);
    setNow(START + MINUTE_MS);
    expectRejected(await refresh(first.refresh), 'invalid_grant');
    expect(await toolsOf(second.access)).toEqual([]);
    expectRejected(await refresh(second.refresh), 'invalid_grant');
  });

  it('a refresh token that a thief used, and the next one, ends the grant when its client sends it [12.7.10]', async () => {
    setNow(START);
    const { refresh: stolen } = await grant();
    const thief = issuedIn(await refresh(issuedIn(await refresh(stolen)).refresh));
    expectRejected(await refresh(stolen, { client_id: 'https://evil.example/' }), 'invalid_grant');
    expect(await toolsOf(thief.access)).not.toEqual([]);
    expectRejected(await refresh(stolen), 'invalid_grant');
    expect(await toolsOf(thief.access)).toEqual([]);
    expectRejected(await refresh(thief.refresh), 'invalid_grant');
  });

  it('a refresh token that was never given ends nothing [12.7.10]', async () => {
    const { access, refresh: secret } = await grant();
    const random = 'r'.repeat(43);
    const [, id = ''] = /^licet_refresh_(\d+)_/.exec(secret) ?? [];
    for (const other of [random, `${'0'.repeat(64)}_${random}`]) {
      expectRejected(await refresh(`licet_refresh_${id}_${other}`), 'invalid_grant');
    }
    expect(await toolsOf(access)).not.toEqual([]);
    issuedIn(await refresh(secret));
  });

  it('failed requests count to the limit of their address [12.7.10]', async () => {
    setNow(START);
    isolate = newIsolate({ FAILED_TOKEN_LIMITER: 2, OUTBOUND: receivers });
    const headers = { ...FORM, 'CF-Connecting-IP': '203.0.113.78' };
    const body = 'grant_type=refresh_token&refresh_token=x';
    const statuses: number[] = [];
    for (let count = 0; count < 4; count++) {
      statuses.push((await send('POST', '/oauth/token', { headers, body })).status);
    }
    expect(statuses).toEqual([400, 400, 400, 429]);
  });
});

describe('the token that consented', () => {
  const consenter = () => create.token(['LICENSES_READ_WRITE', 'PRODUCTS_READ']);
  const WRITING = { intents: ['LICENSES_READ_WRITE', 'PRODUCTS_READ'] };

  it.each([
    ['is revoked', (id: number) => call('DELETE', `/api/v2/tokens/${id}`)],
    [
      'expires',
      (id: number) => call('PUT', `/api/v2/tokens/${id}`, { body: { expiresAt: '2020-01-01' } }),
    ],
  ])('a grant ends when it %s [12.7.11]', async (_, end) => {
    const { id, token } = await consenter();
    const { access, refresh: secret } = await grant(WRITING, token);
    expect(await toolsOf(access)).not.toEqual([]);
    await end(id);
    expect(await toolsOf(access)).toEqual([]);
    expectRejected(await refresh(secret), 'invalid_grant');
  });

  it('a grant leaves the list with a revoked one [12.7.11]', async () => {
    const { id, token } = await consenter();
    await grant(WRITING, token);
    const granted = await newestToken();
    await call('DELETE', `/api/v2/tokens/${id}`);
    expect((await listTokens()).map((one) => one.id)).not.toContain(granted.id);
    expect((await call('GET', `/api/v2/tokens/${granted.id}`)).status).toBe(404);
  });

  it('a grant of a revoked one stays out of the list after its end [12.7.11]', async () => {
    setNow(START);
    const { id, token } = await consenter();
    await grant({ ...WRITING, days: 1 }, token);
    const granted = await newestToken();
    await call('DELETE', `/api/v2/tokens/${id}`);
    for (const now of [START + MINUTE_MS, START + DAY_MS]) {
      setNow(now);
      await isolate.runScheduled();
      expect((await listTokens()).map((one) => one.id)).not.toContain(granted.id);
    }
  });

  it('a grant loses the permissions that it loses [12.7.11]', async () => {
    const { id, token } = await consenter();
    const { access } = await grant(WRITING, token);
    expect(await toolsOf(access)).toContain('free_slots');
    await call('PUT', `/api/v2/tokens/${id}`, { body: { intents: ['LICENSES_READ'] } });
    const tools = await toolsOf(access);
    expect(tools).toContain('show_license');
    expect(tools).not.toContain('free_slots');
  });

  it('a grant of ROOT_TOKEN ends with its change [12.7.11]', async () => {
    const { access, refresh: secret } = await grant();
    isolate = newIsolate({
      OUTBOUND: receivers,
      ROOT_TOKEN: 'another-root-token-of-40-characters-long',
    });
    expect(await toolsOf(access)).toEqual([]);
    expectRejected(await refresh(secret), 'invalid_grant');
  });

  it('a change is refused if it is revoked just before the write [12.7.11]', async () => {
    const { id, token } = await consenter();
    const license = await create.license();
    const { access } = await grant(WRITING, token);
    const callTool = async (more: object = {}): Promise<string> => {
      const { headers } = await call('GET', `/api/v2/licenses/${license.id}`);
      const input = { licenseId: license.id, etag: headers.get('ETag'), status: 'DEACTIVATED' };
      const params = { name: 'set_status', arguments: { ...input, ...more } };
      const { status, text } = await askAssistant(access, 'tools/call', params);
      expect(status, text).toBe(200);
      return text;
    };
    const [, confirmation = ''] = /"confirmation":"([^"]+)"/.exec(await callTool()) ?? [];
    expect(confirmation).not.toBe('');
    let revoked = false;
    const DB = interceptDatabase(env.DB, async (statements, send) => {
      const isWrite = statements.length > 1 && statements.some(({ sql }) => /^insert /.test(sql));
      if (isWrite && !revoked) {
        revoked = true;
        await call('DELETE', `/api/v2/tokens/${id}`);
      }
      return send();
    });
    isolate = newIsolate({ OUTBOUND: receivers, DB });
    expect(await callTool({ confirmation })).toContain('expired or revoked');
    expect(revoked).toBe(true);
    expect((await get.license(license.id)).licenseStatus).toBe('ACTIVE');
  });
});
