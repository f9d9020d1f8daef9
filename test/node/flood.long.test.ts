import { setTimeout as wait } from 'node:timers/promises';
import { readRootToken } from '@licet/cli/root-token';
import { Licet } from '@licet/client';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { percentile } from '../../bench/statistics.ts';
import { ownFolder } from './own.ts';
import { type RunningService, startService } from './service.ts';
import { newLicense } from './shop.ts';

/** A flood at the address of BuiltByBit that anybody can guess, beside the validations of a shop (9.2). */

const MARKETS = 19;
const CONNECTIONS = 8;
const DURATION_MS = 3_000;
/** Between two validations. */
const STEP_MS = 10;

const folder = ownFolder();
let service: RunningService;
let licet: Licet;
beforeAll(async () => {
  service = await startService(folder, ['--var', 'TRUSTED_PROXIES:127.0.0.0/8,::1']);
  licet = new Licet({ url: service.address, token: readRootToken() });
});
afterAll(() => service?.stop());

const post = (path: string, client: string, type: string, body: string): Promise<number> =>
  fetch(`http://127.0.0.1:${service.port}${path}`, {
    method: 'POST',
    headers: { 'CF-Connecting-IP': client, 'Content-Type': type },
    body,
  }).then(async (response) => {
    await response.arrayBuffer();
    return response.status;
  });

it('a flood of large forms, which 19 markets could take, does not hold up validations [9.2.3]', async () => {
  const { licenseKey, productId } = await newLicense(licet, { maxIPs: -1 });
  for (let index = 0; index < MARKETS; index++) {
    const secrets = [`the-secret-of-market-${index}`];
    const products = [{ item: '7', productId }];
    await licet.markets.create({ kind: 'builtbybit', name: `Market ${index}`, secrets, products });
  }
  const body = JSON.stringify({ licenseKey, productId });

  /** The median of the time that validations take, of a program every ten milliseconds. */
  const median = async (): Promise<number> => {
    const timesMs: number[] = [];
    const asked: Promise<void>[] = [];
    for (let index = 0; index < DURATION_MS / STEP_MS; index++) {
      const startedAt = performance.now();
      const client = `192.0.2.${index % 250}`;
      const validated = post('/api/v1/validate', client, 'application/json', body);
      asked.push(
        validated.then((status) => {
          expect(status).toBe(200);
          timesMs.push(performance.now() - startedAt);
        }),
      );
      await wait(STEP_MS);
    }
    await Promise.all(asked);
    return percentile(timesMs, 0.5);
  };

  const alone = await median();
  const form = Array.from({ length: 40_000 }, (_, index) => `a${index % 1_000}=`).join('&');
  const path = `/api/v1/bbb/${productId}`;
  let isOver = false;
  const statuses = new Set<number>();
  const flood = Array.from({ length: CONNECTIONS }, async () => {
    while (!isOver) {
      statuses.add(await post(path, '203.0.113.5', 'application/x-www-form-urlencoded', form));
    }
  });
  const beside = await median();
  isOver = true;
  await Promise.all(flood);
  expect(statuses).toEqual(new Set([413, 429]));
  // Each form took 35 ms of each of the markets: the median was 10 seconds.
  expect(beside).toBeLessThan(Math.max(10, 15 * alone));
}, 60_000);
