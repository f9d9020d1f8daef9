import { env } from 'cloudflare:workers';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { newIsolate, settled } from '../support/app.ts';
import { create, type License, type Product } from '../support/client.ts';
import { type TestClock, takeClock } from '../support/clock.ts';
import { captureConsole } from '../support/console.ts';
import { spyOnDatabase } from '../support/d1-spy.ts';
import { MINUTE_MS } from '../support/history.ts';
import {
  contentsOfKv,
  emptyKv,
  emptyOutbox,
  isAllPublished,
  kvKeyOf,
  kvKeyOfToken,
} from '../support/published.ts';
import { askFor } from '../support/shop.ts';
import {
  newWarmIsolate,
  newWatchedIsolate,
  type WatchedIsolate,
} from '../support/watched-isolate.ts';

/** The values in KV, the time at which they are put there, and their repair after a fault (docs/cache.md). */

/** After this time every location of KV has a put. */
const SPREAD_MS = 90_001;

let clock: TestClock;
let product: Product;
let isolate: WatchedIsolate;

beforeEach(async () => {
  clock = takeClock({ skipsPauses: true });
  // Nothing is published, and nothing remains to be published.
  await emptyOutbox();
  await emptyKv();
  isolate = newWatchedIsolate();
  product = await create.product();
});

afterEach(settled);

async function read(key: string): Promise<unknown> {
  const text = (await contentsOfKv()).get(key);
  return text === undefined ? null : JSON.parse(text);
}

const emptyKvOf = async (license: License): Promise<void> =>
  env.SNAPSHOTS.delete(await kvKeyOf(license));
const isLicenseRead = (sql: string): boolean => sql.includes('"license_key_normalized" in');

const publishedOf = async (license: License): Promise<unknown> => read(await kvKeyOf(license));

async function unpublished(): Promise<string[]> {
  const { results } = await env.DB.prepare('select subject from outbox').all<{ subject: string }>();
  return results.map(({ subject }) => subject);
}

/** By the isolate, until it is published. */
async function change(method: string, path: string, body?: object): Promise<unknown> {
  const response = await isolate.call(method, `/api/v2${path}`, { ...(body && { body }) });
  expect(response.status, response.text).toBeLessThan(300);
  return response.json;
}

const put = ({ id }: License, body: object) => change('PUT', `/licenses/${id}`, body);

/** A license that is published. */
async function newLicense(fields: object = {}): Promise<License> {
  const license = await create.license({
    productId: product.id,
    maxIPs: -1,
    maxHWIDs: -1,
    ...fields,
  });
  await isAllPublished();
  return license;
}

it('KV holds licenses and tokens under hashes, and no license key and no token', async () => {
  const license = await newLicense();
  const { token } = await create.token(['LICENSE_VALIDATE']);
  await isAllPublished();
  const contents = await contentsOfKv();
  const hashes = [await kvKeyOf(license), await kvKeyOfToken(token)];
  expect([...contents.keys()]).toEqual(expect.arrayContaining(hashes));
  const text = [...contents.entries()].join();
  expect(text).not.toContain(license.licenseKey);
  expect(text).not.toContain(token);
});

it('revisions grow while the clock steps back', async () => {
  const license = await newLicense();
  const revision = Date.parse(license.updatedDate);
  clock.stepBack(60 * MINUTE_MS);
  await put(license, { licenseStatus: 'DEACTIVATED' });
  expect(await publishedOf(license)).toMatchObject({ revision: revision + 1 });
  clock.elapse(60 * MINUTE_MS);
});

it('KV holds nothing of licenses whose product was deleted', async () => {
  const license = await newLicense();
  await change('DELETE', `/licenses/${license.id}`);
  await change('DELETE', `/products/${product.id}`);
  expect(await publishedOf(license)).toBeNull();
  expect(await unpublished()).toEqual([]);
  const { status, recorded } = await isolate.validate(askFor(license));
  await recorded;
  expect(status).toBe(400);
  expect(await publishedOf(license)).toBeNull();
});

it.each([
  ['is no JSON', '{"format":2,'],
  ['is empty', ''],
  ['has another format', '{"format":1,"revision":1}'],
  ['lacks a field', '{"format":2,"revision":1,"id":1}'],
  ['is null', 'null'],
])('a snapshot of a license that %s is looked up in D1 and published again', async (_, text) => {
  const license = await newLicense();
  const right = await publishedOf(license);
  await env.SNAPSHOTS.put(await kvKeyOf(license), text);
  const other = await newWarmIsolate();
  const { status, recorded } = await other.validate(askFor(license));
  expect(status).toBe(200);
  await recorded;
  expect(other.kvNames()).toEqual(['get', 'put']);
  expect(await publishedOf(license)).toEqual(right);
});

it('a put that KV rejects is repeated after 1, 2.5, 5 and 10 seconds', async () => {
  captureConsole();
  const license = await newLicense();
  isolate.reset();
  isolate.conditions.kv = ({ name }) =>
    name === 'put' && isolate.kvNames().filter((other) => other === 'put').length <= 4;
  await put(license, { licenseStatus: 'DEACTIVATED' });
  expect(isolate.kvNames()).toEqual(Array(5).fill('put'));
  expect(await publishedOf(license)).toMatchObject({ state: 'DEACTIVATED' });
  const seconds = clock.pausesMs.map((pauseMs) => pauseMs / 1_000).filter((pause) => pause >= 1);
  for (const [index, least] of [1, 2.5, 5, 10].entries()) {
    expect(seconds[index]).toBeGreaterThanOrEqual(least);
    expect(seconds[index]).toBeLessThan(least * 1.3);
  }
});

it('nothing is published for readers for a minute after a put that KV rejected', async () => {
  captureConsole();
  const [license, other] = [await newLicense(), await newLicense()];
  await emptyKv();
  isolate.conditions.kv = ({ name }) => name === 'put';
  await (await isolate.validate(askFor(license))).recorded;
  isolate.reset();
  await (await isolate.validate(askFor(other))).recorded;
  expect(isolate.kvNames()).not.toContain('put');

  isolate.conditions.kv = () => false;
  clock.elapse(MINUTE_MS);
  await (await isolate.validate(askFor(other))).recorded;
  expect(await publishedOf(other)).toMatchObject({ id: other.id });
});

it('the scheduled handler publishes five changes a run that an ended isolate has left [1.5.8]', async () => {
  await env.DB.batch([
    env.DB.prepare(
      `insert into licenses (license_key, license_key_normalized, product_id, license_type,
         max_ips, max_hwids, created_at, updated_at, revision)
       with recursive n(i) as (select 1 union all select i + 1 from n where i < 25)
       select 'left-' || i, 'LEFT-' || i, ?, 'PERMANENT', -1, -1, 0, 0, 1 from n`,
    ).bind(product.id),
    env.DB.prepare(
      `insert into outbox
       with recursive n(i) as (select 1 union all select i + 1 from n where i < 25)
       select 'license:LEFT-' || i, 1 from n`,
    ),
  ]);
  for (const left of [20, 15, 10, 5, 0]) {
    await newWatchedIsolate().runScheduled();
    expect(await unpublished()).toHaveLength(left);
  }
  expect((await contentsOfKv()).size).toBe(25);
});

it('the scheduled handler publishes the oldest changes first [1.5.9]', async () => {
  const licenses = [await newLicense(), await newLicense(), await newLicense()];
  for (const [index, { licenseKey }] of licenses.entries()) {
    await env.DB.prepare('insert into outbox values (?, ?)')
      .bind(`license:${licenseKey}`, [30, 10, 20][index])
      .run();
  }
  isolate.conditions.kv = ({ name }) => name === 'put' && isolate.kvNames().length > 1;
  captureConsole();
  await isolate.runScheduled();
  const left = [licenses[0], licenses[2]].map((license) => `license:${license?.licenseKey}`);
  expect((await unpublished()).toSorted()).toEqual(left.toSorted());
});

/** Puts the snapshot from before a change over the one from after it. */
async function newStaleSnapshot(): Promise<License> {
  const license = await newLicense();
  const older = (await contentsOfKv()).get(await kvKeyOf(license)) ?? '';
  await put(license, { licenseStatus: 'DEACTIVATED' });
  // As a publisher does that ends between its put and its look whether the row is still the same.
  await env.SNAPSHOTS.put(await kvKeyOf(license), older);
  return license;
}

it('a stale snapshot in KV is replaced once the right one should have spread, by the isolate that found it [1.5.7]', async () => {
  const license = await newStaleSnapshot();
  clock.elapse(SPREAD_MS - 20_000);
  const other = await newWarmIsolate();
  const ask = async () => {
    const { status, recorded } = await other.validate(askFor(license));
    await recorded;
    return status;
  };
  // The isolate uses it for its first response only.
  expect([await ask(), await ask()]).toEqual([200, 400]);
  expect(other.kvNames()).not.toContain('put');
  clock.elapse(SPREAD_MS);
  expect(await ask()).toBe(400);
  expect(await publishedOf(license)).toMatchObject({ state: 'DEACTIVATED' });
});

it('a stale snapshot is not replaced for a minute after a put that KV rejected', async () => {
  const stale = await newStaleSnapshot();
  const rejected = await newLicense();
  await emptyKvOf(rejected);
  clock.elapse(SPREAD_MS);
  captureConsole();
  const other = await newWarmIsolate();
  other.conditions.kv = ({ name }) => name === 'put';
  await (await other.validate(askFor(rejected))).recorded;
  other.reset();
  await (await other.validate(askFor(stale))).recorded;
  expect(other.kvNames()).toEqual(['get']);
});

it('changes of a license that come during a put share the next put, more than a second later, as KV takes one write a second', async () => {
  const license = await newLicense();
  isolate.reset();
  const { promise: mayPut, resolve: putNow } = Promise.withResolvers<void>();
  const putAtMs: number[] = [];
  isolate.conditions.kv = async () => {
    await mayPut;
    putAtMs.push(Date.now());
    return false;
  };
  const path = `/api/v2/licenses/${license.id}`;
  const finished: Promise<void>[] = [];
  for (const maxIPs of [1, 2, 3, 4, 5]) {
    finished.push((await isolate.send('PUT', path, { body: { maxIPs } })).finished);
  }
  await vi.waitFor(() => expect(isolate.kvNames()).toEqual(['put']));
  putNow();
  await Promise.all(finished);
  const [firstMs = 0, secondMs = 0, ...others] = putAtMs;
  expect(others).toEqual([]);
  expect(secondMs - firstMs).toBeGreaterThanOrEqual(1_100);
  expect(await publishedOf(license)).toMatchObject({ maxIPs: 5 });
  expect(await unpublished()).toEqual([]);
});

describe('a database that is set back', () => {
  /** As Time Travel does. @returns what sets every row back to what it is now */
  async function remember(): Promise<() => Promise<void>> {
    await settled();
    const { results: tables } = await env.DB.prepare(
      `select name from sqlite_master where type = 'table'
         and name not glob 'sqlite*' and name not glob '_*' and name not glob 'd1_*'`,
    ).all<{ name: string }>();
    const contents = await Promise.all(
      tables.map(async ({ name }) => {
        const { results } = await env.DB.prepare(`select * from ${name}`).all();
        return { name, rows: results };
      }),
    );
    return async () => {
      await settled();
      const insert = (table: string, row: Record<string, unknown>) =>
        env.DB.prepare(
          `insert into ${table} (${Object.keys(row).join()})
           values (${Object.keys(row).fill('?').join()})`,
        ).bind(...Object.values(row));
      await env.DB.batch([
        env.DB.prepare('pragma defer_foreign_keys = on'),
        ...contents.map(({ name }) => env.DB.prepare(`delete from ${name}`)),
        ...contents.flatMap(({ name, rows }) => rows.map((row) => insert(name, row))),
      ]);
    };
  }

  /**
   * Asks three isolates 30 seconds later: one that finds the snapshot in KV, one that was asked before, and a new one.
   * The first response of each may be based on the undone state, and repairs it. The responses after it are returned.
   */
  async function statusesOf(body: object, token?: string): Promise<number[]> {
    const options =
      token === undefined ? {} : ({ version: 'v2', headers: { TOKEN: token } } as const);
    clock.elapse(30_000);
    const statuses: number[] = [];
    const isolates = [await newWarmIsolate(), isolate, newWatchedIsolate()];
    for (const each of isolates) {
      await (await each.validate(body, options)).recorded;
      for (let time = 0; time < 2; time++) {
        const { status, recorded } = await each.validate(body, options);
        await recorded;
        statuses.push(status);
      }
    }
    return statuses;
  }

  it('licenses are what they were once the database is set back [1.5.6]', async () => {
    const license = await newLicense();
    await (await isolate.validate(askFor(license))).recorded;
    const setBack = await remember();
    await put(license, { licenseStatus: 'DEACTIVATED' });
    expect((await isolate.validate(askFor(license))).status).toBe(400);
    await setBack();
    expect(await statusesOf(askFor(license))).toEqual(Array(6).fill(200));
    expect(await publishedOf(license)).toMatchObject({ state: 'ACTIVE' });
  });

  it('a license is held again after the database was set back, without KV, too', async () => {
    const { spy: DB, roundTrips } = spyOnDatabase(env.DB);
    const withoutKv = newIsolate({ DB, SNAPSHOTS: undefined });
    const reads = () => roundTrips.flat().filter(({ sql }) => isLicenseRead(sql)).length;
    const license = await newLicense();
    const setBack = await remember();
    await put(license, { licenseStatus: 'DEACTIVATED' });
    expect((await withoutKv.validate(askFor(license))).status).toBe(400);
    await setBack();
    clock.elapse(30_000);
    expect((await withoutKv.validate(askFor(license))).status).toBe(200);
    await settled();
    const before = reads();
    expect(before).toBeGreaterThan(0);
    expect((await withoutKv.validate(askFor(license))).status).toBe(200);
    expect(reads()).toBe(before);
  });

  it('licenses that the database lost when it was set back are unknown', async () => {
    await newLicense();
    const setBack = await remember();
    const license = await newLicense();
    await (await isolate.validate(askFor(license))).recorded;
    await setBack();
    clock.elapse(SPREAD_MS);
    expect(await statusesOf(askFor(license))).toEqual(Array(6).fill(400));
    expect(await publishedOf(license)).toBeNull();
  });

  it('tokens whose revocation was undone are live', async () => {
    const license = await newLicense();
    const { id, token } = await create.token(['LICENSE_VALIDATE']);
    await isAllPublished();
    await newLicense();
    const setBack = await remember();
    await change('DELETE', `/tokens/${id}`);
    await setBack();
    expect(await statusesOf(askFor(license), token)).toEqual(Array(6).fill(200));
  });

  it('the blacklist is what it was once the database is set back', async () => {
    const license = await newLicense();
    const body = askFor(license, { ip: '198.51.100.77' });
    await (await isolate.validate(body)).recorded;
    const setBack = await remember();
    await change('POST', '/blacklists', {
      licenseDataType: 'IP',
      data: '198.51.100.77',
      isForAllProducts: true,
      reason: '',
    });
    expect((await isolate.validate(body)).status).toBe(400);
    await setBack();
    expect(await statusesOf(body)).toEqual(Array(6).fill(200));
    expect([...(await contentsOfKv()).values()].join()).not.toContain('198.51.100.77');
  });
});
