import { env } from 'cloudflare:workers';
import { expect, it, vi } from 'vitest';
import worker from '../../src/index.ts';
import type { HistoryRecord } from '../../src/requests/record.ts';
import { newIsolate } from '../support/app.ts';
import { get, historyOf, type License } from '../support/client.ts';
import { takeClock } from '../support/clock.ts';
import { captureConsole } from '../support/console.ts';
import { spyOnDatabase } from '../support/d1-spy.ts';
import { type Fault, unreachable, withFaults, withoutTable } from '../support/faults.ts';
import { recordAt } from '../support/history.ts';
import { deliver, newConsumer } from '../support/queue.ts';
import { askFor, openShop } from '../support/shop.ts';

/** With the optional queue, records take it, and nothing else is different (1.6). */

const shop = openShop();

const newRecord = (license: License, requestedAt = Date.now()): HistoryRecord =>
  recordAt(requestedAt, { ...askFor(license), licenseId: license.id });

/** A queue that has this method instead of its own. */
const queueThat = (send: () => Promise<never>) => ({ ...env.TEST_RECORDS, send });

async function expectRecorded(license: License, count: number): Promise<void> {
  await historyOf({ licenseKey: license.licenseKey }, count);
  expect((await get.license(license.id)).totalRequests).toBe(count);
}

it('a validation gets its response at once, and its record comes through the queue [1.6.1]', async () => {
  const license = await shop.newLicense();
  const { spy, roundTrips } = spyOnDatabase(env.DB);
  const bindings = { DB: spy, RECORDS: env.TEST_RECORDS };
  const { status, recorded } = await newIsolate(bindings).validate(askFor(license));
  expect(status).toBe(200);
  await recorded;
  const written = roundTrips.flat().filter(({ sql }) => sql.includes('insert into "requests"'));
  expect(written).toEqual([]);
  await expectRecorded(license, 1);
});

it.each([
  ['rejects', () => Promise.reject(new Error('No queue'))],
  ['does not respond', () => new Promise<never>(() => undefined)],
])('a validation is recorded without the queue when that %s', async (_, send) => {
  const lines = captureConsole();
  const license = await shop.newLicense();
  const RECORDS = queueThat(send);
  takeClock({ skipsPauses: true });
  const { status, recorded } = await newIsolate({ RECORDS }).validate(askFor(license));
  expect(status).toBe(200);
  await recorded;
  await expectRecorded(license, 1);
  expect(lines).toEqual([expect.stringContaining('The queue did not take requests')]);
});

it.each([0, 5])(
  'a message of %i hours ago that comes twice, together or later, counts once [1.6.1]',
  async (hours) => {
    const license = await shop.newLicense();
    await deliver([[newRecord(license)]]);
    const requestedAt = Date.now() - hours * 3_600_000;
    const message = [newRecord(license, requestedAt), newRecord(license, requestedAt)];
    const consume = newConsumer();
    expect(await consume([message, message])).toEqual([]);
    expect(await consume([message])).toEqual([]);
    expect(await deliver([message])).toEqual([]);
    await expectRecorded(license, 3);
  },
);

it.each<Fault>(['fails', 'response is lost'])(
  'a message of hours ago whose write %s counts once',
  async (fault) => {
    captureConsole();
    const license = await shop.newLicense();
    await deliver([[newRecord(license)]]);
    const message = [newRecord(license, Date.now() - 5 * 3_600_000)];
    const faults = [fault];
    const DB = withFaults(env.DB, (sql) =>
      sql.includes('insert into "requests"') ? (faults.pop() ?? null) : null,
    );
    const consume = newConsumer({ DB });
    expect(await consume([message])).toMatchObject([{ index: 0 }]);
    expect(await consume([message], 2)).toEqual([]);
    await expectRecorded(license, 2);
  },
);

it('a message is written together with the others of its delivery', async () => {
  const licenses = await Promise.all([shop.newLicense(), shop.newLicense(), shop.newLicense()]);
  const { spy: DB, roundTrips } = spyOnDatabase(env.DB);
  expect(
    await deliver(
      licenses.map((license) => [newRecord(license)]),
      { DB },
    ),
  ).toEqual([]);
  expect(roundTrips).toHaveLength(1);
  for (const license of licenses) await expectRecorded(license, 1);
});

it('a message comes again when it cannot be written, and does not delay the others', async () => {
  const lines = captureConsole();
  const license = await shop.newLicense();
  expect(await deliver([{ not: 'records' }, [newRecord(license)]])).toMatchObject([{ index: 0 }]);
  await historyOf({ licenseKey: license.licenseKey }, 1);
  const other = await shop.newLicense();
  const unwritten = await deliver([[newRecord(other)]], { DB: unreachable(env.DB) });
  expect(unwritten).toMatchObject([{ index: 0 }]);
  expect((await get.license(other.id)).totalRequests).toBe(0);
  expect(lines).toHaveLength(2);
  expect(lines.join()).not.toContain(other.licenseKey);
});

it('a message comes again later each time, within an hour', async () => {
  captureConsole();
  const message = [newRecord(await shop.newLicense())];
  const delays = [1, 2, 3, 20].map(async (attempts) => {
    const [redelivery] = await deliver([message], { DB: unreachable(env.DB) }, attempts);
    return redelivery?.delaySeconds;
  });
  expect(await Promise.all(delays)).toEqual([10, 20, 40, 3_600]);
});

it('a message that cannot be written at all is whole in the dead-letter queue [1.6.1]', async () => {
  captureConsole();
  const received = vi.spyOn(worker, 'queue');
  const queues = () => received.mock.calls.map(([{ queue }]) => queue);
  const license = await shop.newLicense();
  await withoutTable('requests', async () => {
    await env.TEST_RECORDS.send([newRecord(license)]);
    await vi.waitFor(() => expect(queues()).toEqual(['records']), { timeout: 5_000 });
    await received.mock.results[0]?.value;
  });
  expect((await get.license(license.id)).totalRequests).toBe(0);
  // A consumer of the dead letters, the Worker for one, can write them.
  await vi.waitFor(() => expect(queues()).toEqual(['records', 'dead']), { timeout: 5_000 });
  await expectRecorded(license, 1);
});
