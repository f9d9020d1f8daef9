import { env, exports } from 'cloudflare:workers';
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { newIsolate, settled, type ValidationOptions } from '../support/app.ts';
import { create, get, historyOf, type License, requestTo, validate } from '../support/client.ts';
import { type TestClock, takeClock } from '../support/clock.ts';
import { captureConsole } from '../support/console.ts';
import { MINUTE_MS } from '../support/history.ts';
import { contentsOfKv, isAllPublished, kvKeyOf } from '../support/published.ts';
import { askFor as askForLicense, askForUnknown, openShop } from '../support/shop.ts';
import { newWatchedIsolate, type WatchedIsolate } from '../support/watched-isolate.ts';

/** Responses while D1, KV or both cannot be reached, and while requests are cancelled (1.5, 1.6). */

const DOWN = { valid: false, message: 'Service temporarily unavailable' };
const BOUND = { ip: '192.0.2.1', hwid: 'HW-1' };
const BLACKLISTED_IP = '198.51.100.66';
const BLACKLISTED_HWID = 'HW-66';

const shop = openShop();
afterEach(settled);

let clock: TestClock;
let lines: string[];
let isolate: WatchedIsolate;

/** All slots are taken by the values of {@link askFor}, unless said otherwise. */
const newLicense = (fields: object = {}): Promise<License> =>
  shop.newLicense({ maxIPs: 1, maxHWIDs: 1, ips: [BOUND.ip], hwids: [BOUND.hwid], ...fields });

const askFor = (license: License, more: object = BOUND) => askForLicense(license, more);

beforeAll(async () => {
  await create.blacklist({ data: BLACKLISTED_IP });
  await create.blacklist({ data: BLACKLISTED_HWID, licenseDataType: 'HWID' });
});

beforeEach(() => {
  clock = takeClock({ skipsPauses: true });
  lines = captureConsole();
  isolate = newWatchedIsolate();
});

const cutOffD1 = () => {
  isolate.conditions.database = () => 'fails';
};
const cutOffKv = () => {
  isolate.conditions.kv = () => true;
};

async function expectResponse(
  body: object,
  status: number,
  message: string,
  options?: ValidationOptions,
): Promise<void> {
  const response = await isolate.validate(body, options);
  expect(response.json).toMatchObject({ message });
  expect(response.status).toBe(status);
}

/** The cache of the isolate when D1 fails: everything that the test needs, fresh or stale, or nothing. */
const STATES: { state: string; isWarm: boolean; quietMs: number }[] = [
  { state: 'knows them', isWarm: true, quietMs: 0 },
  { state: 'was quiet for a minute', isWarm: true, quietMs: MINUTE_MS },
  { state: 'is new', isWarm: false, quietMs: 0 },
];

type State = (typeof STATES)[number];

async function prepare({ isWarm, quietMs }: State, ...sent: [object, ValidationOptions?][]) {
  await isAllPublished();
  if (isWarm) {
    for (const [body, options] of sent) await (await isolate.validate(body, options)).recorded;
  }
  clock.elapse(quietMs);
}

it.each(STATES)(
  'licenses whose values are bound validate again and again in an isolate that $state [1.5.12]',
  async (state) => {
    const license = await newLicense();
    await prepare(state, [askFor(license)]);
    cutOffD1();
    for (let time = 0; time < 3; time++) {
      await expectResponse(askFor(license), 200, 'License is valid');
    }
    // Without values there is nothing to bind.
    await expectResponse(askFor(license, {}), 200, 'License is valid');
    isolate.conditions.database = () => null;
    await settled();
    const count = state.isWarm ? 5 : 4;
    await historyOf({ licenseKey: license.licenseKey, valid: 'true' }, count);
  },
);

it.each(STATES)(
  'tokens in KV or memory authorize validations in an isolate that $state [3.2.9]',
  async (state) => {
    const license = await newLicense();
    const { token } = await create.token(['LICENSE_VALIDATE']);
    const other = await create.token(['ALL_READ']);
    const by = (TOKEN: string) => ({ version: 'v2', headers: { TOKEN } }) as const;
    await prepare(state, [askFor(license), by(token)], [askFor(license), by(other.token)]);
    cutOffD1();
    await expectResponse(askFor(license), 200, 'License is valid', by(token));
    await expectResponse(askFor(license), 403, 'Token lacks a required intent', by(other.token));
    // Only D1 can tell whether an unknown token is live.
    const response = await isolate.validate(askFor(license), by('licet_unknown'));
    expect(response.status).toBe(503);
    expect(response.json).toStrictEqual(DOWN);
  },
);

it.each(STATES)(
  'licenses that are known to be refused are refused in an isolate that $state [1.5.12]',
  async (state) => {
    const refused = {
      'License is deactivated': await newLicense({ licenseStatus: 'DEACTIVATED' }),
      'License not found or invalid': await newLicense({ licenseStatus: 'DELETED' }),
      'License has expired': await newLicense({
        licenseType: 'TEMPORARY',
        expiryDate: '2020-01-01',
      }),
    };
    const license = await newLicense();
    const all = Object.entries(refused);
    await prepare(state, [askFor(license)], ...all.map(([, each]): [object] => [askFor(each)]));
    cutOffD1();
    for (const [message, each] of all) await expectResponse(askFor(each), 400, message);
    const mismatched = { ...askFor(license), productId: shop.productId + 1 };
    await expectResponse(mismatched, 400, 'License not found or invalid');
    const byIp = askFor(license, { ip: BLACKLISTED_IP });
    await expectResponse(byIp, 400, 'IP address is blacklisted');
    const byHwid = askFor(license, { hwid: BLACKLISTED_HWID });
    await expectResponse(byHwid, 400, 'Hardware ID is blacklisted');
  },
);

it.each(STATES)(
  'validations that only D1 can decide return 503 in an isolate that $state [1.1.4, 1.5.13]',
  async (state) => {
    const license = await newLicense();
    const free = await newLicense({ maxIPs: 5 });
    const { token } = await create.token(['LICENSE_VALIDATE']);
    const v2 = { version: 'v2', headers: { TOKEN: token } } as const;
    await prepare(state, [askFor(license)], [askFor(free), v2]);
    cutOffD1();
    for (const body of [
      // A full limit: a slot may be free by now.
      askFor(license, { ip: '192.0.2.2' }),
      askFor(license, { ...BOUND, hwid: 'HW-2' }),
      // A new value, and a free slot.
      askFor(free, { ip: '192.0.2.2' }),
      askForUnknown(),
    ]) {
      for (const options of [{}, v2]) {
        const { status, json } = await isolate.validate(body, options);
        expect(status).toBe(503);
        expect(json).toStrictEqual(DOWN);
      }
    }
    await settled();
    expect(await get.license(free.id)).toMatchObject({ ips: [BOUND.ip] });
    expect(lines.join()).not.toContain(license.licenseKey);
  },
);

it('licenses that are known to have changed return 503 while KV shows the old snapshot [1.5.13]', async () => {
  const [license, unchanged] = [await newLicense(), await newLicense()];
  await isAllPublished();
  await (await isolate.validate(askFor(license))).recorded;
  isolate.conditions.location = await contentsOfKv();
  const body = { licenseStatus: 'DEACTIVATED' };
  await isolate.call('PUT', `/api/v2/licenses/${license.id}`, { body });
  await (await isolate.validate(askFor(unchanged))).recorded;
  cutOffD1();
  await expectResponse(askFor(license), 503, DOWN.message);
  await expectResponse(askFor(unchanged), 200, 'License is valid');
});

it('D1 decides every validation while KV is down', async () => {
  const license = await newLicense();
  const deactivated = await newLicense({ licenseStatus: 'DEACTIVATED' });
  const { token } = await create.token(['LICENSE_VALIDATE']);
  await isAllPublished();
  cutOffKv();
  await expectResponse(askFor(license), 200, 'License is valid');
  await expectResponse(askFor(deactivated), 400, 'License is deactivated');
  const byIp = askFor(license, { ip: BLACKLISTED_IP });
  await expectResponse(byIp, 400, 'IP address is blacklisted');
  const options = { version: 'v2', headers: { TOKEN: token } } as const;
  await expectResponse(askFor(license), 200, 'License is valid', options);
  await expectResponse(askForUnknown(), 400, 'License not found or invalid');
});

const changes = () => env.DB.prepare('select count(*) n from outbox').first<number>('n');

it('a service without KV sees its own changes at once, those of others after 30 seconds, and empties the outbox', async () => {
  const [one, other] = [newIsolate({ SNAPSHOTS: undefined }), newIsolate({ SNAPSHOTS: undefined })];
  const license = await newLicense();
  const statusOf = async (who: typeof one) => {
    const { status, recorded } = await who.validate(askFor(license));
    await recorded;
    return status;
  };
  const change = (licenseStatus: string) =>
    one.call('PUT', `/api/v2/licenses/${license.id}`, { body: { licenseStatus } });

  expect([await statusOf(one), await statusOf(other)]).toEqual([200, 200]);
  await change('DEACTIVATED');
  expect(await statusOf(one)).toBe(400);
  clock.elapse(30_000);
  expect([await statusOf(one), await statusOf(other)]).toEqual([400, 400]);
  expect(await changes()).toBeGreaterThan(0);
  await one.runScheduled();
  expect(await changes()).toBe(0);
});

it('licenses in memory validate however old their snapshots are, and all others return 503 [1.5.12]', async () => {
  const [license, other] = [await newLicense(), await newLicense()];
  await isAllPublished();
  await (await isolate.validate(askFor(license))).recorded;
  cutOffKv();
  cutOffD1();
  await expectResponse(askFor(license), 200, 'License is valid');
  await expectResponse(askFor(other), 503, DOWN.message);
  clock.elapse(60 * MINUTE_MS);
  await expectResponse(askFor(license), 200, 'License is valid');
  isolate = newWatchedIsolate();
  cutOffKv();
  cutOffD1();
  await expectResponse(askFor(license), 503, DOWN.message);
});

describe('D1 or KV that does not respond', () => {
  const never = () => new Promise<never>(() => undefined);

  /** Lets time pass for clocks and timers. The local D1 and KV take real time. */
  async function pass(milliseconds: number): Promise<void> {
    clock.elapse(milliseconds);
    await vi.advanceTimersByTimeAsync(milliseconds);
    await scheduler.wait(2);
  }

  /** The milliseconds that pass until work is done. */
  async function timeOf(work: Promise<unknown>, stepMs = 50): Promise<number> {
    let isDone = false;
    const done = work.then(() => {
      isDone = true;
    });
    let passedMs = 0;
    for (; !isDone; passedMs += stepMs) await pass(stepMs);
    await done;
    return passedMs;
  }

  beforeEach(() => {
    vi.unstubAllGlobals();
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  });

  afterEach(async () => {
    await timeOf(settled(), 500);
    vi.useRealTimers();
  });

  /** Validates a license while something does not respond. The time lies between two bounds. */
  async function expectResponse(status: number, leastMs: number, mostMs: number, body: object) {
    const sent = isolate.validate(body);
    const timeMs = await timeOf(sent);
    expect(timeMs).toBeGreaterThanOrEqual(leastMs);
    expect(timeMs).toBeLessThan(mostMs);
    expect((await sent).status).toBe(status);
    if (status === 503) expect((await sent).json).toStrictEqual(DOWN);
  }

  it('licenses that KV lacks wait five seconds for D1', async () => {
    const license = await newLicense();
    await isAllPublished();
    await env.SNAPSHOTS.delete(await kvKeyOf(license));
    isolate.conditions.database = never;
    await expectResponse(503, 5_000, 7_000, askFor(license));
  });

  it('new values wait five seconds for D1 [1.5.13]', async () => {
    const license = await newLicense({ maxIPs: 2 });
    await isAllPublished();
    isolate.conditions.database = (step) => (step === 'bind' ? never() : null);
    await expectResponse(503, 5_000, 7_000, askFor(license, { ip: '192.0.2.2' }));
  });

  it('licenses wait two seconds for KV, and then for D1', async () => {
    const license = await newLicense();
    await isAllPublished();
    isolate.conditions.kv = never;
    await expectResponse(200, 2_000, 4_000, askFor(license));
  });
});

it('200 cancelled look-ups a second keep no other request waiting', { tags: 'long' }, async () => {
  vi.unstubAllGlobals();
  let cancelled = 0;
  const cancelOne = async () => {
    const controller = new AbortController();
    const options = { body: askForUnknown(), token: null };
    const request = requestTo('POST', '/api/v1/validate', options);
    const sent = exports.default.fetch(request, { signal: controller.signal });
    setTimeout(() => controller.abort(), Math.random() * 4);
    await sent.then(
      (response) => response.text(),
      () => cancelled++,
    );
  };
  const timeOther = async () => {
    const startedAt = performance.now();
    expect((await validate(askForUnknown())).status).toBe(400);
    return performance.now() - startedAt;
  };
  const cancellations: Promise<void>[] = [];
  const others: Promise<number>[] = [];
  for (let count = 0; count < 200; count++) {
    cancellations.push(cancelOne());
    // At the same moment, to share its batch.
    if (count % 4 === 0) others.push(timeOther());
    await scheduler.wait(5);
  }
  await Promise.all(cancellations);
  const timesMs = await Promise.all(others);
  expect(cancelled).toBeGreaterThan(50);
  // A request that waits for a cancelled one looks for itself after eight seconds.
  expect(Math.max(...timesMs)).toBeLessThan(4_000);
});
