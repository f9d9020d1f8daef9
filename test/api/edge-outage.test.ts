import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { settled } from '../support/app';
import {
  createBlacklist,
  createLicense,
  createProduct,
  createToken,
  historyOf,
  type License,
  type Product,
  updateLicense,
} from '../support/client';
import { takeClock } from '../support/clock';
import { captureConsole } from '../support/console';
import { newWatchedIsolate } from '../support/watched-isolate';

/** What still works while the database, KV or both cannot be reached (1.5). */

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

const newLicense = (fields: object = { maxIPs: -1, maxHWIDs: -1 }) =>
  createLicense({ productId: product.id, ...fields });

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

const BOUND = { ip: '192.0.2.1', hwid: 'bound' };
const bound = { maxIPs: 1, maxHWIDs: 1, ips: [BOUND.ip], hwids: [BOUND.hwid] };

const askFor = ({ licenseKey, productId }: License, more: object = {}) => ({
  licenseKey,
  productId,
  ...BOUND,
  ...more,
});

/** An isolate that has answered for a license and the others before anything failed, or a new one. */
const ISOLATES = {
  'from memory': async (licenses: readonly License[]) => {
    const isolate = newWatchedIsolate();
    for (const license of licenses) await (await isolate.validate(askFor(license))).recorded;
    return isolate;
  },
  'from KV, in a new isolate': async () => newWatchedIsolate(),
};

describe.each(Object.entries(ISOLATES))('without the database, %s,', (_, isolateFor) => {
  async function isolateWithoutDatabase(...licenses: License[]) {
    captureConsole();
    await newWatchedIsolate().runScheduled(); // By then everything is published.
    const isolate = await isolateFor(licenses);
    isolate.conditions.database = () => 'fails';
    return isolate;
  }

  it('a bound license validates, and its record is written when the database is back', async () => {
    const license = await newLicense(bound);
    const isolate = await isolateWithoutDatabase(license);
    const { status, recorded } = await isolate.validate(askFor(license));
    expect(status).toBe(200);
    isolate.conditions.database = () => null;
    await recorded;
    const asked = isolateFor === ISOLATES['from memory'] ? 2 : 1;
    await historyOf({ licenseKey: license.licenseKey, valid: 'true' }, asked);
  });

  it('with a token that is known too', async () => {
    const license = await newLicense(bound);
    const { token } = await createToken(['LICENSE_VALIDATE']);
    const options = { version: 'v2', headers: { TOKEN: token } } as const;
    const isolate = await isolateWithoutDatabase(license);
    expect((await isolate.validate(askFor(license), options)).status).toBe(200);
    isolate.conditions.database = () => null;
  });

  it('what only the database can decide answers 503', async () => {
    const license = await newLicense(bound);
    const free = await newLicense({ ...bound, maxIPs: 2 });
    const isolate = await isolateWithoutDatabase(license, free);
    for (const body of [
      askFor(license, { ip: '192.0.2.2' }),
      askFor(free, { ip: '192.0.2.2' }),
      askFor(license, { licenseKey: 'nobody has it' }),
    ]) {
      const { status, json } = await isolate.validate(body);
      expect(status).toBe(503);
      expect(json).toEqual({ valid: false, message: 'Service temporarily unavailable' });
    }
    isolate.conditions.database = () => null;
  });

  it('what is known to be refused is refused', async () => {
    const deactivated = await newLicense(bound);
    await updateLicense(deactivated.id, { licenseStatus: 'DEACTIVATED' });
    const license = await newLicense(bound);
    const data = `198.51.100.${license.id % 256}`;
    await createBlacklist({ data });
    const isolate = await isolateWithoutDatabase(deactivated, license);
    for (const body of [
      askFor(deactivated),
      askFor(license, { productId: product.id + 1 }),
      askFor(license, { ip: data }),
    ]) {
      expect((await isolate.validate(body)).status).toBe(400);
    }
    isolate.conditions.database = () => null;
  });
});

it('without KV the database answers, and without both nothing but memory', async () => {
  captureConsole();
  const [license, other] = [await newLicense(bound), await newLicense(bound)];
  await settled();
  const isolate = newWatchedIsolate();
  isolate.conditions.kv = () => true;
  expect((await isolate.validate(askFor(license))).status).toBe(200);
  isolate.conditions.database = () => 'fails';
  expect((await isolate.validate(askFor(license))).status).toBe(200);
  expect((await isolate.validate(askFor(other))).status).toBe(503);
  isolate.conditions.database = () => null;
});
