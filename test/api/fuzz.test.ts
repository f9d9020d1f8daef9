import { env } from 'cloudflare:workers';
import { entryFields } from '@licet/contract/blacklists';
import { customerFields } from '@licet/contract/customers';
import { importRequest } from '@licet/contract/import';
import { licenseFields } from '@licet/contract/licenses';
import { productFields } from '@licet/contract/products';
import { createdTokenFields } from '@licet/contract/tokens';
import { validationRequest } from '@licet/contract/validation';
import fc from 'fast-check';
import { beforeAll, expect, it } from 'vitest';
import { routes } from '../../src/routes/app.ts';
import { type Blacklist, create, type License, type Product, send } from '../support/client.ts';
import { ROOT_TOKEN } from '../support/root-token.ts';

/** Whatever a client sends: never a 5xx, never a redirect, always the right structure. */

/** With `LICET_LONG`, each week has other requests. */
const SEED = env.IS_LONG ? Math.floor(Date.now() / 86_400_000) : 1;
const RUNS = env.IS_LONG ? 5_000 : 300;

let product: Product;
let license: License;
let blacklist: Blacklist;

beforeAll(async () => {
  product = await create.product();
  license = await create.license({ productId: product.id, ownerChatId: '1', ips: ['1.2.3.4'] });
  blacklist = await create.blacklist({ data: '192.0.2.0/30' });
});

interface Sent {
  method: string;
  path: string;
  headers: [string, string][];
  body: string | Uint8Array | null;
}

const ROUTES = [...new Set(routes.map(({ path }) => path).filter((path) => !path.includes('*')))];
const METHODS = ['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'HEAD'];

const nasty = fc.constantFrom(
  ...['', ' ', '0', '1', '-1', '1.5', '1e400', 'null', 'true', '[]', 'NaN', '__proto__'],
  ...['constructor', 'toString', 'hasOwnProperty', "' or 1=1 --", '%', '%%', '*', '😀', '\uFEFF'],
  ...['\0', 'a\0b', '\uD800', 'x\uDFFFy', '\r\nX: y', '9007199254740991', '9007199254740993'],
  ...['99999999999999999999', '1.2.3.4', '::1', '10.0.0.0/8', '2025-02-30', '2025-01-01'],
  ...['+275760-09-13T00:00:00Z', '-000001-01-01T00:00:00Z', 'ACTIVE', 'PLATFORM_A', 'IP', '../..'],
  'x'.repeat(300),
  'x'.repeat(5_000),
);
const text = fc.oneof(nasty, fc.string({ unit: 'binary' }), fc.string({ unit: 'grapheme' }));

const anyJson: fc.Arbitrary<unknown> = fc.oneof(
  text,
  fc.jsonValue({ maxDepth: 3 }),
  fc.constantFrom(0, -0, -1, 5, 1e308, 2 ** 31, 2 ** 53, -(2 ** 53), 0.1, true, null, [], {}),
);

/** The fields of all bodies, so that mutated bodies are close to accepted ones. */
const FIELDS = [
  ...[productFields, licenseFields, entryFields, customerFields, createdTokenFields].flatMap(
    (fields) => Object.keys(fields),
  ),
  ...Object.keys(validationRequest.shape),
  ...Object.keys(importRequest.shape),
  ...['__proto__', 'constructor', 'prototype', '', 'toString', '😀'],
];

let visits = 0;
/** As many as the license's limit takes, so that no address is over the rate limit soon. */
const nextIp = () => `1.2.3.${4 + (visits++ % 5)}`;

/** Bodies that are taken as they are, by the first part of the path behind the version. */
const goodBodies = (): Record<string, object[]> => ({
  validate: [{ licenseKey: license.licenseKey, productId: product.id, ip: nextIp(), hwid: 'h' }],
  products: [{ name: 'Fuzzed', productType: 'OTHER', defaultMaxIPs: 1 }, product],
  licenses: [
    { productId: product.id, licenseType: 'PERMANENT', ownerChatId: '2', maxIPs: 3 },
    license,
  ],
  blacklists: [
    { licenseDataType: 'HWID', data: 'fuzz', isForAllProducts: true, reason: 'r' },
    blacklist,
  ],
  customers: [{ firstName: 'A', email: 'a@example.com' }],
  tokens: [{ name: 'fuzz', intents: ['ALL_READ'], expiresAt: '2999-01-01' }],
  markets: [{ kind: 'tebex', name: 'Fuzzed' }],
  webhooks: [{ url: 'https://receiver.example/fuzz' }],
  settings: [{ name: 'Fuzzed' }, { guildId: '1100000000000000002' }],
  import: [
    { kind: 'licenses', items: [license], dryRun: false },
    { kind: 'customers', items: [{ chatId: '3' }] },
  ],
});

const changes = fc.array(
  fc.record({ field: fc.constantFrom(...FIELDS), value: anyJson, isRemoved: fc.boolean() }),
  { maxLength: 3 },
);

const mutated = (path: string) =>
  fc.tuple(fc.nat(1), changes).map(([index, edits]) => {
    const bodies = goodBodies()[path.split('/').filter(Boolean)[2] ?? ''] ?? [{}];
    const fields = new Map(Object.entries(bodies[index % bodies.length] ?? {}));
    for (const { field, value, isRemoved } of edits) {
      if (isRemoved) fields.delete(field);
      else fields.set(field, value);
    }
    // Written by hand: an object would take `__proto__` for its prototype.
    const members = [...fields].map(([name, value]) => {
      return `${JSON.stringify(name)}:${JSON.stringify(value)}`;
    });
    return `{${members.join()}}`;
  });

const oddBody = fc.oneof(
  anyJson.map((value) => JSON.stringify(value)),
  text,
  fc.constantFrom(
    '{',
    '{"a":1e999999}',
    `{"productId":${'9'.repeat(400)}}`,
    '{"name":"\\ud800","productType":"OTHER"}',
    '{"__proto__":{"name":"x","productType":"OTHER"}}',
    '{"a":1,"a":2}',
    '['.repeat(15_000),
    `${'{"a":'.repeat(3_000)}1${'}'.repeat(3_000)}`,
    `${'['.repeat(8_000)}${']'.repeat(8_000)}`,
    `{"licenseKey":"${'k'.repeat(16_000)}"}`,
    'x'.repeat(17_000),
  ),
  fc.uint8Array({ maxLength: 64 }),
);

/** A part of a path: sensible, or anything, escaped or raw. */
const segment = fc.oneof(
  { arbitrary: fc.constantFrom('1', '2', '3'), weight: 3 },
  { arbitrary: text.map((value) => encodeURIComponent(value.toWellFormed())), weight: 2 },
  {
    arbitrary: fc.constantFrom(
      ...['%00', '%', '%zz', '%E0%A4%A', '%C0%AF', '%2F', '%2e%2e', '%25', '%ED%A0%80', '%0d%0a'],
      ...['PLATFORM_A', 'CHAT', 'PLATFORM_Z', ':id', '*', '__proto__', '1;x=1', 'x'.repeat(4_000)],
    ),
    weight: 2,
  },
);

const QUERY = [
  ...['limit', 'after', 'q', 'licenseStatus', 'licenseType', 'productId', 'licenseKey', 'ip'],
  ...['hwid', 'valid', 'from', 'to', 'licenseDataType', '__proto__', 'constructor', 'toString', ''],
];

const queryString = fc.oneof(
  { arbitrary: fc.constant(''), weight: 3 },
  {
    arbitrary: fc
      .array(fc.tuple(fc.constantFrom(...QUERY), text), { minLength: 1, maxLength: 3 })
      .map((pairs) =>
        pairs
          .map(([name, value]) => `${name}=${encodeURIComponent(value.toWellFormed())}`)
          .join('&'),
      )
      .map((query) => `?${query}`),
    weight: 2,
  },
  {
    arbitrary: fc.constantFrom(
      ...['?', '?&', '?=', '?limit', '?limit=1&limit=2', '?%', '?q=%', '?q=%E0%A4%A', '?%00=%00'],
      ...[
        '?limit=5&after=1',
        '?from=2025-01-01T00:00:00+00:00',
        '?to=9999-12-31',
        '?from=0000-01-01',
      ],
      ...['?__proto__[x]=1', '?after=9007199254740991', '?limit[]=1', `?q=${'x'.repeat(5_000)}`],
    ),
    weight: 1,
  },
);

const path = fc.oneof(
  {
    arbitrary: fc
      .tuple(fc.constantFrom(...ROUTES), fc.array(segment, { minLength: 2, maxLength: 2 }))
      .map(([route, values]) => {
        let index = 0;
        return route.replace(/:[^/]+/g, () => values[index++ % values.length] ?? '');
      }),
    weight: 8,
  },
  {
    arbitrary: fc
      .array(fc.oneof(fc.constantFrom('api', 'v1', 'v2', 'validate', '', '..', '.'), segment), {
        maxLength: 6,
      })
      .map((parts) => `/${parts.join('/')}`),
    weight: 2,
  },
  { arbitrary: fc.constantFrom(...ROUTES).map((route) => `//${route}///`), weight: 1 },
);

const headerText = fc.oneof(
  fc.string({ unit: 'grapheme-ascii' }),
  fc.constantFrom(
    ...['', '*', '"1"', 'W/"1"', '"', '""', '"1", "2"', ',,,', '"1', 'x'.repeat(5_000), 'licet_'],
    ...['application/json', 'text/plain', 'multipart/form-data; boundary=', 'a/b;c=;;', '1.2.3.4'],
  ),
);
const headers = fc.array(
  fc.tuple(
    fc.constantFrom('If-Match', 'If-None-Match', 'Content-Type', 'CF-Connecting-IP', 'Accept'),
    headerText,
  ),
  { maxLength: 2 },
);
const token = fc.oneof(
  { arbitrary: fc.constant(ROOT_TOKEN), weight: 9 },
  { arbitrary: headerText, weight: 1 },
);

const sent: fc.Arbitrary<Sent> = fc.tuple(fc.constantFrom(...METHODS), path).chain(([method, to]) =>
  fc.record({
    method: fc.constant(method),
    path: queryString.map((query) => to + query),
    headers: fc
      .tuple(headers, token)
      .map(([list, TOKEN]): [string, string][] => [...list, ['TOKEN', TOKEN]]),
    body:
      method === 'GET' || method === 'HEAD'
        ? fc.constant(null)
        : fc.oneof(
            { arbitrary: mutated(to), weight: 4 },
            { arbitrary: oddBody, weight: 2 },
            { arbitrary: fc.constant(null), weight: 1 },
          ),
  }),
);

/** Every response is held against the OpenAPI document, which declares no redirect. */
async function statusOf({ method, path, headers, body }: Sent): Promise<number> {
  const url = `http://licet.test${path}`;
  const request = new Request(url, { method, headers, body, redirect: 'manual' });
  const { status, text } = await send(request);
  expect(status, text).toBeLessThan(500);
  return status;
}

it('a validation responds to any request in two fields, or eight [1.1.5, interface 7]', async () => {
  const validation = fc
    .tuple(fc.constantFrom('/api/v1/validate', '/api/v2/validate', '//api/v1/validate/'), headers)
    .chain(([to, list]) =>
      fc.record({
        method: fc.constant('POST'),
        path: fc.constant(to),
        headers: fc.constant<[string, string][]>([...list, ['TOKEN', ROOT_TOKEN]]),
        body: fc.oneof(mutated('/api/v1/validate'), oddBody),
      }),
    );
  const seen = new Set<number>();
  await fc.assert(
    fc.asyncProperty(validation, async (request) => {
      const status = await statusOf(request);
      expect([200, 400, 413, 429]).toContain(status);
      seen.add(status);
    }),
    { seed: SEED, numRuns: 150 },
  );
  expect([...seen]).toEqual(expect.arrayContaining([200, 400, 413]));
}, 30_000);

it('the service responds to any request in the right structure, and never with a 5xx or a redirect [1.1.6]', async () => {
  const seen = new Map<number, number>();
  await fc.assert(
    fc.asyncProperty(sent, async (request) => {
      const status = await statusOf(request);
      seen.set(status, (seen.get(status) ?? 0) + 1);
    }),
    { seed: SEED, numRuns: RUNS, endOnFailure: false },
  );
  // The requests were neither all senseless nor all sensible.
  for (const status of [200, 201, 204, 400, 401, 404, 405]) {
    expect(seen.get(status) ?? 0, String(status)).toBeGreaterThan(0);
  }
}, 120_000);
