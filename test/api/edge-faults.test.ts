import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { settled, type ValidationOptions } from '../support/app';
import {
  createBlacklist,
  createToken,
  getLicense,
  historyOf,
  type License,
  updateLicense,
} from '../support/client';
import { type TestClock, takeClock } from '../support/clock';
import { captureConsole } from '../support/console';
import { isAllPublished } from '../support/published';
import { askFor as askForLicense, askForUnknown, openShop, tidyUpAfterEach } from '../support/shop';
import { newWatchedIsolate, type WatchedIsolate } from '../support/watched-isolate';

/** What is answered while the database, KV or both cannot be reached (1.5, 1.6). */

const MINUTE_MS = 60_000;
const DOWN = { valid: false, message: 'Service temporarily unavailable' };
const BOUND = { ip: '192.0.2.1', hwid: 'HW-1' };
const BLACKLISTED_IP = '198.51.100.66';
const BLACKLISTED_HWID = 'HW-66';

const shop = openShop();
tidyUpAfterEach();

let clock: TestClock;
let lines: string[];
let isolate: WatchedIsolate;

/** With its slots taken by the values that are asked for, unless said otherwise. */
const newLicense = (fields: object = {}): Promise<License> =>
  shop.newLicense({ maxIPs: 1, maxHWIDs: 1, ips: [BOUND.ip], hwids: [BOUND.hwid], ...fields });

const askFor = (license: License, more: object = BOUND) => askForLicense(license, more);

beforeAll(async () => {
  await createBlacklist({ data: BLACKLISTED_IP });
  await createBlacklist({ data: BLACKLISTED_HWID, licenseDataType: 'HWID' });
});

beforeEach(() => {
  clock = takeClock({ skipsPauses: true });
  lines = captureConsole();
  isolate = newWatchedIsolate();
});

/** An isolate that has answered for a license; or one that has nothing in its memory. */
const ISOLATES = {
  'one that knows it': async (license: License, options?: ValidationOptions) => {
    const { recorded } = await isolate.validate(askFor(license), options);
    await recorded;
    return isolate;
  },
  'one that knew it, and has not heard from the database for a minute': async (
    license: License,
    options?: ValidationOptions,
  ) => {
    const { recorded } = await isolate.validate(askFor(license), options);
    await recorded;
    clock.elapse(MINUTE_MS);
    return isolate;
  },
  'one that is new': async () => isolate,
};
const EACH = Object.entries(ISOLATES).map(([name, prepare]) => ({ name, prepare }));

const cutOff = (from: WatchedIsolate) => {
  from.conditions.database = () => 'fails';
};

async function expectAnswer(
  of: WatchedIsolate,
  body: object,
  status: number,
  message: string,
  options?: ValidationOptions,
): Promise<void> {
  const answer = await of.validate(body, options);
  expect(answer.json).toMatchObject({ message });
  expect(answer.status).toBe(status);
}

describe.each(EACH)('without the database: an isolate, $name', ({ prepare }) => {
  it('validates a license whose values are bound, again and again', async () => {
    const license = await newLicense();
    await isAllPublished();
    const without = await prepare(license);
    cutOff(without);
    for (let time = 0; time < 3; time++) {
      await expectAnswer(without, askFor(license), 200, 'License is valid');
    }
    // Without values there is nothing to bind.
    await expectAnswer(without, askFor(license, {}), 200, 'License is valid');
    without.conditions.database = () => null;
    await settled();
    const asked = prepare === ISOLATES['one that is new'] ? 4 : 5;
    await historyOf({ licenseKey: license.licenseKey, valid: 'true' }, asked);
  });

  it('does so under v2, for whom it knows by the token', async () => {
    const license = await newLicense();
    const { token } = await createToken(['LICENSE_VALIDATE']);
    const other = await createToken(['ALL_READ']);
    await isAllPublished();
    const options = { version: 'v2', headers: { TOKEN: token } } as const;
    const without = await prepare(license, options);
    cutOff(without);
    await expectAnswer(without, askFor(license), 200, 'License is valid', options);
    const forbidden = { version: 'v2', headers: { TOKEN: other.token } } as const;
    await expectAnswer(without, askFor(license), 403, 'Token lacks a required intent', forbidden);
    // Whether a token is live that nobody knows only the database can tell.
    const unknown = { version: 'v2', headers: { TOKEN: 'licet_unknown' } } as const;
    const answer = await without.validate(askFor(license), unknown);
    expect(answer.status).toBe(503);
    expect(answer.json).toStrictEqual(DOWN);
  });

  it('refuses what it knows to be refused', async () => {
    const licenses = {
      'License is deactivated': await newLicense({ licenseStatus: 'DEACTIVATED' }),
      'License not found or invalid': await newLicense({ licenseStatus: 'DELETED' }),
      'License has expired': await newLicense({
        licenseType: 'TEMPORARY',
        expiryDate: '2020-01-01',
      }),
    };
    const license = await newLicense();
    await isAllPublished();
    const all = Object.entries(licenses);
    // It has met them all before, where it has met any.
    const without = await prepare(license);
    if (without.operations.length > 0) {
      for (const [, known] of all) await (await without.validate(askFor(known))).recorded;
    }
    cutOff(without);
    for (const [message, known] of all) await expectAnswer(without, askFor(known), 400, message);
    const mismatched = { ...askFor(license), productId: shop.productId + 1 };
    await expectAnswer(without, mismatched, 400, 'License not found or invalid');
    const byIp = askFor(license, { ip: BLACKLISTED_IP });
    await expectAnswer(without, byIp, 400, 'IP address is blacklisted');
    const byHwid = askFor(license, { hwid: BLACKLISTED_HWID });
    await expectAnswer(without, byHwid, 400, 'Hardware ID is blacklisted');
  });

  it('answers 503 where only the database can tell', async () => {
    const license = await newLicense();
    const free = await newLicense({ maxIPs: 5 });
    await isAllPublished();
    const without = await prepare(license);
    cutOff(without);
    for (const body of [
      // A full limit: a slot may be free by now.
      askFor(license, { ip: '192.0.2.2' }),
      askFor(license, { ...BOUND, hwid: 'HW-2' }),
      // A new value, and a free slot.
      askFor(free, { ip: '192.0.2.2' }),
      askForUnknown(),
    ]) {
      const { status, json } = await without.validate(body);
      expect(status).toBe(503);
      expect(json).toStrictEqual(DOWN);
    }
    await settled();
    expect(await getLicense(free.id)).toMatchObject({ ips: [BOUND.ip] });
    expect(lines.join()).not.toContain(license.licenseKey);
  });
});

describe('what is known to be old', () => {
  it('is not believed for want of the database: a license of which the log has told', async () => {
    const license = await newLicense();
    await isAllPublished();
    const published = await newLicense();
    await isAllPublished();
    const other = newWatchedIsolate();
    await (await other.validate(askFor(license))).recorded;
    // KV keeps what it has, as in a location that is slow to hear.
    isolate.conditions.kv = ({ name }) => name !== 'get';
    await isolate.call('PUT', `/api/v2/licenses/${license.id}`, {
      body: { licenseStatus: 'DEACTIVATED' },
    });
    await (await other.validate(askFor(published))).recorded;
    cutOff(other);
    const { status, json } = await other.validate(askFor(license));
    expect(status).toBe(503);
    expect(json).toStrictEqual(DOWN);
    // What has not changed is as good as before.
    await expectAnswer(other, askFor(published), 200, 'License is valid');
  });

  it('is refused an hour later: a license that was deactivated while KV takes nothing', async () => {
    const [license, other] = [await newLicense(), await newLicense()];
    const put = ({ id }: License, body: object) =>
      isolate.call('PUT', `/api/v2/licenses/${id}`, { body });
    await expectAnswer(isolate, askFor(license), 200, 'License is valid');
    isolate.conditions.kv = ({ name }) => name !== 'get';
    await put(license, { licenseStatus: 'DEACTIVATED' });
    for (let minutes = 3; minutes <= 60; minutes += 3) {
      clock.elapse(3 * MINUTE_MS);
      // Another change, so that what is remembered of the first one may be given up.
      if (minutes % 15 === 0) await put(other, { notes: String(minutes) });
      // In touch, by a question for another license.
      await (await isolate.validate(askFor(other))).recorded;
    }
    await expectAnswer(isolate, askFor(license), 400, 'License is deactivated');
  });

  it('is nothing that an isolate has when it changed something and could not see what', async () => {
    const license = await newLicense();
    await isAllPublished();
    await (await isolate.validate(askFor(license))).recorded;
    isolate.conditions.database = (step) => (step === 'news' ? 'fails' : null);
    const { status } = await isolate.call('PUT', `/api/v2/licenses/${license.id}`, {
      body: { licenseStatus: 'DEACTIVATED' },
    });
    expect(status).toBe(200);
    cutOff(isolate);
    expect((await isolate.validate(askFor(license))).status).toBe(503);
    isolate.conditions.database = () => null;
    await expectAnswer(isolate, askFor(license), 400, 'License is deactivated');
  });
});

describe('the records of an outage', () => {
  it('are kept, and written once when the database is back within the time', async () => {
    const license = await newLicense();
    await isAllPublished();
    await (await isolate.validate(askFor(license))).recorded;
    let attempts = 0;
    isolate.conditions.database = (step) => {
      if (step === 'record') attempts++;
      return attempts <= 8 ? 'fails' : null;
    };
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => isolate.validate(askFor(license))),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(200));
    await Promise.all(answers.map(({ recorded }) => recorded));
    await historyOf({ licenseKey: license.licenseKey, valid: 'true' }, 21);
    expect((await getLicense(license.id)).totalRequests).toBe(21);
    expect(lines).toEqual([expect.stringContaining('History records were not written yet')]);
  });

  it('that cannot be written at all do not keep up those that can', async () => {
    const license = await newLicense();
    await isAllPublished();
    await (await isolate.validate(askFor(license))).recorded;
    isolate.conditions.database = (_, trip) => {
      if (!trip.some(({ params }) => params.join().includes('POISON'))) return null;
      throw new Error(
        'D1_ERROR: CHECK constraint failed: requests_request_type: SQLITE_CONSTRAINT',
      );
    };
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, index) =>
        isolate.validate(askFor(license, index === 7 ? { productVersion: 'POISON' } : {})),
      ),
    );
    await Promise.all(answers.map(({ recorded }) => recorded));
    await historyOf({ licenseKey: license.licenseKey }, 40);
    expect((await getLicense(license.id)).totalRequests).toBe(40);
    // One is lost, and the log says so without it.
    expect(lines).toEqual([expect.stringContaining('History records were lost: 1')]);
    expect(lines.join()).not.toContain('POISON');
  });
});

describe('without KV', () => {
  it('the database answers, whether KV fails to read or to write', async () => {
    const license = await newLicense();
    await isAllPublished();
    isolate.conditions.kv = () => true;
    await expectAnswer(isolate, askFor(license), 200, 'License is valid');
    await settled();
    // In touch by now, so that KV would be read first.
    const other = await newLicense({ licenseStatus: 'DEACTIVATED' });
    await isAllPublished();
    await expectAnswer(isolate, askFor(other), 400, 'License is deactivated');
    await expectAnswer(
      isolate,
      askFor(license, { ip: BLACKLISTED_IP }),
      400,
      'IP address is blacklisted',
    );
    const { token } = await createToken(['LICENSE_VALIDATE']);
    const options = { version: 'v2', headers: { TOKEN: token } } as const;
    await expectAnswer(isolate, askFor(license), 200, 'License is valid', options);
    await expectAnswer(isolate, askForUnknown(), 400, 'License not found or invalid');
  });

  it('and without the database: 503 for what is not in memory, and an answer for what is', async () => {
    const [license, other] = [await newLicense(), await newLicense()];
    await isAllPublished();
    await (await isolate.validate(askFor(license))).recorded;
    isolate.conditions.kv = () => true;
    cutOff(isolate);
    await expectAnswer(isolate, askFor(license), 200, 'License is valid');
    await expectAnswer(isolate, askFor(other), 503, DOWN.message);
    const cold = newWatchedIsolate();
    cold.conditions.kv = () => true;
    cutOff(cold);
    await expectAnswer(cold, askFor(license), 503, DOWN.message);
    clock.elapse(MINUTE_MS);
    await expectAnswer(isolate, askFor(license), 200, 'License is valid');
  });
});

describe('a database that hangs', () => {
  /** Lets the time limits of a request pass, as soon as it waits for one. */
  async function letLimitsPass(milliseconds: number): Promise<void> {
    await vi.waitFor(() => expect(vi.getTimerCount()).toBeGreaterThan(0), { interval: 1 });
    clock.elapse(milliseconds);
    await vi.advanceTimersByTimeAsync(milliseconds);
  }

  beforeEach(() => {
    vi.unstubAllGlobals();
  });

  afterEach(async () => {
    const hasSettled = settled();
    for (let time = 0; time < 3; time++) await vi.advanceTimersByTimeAsync(5_000);
    await hasSettled;
    vi.useRealTimers();
  });

  it('is waited for five seconds, and not again at once', async () => {
    const license = await newLicense();
    await isAllPublished();
    isolate.conditions.database = (step) =>
      step === 'record' ? null : new Promise(() => undefined);
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    let answeredAfterMs = 0;
    const startedAt = performance.now();
    const answered = isolate.validate(askFor(license)).then((answer) => {
      answeredAfterMs = performance.now() - startedAt;
      return answer;
    });
    await letLimitsPass(5_000);
    expect((await answered).status).toBe(200);
    expect(answeredAfterMs).toBeLessThan(6_000);
    // It has what it needs, and does not wait again for what did not come just now.
    await expectAnswer(isolate, askFor(license), 200, 'License is valid');
  });

  it('is waited for five seconds where only it can tell', async () => {
    const license = await newLicense({ maxIPs: 2 });
    await isAllPublished();
    await (await isolate.validate(askFor(license))).recorded;
    isolate.conditions.database = (step) =>
      step === 'claim' ? new Promise(() => undefined) : null;
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const answered = isolate.validate(askFor(license, { ip: '192.0.2.2' }));
    await letLimitsPass(5_000);
    const { status, json } = await answered;
    expect(status).toBe(503);
    expect(json).toStrictEqual(DOWN);
  });

  it('or a KV that hangs, is waited for two seconds', async () => {
    const license = await newLicense();
    await isAllPublished();
    await (await isolate.validate(askForUnknown())).recorded;
    isolate.conditions.kv = () => new Promise(() => undefined);
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const answered = isolate.validate(askFor(license));
    await letLimitsPass(2_000);
    expect((await answered).status).toBe(200);
  });
});

it('an administrator who changes something while the database fails changes nothing in the copies', async () => {
  const license = await newLicense();
  await isAllPublished();
  await (await isolate.validate(askFor(license))).recorded;
  cutOff(isolate);
  const { status } = await isolate.call('PUT', `/api/v2/licenses/${license.id}`, {
    body: { licenseStatus: 'DEACTIVATED' },
  });
  expect(status).toBe(500);
  await expectAnswer(isolate, askFor(license), 200, 'License is valid');
  isolate.conditions.database = () => null;
  await updateLicense(license.id, { licenseStatus: 'DEACTIVATED' });
  clock.elapse(MINUTE_MS);
  await expectAnswer(isolate, askFor(license), 400, 'License is deactivated');
});
