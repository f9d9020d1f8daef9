import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { Agent as HttpsAgent } from 'node:https';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { readRootToken } from '@licet/cli/root-token';
import { type License, Licet } from '@licet/client';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { CERTIFICATE } from '../cli/deploy-folder.ts';
import { ownFolder } from '../node/own.ts';
import {
  freePort,
  type RunningService,
  spawnGroup,
  startService,
  type Watched,
  watch,
} from '../node/service.ts';
import { newLicense, recordsOf } from '../node/shop.ts';
import { hasTools } from '../node/tools.ts';
import { adapt, document, open, type Ports, proxies, send } from './documented-proxies.ts';

/** The proxies of docs/one-machine.md, with the configurations that are printed there. */

const folder = ownFolder();

/** Stands between a proxy and the service, and observes the connections that the proxy opens. */
interface Relay {
  port: number;
  /** Connections until now. */
  count: () => number;
  receivedBytes: () => number;
  openSockets: ReadonlySet<Socket>;
  /** Which side ended the last connection that is closed. */
  endedBy: () => 'proxy' | 'service' | undefined;
  /** Sets the fate of new connections. `drop` ends the others too; with `forward`, held ones go on. */
  set: (mode: 'forward' | 'hold' | 'drop') => void;
  close: () => Promise<void>;
}

async function startRelay(servicePort: number): Promise<Relay> {
  const openSockets = new Set<Socket>();
  const held = new Set<Socket>();
  let mode: 'forward' | 'hold' | 'drop' = 'forward';
  let count = 0;
  let closedBytes = 0;
  let endedBy: 'proxy' | 'service' | undefined;

  function forward(socket: Socket): void {
    const upstream = connect(servicePort, '127.0.0.1');
    let isEnded = false;
    for (const [from, to, side] of [
      [socket, upstream, 'proxy'],
      [upstream, socket, 'service'],
    ] as const) {
      from.once('end', () => {
        if (!isEnded) endedBy = side;
        isEnded = true;
      });
      from.on('error', () => to.destroy());
      from.on('close', () => to.destroy());
      from.pipe(to);
    }
  }
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    count++;
    openSockets.add(socket);
    socket.on('close', () => {
      openSockets.delete(socket);
      closedBytes += socket.bytesRead;
      held.delete(socket);
    });
    socket.on('error', () => socket.destroy());
    if (mode === 'forward') forward(socket);
    else if (mode === 'drop') socket.destroy();
    else held.add(socket);
  });
  const port = await freePort();
  await once(server.listen(port, '127.0.0.1'), 'listening');
  return {
    port,
    count: () => count,
    receivedBytes: () =>
      [...openSockets].reduce((bytes, { bytesRead }) => bytes + bytesRead, closedBytes),
    openSockets,
    endedBy: () => endedBy,
    set: (next) => {
      mode = next;
      if (next === 'drop') for (const socket of openSockets) socket.destroy();
      if (next !== 'forward') return;
      for (const socket of held) forward(socket);
      held.clear();
    },
    close: async () => {
      for (const socket of openSockets) socket.destroy();
      await new Promise((done) => server.close(done));
    },
  };
}

const PATIENT = { timeout: 10_000 };

const token = readRootToken();
let service: RunningService;
let client: Licet;
beforeAll(async () => {
  const [setting = ''] = /--var PUBLIC_URL:https:\/\/[\w.]+/.exec(document) ?? [];
  const named = adapt(setting, { 'license.example.com': 'localhost' }).split(' ');
  const options = ['--ip', '127.0.0.1', '--var', 'TRUSTED_PROXIES:127.0.0.1', ...named];
  service = await startService(join(folder, 'state'), options);
  client = new Licet({ url: service.address, token });
});
afterAll(() => service.stop());

const createLicense = (): Promise<License> => newLicense(client, { maxIPs: -1 });

const bodyOf = ({ licenseKey, productId }: License): string =>
  JSON.stringify({ licenseKey, productId });

const recordedAddresses = async ({ licenseKey }: License, count: number): Promise<unknown[]> =>
  (await recordsOf(client, licenseKey, count)).map(({ ip }) => ip);

it('the service ignores CF-Connecting-IP from addresses that are not in TRUSTED_PROXIES', async () => {
  const license = await createLicense();
  const { status } = await send({
    port: service.port,
    isPlain: true,
    from: '127.0.0.9',
    headers: { 'CF-Connecting-IP': '192.0.2.66' },
    body: bodyOf(license),
  });
  expect(status).toBe(200);
  expect(await recordedAddresses(license, 1)).toEqual(['127.0.0.9']);
});

describe.each(proxies)('$name', (proxy) => {
  const isInstalled = hasTools(`${proxy.name} as in docs/one-machine.md`, proxy.name);

  describe.skipIf(!isInstalled)('with the configuration of docs/one-machine.md', () => {
    let ports: Ports;
    let relay: Relay;
    let watched: Watched;
    let child: ChildProcess;
    let license: License;
    let body: string;

    beforeAll(async () => {
      relay = await startRelay(service.port);
      ports = {
        http: await freePort(),
        https: await freePort(),
        service: relay.port,
        failing: await freePort(),
      };
      child = proxy.start(ports, folder);
      watched = watch(child);
      license = await createLicense();
      body = bodyOf(license);
      const { https: port } = ports;
      await vi.waitFor(() => send({ port, method: 'GET', path: '/api/v2/healthy' }), 10_000);
    });
    afterEach(() => relay.set('forward'));
    afterAll(async () => {
      child.kill('SIGTERM');
      await watched.ended;
      await relay.close();
    });

    it('the proxy sends on the address of the client, whatever the client sends as CF-Connecting-IP', async () => {
      const spoofed = await createLicense();
      const headers = { 'CF-Connecting-IP': '192.0.2.66', 'X-Forwarded-For': '192.0.2.67' };
      const sent = { headers, body: bodyOf(spoofed) };
      const overTls = await send({ ...sent, port: ports.https, from: '127.0.0.5' });
      expect(overTls).toMatchObject({ status: 200, text: expect.stringContaining('"valid":true') });
      expect(await recordedAddresses(spoofed, 1)).toEqual(['127.0.0.5']);
      const plain = await send({ ...sent, port: ports.http, isPlain: true, from: '127.0.0.6' });
      expect(plain).toMatchObject({ status: 200, text: expect.stringContaining('"valid":true') });
      expect(await recordedAddresses(spoofed, 2)).toEqual(['127.0.0.6', '127.0.0.5']);
    });

    it('the console logs in through the proxy and uses its session', async () => {
      const port = ports.https;
      const headers = { TOKEN: token ?? '', Origin: 'https://localhost' };
      const loggedIn = await send({ port, path: '/console/session', headers });
      expect(loggedIn.status, loggedIn.text).toBe(204);
      const [cookie = ''] = loggedIn.headers['set-cookie']?.[0]?.split(';') ?? [];
      const path = '/api/v2/tokens/self';
      const ownPage = { Cookie: cookie, 'Sec-Fetch-Site': 'same-origin' };
      const self = await send({ port, path, method: 'GET', headers: ownPage });
      expect(JSON.parse(self.text)).toMatchObject({ name: 'root' });
    });

    it.each(['/api/v1/validate', '//api/v1/validate', '/api/v1/validate/'])(
      'the proxy forwards plain http to %s without a redirect',
      async (path) => {
        const response = await send({ port: ports.http, isPlain: true, path, body });
        expect(response.status).toBe(200);
        expect(JSON.parse(response.text)).toMatchObject({ valid: true });
      },
    );

    it.each(['/api/v2/licenses', '/api/v2/validate', '/docs', '/'])(
      'the proxy rejects plain http to %s without a redirect, and without asking the service',
      async (path) => {
        const before = relay.count();
        const headers = { TOKEN: token ?? '' };
        const response = await send({
          port: ports.http,
          isPlain: true,
          method: 'GET',
          path,
          headers,
        });
        expect(response.status).toBe(403);
        expect(response.headers.location).toBeUndefined();
        expect(response.headers['content-type']).toBe('application/json');
        expect(JSON.parse(response.text)).toEqual({ message: 'Use https', accepted_intents: [] });
        expect(relay.count()).toBe(before);
      },
    );

    it('the proxy rejects an oversized body with the two fields of a rejected validation', async () => {
      const mebibyte = 1024 * 1024;
      const oversized = `${body}${'x'.repeat(4 * mebibyte)}`;
      const before = relay.receivedBytes();
      for (const headers of [{ 'Content-Length': String(oversized.length) }, {}]) {
        const response = await send({ port: ports.https, headers, body: oversized });
        expect(response.status).toBe(413);
        expect(JSON.parse(response.text)).toEqual({ valid: false, message: expect.any(String) });
      }
      expect(relay.receivedBytes() - before).toBeLessThan(3 * mebibyte);
    });

    it('the proxy keeps connections to the service open, and ends them itself when they are idle', async () => {
      const before = relay.count();
      const agent = new HttpsAgent({ keepAlive: true, maxSockets: 1 });
      for (let sent = 0; sent < 20; sent++) {
        const from = '127.0.0.8';
        const response = await send({ port: ports.https, body, agent, from });
        expect(response.status).toBe(200);
        expect(response.headers.connection).not.toBe('close');
      }
      // A proxy that is slow to take a connection back opens another one.
      expect(relay.count() - before).toBeLessThan(10);
      agent.destroy();
      await expect.poll(() => relay.openSockets.size, { timeout: 10_000 }).toBe(0);
      expect(relay.endedBy()).toBe('proxy');
    });

    it('the proxy goes on after 400 aborted connections', async () => {
      await Promise.all(
        Array.from({ length: 400 }, async (_, index) => {
          const headers = { 'Content-Length': String(body.length) };
          const request = open({ port: ports.https, headers, from: '127.0.0.10' });
          request.on('error', () => undefined);
          // Half of them in the middle of the body, half while the service responds.
          const part = index % 2 === 0 ? body : body.slice(0, body.length / 2);
          await new Promise<void>((done) => request.write(part, () => done()));
          request.destroy();
        }),
      );
      for (let sent = 0; sent < 20; sent++) {
        const response = await send({ port: ports.https, body, from: '127.0.0.11' });
        expect(JSON.parse(response.text)).toMatchObject({ valid: true });
      }
    });

    it('the proxy responds with JSON if the service fails', async () => {
      relay.set('drop');
      const response = await send({ port: ports.https, body });
      relay.set('forward');
      expect(response.status).toBeGreaterThanOrEqual(502);
      expect(JSON.parse(response.text)).toEqual({ valid: false, message: expect.any(String) });
    });

    it('the proxy logs neither tokens nor license keys of requests that fail', async () => {
      const path = '/api/v2/licenses/by-license-key/A-LICENSE-KEY';
      const secret = { method: 'GET', path, headers: { TOKEN: 'a-secret-token' } };
      relay.set('drop');
      await send({ ...secret, port: ports.https });
      relay.set('forward');
      const files = [join(folder, 'nginx', 'licet.log')].filter(existsSync);
      if (proxy.name === 'caddy') {
        await send({ ...secret, port: ports.failing, isPlain: true });
        await expect.poll(watched.output).toContain('http.log.error');
      } else expect(files).toHaveLength(1);
      const logged = [watched.output(), ...files.map((file) => readFileSync(file, 'utf8'))].join();
      expect(logged).not.toMatch(/A-LICENSE-KEY|a-secret-token/);
    });

    it.runIf(proxy.name === 'nginx')(
      'the proxy rejects more than 128 requests at once from one address',
      async () => {
        relay.set('hold');
        let rejected = 0;
        const sending = Array.from({ length: 130 }, async () => {
          const sent = { port: ports.https, method: 'GET', path: '/api/v2/healthy' };
          const response = await send({ ...sent, from: '127.0.0.13' });
          if (response.status === 429) rejected++;
          return response;
        });
        await expect.poll(() => rejected, { timeout: 10_000 }).toBe(2);
        const other = { port: ports.https, method: 'GET', path: '/api/v2/healthy' };
        const elsewhere = send({ ...other, from: '127.0.0.14' });
        relay.set('forward');
        const responses = await Promise.all(sending);
        expect(responses.filter(({ text }) => text === 'healthy')).toHaveLength(128);
        expect(responses.filter(({ text }) => text.includes('"valid":false'))).toHaveLength(2);
        expect((await elsewhere).text).toBe('healthy');
      },
    );

    it('the proxy opens at most 256 connections to the service; more requests wait or get 502', async () => {
      // Connections that were kept open would get a response.
      relay.set('drop');
      await expect.poll(() => relay.openSockets.size).toBe(0);
      relay.set('hold');
      let rejected = 0;
      const sending = Array.from({ length: 300 }, async (_, index) => {
        const sent = { port: ports.https, method: 'GET', path: '/api/v2/healthy' };
        // nginx rejects more than 128 from one address.
        const response = await send({ ...sent, from: `127.0.0.${20 + (index % 3)}` });
        if (response.status === 502) rejected++;
        return response;
      });
      const refused = proxy.name === 'nginx' ? 44 : 0;
      await expect.poll(() => [relay.openSockets.size, rejected], PATIENT).toEqual([256, refused]);
      const before = relay.count();
      relay.set('forward');
      const responses = await Promise.all(sending);
      expect(responses.filter(({ text }) => text === 'healthy')).toHaveLength(300 - refused);
      expect(responses.filter(({ text }) => text.includes('"valid":false'))).toHaveLength(refused);
      expect(relay.count()).toBe(before);
    });

    it('the proxy passes every check of the doctor', async () => {
      const [command = ''] = /npm run doctor -- https:\S+(?=`)/.exec(document) ?? [];
      const [program = '', ...args] = command
        .replace('license.example.com', `localhost:${ports.https}`)
        .split(' ');
      const env = { ...process.env, NODE_EXTRA_CA_CERTS: CERTIFICATE };
      const { code, output } = await watch(spawnGroup(program, args, env)).ended;
      expect(output).not.toContain('✗');
      expect(code).toBe(0);
    });
  });
});
