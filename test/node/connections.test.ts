import { connect } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ownFolder } from './own.ts';
import { type RunningService, startService } from './service.ts';

/** Clients that take more than their share of the service. */

let service: RunningService;
beforeAll(async () => {
  service = await startService(ownFolder());
});
afterAll(() => service?.stop());

const REQUEST = 'GET /.well-known/jwks.json HTTP/1.1\r\nHost: licet\r\n\r\n';

/** Sends many requests at once on one connection. @returns how many are answered until now */
function pipeline(count: number): () => number {
  let answered = 0;
  const socket = connect(service.port, '127.0.0.1', () => socket.write(REQUEST.repeat(count)));
  // The service ends before they do.
  socket.on('error', () => undefined);
  socket.on(
    'data',
    (chunk) => (answered += chunk.toString('latin1').split('HTTP/1.1 ').length - 1),
  );
  return () => answered;
}

it('a new connection is served while others never pause', async () => {
  const others = Array.from({ length: 40 }, () => pipeline(250));
  const answered = () => others.reduce((sum, count) => sum + count(), 0);
  await expect.poll(answered, { timeout: 10_000, interval: 10 }).toBeGreaterThan(1_000);
  expect((await fetch(`${service.address}/api/v2/healthy`)).status).toBe(200);
  expect(answered()).toBeLessThan(5_000);
});
