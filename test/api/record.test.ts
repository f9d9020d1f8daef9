import { createScheduledController } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import fc from 'fast-check';
import { beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { openDatabase } from '../../src/db/client';
import { type Bindings, edgeOf } from '../../src/isolate';
import worker from '../../src/index';
import {
  firstRequestIdAt,
  newRequestId,
  nextRequestId,
  timeOfRequestId,
} from '../../src/history/id';
import { withIdentity, writeRequests } from '../../src/requests/write';
import { recordRequest } from '../../src/validation/record';
import { newIsolate, validateWith } from '../support/app';
import {
  createLicense,
  createProduct,
  createToken,
  getLicense,
  type HistoryRecord,
  historyOf,
  type License,
  type Product,
  validate,
} from '../support/client';
import { type TestClock, takeClock } from '../support/clock';
import { captureConsole } from '../support/console';
import { type Fault, unreachable, withFaults } from '../support/faults';
import { spyOnKv } from '../support/kv-spy';
import { queueTo } from '../support/queue';
import { ROOT_TOKEN } from '../support/root-token';
import { tidyUpAfterEach } from '../support/shop';

/** Records are written after the answer, exactly once, through faults of the database (decisions 1.6). */

let product: Product;
let clock: TestClock;
let consoleLines: string[];

beforeAll(async () => {
  product = await createProduct();
});

beforeEach(() => {
  clock = takeClock({ skipsPauses: true });
  consoleLines = captureConsole();
});

tidyUpAfterEach();

const isRecordWrite = (sql: string): boolean => sql.includes('insert into "requests"');
const isClaim = (sql: string): boolean => sql.includes('insert into "bindings"');
const isLookUp = (sql: string): boolean => !isRecordWrite(sql) && !isClaim(sql);

const DOWN = { valid: false, message: 'Service temporarily unavailable' };

/** The database with these faults, one after another, at the round trips that match. */
function faultsAt(
  matches: (sql: string) => boolean,
  faults: readonly Fault[],
  onMatch: () => void = () => undefined,
): D1Database {
  const left = [...faults];
  return withFaults(env.DB, (sql) => {
    if (!matches(sql)) return null;
    onMatch();
    return left.shift() ?? null;
  });
}

/** Those who only look whether it is their turn pause for less. */
const isBeforeRepetition = (pauseMs: number): boolean => pauseMs > 90;

const newLicense = (limits: object = { maxIPs: -1, maxHWIDs: -1 }): Promise<License> =>
  createLicense({ productId: product.id, ...limits });

const askFor = ({ licenseKey, productId }: License) => ({ licenseKey, productId });

/** Both what the history holds of a license, and its total. */
async function recordsOf(license: License): Promise<{ history: HistoryRecord[]; total: number }> {
  const { results } = await env.DB.prepare('select 1 from requests where license_key = ?')
    .bind(license.licenseKey)
    .all();
  const history = await historyOf({ licenseKey: license.licenseKey }, results.length);
  return { history, total: (await getLicense(license.id)).totalRequests };
}

/** What no log may hold: keys, tokens, addresses of code and data. */
function expectNothingSecretLogged(...secrets: string[]): void {
  const log = consoleLines.join('\n');
  for (const secret of ['D1_ERROR', 'SECRET-VALUE', 'select ', 'insert ', ROOT_TOKEN, ...secrets]) {
    expect(log.toLowerCase()).not.toContain(secret.toLowerCase());
  }
}

/** How records get into a database: with the queue all is the same. */
const WAYS: { way: string; through: (DB?: D1Database) => Partial<Bindings> }[] = [
  { way: 'straight into the database', through: (DB = env.DB) => ({ DB }) },
  { way: 'through the queue', through: (DB = env.DB) => ({ RECORDS: queueTo({ DB }) }) },
];

describe.each(WAYS)('a record, $way,', ({ through }) => {
  it('is written after the answer, which does not wait for it', async () => {
    const license = await newLicense();
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    const held = withFaults(env.DB, async (sql) => {
      if (isRecordWrite(sql)) await released;
      return null;
    });
    const { status, recorded } = await validateWith(through(held), askFor(license));
    expect(status).toBe(200);
    expect((await recordsOf(license)).history).toHaveLength(0);
    release();
    await recorded;
    expect((await recordsOf(license)).history).toHaveLength(1);
  });

  it('is counted on top of what was counted earlier', async () => {
    const license = await newLicense();
    await env.DB.prepare('update licenses set total_requests = 41, revision = 2 where id = ?')
      .bind(license.id)
      .run();
    const totals = [];
    const isolate = newIsolate(through());
    for (let request = 0; request < 2; request++) {
      const { json, recorded } = await isolate.validate(askFor(license));
      await recorded;
      totals.push(json);
    }
    expect(totals).toMatchObject([{ totalRequests: 42 }, { totalRequests: 43 }]);
    expect((await recordsOf(license)).total).toBe(43);
  });

  it.each<{ faults: Fault[] }>([
    { faults: ['fails'] },
    { faults: ['answer is lost'] },
    { faults: ['fails', 'answer is lost', 'fails'] },
    { faults: ['answer is lost', 'answer is lost', 'answer is lost'] },
    { faults: ['fails', 'fails', 'fails', 'fails', 'answer is lost'] },
  ])('is kept once and counted once after: $faults', async ({ faults }) => {
    const license = await newLicense();
    const attempts = vi.fn();
    const { status, recorded } = await validateWith(
      through(faultsAt(isRecordWrite, faults, attempts)),
      askFor(license),
    );
    await recorded;
    expect(status).toBe(200);
    const { history, total } = await recordsOf(license);
    expect(history).toHaveLength(1);
    expect(total).toBe(1);
    expect(attempts).toHaveBeenCalledTimes(faults.length + 1);
    expect(clock.pausesMs.filter(isBeforeRepetition)).toHaveLength(faults.length);
    expectNothingSecretLogged(license.licenseKey);
  });

  it('is kept once whatever the order of up to five faults', async () => {
    const fault = fc.constantFrom<Fault>('fails', 'answer is lost');
    await fc.assert(
      fc.asyncProperty(fc.array(fault, { maxLength: 5 }), fc.boolean(), async (faults, isKnown) => {
        const license = await newLicense();
        const { licenseKey } = isKnown ? license : { licenseKey: crypto.randomUUID() };
        const { recorded } = await validateWith(through(faultsAt(isRecordWrite, faults)), {
          licenseKey,
          productId: product.id,
        });
        await recorded;
        await historyOf({ licenseKey }, 1);
        expect((await getLicense(license.id)).totalRequests).toBe(isKnown ? 1 : 0);
      }),
      { numRuns: 20 },
    );
  });

  it('of our failure is one, under the license', async () => {
    const license = await newLicense();
    const { spy: SNAPSHOTS } = spyOnKv(env.SNAPSHOTS, () => true);
    const bindings = { ...through(), DB: faultsAt(isLookUp, ['fails', 'fails']), SNAPSHOTS };
    const { status, json, recorded } = await validateWith(bindings, askFor(license));
    await recorded;
    expect(status).toBe(503);
    expect(json).toStrictEqual(DOWN);
    const { history, total } = await recordsOf(license);
    expect(total).toBe(1);
    expect(history).toMatchObject([
      {
        responseType: 'ERROR',
        valid: false,
        successful: false,
        blocked: false,
        rateLimited: false,
        licenseId: license.id,
        licenseKey: license.licenseKey,
      },
    ]);
    expectNothingSecretLogged(license.licenseKey);
  });
});

describe('a record that cannot be written', () => {
  it('is given up within the time that the platform grants, and not before some seconds', async () => {
    const license = await newLicense();
    const { recorded } = await validateWith(
      { DB: faultsAt(isRecordWrite, Array<Fault>(100).fill('fails')) },
      askFor(license),
    );
    await recorded;
    const waitedMs = clock.pausesMs.reduce((sum, pauseMs) => sum + pauseMs, 0);
    expect(waitedMs).toBeGreaterThan(20_000);
    expect(waitedMs).toBeLessThan(30_000);
    expect(await recordsOf(license)).toEqual({ history: [], total: 0 });
    expect(consoleLines).toEqual([
      expect.stringContaining('History records were not written yet'),
      expect.stringContaining('History records were lost: 1'),
    ]);
    expectNothingSecretLogged(license.licenseKey);
  });

  it('has spread its repetitions: two of them do not come back at the same time', async () => {
    const faults = Array<Fault>(3).fill('fails');
    for (const license of [await newLicense(), await newLicense()]) {
      const DB = faultsAt(isRecordWrite, faults);
      await (await validateWith({ DB }, askFor(license))).recorded;
    }
    const pausesMs = clock.pausesMs.filter(isBeforeRepetition);
    expect(new Set(pausesMs).size).toBe(6);
  });
});

let moment = Date.UTC(2030, 0, 1);

describe.each(WAYS)('two records that draw the same id, $way,', ({ through }) => {
  /** Records a request as a process that has not recorded one at this moment yet, to the end. */
  async function recordAt(license: License, requestedAt: number, DB?: D1Database): Promise<void> {
    // Forgets which slot of the moment was the last, as another process would not know it.
    newRequestId(requestedAt + 1);
    const work: Promise<unknown>[] = [];
    const logged = {
      productVersion: null,
      operatingSystem: null,
      operatingSystemVersion: null,
      operatingSystemArchitecture: null,
      javaVersion: null,
      macAddress: null,
    };
    recordRequest(
      edgeOf({ ...env, ...through(DB) }),
      {
        requestType: 'V1_VALIDATE',
        asked: { ...askFor(license), ip: null, hwid: null, logged },
        responseType: 'VALID',
        details: {},
        requestedAt,
      },
      (promise) => work.push(promise),
    );
    await Promise.all(work);
  }

  it.each<{ faults: Fault[] }>([
    { faults: [] },
    { faults: ['fails'] },
    { faults: ['answer is lost'] },
    { faults: [null, 'fails'] },
    { faults: [null, 'answer is lost'] },
    { faults: [null, 'answer is lost', 'answer is lost', null, 'answer is lost'] },
  ])('are both kept and both counted, with faults $faults', async ({ faults }) => {
    const [one, two] = [await newLicense(), await newLicense()];
    vi.spyOn(Math, 'random').mockReturnValue(0);
    moment += 1_000;
    await recordAt(one, moment);
    await recordAt(two, moment, faultsAt(isRecordWrite, faults));

    const [first, second] = [await recordsOf(one), await recordsOf(two)];
    expect([first.total, second.total]).toEqual([1, 1]);
    const ids = [...first.history, ...second.history].map(({ id }) => id);
    expect(ids).toHaveLength(2);
    expect(new Set(ids).size).toBe(2);
    expect(ids[0]).toBe(firstRequestIdAt(moment));
    expect(ids.map(timeOfRequestId)).toEqual([moment, moment]);
    expect(consoleLines.join()).not.toContain('lost');
  });

  it('and a third one that would take the same next id: all three are kept and counted', async () => {
    const licenses = [await newLicense(), await newLicense(), await newLicense()];
    vi.spyOn(Math, 'random').mockReturnValue(0);
    // The next id follows from the nonce: with the same beginning they walk the same way.
    let drawn = 0;
    vi.spyOn(crypto, 'randomUUID').mockImplementation(
      () => `01230000-0000-4000-8000-${String(drawn++).padStart(12, '0')}`,
    );
    moment += 1_000;
    for (const license of licenses) {
      await recordAt(license, moment, faultsAt(isRecordWrite, [null, 'answer is lost']));
    }
    const ids: number[] = [];
    for (const license of licenses) {
      const { history, total } = await recordsOf(license);
      expect(total).toBe(1);
      ids.push(...history.map(({ id }) => id));
    }
    expect(ids).toHaveLength(3);
    expect(new Set(ids).size).toBe(3);
  });
});

describe('a group of the longest records', () => {
  it('is written in parts, each of which the database takes', async () => {
    const license = await newLicense();
    const long = '\u20AC'.repeat(255);
    const { licenseKey, productId } = license;
    const texts = { productVersion: long, macAddress: long, javaVersion: long, remarks: long };
    const systems = { operatingSystem: long, operatingSystemVersion: long, hwid: long.repeat(2) };
    const record = { licenseId: license.id, licenseKey, licenseKeyNormalized: licenseKey, productId };
    moment += 1_000;
    const rows = Array.from({ length: 1_024 }, () =>
      withIdentity(
        { ...record, ...texts, ...systems, requestType: 'V1_VALIDATE', responseType: 'VALID' },
        moment,
      ),
    );
    const { counted, gone } = await writeRequests(openDatabase(env.DB), rows, 0);
    expect(counted.at(-1)).toMatchObject({ id: license.id, totalRequests: 1_024 });
    expect(gone).toEqual([]);
    const stored = env.DB.prepare('select count(*) as n from requests where license_id = ?');
    expect(await stored.bind(license.id).first('n')).toBe(1_024);
  });
});

describe('the id of a record', () => {
  it('tells its millisecond, is unique in it and grows', () => {
    const now = Date.UTC(2031, 5, 5);
    const ids = Array.from({ length: 2_000 }, () => newRequestId(now));
    expect(new Set(ids.map(timeOfRequestId))).toEqual(new Set([now]));
    expect(ids).toEqual(ids.toSorted((a, b) => a - b));
    expect(new Set(ids).size).toBe(ids.length);
    expect(newRequestId(now + 1)).toBeGreaterThan(ids.at(-1) ?? Number.NaN);
  });

  it('has a next one in the same millisecond, and in the end all of them, whatever the nonce', () => {
    const now = Date.UTC(2031, 5, 6);
    for (const nonce of ['000', '001', 'abc', 'fff']) {
      const walked = new Set<number>();
      let id = newRequestId(now);
      for (let step = 0; step < 4096; step++) {
        walked.add(id);
        id = nextRequestId({ id, nonce });
      }
      expect(walked.size).toBe(4096);
      expect(new Set([...walked].map(timeOfRequestId))).toEqual(new Set([now]));
    }
  });

  it('is a safe integer until 2094', () => {
    expect(Number.isSafeInteger(firstRequestIdAt(Date.UTC(2094, 0, 1)))).toBe(true);
  });
});

describe('without the database', () => {
  it('what cannot be decided answers 503 in two fields, under v1 and v2', async () => {
    const license = await newLicense({ maxIPs: 1, maxHWIDs: -1 });
    const { token } = await createToken(['LICENSE_VALIDATE']);
    const DB = unreachable(env.DB);
    for (const body of [
      { ...askFor(license), ip: '10.60.0.1' },
      { ...askFor(license), licenseKey: 'nobody-knows' },
    ]) {
      for (const options of [
        { version: 'v1' },
        { version: 'v2', headers: { TOKEN: ROOT_TOKEN } },
        { version: 'v2', headers: { TOKEN: token } },
      ] as const) {
        const { status, json, recorded } = await validateWith({ DB }, body, options);
        expect(status).toBe(503);
        expect(json).toStrictEqual(DOWN);
        await recorded;
      }
    }
    expectNothingSecretLogged(license.licenseKey, token);
    expect(consoleLines.length).toBeGreaterThan(0);
  });

  it('what is wrong with a request is still told', async () => {
    const { status, json } = await validateWith({ DB: unreachable(env.DB) }, {});
    expect(status).toBe(400);
    expect(json).toStrictEqual({ valid: false, message: 'licenseKey is required' });
  });

  it.each<Fault>(['fails', 'answer is lost'])(
    'a claim that %s is repeated, and takes one slot',
    async (fault) => {
      const license = await newLicense({ maxIPs: 1, maxHWIDs: -1 });
      const body = { ...askFor(license), ip: '10.60.0.1' };
      const first = await validateWith({ DB: faultsAt(isClaim, [fault]) }, body);
      expect(first.status).toBe(200);
      await first.recorded;
      expect((await getLicense(license.id)).ips).toEqual(['10.60.0.1']);
    },
  );

  it.each<{ fault: Fault; bound: string[] }>([
    { fault: 'fails', bound: [] },
    { fault: 'answer is lost', bound: ['10.60.0.1'] },
  ])(
    'a claim that $fault again and again answers 503, and takes no second slot when asked again',
    async ({ fault, bound }) => {
      const license = await newLicense({ maxIPs: 1, maxHWIDs: -1 });
      const body = { ...askFor(license), ip: '10.60.0.1' };
      const DB = faultsAt(isClaim, [fault, fault, fault]);
      const first = await validateWith({ DB }, body);
      await first.recorded;
      expect(first.status).toBe(503);
      expect((await getLicense(license.id)).ips).toEqual(bound);

      expect((await validate(body)).status).toBe(200);
      expect((await getLicense(license.id)).ips).toEqual(['10.60.0.1']);
      expectNothingSecretLogged(license.licenseKey, body.ip);
    },
  );
});

describe('an ordinary validation', () => {
  it('writes nothing to the log', async () => {
    // With a clock that jumps a slow machine's record would be given up.
    vi.unstubAllGlobals();
    const license = await newLicense({ maxIPs: 1, maxHWIDs: 1 });
    for (const body of [
      { ...askFor(license), ip: '10.61.0.1', hwid: 'one' },
      { ...askFor(license), ip: '10.61.0.2' },
      { ...askFor(license), licenseKey: 'unknown' },
      {},
    ]) {
      await (await validateWith({}, body)).recorded;
    }
    expect(consoleLines).toEqual([]);
  });
});

describe('retention', () => {
  const NOW = Date.UTC(2040, 0, 1);
  const DAY_MS = 86_400_000;

  beforeEach(async () => {
    await env.DB.prepare('delete from requests').run();
  });

  /** Records of one moment and the milliseconds after it. */
  const addRecords = (moment: number, count: number) =>
    env.DB.prepare(
      `with recursive n(i) as (select 0 union all select i + 1 from n where i + 1 < ?2)
       insert into requests (id, nonce, request_type, response_type)
       select ?1 + i * 4096, '', 'V1_VALIDATE', 'VALID' from n`,
    )
      .bind(firstRequestIdAt(moment), count)
      .run();

  const kept = async (): Promise<number> =>
    (await env.DB.prepare('select count(*) n from requests').first<number>('n')) ?? Number.NaN;

  const runScheduled = (REQUEST_RETENTION_DAYS: string) =>
    worker.scheduled(createScheduledController({ scheduledTime: NOW }), {
      ...env,
      REQUEST_RETENTION_DAYS,
    });

  it('removes what is older than its days and nothing else', async () => {
    for (const age of [90 * DAY_MS + 1, 90 * DAY_MS, 1, 0]) await addRecords(NOW - age, 1);
    await runScheduled('90');
    expect(await kept()).toBe(3);
    await runScheduled('1');
    expect(await kept()).toBe(2);
  });

  it('is 90 days by default', () => {
    expect(env.REQUEST_RETENTION_DAYS).toBe('90');
  });

  it.each(['0', '', ' ', 'x', '-1', 'NaN'])('keeps all when it is "%s"', async (days) => {
    await addRecords(Date.UTC(2025, 0, 1), 3);
    await runScheduled(days);
    expect(await kept()).toBe(3);
  });

  it('removes in bounded chunks, and what one run leaves the next removes', async () => {
    await addRecords(NOW - 100 * DAY_MS, 26_000);
    await addRecords(NOW, 1);
    await runScheduled('90');
    const left = await kept();
    expect(left).toBeGreaterThan(1);
    expect(left).toBeLessThan(20_000);
    await runScheduled('90');
    expect(await kept()).toBe(1);
  });

  it('is safe twice at once', async () => {
    await addRecords(NOW - 100 * DAY_MS, 3_500);
    await addRecords(NOW, 10);
    await Promise.all([runScheduled('90'), runScheduled('90')]);
    expect(await kept()).toBe(10);
  });
});
