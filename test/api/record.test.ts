import { createScheduledController } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import fc from 'fast-check';
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { openDatabase } from '../../src/db/client';
import worker from '../../src/index';
import { firstRequestIdAt, newRequestId, timeOfRequestId } from '../../src/requests/id';
import { newRecord, recordRequest } from '../../src/validation/record';
import { validateWith } from '../support/app';
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
import { captureConsole } from '../support/console';
import { type Fault, unreachable, withFaults } from '../support/faults';
import { ROOT_TOKEN } from '../support/root-token';

/** Records are written after the answer, exactly once, through faults of the database (decisions 1.6). */

let product: Product;
let delaysMs: number[];
let consoleLines: string[];

beforeAll(async () => {
  product = await createProduct();
});

beforeEach(() => {
  delaysMs = [];
  // Nobody waits for real seconds: what is put off is done at once.
  vi.stubGlobal('setTimeout', (callback: () => void, delayMs: number) => {
    delaysMs.push(delayMs);
    queueMicrotask(callback);
  });
  consoleLines = captureConsole();
});

afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

const isRecordWrite = (sql: string): boolean => sql.includes('insert into "requests"');
const isClaim = (sql: string): boolean => sql.includes('insert into "bindings"');
const isLookUp = (sql: string): boolean => !isRecordWrite(sql) && !isClaim(sql);

/** The database with these faults, one after another, at the round trips that match. */
function faultsAt(matches: (sql: string) => boolean, faults: readonly Fault[]): D1Database {
  const left = [...faults];
  return withFaults(env.DB, (sql) => (matches(sql) ? (left.shift() ?? null) : null));
}

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

describe('a record', () => {
  it('is written after the answer, which does not wait for it', async () => {
    const license = await newLicense();
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    const held = withFaults(env.DB, async (sql) => {
      if (isRecordWrite(sql)) await released;
      return null;
    });
    const { status, recorded } = await validateWith({ DB: held }, askFor(license));
    expect(status).toBe(200);
    expect((await recordsOf(license)).history).toHaveLength(0);
    release();
    await recorded;
    expect((await recordsOf(license)).history).toHaveLength(1);
  });

  it.each<{ faults: Fault[] }>([
    { faults: ['fails'] },
    { faults: ['answer is lost'] },
    { faults: ['fails', 'answer is lost', 'fails'] },
    { faults: ['answer is lost', 'answer is lost', 'answer is lost'] },
    { faults: ['fails', 'fails', 'fails', 'fails', 'answer is lost'] },
  ])('is kept once and counted once after: $faults', async ({ faults }) => {
    const license = await newLicense();
    const { status, recorded } = await validateWith(
      { DB: faultsAt(isRecordWrite, faults) },
      askFor(license),
    );
    await recorded;
    expect(status).toBe(200);
    const { history, total } = await recordsOf(license);
    expect(history).toHaveLength(1);
    expect(total).toBe(1);
    expect(delaysMs).toHaveLength(faults.length);
    expectNothingSecretLogged(license.licenseKey);
  });

  it('is kept once whatever the order of up to five faults', async () => {
    const fault = fc.constantFrom<Fault>('fails', 'answer is lost');
    await fc.assert(
      fc.asyncProperty(fc.array(fault, { maxLength: 5 }), fc.boolean(), async (faults, isKnown) => {
        const license = await newLicense();
        const { licenseKey } = isKnown ? license : { licenseKey: crypto.randomUUID() };
        const { recorded } = await validateWith(
          { DB: faultsAt(isRecordWrite, faults) },
          { licenseKey, productId: product.id },
        );
        await recorded;
        await historyOf({ licenseKey }, 1);
        expect((await getLicense(license.id)).totalRequests).toBe(isKnown ? 1 : 0);
      }),
      { numRuns: 20 },
    );
  });

  it('is given up within the time that the platform grants, and not before some seconds', async () => {
    const license = await newLicense();
    const { recorded } = await validateWith(
      { DB: faultsAt(isRecordWrite, Array<Fault>(100).fill('fails')) },
      askFor(license),
    );
    await recorded;
    const waitedMs = delaysMs.reduce((sum, delayMs) => sum + delayMs, 0);
    expect(waitedMs).toBeGreaterThan(5_000);
    expect(waitedMs).toBeLessThan(30_000);
    expect(await recordsOf(license)).toEqual({ history: [], total: 0 });
    expect(consoleLines).toHaveLength(1);
    expectNothingSecretLogged(license.licenseKey);
  });

  it('has spread its repetitions: two of them do not come back at the same time', async () => {
    const faults = Array<Fault>(3).fill('fails');
    for (const license of [await newLicense(), await newLicense()]) {
      const DB = faultsAt(isRecordWrite, faults);
      await (await validateWith({ DB }, askFor(license))).recorded;
    }
    expect(new Set(delaysMs).size).toBe(6);
  });
});

describe('two records that draw the same id', () => {
  const MOMENT = Date.UTC(2030, 0, 1);

  const recordAt = (license: License, requestedAt: number, db: D1Database = env.DB) =>
    recordRequest(
      openDatabase(db),
      newRecord(
        'V1_VALIDATE',
        {
          ...askFor(license),
          ip: null,
          hwid: null,
          logged: {
            productVersion: null,
            operatingSystem: null,
            operatingSystemVersion: null,
            operatingSystemArchitecture: null,
            javaVersion: null,
            macAddress: null,
          },
        },
        'VALID',
        { licenseId: license.id },
      ),
      requestedAt,
    );

  it.each<{ faults: Fault[] }>([
    { faults: [] },
    { faults: ['fails'] },
    { faults: ['answer is lost'] },
    { faults: [null, 'answer is lost'] },
  ])('are both kept and both counted, with faults $faults', async ({ faults }) => {
    const [one, two] = [await newLicense(), await newLicense()];
    vi.spyOn(Math, 'random').mockReturnValue(0);
    const moment = MOMENT + faults.length * 1_000 + (faults[0] === 'fails' ? 500 : 0);
    await recordAt(one, moment);
    // Forgets which slot of the moment was the last, as another process would not know it.
    newRequestId(moment + 1);
    await recordAt(two, moment, faultsAt(isRecordWrite, faults));

    const [first, second] = [await recordsOf(one), await recordsOf(two)];
    expect([first.total, second.total]).toEqual([1, 1]);
    const ids = [...first.history, ...second.history].map(({ id }) => id);
    expect(ids).toEqual([firstRequestIdAt(moment), firstRequestIdAt(moment) + 1]);
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

  it('is a safe integer until 2094', () => {
    expect(Number.isSafeInteger(firstRequestIdAt(Date.UTC(2094, 0, 1)))).toBe(true);
  });
});

describe('without the database', () => {
  const DOWN = { valid: false, message: 'Service temporarily unavailable' };

  it('what cannot be decided answers 503 in two fields, under v1 and v2', async () => {
    const license = await newLicense();
    const { token } = await createToken(['LICENSE_VALIDATE']);
    const DB = unreachable(env.DB);
    for (const options of [
      { version: 'v1' },
      { version: 'v2', headers: { TOKEN: ROOT_TOKEN } },
      { version: 'v2', headers: { TOKEN: token } },
    ] as const) {
      const { status, json, recorded } = await validateWith({ DB }, askFor(license), options);
      expect(status).toBe(503);
      expect(json).toStrictEqual(DOWN);
      await recorded;
    }
    expectNothingSecretLogged(license.licenseKey, token);
    expect(consoleLines.length).toBeGreaterThan(0);
  });

  it('what is wrong with a request is still told', async () => {
    const { status, json } = await validateWith({ DB: unreachable(env.DB) }, {});
    expect(status).toBe(400);
    expect(json).toStrictEqual({ valid: false, message: 'licenseKey is required' });
  });

  it('for a moment, our failure is recorded as such, under the license', async () => {
    const license = await newLicense();
    const DB = faultsAt(isLookUp, ['fails']);
    const { status, json, recorded } = await validateWith({ DB }, askFor(license));
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
