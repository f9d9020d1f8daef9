import { env } from 'cloudflare:workers';
import { localConsoleName } from '@licet/contract/login-code';
import { WRONG_HOST } from '@licet/contract/messages';
import { beforeEach, describe, expect, it } from 'vitest';
import { type Isolate, newIsolate, settled, type TestBindings } from '../support/app.ts';
import { type CallOptions, create, expectError, type ReadResponse } from '../support/client.ts';
import { captureConsole } from '../support/console.ts';
import { ADA, FakeDiscord } from '../support/fake-discord.ts';
import { MINUTE_MS, setNow } from '../support/history.ts';
import { Sender } from '../support/receiver.ts';
import { ROOT_TOKEN } from '../support/root-token.ts';

/** The service's own address, in each place that shows it (3.3). test/docs/own-address.long.test.ts asks real proxies. */

const PUBLIC = { origin: 'https://license.example.com', isPublic: true };
const LOCAL = { origin: 'http://localhost:8787', isPublic: false };
const DISCORD = 'https://discord.com/api/webhooks/1234567890/aB-c_d9';
const isOwn = { 'Sec-Fetch-Site': 'same-origin', 'Content-Type': 'application/json' };

type Ask = (method: string, path: string, options?: CallOptions) => Promise<ReadResponse>;

beforeEach(async () => {
  await settled();
  setNow(Date.now());
  await env.DB.batch(
    ['webhooks', 'deliveries', 'markets', 'settings', 'discord_claims'].map((table) =>
      env.DB.prepare(`delete from ${table}`),
    ),
  );
});

/** A script with a token. */
const script =
  (isolate: Isolate, host: string): Ask =>
  (method, path, options) =>
    isolate.call(method, path, { ...options, host });

/** A page of the console with a session. */
async function page(isolate: Isolate, host: string): Promise<Ask> {
  const login = await isolate.call('POST', '/console/session', { host, headers: isOwn });
  expect(login.status, login.text).toBe(204);
  const [cookie = ''] = (login.headers.get('Set-Cookie') ?? '').split(';');
  const headers = { ...isOwn, Cookie: cookie };
  return (method, path, options) =>
    isolate.call(method, path, { ...options, host, token: null, headers });
}

const known = ({ url, isPublic }: { url: string; isPublic: boolean }) => ({
  origin: new URL(url).origin,
  isPublic,
});

/** The address of the service in each response that has it. */
async function addressesFor(ask: Ask) {
  const object = async (method: string, path: string, body?: object) => {
    const response = await ask(method, path, body && { body });
    expect([200, 201], response.text).toContain(response.status);
    return Object(response.json);
  };
  const inMarket = ({ addresses, isPublic }: { addresses: string[]; isPublic: boolean }) => {
    const origins = new Set(addresses.map((address) => new URL(address).origin));
    expect(origins.size).toBe(1);
    return { origin: [...origins][0], isPublic };
  };
  const inDiscord = (settings: { interactionsUrl: string; isPublic: boolean }) =>
    known({ ...settings, url: settings.interactionsUrl });

  const { id: productId } = await create.product();
  const { id: customerId } = Object(
    await object('POST', '/api/v2/customers', { firstName: 'Ada' }),
  );
  const license = await create.license({ customerId });
  const market = { kind: 'builtbybit', name: 'Bits', products: [{ item: 7, productId }] };
  const created = await object('POST', '/api/v2/markets', market);
  const path = `/api/v2/markets/${created.id}`;
  const read = await object('GET', path);
  const [listed] = await object('GET', '/api/v2/markets');
  const list = await ask('GET', '/api/v2/products?limit=1');
  const [, next = ''] = /^<(.*)>; rel="next"$/.exec(list.headers.get('Link') ?? '') ?? [];
  return {
    'the new market': inMarket(created),
    'a market': inMarket(read),
    'the list of markets': inMarket(listed),
    'a changed market': inMarket(await object('PUT', path, read)),
    'the link of a customer': known(await object('POST', '/api/v2/portal-links', { customerId })),
    'the link of a license': known(
      await object('POST', '/api/v2/portal-links', { licenseId: license.id }),
    ),
    'the settings of Discord': inDiscord(await object('GET', '/api/v2/settings/discord')),
    'changed settings of Discord': inDiscord(await object('PUT', '/api/v2/settings/discord', {})),
    'the address itself': known(await object('GET', '/api/v2/address')),
    'the next page of a list': { origin: new URL(next).origin, isPublic: null },
  };
}

const everywhere = (address: typeof PUBLIC) => ({
  ...Object.fromEntries(
    [
      'the new market',
      'a market',
      'the list of markets',
      'a changed market',
      'the link of a customer',
      'the link of a license',
      'the settings of Discord',
      'changed settings of Discord',
      'the address itself',
    ].map((place) => [place, address]),
  ),
  'the next page of a list': { origin: address.origin, isPublic: null },
});

/** The link of `/portal`; null if the command gives none. */
async function linkAtDiscord(bindings: TestBindings, host: string): Promise<string | null> {
  const discord = new FakeDiscord(bindings);
  await discord.setUp();
  const chatId = ADA.id;
  await env.DB.prepare('update customers set chat_id = null').run();
  const { id } = Object(
    (await discord.isolate.call('POST', '/api/v2/customers', { body: { chatId } })).json,
  );
  await create.license({ customerId: id, ownerChatId: chatId });
  const { isolate } = discord;
  const { json, content } = await discord.send(
    { name: 'portal' },
    { ...isolate, call: script(isolate, host) },
  );
  const url = json.data?.components?.[0]?.components[0]?.url;
  if (url === undefined) expect(content).toContain('PUBLIC_URL');
  return url === undefined ? null : new URL(url).origin;
}

/** The link to the console in a message about a change; null if it has none. @param host that of the webhook's creation */
async function linkInMessage(bindings: TestBindings, host: string): Promise<string | null> {
  // Events of the same millisecond would be delivered, too.
  setNow(Date.now() + MINUTE_MS);
  const sender = new Sender(bindings);
  const body = { url: DISCORD, types: ['product.*'] };
  const made = await sender.isolate.call('POST', '/api/v2/webhooks', { body, host });
  expect(made.status, made.text).toBe(201);
  await sender.change();
  const [sent = expect.fail()] = sender.receivers.received;
  const { id } = Object(made.json);
  expect((await sender.delivery(id)).request).toBe(sent.body);
  const { url = null } = JSON.parse(sent.body).embeds[0];
  return url && new URL(url).origin;
}

const SETTINGS: [name: string, bindings: TestBindings][] = [
  ['PUBLIC_URL', { CONSOLE_HOSTS: '', PUBLIC_URL: PUBLIC.origin }],
  ['CONSOLE_HOSTS', { CONSOLE_HOSTS: 'license.example.com, other.example' }],
  ['no setting', { CONSOLE_HOSTS: '' }],
];
/** The hosts of requests, as the service gets them. */
const PROXIES: [name: string, host: string, isHostPassedOn: boolean][] = [
  ['Caddy or nginx', 'license.example.com', true],
  ['a proxy that passes no host on, or none,', 'localhost:8787', false],
];

describe.each(SETTINGS)('with %s', (name, bindings) => {
  const isNamed = name !== 'no setting';

  it.each(PROXIES)(
    'a script behind %s gets the public address everywhere, or the mark that it is none [3.3.2, 3.3.6, 3.3.7]',
    async (_, host, isHostPassedOn) => {
      const expected = isNamed || isHostPassedOn ? PUBLIC : LOCAL;
      const ask = script(newIsolate(bindings), host);
      expect(await addressesFor(ask)).toEqual(everywhere(expected));
      const origin = expected.isPublic ? expected.origin : null;
      expect(await linkAtDiscord(bindings, host)).toBe(origin);
      expect(await linkInMessage(bindings, host)).toBe(origin);
    },
  );

  it('the console on this machine gets the public address everywhere, or the mark that it is none [3.3.2]', async () => {
    const host = `${await localConsoleName(ROOT_TOKEN, new URL(LOCAL.origin))}:8787`;
    const ask = await page(newIsolate(bindings), host);
    expect(await addressesFor(ask)).toEqual(everywhere(isNamed ? PUBLIC : LOCAL));
  });

  it('the console behind Caddy or nginx gets the public address everywhere, once a setting names it [4.12]', async () => {
    const isolate = newIsolate(bindings);
    const host = 'license.example.com';
    if (isNamed) {
      expect(await addressesFor(await page(isolate, host))).toEqual(everywhere(PUBLIC));
    } else {
      const options = { host, headers: isOwn };
      expectError(await isolate.call('POST', '/console/session', options), 401, WRONG_HOST);
    }
  });
});

it('at Cloudflare the console gets the public address under each host [3.3.2]', async () => {
  const bindings = { PUBLIC_URL: PUBLIC.origin };
  const host = 'licet.shop.workers.dev';
  const named = await page(newIsolate(bindings), host);
  expect(await addressesFor(named)).toEqual(everywhere(PUBLIC));
  const unnamed = await page(newIsolate(), host);
  expect(await addressesFor(unnamed)).toEqual(
    everywhere({ origin: `https://${host}`, isPublic: true }),
  );
});

it('headers that any client can send do not change the address [3.3.2]', async () => {
  const headers = {
    'X-Forwarded-Host': 'evil.example',
    'X-Forwarded-Proto': 'http',
    Forwarded: 'host=evil.example;proto=http',
    Origin: 'http://license.example.com',
  };
  const options = { host: 'license.example.com', headers };
  const { json } = await newIsolate().call('GET', '/api/v2/address', options);
  expect(json).toEqual({ url: PUBLIC.origin, isPublic: true, timeZone: 'UTC' });
});

it('a wrong PUBLIC_URL is logged once and ignored [3.3.5]', async () => {
  const lines = captureConsole();
  const isolate = newIsolate({ PUBLIC_URL: 'http://license.example.com' });
  for (const host of ['license.example.com', 'license.example.com', 'localhost:8787']) {
    const { json } = await isolate.call('GET', '/api/v2/address', { host });
    const { origin: url, isPublic } = host === 'localhost:8787' ? LOCAL : PUBLIC;
    expect(json).toEqual({ url, isPublic, timeZone: 'UTC' });
  }
  expect(lines).toEqual([
    expect.stringContaining('PUBLIC_URL is ignored: it must be https://license.example.com'),
  ]);
});

it('a message links to the address of its time of sending, whatever was stored with the webhook [3.3.1]', async () => {
  const sender = new Sender({ PUBLIC_URL: PUBLIC.origin });
  await sender.create({ url: DISCORD, types: ['product.*'] });
  await env.DB.prepare("update webhooks set console_origin = 'http://old.example'").run();
  const unnamed = sender.newIsolate({ PUBLIC_URL: '' });
  sender.receivers.at(DISCORD, () => new Response(null, { status: 500 }));
  await sender.change();
  for (const isolate of [sender.isolate, unnamed]) {
    setNow(Date.now() + 40 * MINUTE_MS);
    await isolate.runScheduled();
  }
  const links = sender.receivers.received.map(({ body }) => JSON.parse(body).embeds[0].url);
  expect(links.map((link) => new URL(link).origin)).toEqual([
    PUBLIC.origin,
    PUBLIC.origin,
    'https://old.example',
  ]);
});

it('a webhook cannot send to the public address of the service, also if it is made on the machine [8.4.1]', async () => {
  const isolate = newIsolate({ PUBLIC_URL: PUBLIC.origin });
  const options = { host: 'localhost:8787', body: { url: `${PUBLIC.origin}/hook` } };
  const response = await isolate.call('POST', '/api/v2/webhooks', options);
  expect(response.json).toMatchObject({
    message: 'url must be an address of another service, not of this one',
  });
});
