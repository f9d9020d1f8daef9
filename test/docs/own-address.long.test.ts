import type { ChildProcess } from 'node:child_process';
import { request } from 'node:http';
import { join } from 'node:path';
import { readRootToken } from '@licet/cli/root-token';
import { Licet } from '@licet/client';
import { localConsoleName } from '@licet/contract/login-code';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { CERTIFICATE, TLS } from '../cli/deploy-folder.ts';
import { endingOf, runHere, startCommand } from '../cli/run-command.ts';
import { listen, ownFolder } from '../node/own.ts';
import { freePort, type RunningService, startService } from '../node/service.ts';
import { hasTools } from '../node/tools.ts';
import { proxies, type Sent, send } from './documented-proxies.ts';

/**
 * The service's own address (3.3) by script, console and command line, behind real proxies and with each of the settings.
 * test/conformance/3.3-address.test.ts asks more places.
 */

const HOST = 'license.example.com';
const NAMED = { origin: `https://${HOST}`, isPublic: true };
/** The command line finds the proxies of this machine under the public name. */
const NAME_SERVER = `data:text/javascript,import dns from 'node:dns';
const { lookup } = dns;
dns.lookup = (name, ...rest) => lookup(name === '${HOST}' ? '127.0.0.1' : name, ...rest);`;

const folder = ownFolder();
const token = readRootToken() ?? '';
let discord: string;
beforeAll(async () => {
  discord = await listen((_, response) => response.end('{"access_token":"bearer"}'));
});

/** A proxy that is running. */
interface Running {
  port: number;
  stop: () => void;
}

interface Way {
  name: string;
  isMissing: boolean;
  isHostPassedOn: boolean;
  start: (service: RunningService) => Promise<Running>;
}

const documented = proxies.map((proxy): Way => {
  const isMissing = !hasTools(`the service's own address behind ${proxy.name}`, proxy.name);
  return {
    name: proxy.name,
    isMissing,
    isHostPassedOn: true,
    async start({ port: service }) {
      const https = await freePort();
      const ports = { http: await freePort(), https, service, failing: await freePort() };
      const child: ChildProcess = proxy.start(ports, folder);
      const path = '/api/v2/healthy';
      await vi.waitFor(() => send({ port: https, method: 'GET', path }), 10_000);
      return { port: https, stop: () => child.kill('SIGTERM') };
    },
  };
});

/** Ends TLS, and sends the name of the service's machine as `Host`, as many proxies do unless they are set otherwise. */
const bare: Way = {
  name: 'a proxy that passes no host on',
  isMissing: false,
  isHostPassedOn: false,
  async start({ port }) {
    const address = await listen((incoming, response) => {
      const { method, url: path, headers } = incoming;
      const upstream = { port, method, path, headers: { ...headers, host: `127.0.0.1:${port}` } };
      incoming.pipe(
        request(upstream, (received) => {
          response.writeHead(received.statusCode ?? 502, received.headers);
          received.pipe(response);
        }),
      );
    }, TLS);
    return { port: Number(new URL(address).port), stop: () => undefined };
  },
};

type Ask = (method: string, path: string, body?: object) => Promise<object>;

const ask =
  (to: Pick<Sent, 'port' | 'isPlain'>, headers: Record<string, string>): Ask =>
  async (method, path, body) => {
    const { status, text } = await send({
      ...to,
      method,
      path,
      headers,
      body: JSON.stringify(body),
    });
    expect([200, 201], text).toContain(status);
    return JSON.parse(text);
  };

/** The addresses that a market, a link and Discord get. */
async function addressesFor(send: Ask) {
  const { id: customerId } = Object(await send('POST', '/api/v2/customers', { firstName: 'Ada' }));
  const shown: [url: string, isPublic: boolean][] = [];
  const market = Object(await send('POST', '/api/v2/markets', { kind: 'stripe', name: 'Stripe' }));
  shown.push([market.addresses[0], market.isPublic]);
  await send('PUT', `/api/v2/markets/${market.id}`, market);
  const link = Object(await send('POST', '/api/v2/portal-links', { customerId }));
  shown.push([link.url, link.isPublic]);
  const settings = Object(await send('GET', '/api/v2/settings/discord'));
  shown.push([settings.interactionsUrl, settings.isPublic]);
  const address = Object(await send('GET', '/api/v2/address'));
  shown.push([address.url, address.isPublic]);
  return shown.map(([url, isPublic]) => ({ origin: new URL(url).origin, isPublic }));
}

const everywhere = (address: typeof NAMED) => Array.from({ length: 4 }, () => address);

/** The cookie of a new session; undefined under a host that is not the console's. */
async function logIn(to: Pick<Sent, 'port' | 'isPlain'>, host: string) {
  const headers = { Host: host, TOKEN: token, 'Sec-Fetch-Site': 'same-origin' };
  const { headers: received } = await send({ ...to, path: '/console/session', headers });
  return received['set-cookie']?.[0]?.split(';')[0];
}

const page = (host: string, cookie: string) => ({
  Host: host,
  Cookie: cookie,
  'Sec-Fetch-Site': 'same-origin',
  'Content-Type': 'application/json',
});

describe.each([
  ['PUBLIC_URL', [`PUBLIC_URL:${NAMED.origin}`]],
  ['CONSOLE_HOSTS', [`CONSOLE_HOSTS:${HOST}`]],
  ['no setting', []],
])('with %s', (setting, variables) => {
  const isNamed = variables.length > 0;
  let service: RunningService;
  let local: typeof NAMED;
  beforeAll(async () => {
    const options = variables.flatMap((variable) => ['--var', variable]);
    service = await startService(join(folder, setting), ['--ip', '127.0.0.1', ...options]);
    local = { origin: service.address, isPublic: false };
  });
  afterAll(() => service.stop());

  it('npm start names the public address, if a setting does', () => {
    expect(service.output().includes(`Public address ${NAMED.origin}`)).toBe(isNamed);
  });

  it('script, console and documents on the machine show the public address, or mark the one of the machine [3.3.2]', async () => {
    const to = { port: service.port, isPlain: true };
    const expected = everywhere(isNamed ? NAMED : local);
    const script = ask(to, { Host: `localhost:${service.port}`, TOKEN: token });
    expect(await addressesFor(script)).toEqual(expected);
    const name = await localConsoleName(token, new URL(service.address));
    const host = `${name}:${service.port}`;
    const cookie = await logIn(to, host);
    expect(await addressesFor(ask(to, page(host, cookie ?? '')))).toEqual(expected);
    expect(await script('GET', '/openapi.json')).toMatchObject({ servers: [{ url: '/' }] });
    expect(JSON.stringify(await script('GET', '/.well-known/jwks.json'))).not.toContain('://');
  });

  it('the command line on the machine prints the public address, or warns of the one of the machine [3.3.6]', async () => {
    const { origin } = isNamed ? NAMED : local;
    const env = { LICET_URL: service.address, LICET_TOKEN: token, DISCORD_URL: discord };
    const snowflake = '1100000000000000001';
    const settings = ['--application', snowflake, '--guild', snowflake];
    const setUp = [...settings, '--public-key', '8a'.repeat(32), '--client-secret', CERTIFICATE];
    const commands = [
      ['markets', 'create', 'stripe', 'Stripe'],
      ['markets', 'list'],
      ['customers', 'link', '1'],
      ['discord', 'setup', ...setUp],
      ['console'],
    ];
    for (const command of commands) {
      const { code, stdout, stderr } = await runHere('licet', command, env);
      expect(code, stderr).toBe(0);
      const own = /\/\/licet-\d+-[0-9a-f]{12}\.localhost/;
      expect(stdout.replace(own, '//localhost'), String(command)).toContain(`${origin}/`);
      expect(stderr.includes('! Only the machine of the service'), String(command)).toBe(!isNamed);
      expect(stderr.includes('Set PUBLIC_URL'), String(command)).toBe(!isNamed);
    }
    const { stdout } = await runHere('licet', ['--json', 'customers', 'link', '1'], env);
    expect(JSON.parse(stdout)).toMatchObject({ isPublic: isNamed });
  });

  it('licet console prints a link that logs in at the proxy, and one for the machine itself', async () => {
    const env = { LICET_URL: service.address, LICET_TOKEN: token };
    const { stdout, stderr } = await runHere('licet', ['console'], env);
    const { host, hash } = new URL(stdout.trim());
    const name = await localConsoleName(token, new URL(service.address));
    expect(host).toBe(isNamed ? HOST : `${name}:${service.port}`);
    expect(stderr.includes(`http://${name}:${service.port}/console#code=`)).toBe(isNamed);
    const api = new Licet({ url: service.address, token });
    const other = await api.tokens.create({ name: 'Support', intents: ['ALL_READ'] });
    const denied = await runHere('licet', ['console'], { ...env, LICET_TOKEN: other.token });
    expect(denied.stderr.includes(`on ${NAMED.origin}/console.`)).toBe(isNamed);
    const sent = { port: service.port, isPlain: true, path: '/console/session' };
    const body = JSON.stringify({ code: hash.slice('#code='.length) });
    expect((await send({ ...sent, headers: { Host: host }, body })).status).toBe(204);
  });

  describe.each([...documented, bare])('behind $name', ({ isMissing, isHostPassedOn, start }) => {
    let to: Running;
    beforeAll(async () => {
      if (!isMissing) to = await start(service);
    });
    afterAll(() => to?.stop());

    it.skipIf(isMissing)(
      'a script gets the public address, or the mark that it is none [3.3.2]',
      async () => {
        const inner = { origin: `http://127.0.0.1:${service.port}`, isPublic: false };
        const expected = isNamed || isHostPassedOn ? NAMED : inner;
        const script = ask(to, { Host: HOST, TOKEN: token });
        expect(await addressesFor(script)).toEqual(everywhere(expected));
      },
    );

    it.skipIf(isMissing)(
      'people log in where a setting and Host name the console, and see the public address [4.12]',
      async () => {
        const cookie = await logIn(to, HOST);
        expect(cookie !== undefined).toBe(isNamed && isHostPassedOn);
        if (cookie === undefined) return;
        expect(await addressesFor(ask(to, page(HOST, cookie)))).toEqual(everywhere(NAMED));
      },
    );

    it.skipIf(isMissing)(
      'the command line elsewhere prints the public address, or warns that it is none [3.3.6]',
      async () => {
        const args = ['--url', `https://${HOST}:${to.port}`, 'customers', 'link', '1'];
        const env = { LICET_TOKEN: token, NODE_EXTRA_CA_CERTS: CERTIFICATE };
        const { code, stdout, stderr } = await endingOf(
          startCommand('licet', args, env, ['--import', NAME_SERVER]),
        );
        expect(code, stderr).toBe(0);
        const isPublic = isNamed || isHostPassedOn;
        const origin = isPublic ? NAMED.origin : `http://127.0.0.1:${service.port}`;
        // nginx passes the host on without its port.
        expect(stdout.replace(`:${to.port}/`, '/')).toContain(`${origin}/my#`);
        expect(stderr.includes('Set PUBLIC_URL')).toBe(!isPublic);
      },
    );
  });
});
