import { env } from 'cloudflare:workers';
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import type { Answered } from '../../src/isolate';
import worker from '../../src/index';
import { withIdentity } from '../../src/requests/write';
import { validateWith } from '../support/app';
import {
  createLicense,
  createProduct,
  getLicense,
  historyOf,
  type License,
  type Product,
  updateLicense,
} from '../support/client';
import { captureConsole } from '../support/console';
import { spyOnDatabase } from '../support/d1-spy';
import { unreachable } from '../support/faults';
import { spyOnKv } from '../support/kv-spy';
import { isAllPublished, settleLog } from '../support/published';
import { deliver } from '../support/queue';

/** With the optional queue, records take it, and nothing else is different (1.6). */

let product: Product;

beforeAll(async () => {
  product = await createProduct();
});

afterEach(() => {
  vi.restoreAllMocks();
});

const newLicense = () => createLicense({ productId: product.id, maxIPs: -1, maxHWIDs: -1 });
const askFor = ({ licenseKey }: License) => ({ licenseKey, productId: product.id });

const answered = (license: License): Answered => ({
  row: withIdentity(
    {
      requestType: 'V1_VALIDATE',
      responseType: 'VALID',
      licenseId: license.id,
      licenseKey: license.licenseKey,
      licenseKeyNormalized: license.licenseKey,
      productId: product.id,
    },
    Date.now(),
  ),
  basis: { key: license.licenseKey, id: license.id, revision: 1 },
});

describe('a validation', () => {
  it('is answered at once, and its record comes through the queue', async () => {
    const license = await newLicense();
    const { spy, roundTrips } = spyOnDatabase(env.DB);
    const bindings = { DB: spy, RECORDS: env.TEST_RECORDS };
    const { status, recorded } = await validateWith(bindings, askFor(license));
    expect(status).toBe(200);
    await recorded;
    const written = roundTrips.flat().filter(({ sql }) => sql.includes('insert into "requests"'));
    expect(written).toEqual([]);
    await historyOf({ licenseKey: license.licenseKey }, 1);
    expect((await getLicense(license.id)).totalRequests).toBe(1);
  });

  it('is recorded without the queue when that takes nothing', async () => {
    captureConsole();
    const license = await newLicense();
    const RECORDS = { ...env.TEST_RECORDS, send: () => Promise.reject(new Error('No queue')) };
    const { status, recorded } = await validateWith({ RECORDS }, askFor(license));
    expect(status).toBe(200);
    await recorded;
    await historyOf({ licenseKey: license.licenseKey }, 1);
  });

  it('is recorded without the queue when that does not answer', async () => {
    captureConsole();
    const license = await newLicense();
    const RECORDS = { ...env.TEST_RECORDS, send: () => new Promise<never>(() => undefined) };
    const { status, recorded } = await validateWith({ RECORDS }, askFor(license));
    expect(status).toBe(200);
    await recorded;
    await historyOf({ licenseKey: license.licenseKey }, 1);
  });
});

describe('a message', () => {
  it('that is late puts nothing into KV: who answered has compared it', async () => {
    const license = await newLicense();
    await updateLicense(license.id, { notes: 'Changed since' });
    await isAllPublished();
    await settleLog();
    const { spy: SNAPSHOTS, operations } = spyOnKv(env.SNAPSHOTS);
    await deliver([[answered(license)], [answered(license)]], { SNAPSHOTS });
    await historyOf({ licenseKey: license.licenseKey }, 2);
    expect(operations).toEqual([]);
  });

  it('that comes twice, together or later, counts once', async () => {
    const license = await newLicense();
    const message = [answered(license), answered(license)];
    expect(await deliver([message, message])).toEqual([]);
    expect(await deliver([message])).toEqual([]);
    await historyOf({ licenseKey: license.licenseKey }, 2);
    expect((await getLicense(license.id)).totalRequests).toBe(2);
  });

  it('counts once also where its record had to take another id', async () => {
    const [one, two] = [answered(await newLicense()), answered(await newLicense())];
    two.row.id = one.row.id;
    await deliver([[one]]);
    for (let time = 0; time < 3; time++) await deliver([[two]]);
    const { licenseKey } = two.row;
    const [record] = await historyOf({ licenseKey: String(licenseKey) }, 1);
    expect(record?.id).not.toBe(one.row.id);
    expect((await getLicense(Number(two.row.licenseId))).totalRequests).toBe(1);
  });

  it('comes again when it cannot be written, and does not keep the others up', async () => {
    const lines = captureConsole();
    const license = await newLicense();
    expect(await deliver([{ not: 'records' }, [answered(license)]])).toMatchObject([{ index: 0 }]);
    await historyOf({ licenseKey: license.licenseKey }, 1);
    const other = await newLicense();
    const unwritten = await deliver([[answered(other)]], { DB: unreachable(env.DB) });
    expect(unwritten).toMatchObject([{ index: 0 }]);
    expect((await getLicense(other.id)).totalRequests).toBe(0);
    expect(lines.join()).not.toContain(other.licenseKey);
  });

  it('comes again later each time, within an hour', async () => {
    captureConsole();
    const message = [answered(await newLicense())];
    const delays = [1, 2, 3, 20].map(async (attempts) => {
      const [redelivery] = await deliver([message], { DB: unreachable(env.DB) }, attempts);
      return redelivery?.delaySeconds;
    });
    expect(await Promise.all(delays)).toEqual([10, 20, 40, 3_600]);
  });

  it('that cannot be written at all is whole in the dead-letter queue', async () => {
    captureConsole();
    const received = vi.spyOn(worker, 'queue');
    const queues = () => received.mock.calls.map(([{ queue }]) => queue);
    const license = await newLicense();
    await env.DB.prepare('alter table requests rename to requests_elsewhere').run();
    try {
      await env.TEST_RECORDS.send([answered(license)]);
      await vi.waitFor(() => expect(queues()).toEqual(['records']), { timeout: 5_000 });
      await received.mock.results[0]?.value;
    } finally {
      await env.DB.prepare('alter table requests_elsewhere rename to requests').run();
    }
    expect((await getLicense(license.id)).totalRequests).toBe(0);
    // Whoever takes messages from there again, the Worker for one, can write them.
    await vi.waitFor(() => expect(queues()).toEqual(['records', 'dead']), { timeout: 5_000 });
    await historyOf({ licenseKey: license.licenseKey }, 1);
    expect((await getLicense(license.id)).totalRequests).toBe(1);
  });
});
