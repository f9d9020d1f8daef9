/** @module-tag long */

import { createHmac } from 'node:crypto';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { hostname } from 'node:os';
import { text } from 'node:stream/consumers';
import { readRootToken } from '@licet/cli/root-token';
import { Licet } from '@licet/client';
import { convertV4MiniflareOptions, Miniflare } from 'miniflare';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { outboundNetwork } from '../../scripts/local/outbound-network.ts';
import { hasOwnNames, runtimeWithOwnNames } from './names.ts';
import { listen, ownFolder } from './own.ts';
import { type RunningService, startService } from './service.ts';

/** Webhooks of the service as `npm start` runs it, and receivers over HTTP that fail in every way. */

const folder = ownFolder();

let service: RunningService;
let licet: Licet;
/** The origin of the receivers. */
let origin: string;

interface Received {
  path: string;
  headers: IncomingMessage['headers'];
  body: string;
}
const received: Received[] = [];

/** Writes for ever, and notes when its client goes. */
function writeForEver(response: ServerResponse): void {
  const chunk = 'x'.repeat(64 * 1024);
  const write = (): void => {
    while (!response.destroyed && response.write(chunk));
  };
  response.on('drain', write);
  write();
}

const RECEIVERS: Record<string, (response: ServerResponse) => void> = {
  '/works': (response) => response.writeHead(204).end(),
  '/also-works': (response) => response.end('thanks'),
  '/hangs': () => undefined,
  '/redirects': (response) => response.writeHead(302, { Location: '/target' }).end(),
  '/target': (response) => response.writeHead(204).end(),
  '/wants-no-more': (response) => response.writeHead(410).end(),
  '/is-busy': (response) => response.writeHead(429, { 'Retry-After': '7200' }).end(),
  '/fails': (response) => response.writeHead(500).end('Out of memory'),
  '/closes': (response) => response.destroy(),
  '/closes-half-way': (response) => {
    response.writeHead(500, { 'Content-Length': '1000' }).write('half');
    setTimeout(() => response.destroy(), 50);
  },
  '/returns-a-megabyte': (response) => response.writeHead(500).end('é'.repeat(512 * 1024)),
  '/continues': (response) => {
    response.writeContinue();
    response.end('thanks');
  },
  '/never-ends': (response) => writeForEver(response.writeHead(500)),
};

const receive: RequestListener = async (request, response) => {
  const path = request.url ?? '';
  received.push({ path, headers: request.headers, body: await text(request) });
  RECEIVERS[path]?.(response);
};

beforeAll(async () => {
  [service, origin] = await Promise.all([
    startService(folder, ['--var', 'OUTBOUND_PRIVATE:true']),
    listen(receive),
  ]);
  licet = new Licet({ url: service.address, token: readRootToken(), timeoutMs: 60_000 });
});
afterAll(() => service?.stop());

const create = (path: string, types: ('product.*' | 'session.*')[] = ['session.*']) =>
  licet.webhooks.create({ url: `${origin}${path}`, types });

/** Sends a test to a receiver, and deletes its webhook. */
async function outcomeOf(path: string, url = `${origin}${path}`) {
  const { id } = await licet.webhooks.create({ url, types: ['session.*'] });
  const { request, ...delivery } = await licet.webhooks.test(id);
  const webhook = await licet.webhooks.get(id);
  await licet.webhooks.delete(id);
  return { delivery, webhook };
}

const CLOSED = 'The receiver could not be reached: it refused or closed the connection';

describe('the outcome of an attempt', () => {
  it.each([
    ['/works', { state: 'DELIVERED', status: 204, error: null, response: '' }],
    ['/also-works', { state: 'DELIVERED', status: 200, error: null, response: 'thanks' }],
    ['/is-busy', { state: 'FAILED', status: 429, error: 'The receiver returned 429' }],
    [
      '/fails',
      {
        state: 'FAILED',
        status: 500,
        error: 'The receiver returned 500',
        response: 'Out of memory',
      },
    ],
    [
      '/continues',
      {
        state: 'FAILED',
        status: 100,
        error:
          'The receiver returned 100 before its response: let the receiver send its response alone',
      },
    ],
    ['/closes', { state: 'FAILED', status: null, error: CLOSED, response: null }],
    ['/closes-half-way', { state: 'FAILED', status: 500, response: 'half' }],
    [
      '/redirects',
      {
        state: 'FAILED',
        status: 302,
        error: 'The receiver returned 302, a redirect, which is not followed',
      },
    ],
  ])('the outcome of an attempt at the receiver %s is stored [8.3.5]', async (path, outcome) => {
    const { delivery } = await outcomeOf(path);
    expect(delivery).toMatchObject({ type: 'ping', attempts: 1, nextAttemptAt: null, ...outcome });
    expect(received.some(({ path: asked }) => asked === '/target')).toBe(false);
  });

  it('the outcome of an attempt at a receiver that refuses connections is stored', async () => {
    // Nobody listens on the port of TCP's multiplexer.
    const { delivery } = await outcomeOf('', 'http://127.0.0.1:1/');
    expect(delivery).toMatchObject({ state: 'FAILED', status: null, error: CLOSED });
  });

  it('the outcome of an attempt at a receiver that hangs is stored after ten seconds [8.4.3]', async () => {
    const { delivery } = await outcomeOf('/hangs');
    expect(delivery).toMatchObject({
      state: 'FAILED',
      status: null,
      error: 'The receiver did not respond within 10 seconds',
    });
    expect(delivery.durationMs).toBeGreaterThan(9_000);
    expect(delivery.durationMs).toBeLessThan(15_000);
  });

  it('410 switches the webhook off, and says so', async () => {
    const { webhook } = await outcomeOf('/wants-no-more');
    expect(webhook).toMatchObject({
      enabled: false,
      disabledReason: 'The receiver returned 410: it wants no more events',
    });
  });

  it.each(['/returns-a-megabyte', '/never-ends'])(
    'only the first 4 KB of the response of the receiver %s are read [8.4.3]',
    async (path) => {
      const { delivery } = await outcomeOf(path);
      expect(delivery).toMatchObject({ state: 'FAILED', status: 500 });
      expect(new TextEncoder().encode(delivery.response ?? '').length).toBe(4096);
      expect(delivery.durationMs).toBeLessThan(5_000);
    },
  );
});

it('a change reaches the receivers that work at once, whatever the others do [8.3.1]', {
  tags: 'short',
}, async () => {
  const works = await create('/works', ['product.*']);
  const alsoWorks = await create('/also-works', ['product.*']);
  const others = await Promise.all(
    ['/hangs', '/closes', '/fails', '/redirects', '/never-ends'].map((path) =>
      create(path, ['product.*']),
    ),
  );
  received.length = 0;
  const sentAt = Date.now();
  const product = await licet.products.create({ name: 'Chunk Guard', productType: 'OTHER' });
  expect(Date.now() - sentAt).toBeLessThan(2_000);
  const arrived = () => received.filter(({ path }) => path.includes('works'));
  await vi.waitFor(() => expect(arrived()).toHaveLength(2), { timeout: 5_000, interval: 20 });

  for (const [path, { secret }] of [
    ['/works', works],
    ['/also-works', alsoWorks],
  ] as const) {
    const { headers, body } = arrived().find((one) => one.path === path) ?? expect.fail();
    const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`;
    const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
    const signature = createHmac('sha256', key).update(signed).digest('base64');
    expect(headers['webhook-signature']).toBe(`v1,${signature}`);
    expect(JSON.parse(body)).toMatchObject({
      type: 'product.created',
      data: { resourceId: product.id, actor: { tokenName: 'root' } },
    });
  }
  for (const { id } of [works, alsoWorks, ...others]) await licet.webhooks.delete(id);
});

describe('the network of outgoing requests', () => {
  const canChangeNames = hasOwnNames('a name whose address changes after its first look-up');
  /** The lines of the runtime. */
  let reported: string[] = [];
  /** A Worker that fetches the address in its query by the network of the service. */
  const start = (variables: Record<string, string>): Miniflare =>
    new Miniflare(
      convertV4MiniflareOptions({
        modules: true,
        script: `export default { async fetch(request, { OUTBOUND }) {
          const url = new URL(request.url).searchParams.get('url');
          return new Response(await OUTBOUND.fetch(url, { signal: AbortSignal.timeout(2_000) }).then(
            ({ status }) => String(status), ({ message }) => 'failed: ' + message));
        } };`,
        compatibilityDate: '2026-09-01',
        serviceBindings: { OUTBOUND: outboundNetwork(variables) },
        handleStructuredLogs: ({ message }) => reported.push(message),
      }),
    );
  let open: Miniflare;
  let closed: Miniflare;
  beforeAll(async () => {
    if (canChangeNames) vi.stubEnv('MINIFLARE_WORKERD_PATH', runtimeWithOwnNames(folder));
    closed = start({});
    open = start({ OUTBOUND_PRIVATE: 'true' });
    await Promise.all([closed.ready, open.ready]);
    vi.unstubAllEnvs();
  });
  afterAll(() => Promise.all([closed.dispose(), open.dispose()]));

  /** The status of a request under a name or an address, by default to the receivers on this machine. */
  async function fetchBy(
    network: Miniflare,
    host: string,
    port = new URL(origin).port,
  ): Promise<string> {
    const url = new URL('http://worker.test');
    url.searchParams.set('url', `http://${host}:${port}/works`);
    return (await network.dispatchFetch(url)).text();
  }

  it.each([
    'localhost',
    // By the file of hosts, a name that leads to this machine.
    hostname(),
    '127.0.0.1',
    '127.1',
    '2130706433',
    '0x7f000001',
    '0177.0.0.1',
    '[::ffff:127.0.0.1]',
  ])('leads to this machine by %s with OUTBOUND_PRIVATE only [8.4.1, 8.4.2]', async (host) => {
    received.length = 0;
    expect(await fetchBy(closed, host)).toMatch(/^failed: /);
    expect(received).toEqual([]);
    expect(await fetchBy(open, host)).toBe('204');
  });

  it.skipIf(!canChangeNames)(
    'does not lead to this machine by a name whose address changes after its first look-up [8.4.1]',
    async () => {
      received.length = 0;
      for (const attempt of [1, 2, 3]) {
        expect(await fetchBy(closed, 'rebinding.test'), `attempt ${attempt}`).toMatch(/^failed: /);
      }
      expect(received).toEqual([]);
      // The public address, on which nothing listens for this port, and then this machine.
      expect(await fetchBy(open, 'rebinding.test')).toMatch(/^failed: /);
      expect(await fetchBy(open, 'rebinding.test')).toBe('204');
    },
  );

  it.each([
    '[::1]',
    '0.0.0.0',
    '0.1.2.3',
    '169.254.169.254',
    '2852039166',
    '0xa9fea9fe',
    '[fd00:ec2::254]',
    '10.0.0.1',
    '192.168.0.1',
    '198.18.0.1',
    // Other spellings: as IPv6, by NAT64 and by 6to4.
    '[::127.0.0.1]',
    '[64:ff9b::127.0.0.1]',
    '[64:ff9b::192.168.0.1]',
    '[64:ff9b:1::10.0.0.1]',
    '[2002:7f00:1::]',
    '[fec0::1]',
  ])(
    'the network of outgoing requests does not even try to connect to %s [8.4.1]',
    async (host) => {
      reported = [];
      expect(await fetchBy(closed, host)).toMatch(/^failed: /);
      await vi.waitFor(() => expect(String(reported)).toContain('blocked by restrictPeers()'));
    },
  );

  it('the network of outgoing requests tries a public address behind NAT64, which a machine without IPv4 needs [8.4.1]', async () => {
    // The runtime's word for an address that is denied.
    expect(await fetchBy(closed, '[64:ff9b::192.0.2.1]', '1')).not.toContain('internal error');
  });
});
