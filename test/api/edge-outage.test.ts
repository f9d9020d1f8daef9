import { afterEach, beforeAll, expect, it, vi } from 'vitest';
import { settled } from '../support/app';
import { createLicense, createProduct, type Product } from '../support/client';
import { takeClock } from '../support/clock';
import { captureConsole } from '../support/console';
import { newWatchedIsolate } from '../support/watched-isolate';

/** What KV still shows as it was is refused for as long as it cannot be put right (1.5). */

const MINUTE_MS = 60_000;

let product: Product;

beforeAll(async () => {
  product = await createProduct();
});

afterEach(async () => {
  await settled();
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

const newLicense = () => createLicense({ productId: product.id, maxIPs: -1, maxHWIDs: -1 });

it('a license that is deactivated while KV takes nothing is refused an hour later', async () => {
  captureConsole();
  const clock = takeClock({ skipsPauses: true });
  const isolate = newWatchedIsolate();
  const [license, other] = [await newLicense(), await newLicense()];
  const { licenseKey, productId } = license;
  const ask = () => isolate.validate({ licenseKey, productId });
  const put = (id: number, body: object) => isolate.call('PUT', `/api/v2/licenses/${id}`, { body });
  expect((await ask()).status).toBe(200);

  isolate.conditions.kv = ({ name }) => name !== 'get';
  await put(license.id, { licenseStatus: 'DEACTIVATED' });
  for (let minutes = 3; minutes <= 60; minutes += 3) {
    clock.elapse(3 * MINUTE_MS);
    // Another change, so that what is remembered of the first one may be given up.
    if (minutes % 15 === 0) await put(other.id, { notes: String(minutes) });
    // In touch, by a question for another license.
    await (await isolate.validate({ licenseKey: other.licenseKey, productId })).recorded;
  }
  expect((await ask()).status).toBe(400);
});
