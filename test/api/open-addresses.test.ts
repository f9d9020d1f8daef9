import { env } from 'cloudflare:workers';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { declaredIntents } from '../../src/auth/middleware.ts';
import { signatureHeaders } from '../../src/channels/webhooks/formats/standard.ts';
import { sha256Hex } from '../../src/lib/sha256.ts';
import { routes } from '../../src/routes/app.ts';
import { hmac } from '../markets/samples.ts';
import { type Isolate, newIsolate, settled } from '../support/app.ts';
import { type CallOptions, call, create } from '../support/client.ts';
import { FakeDiscord } from '../support/fake-discord.ts';
import { setNow } from '../support/history.ts';
import { WEBHOOK_SECRET as MAIL_WEBHOOK_SECRET } from '../support/mails.ts';
import { ROOT_TOKEN } from '../support/root-token.ts';
import { MarketService, OLD_PATH, SECRET } from '../support/shop-market.ts';

/**
 * The addresses that take requests without a token (1.7). At each the limit of rejected requests comes first, then the
 * size, then the secret, and then the rest. Validations have limits of their own.
 */

const LIMIT = 3;
const KIB = 1024;
const FORM = { 'Content-Type': 'application/x-www-form-urlencoded' };
const JSON_TYPE = { 'Content-Type': 'application/json' };
const OWN_PAGE = { ...JSON_TYPE, 'Sec-Fetch-Site': 'same-origin' };

type Sent = Pick<CallOptions, 'body' | 'headers'>;

interface OpenAddress {
  /** Its routes. */
  routes: readonly string[];
  path: () => Promise<string>;
  right: () => Promise<Sent>;
  wrong: Sent;
  /** With a right secret, unless it stands in the body. */
  oversized: () => Promise<Sent>;
  /** Without anything that could be a secret. */
  unreadable: Sent;
  statuses: { right: number; wrong: number; oversized: number; unreadable: number };
}

let discord: FakeDiscord;
let service: MarketService;
let productId: number;

const form = (fields: Record<string, string>): Sent => ({
  headers: FORM,
  body: String(new URLSearchParams({ user_id: '1', resource_id: '7', ...fields })),
});
const right = { secret: SECRET, builtbybit: 'true' };
const products = () => [{ item: '7', productId }];
const pathOf = async (kind: 'builtbybit' | 'tebex'): Promise<string> => {
  const { addresses } = await service.create({ kind, products: products() });
  return new URL(addresses[0] ?? '').pathname;
};

/** BuiltByBit, whose secret is a field of the form. */
const asBuiltByBit = {
  right: async () => form(right),
  wrong: form({ ...right, secret: 'a-wrong-secret-of-a-market' }),
  oversized: async () => form({ ...right, more: 'x'.repeat(17 * KIB) }),
  unreadable: { body: 'hello' },
  statuses: { right: 200, wrong: 401, oversized: 413, unreadable: 400 },
};

const signedByTebex = async (body: string): Promise<Sent> => ({
  headers: { ...JSON_TYPE, 'X-Signature': await hmac(await sha256Hex(body), SECRET) },
  body,
});

const signedAtDiscord = async (body: string): Promise<Sent> => {
  const timestamp = String(Math.floor(Date.now() / 1000));
  return {
    headers: {
      'X-Signature-Timestamp': timestamp,
      'X-Signature-Ed25519': await discord.sign(timestamp, body),
    },
    body,
  };
};

async function signedByResend(body: string): Promise<Sent> {
  const signed = await signatureHeaders({ id: 'msg_1', body }, [MAIL_WEBHOOK_SECRET], Date.now());
  return {
    headers: Object.fromEntries(
      Object.entries(signed).map(([name, value]) => [name.replace('webhook-', 'svix-'), value]),
    ),
    body,
  };
}

async function linkCode(): Promise<string> {
  const { id: licenseId } = await create.license({ productId, customerEmail: 'ada@shop.example' });
  const { json } = await call('POST', '/api/v2/portal-links', { body: { licenseId } });
  const { url }: { url: string } = Object(json);
  return new URL(url).hash.slice('#code='.length);
}

const ADDRESSES: Record<string, OpenAddress> = {
  'a market whose secret is sent': {
    ...asBuiltByBit,
    routes: ['POST /markets/:path'],
    path: () => pathOf('builtbybit'),
  },
  'a market that signs': {
    routes: ['POST /markets/:path'],
    path: () => pathOf('tebex'),
    right: () => signedByTebex('{"id":"1","type":"validation.webhook"}'),
    wrong: { headers: { ...JSON_TYPE, 'X-Signature': '00' }, body: '{}' },
    oversized: () => signedByTebex(`{"id":"${'x'.repeat(257 * KIB)}"}`),
    unreadable: { body: '{' },
    statuses: { right: 200, wrong: 401, oversized: 413, unreadable: 401 },
  },
  'the old address of BuiltByBit': {
    ...asBuiltByBit,
    routes: ['POST /api/v1/bbb/:productId'],
    path: async () => {
      await service.create({ products: products() });
      return `${OLD_PATH}/${productId}`;
    },
  },
  Discord: {
    routes: ['POST /discord/interactions'],
    path: async () => '/discord/interactions',
    right: () => signedAtDiscord(discord.body({ type: 1 })),
    wrong: {
      headers: {
        'X-Signature-Timestamp': String(Math.floor(Date.now() / 1000)),
        'X-Signature-Ed25519': '0'.repeat(128),
      },
      body: '{"type":1}',
    },
    oversized: () => signedAtDiscord(`"${'x'.repeat(65 * KIB)}"`),
    unreadable: { body: '{' },
    statuses: { right: 200, wrong: 401, oversized: 401, unreadable: 401 },
  },
  'the notices of Resend': {
    routes: ['POST /mail/resend'],
    path: async () => '/mail/resend',
    right: () => signedByResend('{"type":"email.sent"}'),
    wrong: {
      headers: { 'svix-id': 'msg_1', 'svix-timestamp': '1', 'svix-signature': 'v1,AAAA' },
      body: '{}',
    },
    oversized: () => signedByResend(`"${'x'.repeat(257 * KIB)}"`),
    unreadable: { body: '{' },
    statuses: { right: 204, wrong: 401, oversized: 413, unreadable: 401 },
  },
  "a link of the customer's page": {
    routes: ['POST /my/session', 'DELETE /my/session'],
    path: async () => '/my/session',
    right: async () => ({ headers: OWN_PAGE, body: { code: await linkCode() } }),
    wrong: {
      headers: { ...OWN_PAGE, Cookie: `__Host-licet-my=${'x'.repeat(43)}` },
      body: { code: 'x'.repeat(43) },
    },
    oversized: async () => ({ headers: OWN_PAGE, body: { code: 'x'.repeat(2 * KIB) } }),
    unreadable: { headers: OWN_PAGE, body: '{' },
    statuses: { right: 204, wrong: 403, oversized: 413, unreadable: 400 },
  },
  "a session of the customer's page": {
    routes: [
      'POST /my/licenses/:id/key',
      'POST /my/licenses/:id/resets',
      'POST /my/licenses/:id/rotations',
      'POST /my/discord-code',
    ],
    path: async () => '/my/licenses/999999/resets',
    right: async () => {
      const opened = await call('POST', '/my/session', {
        token: null,
        headers: OWN_PAGE,
        body: { code: await linkCode() },
      });
      const cookie = opened.headers.get('Set-Cookie')?.split(';')[0] ?? '';
      return { headers: { ...OWN_PAGE, Cookie: cookie }, body: { machine: null } };
    },
    wrong: {
      headers: { ...OWN_PAGE, Cookie: `__Host-licet-my=${'x'.repeat(43)}` },
      body: { machine: null },
    },
    oversized: async () => ({
      headers: { ...OWN_PAGE, Cookie: `__Host-licet-my=${'x'.repeat(43)}` },
      body: { machine: 'x'.repeat(2 * KIB) },
    }),
    unreadable: {
      headers: { ...OWN_PAGE, Cookie: `__Host-licet-my=${'x'.repeat(43)}` },
      body: '{',
    },
    statuses: { right: 404, wrong: 401, oversized: 401, unreadable: 401 },
  },
  'the log-in of the console': {
    routes: ['POST /console/session', 'DELETE /console/session'],
    path: async () => '/console/session',
    right: async () => ({ headers: { ...OWN_PAGE, TOKEN: ROOT_TOKEN } }),
    wrong: {
      headers: { ...OWN_PAGE, TOKEN: 'licet_wrong', Cookie: `__Host-licet=${'x'.repeat(43)}` },
    },
    oversized: async () => ({ headers: OWN_PAGE, body: { code: 'x'.repeat(2 * KIB) } }),
    unreadable: { headers: OWN_PAGE, body: '{' },
    statuses: { right: 204, wrong: 401, oversized: 413, unreadable: 401 },
  },
};

/** Routes with other limits than the secrets of these addresses. */
const ELSEWHERE = [
  // conformance/13-mail
  'POST /my/link',
  'POST /my/unsubscribe/:token',
  // conformance/12-assistants and 12-oauth
  'POST /mcp',
  'POST /oauth/consent',
  'POST /oauth/register',
  'POST /oauth/token',
];

afterEach(settled);
beforeEach(async () => {
  // No minute begins within a test.
  setNow(Math.ceil(Date.now() / 60_000) * 60_000);
  await env.DB.batch(
    ['markets', 'settings'].map((table) => env.DB.prepare(`delete from ${table}`)),
  );
  discord = new FakeDiscord();
  await discord.setUp();
  service = new MarketService();
  ({ id: productId } = await create.product());
});

it('each route that needs no token and changes something is tested here [1.7.15]', () => {
  const VALIDATIONS = ['POST /api/v1/validate', 'POST /api/v2/validate'];
  const guarded = routes.filter(({ handler }) => declaredIntents(handler)).map(nameOf);
  const open = routes
    .filter(({ method }) => !['ALL', 'GET', 'OPTIONS'].includes(method))
    .map(nameOf)
    .filter((name) => !guarded.includes(name) && !VALIDATIONS.includes(name));
  const known = Object.values(ADDRESSES).flatMap(({ routes }) => routes);
  expect(new Set(open)).toEqual(new Set([...known, ...ELSEWHERE]));
});

const nameOf = ({ method, path }: { method: string; path: string }): string => `${method} ${path}`;

describe.each(Object.entries(ADDRESSES))('%s', (_, address) => {
  let path: string;
  let isolate: Isolate;
  beforeEach(async () => {
    path = await address.path();
    isolate = newIsolate({ FAILED_TOKEN_LIMITER: LIMIT, MAIL_WEBHOOK_SECRET });
  });

  const send = (client: string, { body, headers }: Sent, method = 'POST', to = path) => {
    const sent = { ...headers, 'CF-Connecting-IP': client };
    return isolate.call(method, to, { body, token: null, headers: sent });
  };

  it('the size comes before the secret, and the secret before the rest [9.2.2]', async () => {
    const { right, wrong, oversized, unreadable } = address;
    const statuses = {
      right: (await send('192.0.2.1', await right())).status,
      wrong: (await send('192.0.2.2', wrong)).status,
      oversized: (await send('192.0.2.3', await oversized())).status,
      unreadable: (await send('192.0.2.4', unreadable)).status,
    };
    expect(statuses).toEqual(address.statuses);
  });

  it('nothing is read of a client over the limit, and others pass [1.7.15, 9.2.2]', {
    tags: 'long',
  }, async () => {
    const { right, wrong, oversized, unreadable } = address;
    const client = '2001:db8:0:1::1';
    for (const sent of [wrong, await oversized(), unreadable]) {
      expect((await send(client, sent)).status).not.toBe(429);
    }
    expect((await send(client, wrong)).status).toBe(429);
    // A body that never comes would be a timeout, if it was read. The client has another address of its network.
    const never = { ...(await right()), body: new ReadableStream({ type: 'bytes' }) };
    for (const sent of [wrong, await oversized(), unreadable, never]) {
      const { status, headers } = await send('2001:db8:0:1::2', sent);
      expect(status).toBe(429);
      expect(Number(headers.get('Retry-After'))).toBeGreaterThan(0);
    }
    expect((await send('2001:db8:0:2::1', await right())).status).toBe(address.statuses.right);
  });

  it('each of its routes counts, and rejects a client over the limit', async () => {
    for (const [index, route] of address.routes.entries()) {
      const [method = '', pattern = ''] = route.split(' ');
      const to = address.routes.length === 1 ? path : pattern.replace(':id', '999999');
      const client = `192.0.2.${index}`;
      const statuses: number[] = [];
      for (let count = 0; count <= LIMIT; count++) {
        statuses.push((await send(client, address.wrong, method, to)).status);
      }
      expect(statuses.indexOf(429), route).toBe(LIMIT);
    }
  });
});
