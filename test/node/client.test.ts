import { readFileSync } from 'node:fs';
import type { RequestListener } from 'node:http';
import { inspect } from 'node:util';
import { readRootToken } from '@licet/cli/root-token';
import {
  type LicenseCreate,
  Licet,
  LicetError,
  type LicetOptions,
  type Operations,
  type Product,
} from '@licet/client';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Document } from '../../scripts/client-types.ts';
import { listen } from './own.ts';
import { sharedService } from './shared-service.ts';

/** The client against the service as `npm start` runs it, over HTTP. */

interface DescribedResponse {
  content?: Record<string, { example: unknown }>;
}
const document: Document & {
  paths: Record<string, Record<string, { responses: Record<string, DescribedResponse> }>>;
} = JSON.parse(readFileSync('docs/openapi.json', 'utf8'));

let url: string;
let product: Product;
beforeAll(async () => {
  url = await sharedService();
  product = await connect().products.create({ name: 'Plugin', productType: 'OTHER' });
});

const connect = (options: Partial<LicetOptions> = {}): Licet =>
  new Licet({ url, token: readRootToken(), ...options });

/** The example of the document for the response of an operation that succeeds. */
function exampleOf(key: string): Response {
  const [method = '', path = ''] = key.split(' ');
  const { responses } = document.paths[path]?.[method.toLowerCase()] ?? {};
  const [[status, { content = {} }] = ['', {}]] = Object.entries(responses ?? {});
  const [{ example } = {}] = Object.values(content);
  const text = typeof example === 'string' ? example : JSON.stringify(example);
  return new Response(text, { status: Number(status) });
}

/** A client that notes its requests as the document names them, and gets responses without a service. */
function recordingClient(response = new Response(null, { status: 204 })) {
  const requests: { method: string; path: string; hasToken: boolean }[] = [];
  const licet = new Licet({
    url: 'https://licet.test/behind/a/path/',
    token: 'secret',
    fetch: async ({ method, url, headers }) => {
      const path = new URL(url).pathname;
      requests.push({ method, path, hasToken: headers.has('TOKEN') });
      return response.clone();
    },
  });
  return { licet, requests };
}

const createLicense = (licet: Licet, body: Partial<LicenseCreate> = {}) =>
  licet.licenses.create({ productId: product.id, licenseType: 'PERMANENT', ...body });

/** The error that a call ends with. */
async function failureOf(call: Promise<unknown>): Promise<LicetError> {
  const error = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof LicetError)) throw new Error(`no LicetError: ${inspect(error)}`);
  return error;
}

it('the README of the client names each of its methods', () => {
  const readme = readFileSync('packages/client/README.md', 'utf8');
  const licet = new Licet({ url: 'http://localhost' });
  const methodsOf = (object: object): string[] => {
    const prototype: unknown = Object.getPrototypeOf(object);
    if (!prototype || prototype === Object.prototype) return [];
    const own = Object.getOwnPropertyNames(prototype);
    return [...own.filter((name) => name !== 'constructor'), ...methodsOf(prototype)];
  };
  const resources = Object.entries(licet).filter(([, value]) => typeof value === 'object');
  const named = new Set(readme.match(/\w+/g));
  // Types alone keep this one from others.
  const missing = resources.flatMap(([name, resource]) =>
    [name, ...methodsOf(resource).filter((method) => method !== 'remove')].filter(
      (each) => !named.has(each),
    ),
  );
  expect([...missing, ...methodsOf(licet).filter((name) => !named.has(name))]).toEqual([]);
  expect(resources.length).toBeGreaterThan(10);
});

describe('for each operation there is a method', () => {
  const PARAMETERS: Record<string, string> = {
    id: '7',
    licenseKey: 'A%2FB',
    email: 'a%40b.example',
    platform: 'OTHER',
    platformId: '%231',
    customerId: '7',
    productId: '7',
    chatId: '8',
    deliveryId: '8',
  };
  const ask = { licenseKey: 'A', productId: 7 };

  // An operation without a method, or a method that takes another body, does not compile.
  const METHODS: Record<keyof Operations, (licet: Licet) => Promise<unknown>> = {
    'POST /api/v1/validate': (licet) => licet.validate(ask),
    'POST /api/v2/validate': (licet) => licet.validateWithToken(ask),
    'GET /.well-known/jwks.json': (licet) => licet.signingKeys(),
    'GET /api/v2/signing-keys': (licet) => licet.signingKeyUses(),
    'GET /metrics': (licet) => licet.metrics(),
    'GET /api/v2/healthy': (licet) => licet.healthy(),
    'GET /api/v2/ping': (licet) => licet.ping(),
    'GET /api/v2/platforms': (licet) => licet.platforms(),
    'GET /api/v2/address': (licet) => licet.address(),
    'GET /api/v2/products': (licet) => licet.products.list(),
    'GET /api/v2/products/{id}': (licet) => licet.products.get(7),
    'POST /api/v2/products': (licet) => licet.products.create({ name: 'A', productType: 'OTHER' }),
    'PUT /api/v2/products/{id}': (licet) => licet.products.update(7, { name: 'B' }),
    'DELETE /api/v2/products/{id}': (licet) => licet.products.delete(7),
    'GET /api/v2/licenses': (licet) => licet.licenses.list(),
    'GET /api/v2/licenses/{id}': (licet) => licet.licenses.get(7),
    'GET /api/v2/licenses/{id}/installations': (licet) => licet.licenses.installations(7).list(),
    'GET /api/v2/licenses/{id}/slots': (licet) => licet.licenses.slots(7),
    'POST /api/v2/licenses': (licet) =>
      licet.licenses.create({ productId: 7, licenseType: 'PERMANENT' }),
    'POST /api/v2/licenses/batch': (licet) =>
      licet.licenses.createBatch({ productId: 7, licenseType: 'PERMANENT', count: 2 }),
    'PUT /api/v2/licenses/{id}': (licet) => licet.licenses.update(7, { ips: [] }),
    'DELETE /api/v2/licenses/{id}': (licet) => licet.licenses.delete(7),
    'POST /api/v2/licenses/{id}/send-key': (licet) => licet.licenses.sendKey(7),
    'POST /api/v2/licenses/{id}/rotate': (licet) => licet.licenses.rotate(7),
    'POST /api/v2/licenses/{id}/transfer': (licet) =>
      licet.licenses.transfer(7, { customerEmail: 'a@b.example' }),
    'GET /api/v2/licenses/by-license-key/{licenseKey}': (licet) => licet.licenses.findByKey('A/B'),
    'GET /api/v2/licenses/by-customer-email/{email}': (licet) =>
      licet.licenses.byCustomerEmail('a@b.example').list(),
    'GET /api/v2/licenses/by-platform/{platform}/{platformId}': (licet) =>
      licet.licenses.byPlatform('OTHER', '#1').list(),
    'GET /api/v2/licenses/by-customer-id/{customerId}': (licet) =>
      licet.licenses.byCustomerId(7).list(),
    'GET /api/v2/licenses/by-product-id/{productId}': (licet) =>
      licet.licenses.byProductId(7).list(),
    'GET /api/v2/licenses/by-chat-id/{chatId}': (licet) => licet.licenses.byChatId('8').list(),
    'GET /api/v2/blacklists': (licet) => licet.blacklists.list(),
    'GET /api/v2/blacklists/{id}': (licet) => licet.blacklists.get(7),
    'POST /api/v2/blacklists': (licet) =>
      licet.blacklists.create({
        licenseDataType: 'IP',
        data: '192.0.2.1',
        isForAllProducts: true,
        reason: '',
      }),
    'PUT /api/v2/blacklists/{id}': (licet) => licet.blacklists.update(7, { reason: '' }),
    'DELETE /api/v2/blacklists/{id}': (licet) => licet.blacklists.delete(7),
    'GET /api/v2/requests': (licet) => licet.requests.list(),
    'GET /api/v2/requests/{id}': (licet) => licet.requests.get(7),
    'GET /api/v2/customers': (licet) => licet.customers.list(),
    'GET /api/v2/customers/{id}': (licet) => licet.customers.get(7),
    'GET /api/v2/customers/{id}/export': (licet) => licet.customers.export(7),
    'POST /api/v2/customers': (licet) => licet.customers.create({ email: 'a@b.example' }),
    'DELETE /api/v2/customers/{id}': (licet) => licet.customers.delete(7),
    'PUT /api/v2/customers/{id}': (licet) => licet.customers.update(7, { firstName: 'Ada' }),
    'GET /api/v2/events': (licet) => licet.events.list(),
    'GET /api/v2/tokens': (licet) => licet.tokens.list(),
    'GET /api/v2/tokens/self': (licet) => licet.tokens.self(),
    'GET /api/v2/tokens/{id}': (licet) => licet.tokens.get(7),
    'POST /api/v2/tokens': (licet) => licet.tokens.create({ name: 'A', intents: ['ALL_READ'] }),
    'PUT /api/v2/tokens/{id}': (licet) => licet.tokens.update(7, { name: 'B' }),
    'DELETE /api/v2/tokens/{id}': (licet) => licet.tokens.delete(7),
    'GET /api/v2/webhooks': (licet) => licet.webhooks.list(),
    'GET /api/v2/webhooks/{id}': (licet) => licet.webhooks.get(7),
    'POST /api/v2/webhooks': (licet) => licet.webhooks.create({ url: 'https://a.example' }),
    'PUT /api/v2/webhooks/{id}': (licet) => licet.webhooks.update(7, { enabled: false }),
    'DELETE /api/v2/webhooks/{id}': (licet) => licet.webhooks.delete(7),
    'POST /api/v2/webhooks/{id}/rotate-secret': (licet) => licet.webhooks.rotateSecret(7),
    'POST /api/v2/webhooks/{id}/test': (licet) => licet.webhooks.test(7),
    'GET /api/v2/webhooks/{id}/deliveries': (licet) => licet.webhooks.deliveries(7).list(),
    'POST /api/v2/webhooks/{id}/deliveries/{deliveryId}/resend': (licet) =>
      licet.webhooks.resend(7, 8),
    'GET /api/v2/markets': (licet) => licet.markets.list(),
    'GET /api/v2/markets/{id}': (licet) => licet.markets.get(7),
    'POST /api/v2/markets': (licet) => licet.markets.create({ kind: 'tebex', name: 'Shop' }),
    'PUT /api/v2/markets/{id}': (licet) => licet.markets.update(7, { enabled: false }),
    'DELETE /api/v2/markets/{id}': (licet) => licet.markets.delete(7),
    'GET /api/v2/markets/{id}/deliveries': (licet) => licet.markets.deliveries(7).list(),
    'POST /api/v2/portal-links': (licet) => licet.portalLink({ customerId: 7 }),
    'GET /api/v2/settings/mail': (licet) => licet.mailSettings.get(),
    'PUT /api/v2/settings/mail': (licet) => licet.mailSettings.update({ kinds: ['key'] }),
    'POST /api/v2/settings/mail/preview': (licet) =>
      licet.mailSettings.preview({ kind: 'key', language: 'en' }),
    'GET /api/v2/mails': (licet) => licet.mails.list(),
    'POST /api/v2/mails/test': (licet) => licet.mails.test({ to: 'you@shop.example' }),
    'POST /api/v2/mails/{id}/resend': (licet) => licet.mails.resend(7),
    'GET /api/v2/settings/portal': (licet) => licet.portalSettings.get(),
    'PUT /api/v2/settings/portal': (licet) => licet.portalSettings.update({ name: 'Shop' }),
    'GET /api/v2/settings/discord': (licet) => licet.discordSettings.get(),
    'PUT /api/v2/settings/discord': (licet) => licet.discordSettings.update({ guildId: null }),
    'POST /api/v2/settings/discord/test': (licet) => licet.discordSettings.test(),
    'GET /api/v2/purchases': (licet) => licet.purchases.list(),
    'GET /api/v2/purchases/{id}': (licet) => licet.purchases.get(7),
    'POST /api/v2/purchases': (licet) =>
      licet.purchases.create({ marketId: 7, item: '1', reference: '2', licenseId: 3 }),
    'POST /api/v2/purchases/{id}/grant': (licet) => licet.purchases.grant(7, { productId: 1 }),
    'POST /api/v2/purchases/{id}/ignore': (licet) => licet.purchases.ignore(7),
    'GET /api/v2/purchases/statistics': (licet) => licet.purchases.statistics(),
    'GET /api/v2/statistics': (licet) => licet.statistics(),
    'POST /api/v2/import': (licet) => licet.importItems({ kind: 'products', items: [{ id: 7 }] }),
  };

  // Preflights are sent by browsers on their own.
  const operations = Object.entries(document.paths).flatMap(([path, { options, ...item }]) =>
    // Only markets send what is theirs, and only older clients use older names.
    Object.entries(/^\/markets|\/bbb\//.test(path) ? {} : item)
      .filter(([, operation]) => !operation.deprecated)
      .map(([method, operation]) => ({
        key: `${method.toUpperCase()} ${path}`,
        needsToken: operation.security.length > 0,
      })),
  );

  it('the client has a method for each operation, and no other [4.7]', () => {
    expect(Object.keys(METHODS).toSorted()).toEqual(operations.map(({ key }) => key).toSorted());
  });

  it('each method of the client sends its operation, with the token only where it is needed', async () => {
    for (const [key, call] of Object.entries(METHODS)) {
      const { licet, requests } = recordingClient(exampleOf(key));
      await call(licet);
      const [method, path = ''] = key.split(' ');
      const filled = path.replaceAll(/\{(\w+)\}/g, (_, name) => PARAMETERS[name] ?? name);
      const hasToken = operations.find((operation) => operation.key === key)?.needsToken;
      expect(requests, key).toEqual([{ method, path: `/behind/a/path${filled}`, hasToken }]);
    }
  });

  it.each([
    '{"status":"ok"}',
    '{"id":"7"}',
    '{"valid":"yes"}',
    '{"valid":false}',
    '[null]',
    '[{}]',
    'null',
    '"ok"',
  ])('no method of the client takes %s for done', async (text) => {
    const calls = {
      ...METHODS,
      iterate: (licet: Licet) => licet.products.iterate().next(),
      change: (licet: Licet) => licet.products.change(7, () => ({ name: 'B' })),
    };
    for (const [key, call] of Object.entries(calls)) {
      const { licet, requests } = recordingClient(new Response(text));
      expect(await failureOf(call(licet)), key).toMatchObject({ status: 200 });
      expect(requests, key).toHaveLength(1);
    }
  });
});

it('the client pings the service, finds licenses by their owner, and validates with the token', async () => {
  const licet = connect();
  await licet.healthy();
  await licet.ping();
  const license = await createLicense(licet, {
    ownerChatId: crypto.randomUUID(),
    licensePlatform: 'MARKET_A',
    ownerPlatformId: `a/b?c ${crypto.randomUUID()}`,
  });
  const email = `${crypto.randomUUID()}@client.example`;
  await licet.customers.update(license.customer?.id ?? 0, { email });
  const found = await licet.licenses.get(license.id);
  const { licenses } = licet;
  expect(await licenses.byChatId(license.ownerChatId ?? '').list()).toEqual([found]);
  expect(await licenses.byPlatform('MARKET_A', license.ownerPlatformId ?? '').list()).toEqual([
    found,
  ]);
  expect(await licenses.byCustomerEmail(email.toUpperCase()).list()).toEqual([found]);
  const { licenseKey } = license;
  const ask = { licenseKey, productId: product.id, ip: '192.0.2.77' };
  expect(await licet.validateWithToken(ask)).toMatchObject({ valid: true });
});

describe('lists', () => {
  it('lists of the client come whole, as a page, and one item after the other, a page at a time', async () => {
    const urls: URL[] = [];
    const licet = connect({
      fetch: (request) => {
        urls.push(new URL(request.url));
        return fetch(request);
      },
    });
    const notes = ['one', 'two', 'three', 'four', 'five'];
    const filter = { productId: product.id, q: 'iterated' };
    for (const note of notes) await createLicense(licet, { notes: `iterated ${note}` });
    const licenses = await licet.licenses.list(filter);
    expect(licenses.map((license) => license.notes)).toEqual(notes.map((n) => `iterated ${n}`));
    const [first, second, third] = licenses;
    expect(await licet.licenses.list({ ...filter, limit: 2, after: first?.id })).toEqual([
      second,
      third,
    ]);

    expect(await licet.licenses.page({ ...filter, limit: 2 })).toEqual({
      items: licenses.slice(0, 2),
      after: second?.id,
      total: 5,
    });

    urls.length = 0;
    const seen = [];
    for await (const license of licet.licenses.iterate({ ...filter, limit: 2 })) {
      seen.push(license);
      // The next page is not asked for before it is needed.
      expect(urls).toHaveLength(Math.ceil(seen.length / 2));
    }
    expect(seen).toEqual(licenses);
    for (const { searchParams } of urls) {
      expect(Object.fromEntries(searchParams)).toMatchObject({ limit: '2', q: 'iterated' });
    }

    urls.length = 0;
    for await (const _ of licet.licenses.byProductId(product.id).iterate({ limit: 2 })) break;
    expect(urls).toHaveLength(1);
  });

  it('lists of the client are followed by `after` alone: a link to another host gets no token', async () => {
    const urls: string[] = [];
    const licet = new Licet({
      url: 'https://licet.example',
      token: 'secret',
      fetch: async ({ url }) => {
        urls.push(url);
        return new Response(
          '[]',
          urls.length > 1
            ? {}
            : { headers: { Link: '<http://inside:8787/api/v2/products?after=9>; rel="next"' } },
        );
      },
    });
    for await (const _ of licet.products.iterate());
    expect(urls).toEqual([
      'https://licet.example/api/v2/products?limit=250',
      'https://licet.example/api/v2/products?limit=250&after=9',
    ]);
  });
});

describe('change', () => {
  it('change() begins again where another change was faster, and loses neither change', async () => {
    const licet = connect();
    const { id } = await createLicense(licet, { maxIPs: 1 });
    let attempts = 0;
    const changed = await licet.licenses.change(id, async (current) => {
      if (++attempts === 1) await licet.licenses.update(id, { maxIPs: 10, notes: 'theirs' });
      return { maxIPs: current.maxIPs + 1 };
    });
    expect(attempts).toBe(2);
    expect(changed).toMatchObject({ maxIPs: 11, notes: 'theirs' });
    expect(await licet.licenses.get(id)).toEqual(changed);
  });

  it('change() gives up after five attempts', async () => {
    const licet = connect();
    let attempts = 0;
    const change = licet.products.change(product.id, async () => {
      await licet.products.update(product.id, { description: `their change ${++attempts}` });
      return { description: 'ours' };
    });
    expect(await failureOf(change)).toMatchObject({ status: 412 });
    expect(attempts).toBe(5);
    expect(await licet.products.get(product.id)).toMatchObject({ description: 'their change 5' });
  });
});

describe('a create', () => {
  /** A client whose first responses are lost on their way; with the keys that it sent. */
  function unluckyClient(lost: number, options: Partial<LicetOptions> = {}) {
    const keys: (string | null)[] = [];
    const licet = connect({
      ...options,
      fetch: async (request) => {
        keys.push(request.headers.get('Idempotency-Key'));
        const response = await fetch(request);
        if (keys.length <= lost) throw new TypeError('the connection broke off');
        return response;
      },
    });
    return { licet, keys };
  }

  it('a create whose response is lost is sent again with its key, and creates once', async () => {
    const { licet, keys } = unluckyClient(2);
    const notes = 'sent three times';
    const created = await createLicense(licet, { notes });
    expect(await connect().licenses.list({ q: notes })).toEqual([created]);
    expect(new Set(keys).size).toBe(1);
    expect(keys).toHaveLength(3);
    expect(keys[0]).toMatch(/^[0-9a-f]{32}$/);
    await createLicense(licet);
    expect(keys[3]).not.toBe(keys[0]);
  });

  it('a create of a batch whose response is lost creates one batch', async () => {
    const { licet } = unluckyClient(1);
    const body = { productId: product.id, licenseType: 'PERMANENT', notes: 'one batch' } as const;
    const created = await licet.licenses.createBatch({ ...body, count: 3 });
    expect(await connect().licenses.list({ q: 'one batch' })).toEqual(created);
  });

  it('a create with a key of its caller creates once in two calls', async () => {
    const body = { name: 'Once', productType: 'OTHER' } as const;
    const options = { idempotencyKey: 'order-4711' };
    const first = await connect().products.create(body, options);
    expect(await connect().products.create(body, options)).toEqual(first);
    expect(
      await failureOf(connect().products.create({ ...body, name: 'Else' }, options)),
    ).toMatchObject({ status: 422 });
  });

  it('a create fails with the third missing response, or at the end of its time', async () => {
    const { licet, keys } = unluckyClient(3);
    expect(await failureOf(createLicense(licet))).toMatchObject({ status: 0 });
    expect(keys).toHaveLength(3);
    const hurried = unluckyClient(3, { timeoutMs: 100 });
    expect(await failureOf(createLicense(hurried.licet))).toMatchObject({ status: 0 });
    expect(hurried.keys.length).toBeLessThan(3);
  });
});

describe('errors', () => {
  let address: string;
  let listener: RequestListener = () => {};
  beforeAll(async () => {
    address = await listen((request, response) => listener(request, response));
  });
  const ask = { licenseKey: 'A', productId: 1 };

  it('errors of the client have the status, the message, and the intents that would have helped', async () => {
    const { token, id } = await connect().tokens.create({
      name: 'Shop',
      intents: ['PRODUCTS_READ'],
    });
    const shop = connect({ token });
    expect(await shop.products.get(product.id)).toMatchObject({ id: product.id });
    expect(await failureOf(shop.products.delete(product.id))).toMatchObject({
      name: 'LicetError',
      status: 403,
      message: 'Token lacks a required intent',
      acceptedIntents: ['PRODUCTS_READ_WRITE', 'ALL_READ_WRITE'],
      code: 'FORBIDDEN',
      field: undefined,
      retryAfterSeconds: undefined,
    });
    await connect().tokens.delete(id);
    expect(await failureOf(shop.ping())).toMatchObject({ status: 401 });
    expect(await failureOf(connect().licenses.findByKey('NONE'))).toMatchObject({
      status: 404,
      message: 'License not found',
    });
    const misspelt = { name: 'Plugin', productType: 'OTHER', maxIps: 1 } as const;
    expect((await failureOf(connect().products.create(misspelt))).message).toContain('maxIps');
  });

  it.each([
    [429, '60', '{"message":"Too many","accepted_intents":[]}', 'Too many'],
    // The page of a proxy.
    [503, '30', '<html>Back soon</html>', ' returned 503'],
  ])('errors of the client say how long to wait: %i', async (status, seconds, body, message) => {
    listener = (_request, response) =>
      response.writeHead(status, { 'Retry-After': seconds }).end(body);
    const licet = connect({ url: address });
    const expected = { status, retryAfterSeconds: Number(seconds) };
    const failure = await failureOf(licet.products.list());
    expect(failure).toMatchObject(expected);
    expect(failure.message).toContain(message);
    expect(await failureOf(licet.validate(ask))).toMatchObject(expected);
  });

  it('errors of the client come before anything is sent where a value would lead to another path', async () => {
    const { licet, requests } = recordingClient();
    for (const value of ['', '.', '..']) {
      expect(() => licet.licenses.findByKey(value)).toThrow(TypeError);
      expect(() => licet.licenses.byChatId(value)).toThrow(TypeError);
      expect(() => licet.licenses.byPlatform('CHAT', value)).toThrow(TypeError);
    }
    const notANumber: unknown = '../tokens/3';
    await licet.products.delete(notANumber as number);
    expect(requests.map(({ path }) => path)).toEqual([
      '/behind/a/path/api/v2/products/..%2Ftokens%2F3',
    ]);
  });

  it('errors of the client do not blame the network where a body cannot be sent', async () => {
    const { licet, requests } = recordingClient();
    const name: unknown = 10n;
    const call = licet.products.create({ name: name as string, productType: 'OTHER' });
    await expect(call).rejects.toThrow(TypeError);
    expect(requests).toEqual([]);
  });

  it('errors of the client have status 0 where nothing responds, or not in time', async () => {
    const nowhere = connect({ url: 'http://127.0.0.1:1' });
    expect(await failureOf(nowhere.products.list())).toMatchObject({
      status: 0,
      message: 'No response from http://127.0.0.1:1',
    });
    for (const beginning of [undefined, 'a body that does not end']) {
      listener = (_request, response) => {
        if (beginning !== undefined) response.writeHead(200).write(beginning);
      };
      const slow = connect({ url: address, timeoutMs: 100 });
      expect(await failureOf(slow.products.list())).toMatchObject({
        status: 0,
        message: `No response from ${address} within 100 ms`,
      });
    }
  });

  it('errors of the client do not come from a connection that was idle: reads and validations are sent again', async () => {
    const sent: string[] = [];
    listener = ({ method, url, socket }, response) => {
      sent.push(`${method} ${url}`);
      if (sent.length === 1) socket.destroy();
      else response.end(JSON.stringify({ valid: true, message: 'License is valid' }));
    };
    const licet = connect({ url: address });
    const { valid } = await licet.validate({ licenseKey: 'KEY', productId: 1 });
    expect(valid).toBe(true);
    expect(new Set(sent)).toEqual(new Set([sent[0]]));
    expect(sent).toHaveLength(2);

    sent.length = 0;
    await failureOf(licet.products.get(1));
    expect(sent).toHaveLength(2);

    sent.length = 0;
    expect(await failureOf(licet.products.delete(1))).toMatchObject({ status: 0 });
    expect(sent).toHaveLength(1);
  });

  it('errors of the client say which response is not from Licet, and no redirect is followed with the token', async () => {
    const paths: (string | undefined)[] = [];
    listener = ({ url }, response) => {
      paths.push(url);
      if (url?.includes('products')) response.writeHead(302, { Location: '/elsewhere' }).end();
      else response.end('<html>Log in</html>');
    };
    const licet = connect({ url: address });
    expect(await failureOf(licet.products.list())).toMatchObject({
      status: 302,
      message: expect.stringContaining(`${address} returned 302`),
    });
    expect(await failureOf(licet.licenses.list())).toMatchObject({ status: 200 });
    expect(await failureOf(licet.ping())).toMatchObject({ status: 200 });
    // A request whose connection breaks is repeated.
    expect(new Set(paths)).toEqual(
      new Set(['/api/v2/products', '/api/v2/licenses', '/api/v2/ping']),
    );
  });

  it.each([
    '{"error":"no"}',
    '{"message":7}',
    '{"message":"no","accepted_intents":"no"}',
    '{"message":"no","accepted_intents":[7]}',
    'null',
  ])('errors of the client have no part of a rejection that is not of Licet: %s', async (text) => {
    const { licet } = recordingClient(new Response(text, { status: 403 }));
    for (const call of [licet.products.list(), licet.validate(ask)]) {
      expect(await failureOf(call)).toMatchObject({
        status: 403,
        message: expect.stringContaining('https://licet.test/behind/a/path returned 403'),
        acceptedIntents: [],
      });
    }
  });

  it('errors of the client have the message of a rejection without intents', async () => {
    const { licet } = recordingClient(new Response('{"message":"Forbidden"}', { status: 403 }));
    expect(await failureOf(licet.tokens.list())).toMatchObject({
      message: 'Forbidden',
      acceptedIntents: [],
    });
  });

  it('errors of the client are those of the caller where it ends the call', async () => {
    listener = () => {};
    const controller = new AbortController();
    const call = connect({ url: address }).products.list({}, { signal: controller.signal });
    controller.abort(new Error('enough'));
    await expect(call).rejects.toThrow('enough');
  });

  it('errors of the client come before a token is sent over http to another machine', () => {
    const url = 'http://licet.test';
    expect(() => connect({ url, token: 'a-token' })).toThrow('url must be https');
    expect(() => connect({ url, token: 'a-token', insecure: true })).not.toThrow();
  });

  it('errors of the client never hold the token', async () => {
    const token = 'token-that-nobody-may-see';
    const failures = [
      await failureOf(connect({ token }).products.list()),
      await failureOf(connect({ token, url: 'http://127.0.0.1:1' }).products.list()),
    ];
    for (const failure of failures) expect(inspect(failure, { depth: 9 })).not.toContain(token);
    for (const wrong of ['', `${token}\n`, `${token}é`]) {
      expect(() => connect({ token: wrong })).toThrow(/^token is empty, or has blanks/);
    }
    for (const url of [`http://user:${token}@licet.test`, `https://licet.test?t=${token}`]) {
      expect(() => connect({ url })).toThrow(/^url must be/);
    }
    expect(inspect(connect({ token }), { depth: 9 })).not.toContain(token);
  });
});
