import { env } from 'cloudflare:workers';
import { afterEach, expect, it, vi } from 'vitest';
import { openDatabase } from '../../src/db/client.ts';
import { keepCounts } from '../../src/requests/counts.ts';
import { settled } from '../support/app.ts';
import { get, type License, updateLicense } from '../support/client.ts';
import { takeClock } from '../support/clock.ts';
import { captureConsole } from '../support/console.ts';
import { sumRows } from '../support/d1-spy.ts';
import { DAY_MS } from '../support/history.ts';
import { importOne } from '../support/import.ts';
import { contentsOfKv, emptyOutbox, isAllPublished, kvKeyOf } from '../support/published.ts';
import { askFor, askForUnknown, openShop } from '../support/shop.ts';
import {
  newWarmIsolate,
  newWatchedIsolate,
  type Step,
  type WatchedIsolate,
} from '../support/watched-isolate.ts';

/** Round trips to D1 and KV: how many there are, and which of them a response waits for (1.5). */

const shop = openShop();
afterEach(settled);

const { newLicense } = shop;

/** An isolate with a license in memory. */
async function newHotIsolate(license: License, more: object = {}): Promise<WatchedIsolate> {
  const isolate = await newWarmIsolate();
  const { status, recorded } = await isolate.validate(askFor(license, more));
  expect(status).toBe(200);
  await recorded;
  isolate.reset();
  return isolate;
}

/** Keeps back every round trip to D1 but those of some steps, until it is released. */
function hold(isolate: WatchedIsolate, ...exceptions: Step[]): { held: Step[]; release(): void } {
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const held: Step[] = [];
  isolate.conditions.database = async (step) => {
    if (exceptions.includes(step)) return null;
    held.push(step);
    await released;
    return null;
  };
  return { held, release };
}

const rowsOf = ({ roundTrips }: WatchedIsolate) => sumRows(roundTrips.flat());

/** The types of the snapshots that the round trips compared. */
const comparedBy = ({ roundTrips }: WatchedIsolate): unknown[] =>
  roundTrips
    .flat()
    .filter(({ sql }) => sql.includes('is not r.value ->> 2'))
    .flatMap(({ params }) => JSON.parse(String(params.at(-1))))
    .map(([type]) => type);

const statementsOf = ({ roundTrips }: WatchedIsolate): number => roundTrips.flat().length;

it('hot validations wait for neither D1 nor KV, and then write one row in one batch [1.1.15, 1.6.1]', async () => {
  const license = await newLicense();
  const isolate = await newHotIsolate(license);
  const { release } = hold(isolate);
  const { status, json, recorded } = await isolate.validate(askFor(license));
  expect(status).toBe(200);
  expect(json).toMatchObject({ valid: true, totalRequests: 2 });
  expect(isolate.steps()).toEqual([]);
  release();
  await recorded;
  expect(isolate.steps()).toEqual(['record']);
  const { read, written } = await rowsOf(isolate);
  expect(written).toBe(1);
  // A copy in memory is not compared with D1.
  expect(read).toBeLessThanOrEqual(10);
  expect(isolate.operations).toEqual([]);
});

it('a hot validation has no statement for an event', async () => {
  const license = await newLicense();
  const isolate = await newWarmIsolate();
  const tablesOf = async (ip: string) => {
    isolate.reset();
    await (await isolate.validate(askFor(license, { ip }))).recorded;
    const statements = isolate.roundTrips.flat().map(({ sql }) => sql);
    return statements.map((sql) => /(?:insert into|update|from) "?(\w+)"?/.exec(sql)?.[1]);
  };
  const EVENT = ['events', 'deliveries', 'alerts'];
  expect(await tablesOf('192.0.2.1')).toEqual(expect.arrayContaining(EVENT));
  // The comparison, which has nothing to compare, is the first.
  expect(await tablesOf('192.0.2.1')).toEqual(['licenses', 'counters', 'requests', 'buckets']);
  // Another server of the license.
  const others = await tablesOf('192.0.2.2');
  expect(others.filter((table) => EVENT.includes(String(table)))).toEqual([]);
});

it('hot validations at once share a few batches, and cost a written row each [1.6.1]', async () => {
  const license = await newLicense();
  const isolate = await newHotIsolate(license);
  const { held, release } = hold(isolate);
  const first = await isolate.validate(askFor(license));
  await vi.waitFor(() => expect(held).toEqual(['record']));
  const others = await Promise.all(
    Array.from({ length: 100 }, () => isolate.validate(askFor(license))),
  );
  expect(others.map(({ status }) => status)).toEqual(Array(100).fill(200));
  release();
  await Promise.all([first, ...others].map(({ recorded }) => recorded));
  expect(new Set(isolate.steps())).toEqual(new Set(['record']));
  expect(isolate.steps().length).toBeLessThan(20);
  expect((await rowsOf(isolate)).written).toBe(101);
  expect((await get.license(license.id)).totalRequests).toBe(102);
});

it('new isolates respond from KV and do not wait for D1 [1.5.4]', async () => {
  const license = await newLicense();
  await isAllPublished();
  await newWatchedIsolate().runScheduled();
  const isolate = newWatchedIsolate();
  const { release } = hold(isolate);
  const { status, recorded } = await isolate.validate(askFor(license));
  expect(status).toBe(200);
  expect(isolate.steps()).toEqual([]);
  expect(isolate.operations.map(({ key }) => key).toSorted()).toEqual([
    await kvKeyOf(license),
    'policy',
  ]);
  release();
  await recorded;
  expect(isolate.steps()).toEqual(['record']);
});

it('a snapshot from KV is compared with D1 once in its 30 seconds', async () => {
  const clock = takeClock();
  const license = await newLicense();
  await isAllPublished();
  await newWatchedIsolate().runScheduled();
  const isolate = newWatchedIsolate();
  const validate = async () => {
    isolate.reset();
    await (await isolate.validate(askFor(license))).recorded;
    expect(isolate.steps()).toEqual(['record']);
    return comparedBy(isolate).toSorted();
  };
  expect(await validate()).toEqual(['license', 'policy']);
  expect(await validate()).toEqual([]);
  clock.elapse(30_000);
  expect(await validate()).toEqual(['license', 'policy']);
  expect(await validate()).toEqual([]);
});

it('isolates respond from KV after 30 seconds and do not wait for D1 [1.5.4]', async () => {
  const clock = takeClock();
  const license = await newLicense();
  const isolate = await newHotIsolate(license);
  await isAllPublished();
  await newWatchedIsolate().runScheduled();
  clock.elapse(30_000);
  const { release } = hold(isolate);
  const { status, recorded } = await isolate.validate(askFor(license));
  expect(status).toBe(200);
  expect(isolate.steps()).toEqual([]);
  expect(isolate.kvNames()).toEqual(['get', 'get']);
  release();
  await recorded;
  expect(isolate.steps()).toEqual(['record']);
});

it('twenty cold validations of a license that KV lacks share one D1 query and one put', async () => {
  const license = await newLicense();
  await isAllPublished();
  await env.SNAPSHOTS.delete(await kvKeyOf(license));
  const isolate = await newWarmIsolate();
  const { release } = hold(isolate, 'license');
  const responses = await Promise.all(
    Array.from({ length: 20 }, () => isolate.validate(askFor(license))),
  );
  expect(responses.map(({ status }) => status)).toEqual(Array(20).fill(200));
  expect(isolate.steps()).toEqual(['license']);
  release();
  await Promise.all(responses.map(({ recorded }) => recorded));
  const others = isolate.steps().filter((step) => step !== 'record');
  expect(others).toEqual(['license', 'check revision']);
  expect(isolate.kvNames()).toEqual(['get', 'put']);
  expect((await contentsOfKv()).has(await kvKeyOf(license))).toBe(true);
});

it('first bindings wait for one round trip to D1, and are published once', async () => {
  const license = await newLicense({ maxIPs: 2, maxHWIDs: 2 });
  await isAllPublished();
  const isolate = await newHotIsolate(license);
  const { release } = hold(isolate, 'bind');
  const asked = askFor(license, { ip: '192.0.2.2', hwid: 'one' });
  const { status, recorded } = await isolate.validate(asked);
  expect(status).toBe(200);
  expect(isolate.steps()).toEqual(['bind']);
  release();
  await recorded;
  expect(isolate.steps().toSorted()).toEqual(['bind', 'check revision', 'record']);
  expect(isolate.kvNames()).toEqual(['put']);
});

it('limits that look full are checked in D1, where a slot may be free [1.4.12]', async () => {
  const license = await newLicense({ maxIPs: 1, ips: ['192.0.2.1'] });
  const isolate = await newHotIsolate(license, { ip: '192.0.2.1' });
  await updateLicense(license.id, { ips: [] });
  await isAllPublished();
  const { release } = hold(isolate, 'bind');
  const { status, recorded } = await isolate.validate(askFor(license, { ip: '192.0.2.2' }));
  expect(status).toBe(200);
  expect(isolate.steps()).toEqual(['bind']);
  release();
  await recorded;
  expect((await get.license(license.id)).ips).toEqual(['192.0.2.2']);
});

it('unknown keys stay unknown for 30 seconds, and are known then after an import elsewhere [1.5.3]', async () => {
  const clock = takeClock();
  const isolate = await newWarmIsolate();
  const body = { ...askForUnknown(), productId: shop.productId };
  const statusOf = async () => {
    const { status, recorded } = await isolate.validate(body);
    await recorded;
    return status;
  };
  expect(await statusOf()).toBe(400);
  const license = { ...(await newLicense()), id: 700_000, licenseKey: body.licenseKey };
  expect(await importOne('licenses', license)).toMatchObject({ outcome: 'created' });
  isolate.reset();
  expect(await statusOf()).toBe(400);
  expect(isolate.steps()).toEqual(['record']);
  expect(isolate.operations).toEqual([]);

  clock.elapse(30_000);
  expect(await statusOf()).toBe(200);
});

it('keys longer than any license key are rejected without a look-up, and delay nobody', async () => {
  const isolate = await newWarmIsolate();
  const other = await newLicense();
  await isAllPublished();
  // In upper case three times as long: together more than a parameter of D1 takes.
  const tooLong = Array.from({ length: 90 }, (_, index) => ({
    licenseKey: `${index}${'\u0390'.repeat(5_000)}`,
    productId: shop.productId,
  }));
  isolate.reset();
  const bodies = [...tooLong, askForUnknown(), askFor(other)];
  const responses = await Promise.all(bodies.map((body) => isolate.validate(body)));
  expect(responses.map(({ status }) => status)).toEqual([...Array(91).fill(400), 200]);
  await Promise.all(responses.map(({ recorded }) => recorded));
  expect(isolate.kvNames()).toEqual(['get', 'get']);
  expect(isolate.steps().filter((step) => step === 'license')).toHaveLength(1);
});

/** As many changes remain when KV has taken all the writes of a day. */
async function newBacklog(): Promise<void> {
  await emptyOutbox();
  const numbers = 'with recursive n(i) as (select 1 union all select i + 1 from n where i < ?2)';
  await env.DB.batch([
    env.DB.prepare(
      `insert or ignore into licenses (license_key, license_key_normalized, product_id,
         license_type, max_ips, max_hwids, created_at, updated_at, revision)
       ${numbers} select 'left-' || i, 'LEFT-' || i, ?1, 'PERMANENT', -1, -1, 0, 0, 1 from n`,
    ).bind(shop.productId, 2_000),
    env.DB.prepare(`insert into outbox ${numbers} select 'license:LEFT-' || i, ?1 from n`).bind(
      1,
      2_000,
    ),
  ]);
}

it('a run of the scheduled handler stays small, makes one put, and still aggregates and removes [1.5.8]', async () => {
  const clock = takeClock();
  captureConsole();
  for (const table of ['requests', 'installations', 'buckets']) {
    await env.DB.prepare(`delete from ${table}`).run();
  }
  const license = await newLicense();
  const isolate = newWatchedIsolate();
  for (const days of [98, 2]) {
    await (await isolate.validate(askFor(license))).recorded;
    clock.elapse(days * DAY_MS);
  }
  await newBacklog();
  // The licenses that other tests left are counted for the day.
  await keepCounts(openDatabase(env.DB), Date.now());
  isolate.conditions.kv = ({ name }) => name === 'put';
  for (let run = 0; run < 4; run++) {
    isolate.reset();
    await isolate.runScheduled();
    expect(isolate.kvNames()).toEqual(['put']);
    // With the put, the 50 requests of the Free plan.
    expect(statementsOf(isolate)).toBeLessThanOrEqual(49);
    expect((await rowsOf(isolate)).read).toBeLessThanOrEqual(500);
  }
  expect(await env.DB.prepare('select count(*) n from outbox').first('n')).toBe(2_000);
  // The roll-ups of both records, both in the aggregate, and only the younger one left.
  expect(
    await env.DB.prepare('select sum(requests) n from rollups where product_id >= 0').first('n'),
  ).toBe(2);
  const aggregated = env.DB.prepare('select requests from installations where license_id = ?');
  expect(await aggregated.bind(license.id).first('requests')).toBe(2);
  expect(await env.DB.prepare('select count(*) n from requests').first('n')).toBe(1);
});
