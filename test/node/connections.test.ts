import { once } from 'node:events';
import { connect } from 'node:net';
import { readRootToken } from '@licet/cli/root-token';
import { Licet } from '@licet/client';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ownFolder } from './own.ts';
import {
  argsOfScript,
  freePort,
  type RunningService,
  spawnGroup,
  startService,
  watch,
} from './service.ts';

/** Clients that take more than their share of the service. */

let service: RunningService;
beforeAll(async () => {
  service = await startService(ownFolder());
});
afterAll(() => service?.stop());

const REQUEST = 'GET /.well-known/jwks.json HTTP/1.1\r\nHost: licet\r\n\r\n';

/** Sends many requests at once on one connection. @returns how many got a response until now */
function pipeline(count: number): () => number {
  let responded = 0;
  const socket = connect(service.port, '127.0.0.1', () => socket.write(REQUEST.repeat(count)));
  // The service ends before they do.
  socket.on('error', () => undefined);
  socket.on(
    'data',
    (chunk) => (responded += chunk.toString('latin1').split('HTTP/1.1 ').length - 1),
  );
  return () => responded;
}

it('a new connection is served while others never pause', async () => {
  const others = Array.from({ length: 40 }, () => pipeline(100));
  const responded = () => others.reduce((sum, count) => sum + count(), 0);
  await expect.poll(responded, { timeout: 10_000, interval: 10 }).toBeGreaterThan(400);
  expect((await fetch(`${service.address}/api/v2/healthy`)).status).toBe(200);
  expect(responded()).toBeLessThan(2_000);
});

const FEW = 1_024;

it('more connections than there are descriptors lose no record, and the service goes on', {
  timeout: 30_000,
}, async () => {
  const port = await freePort();
  const start = [process.execPath, ...argsOfScript('start'), '--port', String(port)];
  const folder = ['--persist-to', ownFolder()];
  const child = spawnGroup('sh', ['-c', `ulimit -n ${FEW}; exec "$@"`, 'sh', ...start, ...folder]);
  const { log, printed, ended } = watch(child);
  await printed('Licet runs on');
  expect(log()).toContain(`(ulimit -n: ${FEW}) allows 256 connections`);
  const licet = new Licet({ url: `http://127.0.0.1:${port}`, token: readRootToken() });
  const { id: productId } = await licet.products.create({ name: 'Shop', productType: 'OTHER' });
  const { id, licenseKey } = await licet.licenses.create({ productId, licenseType: 'PERMANENT' });

  let responded = 0;
  for (let opened = 0; opened < FEW && !log().includes('is started again'); opened++) {
    const socket = connect(port, '127.0.0.1').on('error', () => undefined);
    await once(socket, 'connect').catch(() => undefined);
    if (opened % 8 > 0) continue;
    const validation = licet.validate({ licenseKey, productId });
    await validation.then(
      () => responded++,
      () => undefined,
    );
  }
  expect(responded).toBeGreaterThan(25);
  const total = () =>
    licet.licenses.get(id).then(
      ({ totalRequests }) => totalRequests,
      () => 0,
    );
  await expect.poll(total, { timeout: 10_000 }).toBeGreaterThanOrEqual(responded);
  expect(log()).not.toContain('Too many open files');
  child.kill('SIGTERM');
  expect((await ended).code).toBe(0);
});
