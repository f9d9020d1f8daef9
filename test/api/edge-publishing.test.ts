import { env } from 'cloudflare:workers';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { settled } from '../support/app';
import {
  call,
  createBlacklist,
  createLicense,
  createProduct,
  createToken,
  type License,
  type Product,
} from '../support/client';
import { type TestClock, takeClock } from '../support/clock';
import { captureConsole } from '../support/console';
import { isAllPublished, kvKeyOf, settleLog, sha256Hex } from '../support/published';
import { queueTo } from '../support/queue';
import { askFor, tidyUpAfterEach } from '../support/shop';
import {
  newIsolateInTouch,
  newWatchedIsolate,
  type WatchedIsolate,
} from '../support/watched-isolate';

/** What is put into KV, when, and how it comes right again after a fault (docs/edge.md). */

const MINUTE_MS = 60_000;

let clock: TestClock;
let product: Product;
let isolate: WatchedIsolate;

beforeEach(async () => {
  clock = takeClock();
  // Each begins with nothing published, and a log in which there is nothing to do.
  await settleLog();
  for (const { name } of (await env.SNAPSHOTS.list()).keys) await env.SNAPSHOTS.delete(name);
  isolate = newWatchedIsolate();
  product = await createProduct();
});

tidyUpAfterEach();

/** All that KV holds. */
async function published(): Promise<Record<string, unknown>> {
  const { keys } = await env.SNAPSHOTS.list();
  const entries = await Promise.all(
    keys.map(async ({ name }) => [name, await env.SNAPSHOTS.get(name, 'json')] as const),
  );
  return Object.fromEntries(entries);
}

const publishedOf = async (license: License): Promise<unknown> =>
  env.SNAPSHOTS.get(await kvKeyOf(license), 'json');

interface ChangeRow {
  subject: string;
  seq: number;
  revision: number;
  published_revision: number;
  published_at: number | null;
}

async function log(): Promise<ChangeRow[]> {
  const { results } = await env.DB.prepare('select * from changes order by seq').all<ChangeRow>();
  return results;
}

const isDue = ({ revision, published_revision }: ChangeRow) => published_revision < revision;

/** By the isolate, to the end of what is published. */
async function change(method: string, path: string, body?: object): Promise<unknown> {
  const answer = await isolate.call(method, `/api/v2${path}`, { ...(body && { body }) });
  expect(answer.status, answer.text).toBeLessThan(300);
  return answer.json;
}

const put = ({ id }: License, body: object) => change('PUT', `/licenses/${id}`, body);

/** A license that is made by the isolate, and so is published. */
async function newLicense(fields: object = {}): Promise<License> {
  const license = await createLicense({
    productId: product.id,
    maxIPs: -1,
    maxHWIDs: -1,
    ...fields,
  });
  await vi.waitFor(async () => expect(await publishedOf(license)).not.toBeNull());
  await isAllPublished();
  return license;
}

describe('what is published', () => {
  it('of a license: under the hash of its key, at each change, and not the key itself', async () => {
    const license = await newLicense({
      licenseType: 'TEMPORARY',
      expiryDate: '2099-01-01',
      maxIPs: 2,
      maxHWIDs: 1,
      hwids: ['HW-1'],
    });
    const first = {
      format: 1,
      revision: 1,
      id: license.id,
      productId: product.id,
      state: 'ACTIVE',
      expiresAt: Date.UTC(2099, 0, 1),
      maxIPs: 2,
      maxHWIDs: 1,
      ips: [],
      hwids: ['HW-1'],
      totalRequests: 0,
    };
    expect(await publishedOf(license)).toStrictEqual(first);

    await put(license, { licenseStatus: 'DEACTIVATED', maxIPs: 3, ips: ['192.0.2.1'] });
    expect(await publishedOf(license)).toStrictEqual({
      ...first,
      revision: 2,
      state: 'DEACTIVATED',
      maxIPs: 3,
      ips: ['192.0.2.1'],
    });

    await put(license, { licenseStatus: 'ACTIVE' });
    await (await isolate.validate(askFor(license, { ip: '192.0.2.2', hwid: 'HW-1' }))).recorded;
    expect(await publishedOf(license)).toStrictEqual({
      ...first,
      revision: 4,
      maxIPs: 3,
      ips: ['192.0.2.1', '192.0.2.2'],
      totalRequests: expect.any(Number),
    });

    await change('DELETE', `/licenses/${license.id}`);
    expect(await publishedOf(license)).toMatchObject({ revision: 5, state: 'DELETED' });
    expect(JSON.stringify(await published())).not.toContain(license.licenseKey);
    expect((await log()).filter(isDue)).toEqual([]);
  });

  it('of a product that is deleted: nothing of its licenses any more', async () => {
    const license = await newLicense();
    await change('DELETE', `/licenses/${license.id}`);
    await change('DELETE', `/products/${product.id}`);
    expect(await publishedOf(license)).toBeNull();
    expect((await log()).filter(isDue)).toEqual([]);
    const { status, recorded } = await isolate.validate(askFor(license));
    await recorded;
    expect(status).toBe(400);
    expect(await publishedOf(license)).toBeNull();
  });

  it('of a token: under its hash, at each change, and when it is revoked', async () => {
    const { id, token } = await createToken(['LICENSE_VALIDATE'], { expiresAt: '2099-01-01' });
    const key = `token:${await sha256Hex(token)}`;
    const read = () => env.SNAPSHOTS.get(key, 'json');
    await vi.waitFor(async () => expect(await read()).not.toBeNull());
    const first = {
      format: 1,
      revision: 1,
      id,
      intents: ['LICENSE_VALIDATE'],
      expiresAt: Date.UTC(2099, 0, 1),
      revokedAt: null,
      lastUsedAt: null,
    };
    expect(await read()).toStrictEqual(first);
    await change('PUT', `/tokens/${id}`, { intents: ['ALL_READ'], expiresAt: null });
    expect(await read()).toStrictEqual({
      ...first,
      revision: 2,
      intents: ['ALL_READ'],
      expiresAt: null,
    });
    await change('DELETE', `/tokens/${id}`);
    expect(await read()).toMatchObject({ revision: 3, revokedAt: expect.any(Number) });
    expect(JSON.stringify(await published())).not.toContain(token);
  });

  it('of the blacklist: all of it, at each change of an entry', async () => {
    const read = async () => (await published()).blacklist;
    const { id } = await createBlacklist({ data: '198.51.100.0/24', reason: 'Leaked' });
    const entry = ['IP', '198.51.100.0/24', null, 'Leaked'];
    await vi.waitFor(async () =>
      expect(await read()).toStrictEqual({
        format: 1,
        revision: expect.any(Number),
        entries: [entry],
      }),
    );
    const other = { licenseDataType: 'HWID', data: 'HW-1', isForAllProducts: false, reason: '' };
    await change('POST', '/blacklists', { ...other, productId: product.id });
    expect(await read()).toMatchObject({ entries: [entry, ['HWID', 'HW-1', product.id, '']] });
    await change('PUT', `/blacklists/${id}`, { data: '198.51.101.0/24' });
    expect(await read()).toMatchObject({
      entries: [['IP', '198.51.101.0/24', null, 'Leaked'], {}],
    });
    const [row] = await env.DB.prepare(`select revision from changes where subject = 'blacklist'`)
      .all<{ revision: number }>()
      .then(({ results }) => results);
    expect(await read()).toMatchObject({ revision: row?.revision });

    await change('DELETE', `/blacklists/${id}`);
    await change('DELETE', `/products/${product.id}`);
    expect(await read()).toMatchObject({ entries: [] });
  });

  it('of products and customers: nothing', async () => {
    isolate.reset();
    await change('PUT', `/products/${product.id}`, { name: 'Renamed' });
    expect(isolate.operations).toEqual([]);
    expect(await log()).toHaveLength((await log()).length);
  });
});

describe('a snapshot that cannot be understood', () => {
  it.each([
    ['is no JSON', '{"format":1,'],
    ['is empty', ''],
    ['has another format', '{"format":2,"revision":1}'],
    ['lacks a field', '{"format":1,"revision":1,"id":1}'],
    ['is null', 'null'],
  ])('%s: it is ignored, and published again', async (_, text) => {
    const license = await newLicense();
    const right = await publishedOf(license);
    await env.SNAPSHOTS.put(await kvKeyOf(license), text);
    // What was put within the last minute is still on its way to other locations.
    clock.elapse(MINUTE_MS + 1);
    const other = await newIsolateInTouch();
    const { status, recorded } = await other.validate(askFor(license));
    expect(status).toBe(200);
    await recorded;
    expect(other.kvNames()).toEqual(['get', 'put']);
    expect(await publishedOf(license)).toEqual(right);
  });

  it('of the blacklist is ignored, and published again', async () => {
    const ip = '198.51.100.9';
    await createBlacklist({ data: ip });
    await isAllPublished();
    await env.SNAPSHOTS.put('blacklist', 'no JSON');
    clock.elapse(MINUTE_MS + 1);
    const license = await newLicense();
    const other = newWatchedIsolate();
    const { json, recorded } = await other.validate(askFor(license, { ip }));
    expect(json).toMatchObject({ message: 'IP address is blacklisted' });
    await recorded;
    expect((await published()).blacklist).toMatchObject({ entries: [['IP', ip, null, '']] });
  });
});

describe('a put that fails', () => {
  beforeEach(() => {
    captureConsole();
    clock = takeClock({ skipsPauses: true });
  });

  it('is tried again, after a second and more', async () => {
    const license = await newLicense();
    isolate.reset();
    isolate.conditions.kv = ({ name }) =>
      name === 'put' && isolate.kvNames().filter((other) => other === 'put').length <= 2;
    await put(license, { licenseStatus: 'DEACTIVATED' });
    expect(isolate.kvNames()).toEqual(['put', 'put', 'put']);
    expect(await publishedOf(license)).toMatchObject({ revision: 2, state: 'DEACTIVATED' });
    const [first = 0, second = 0] = clock.pausesMs.filter((pauseMs) => pauseMs > 1_000);
    expect(second).toBeGreaterThan(first);
  });

  it('again and again is left to the scheduled handler', async () => {
    const license = await newLicense();
    isolate.conditions.kv = ({ name }) => name === 'put';
    await put(license, { licenseStatus: 'DEACTIVATED' });
    expect(await publishedOf(license)).toMatchObject({ revision: 1 });
    expect((await log()).filter(isDue)).toMatchObject([
      { subject: `license:${license.licenseKey}` },
    ]);

    // Nobody goes by the copy that is left there.
    const other = await newIsolateInTouch();
    expect((await other.validate(askFor(license))).status).toBe(400);
    await settled();

    await newWatchedIsolate().runScheduled();
    expect(await publishedOf(license)).toMatchObject({ revision: 2, state: 'DEACTIVATED' });
    expect((await log()).filter(isDue)).toEqual([]);
  });

  it('is left to the scheduled handler of a token and the blacklist too', async () => {
    isolate.conditions.kv = ({ name }) => name === 'put';
    await change('POST', '/tokens', { name: 'Shop', intents: ['ALL_READ'] });
    await change('POST', '/blacklists', {
      licenseDataType: 'HWID',
      data: 'HW-2',
      isForAllProducts: true,
      reason: '',
    });
    expect((await log()).filter(isDue)).toHaveLength(2);
    await newWatchedIsolate().runScheduled();
    expect((await log()).filter(isDue)).toEqual([]);
    expect(Object.keys(await published())).toEqual(['blacklist', expect.stringMatching(/^token:/)]);
  });

  it('because the isolate ended is put by the scheduled handler: what a crash left comes in time', async () => {
    await env.DB.prepare(
      `insert into licenses (license_key, license_key_normalized, product_id, license_type, max_ips,
         max_hwids, created_at, updated_at, revision)
       with recursive n(i) as (select 1 union all select i + 1 from n where i < 25)
       select 'left-' || i, 'LEFT-' || i, ?, 'PERMANENT', -1, -1, 0, 0, 1 from n`,
    )
      .bind(product.id)
      .run();
    for (const left of [15, 5, 0]) {
      await newWatchedIsolate().runScheduled();
      expect((await log()).filter(isDue)).toHaveLength(left);
    }
    expect(Object.keys(await published())).toHaveLength(25);
  });
});

describe('the scheduled handler', () => {
  it('lets the log forget what is settled, but for its last change and the blacklist', async () => {
    for (let number = 0; number < 12; number++) await newLicense();
    expect((await log()).length).toBeGreaterThan(12);
    const other = newWatchedIsolate();

    clock.elapse(4 * MINUTE_MS);
    await other.runScheduled();
    expect((await log()).length).toBeGreaterThan(12);

    clock.elapse(2 * MINUTE_MS);
    other.reset();
    for (let run = 0; run < 2; run++) await other.runScheduled();
    const left = await log();
    expect(left.length).toBeLessThanOrEqual(2);
    expect(left.map(({ subject }) => subject)).toContain('blacklist');
    // It only looked: nothing had to be put again.
    expect(new Set(other.kvNames())).toEqual(new Set(['get']));
  });

  it('finds an older snapshot that was put over a newer one, and puts it right', async () => {
    const license = await newLicense();
    const older = JSON.stringify(await publishedOf(license));
    await put(license, { licenseStatus: 'DEACTIVATED' });
    // As a publisher would that was cut off between its put and its look whether that was the newest.
    await env.SNAPSHOTS.put(await kvKeyOf(license), older);

    // Nobody goes by it meanwhile.
    const other = await newIsolateInTouch();
    expect((await other.validate(askFor(license))).status).toBe(400);
    await settled();

    clock.elapse(6 * MINUTE_MS);
    await newWatchedIsolate().runScheduled();
    expect(await publishedOf(license)).toMatchObject({ revision: 2, state: 'DEACTIVATED' });
    // It is kept in the log until that is confirmed too.
    const subject = `license:${license.licenseKey}`;
    expect(await log()).toContainEqual(expect.objectContaining({ subject, revision: 2 }));
  });

  it('finds what is missing in KV, and what should be', async () => {
    const [license, removed] = [await newLicense(), await newLicense()];
    const removedText = JSON.stringify(await publishedOf(removed));
    await env.SNAPSHOTS.delete(await kvKeyOf(license));
    await change('DELETE', `/licenses/${removed.id}`);
    await env.DB.prepare('delete from licenses where id = ?').bind(removed.id).run();
    await newWatchedIsolate().runScheduled();
    expect(await publishedOf(removed)).toBeNull();
    await env.SNAPSHOTS.put(await kvKeyOf(removed), removedText);

    clock.elapse(6 * MINUTE_MS);
    await newWatchedIsolate().runScheduled();
    expect(await publishedOf(license)).toMatchObject({ revision: 1 });
    expect(await publishedOf(removed)).toBeNull();
  });

  it('is safe twice at once, in one isolate and in two', async () => {
    const licenses = [await newLicense(), await newLicense(), await newLicense()];
    clock.elapse(6 * MINUTE_MS);
    // Some to be confirmed, some to be published.
    const [due] = licenses;
    await env.DB.prepare('update licenses set revision = revision + 1, state = ? where id = ?')
      .bind('DEACTIVATED', due?.id)
      .run();
    const [one, other] = [newWatchedIsolate(), newWatchedIsolate()];
    await Promise.all([one, one, other].map((each) => each.runScheduled()));
    await one.runScheduled();
    expect((await log()).filter(isDue)).toEqual([]);
    for (const license of licenses) {
      expect(await publishedOf(license)).toMatchObject({
        revision: license === due ? 2 : 1,
        state: license === due ? 'DEACTIVATED' : 'ACTIVE',
      });
    }
  });

  it('that cannot read KV settles nothing, and goes on when it can', async () => {
    const lines = captureConsole();
    await newLicense();
    await newLicense();
    clock.elapse(6 * MINUTE_MS);
    const before = await log();
    const other = newWatchedIsolate();
    other.conditions.kv = () => true;
    await other.runScheduled();
    expect(await log()).toEqual(before);
    expect(lines).toHaveLength(1);
    other.conditions.kv = () => false;
    await other.runScheduled();
    expect((await log()).length).toBeLessThan(before.length);
  });
});

describe('two publishers at once', () => {
  it('leave the newer state, whoever comes last', async () => {
    const license = await newLicense();
    const { promise: mayPut, resolve: putNow } = Promise.withResolvers<void>();
    // The first has read the row, and its put is long on its way.
    isolate.conditions.kv = async () => {
      await mayPut;
      return false;
    };
    const first = isolate.send('PUT', `/api/v2/licenses/${license.id}`, { body: { maxIPs: 1 } });
    const { finished } = await first;
    await vi.waitFor(() => expect(isolate.kvNames()).toEqual(['put']));
    await call('PUT', `/api/v2/licenses/${license.id}`, { body: { maxIPs: 2 } });
    await vi.waitFor(async () => expect(await publishedOf(license)).toMatchObject({ maxIPs: 2 }));
    putNow();
    await finished;
    expect(await publishedOf(license)).toMatchObject({ revision: 3, maxIPs: 2 });
    expect((await log()).filter(isDue)).toEqual([]);
  });

  it('of one isolate go one after the other: KV takes one put a second', async () => {
    const license = await newLicense();
    isolate.reset();
    const { promise: mayPut, resolve: putNow } = Promise.withResolvers<void>();
    isolate.conditions.kv = async () => {
      await mayPut;
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
    // What came meanwhile is one put.
    expect(isolate.kvNames()).toEqual(['put', 'put']);
    expect(await publishedOf(license)).toMatchObject({ revision: 6, maxIPs: 5 });
  });
});

const WAYS = [
  { way: 'directly', bindings: {} },
  { way: 'through the queue', bindings: { RECORDS: queueTo({}) } },
];

describe.each(WAYS)('a database that is set back, with records that go $way,', ({ bindings }) => {
  beforeEach(() => {
    isolate = newWatchedIsolate(bindings);
  });

  const TABLES = ['licenses', 'license_totals', 'bindings', 'tokens', 'blacklists', 'changes'];

  /** As Time Travel does: all rows are what they were, and the log of changes too. */
  async function remember(): Promise<() => Promise<void>> {
    const rows = new Map<string, Record<string, unknown>[]>();
    for (const table of TABLES) {
      const { results } = await env.DB.prepare(`select * from ${table}`).all();
      rows.set(table, results);
    }
    // What is undone is of another minute, at least.
    await settled();
    clock.elapse(2 * MINUTE_MS);
    const { results: triggers } = await env.DB.prepare(
      `select name, sql from sqlite_master where type = 'trigger'`,
    ).all<{ name: string; sql: string }>();
    return async () => {
      await settled();
      const insert = (table: string, row: Record<string, unknown>) =>
        env.DB.prepare(
          `insert into ${table} (${Object.keys(row).join()})
           values (${Object.keys(row).fill('?').join()})`,
        ).bind(...Object.values(row));
      await env.DB.batch([
        // To set a database back is no change of which a trigger hears.
        ...triggers.map(({ name }) => env.DB.prepare(`drop trigger ${name}`)),
        ...TABLES.toReversed().map((table) => env.DB.prepare(`delete from ${table}`)),
        ...TABLES.flatMap((table) => (rows.get(table) ?? []).map((row) => insert(table, row))),
        ...triggers.map(({ sql }) => env.DB.prepare(sql)),
      ]);
    };
  }

  /**
   * What is answered from the second time on, by an isolate that finds what KV has, by one that was
   * asked before, and by one that is new: the first time may go by what was undone, and heals it.
   */
  async function answersTo(body: object, token?: string): Promise<number[]> {
    const options =
      token === undefined ? {} : ({ version: 'v2', headers: { TOKEN: token } } as const);
    const statuses: number[] = [];
    const isolates = [await newIsolateInTouch(bindings), isolate, newWatchedIsolate(bindings)];
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

  it('heals: a license is what it was', async () => {
    const license = await newLicense();
    await (await isolate.validate(askFor(license))).recorded;
    const setBack = await remember();
    await put(license, { licenseStatus: 'DEACTIVATED' });
    expect((await isolate.validate(askFor(license))).status).toBe(400);
    await setBack();
    expect(await answersTo(askFor(license))).toEqual(Array(6).fill(200));
    expect(await publishedOf(license)).toMatchObject({ revision: 1, state: 'ACTIVE' });
  });

  it('heals also where more has happened since than was undone', async () => {
    const license = await newLicense();
    await (await isolate.validate(askFor(license))).recorded;
    const setBack = await remember();
    await put(license, { licenseStatus: 'DEACTIVATED' });
    await (await isolate.validate(askFor(license))).recorded;
    await setBack();
    for (let number = 0; number < 3; number++) await newLicense();
    expect(await answersTo(askFor(license))).toEqual(Array(6).fill(200));
    expect(await publishedOf(license)).toMatchObject({ revision: 1, state: 'ACTIVE' });
  });

  it('heals: a license that never was is unknown', async () => {
    await newLicense();
    const setBack = await remember();
    const license = await newLicense();
    await (await isolate.validate(askFor(license))).recorded;
    await setBack();
    expect(await answersTo(askFor(license))).toEqual(Array(6).fill(400));
    expect(await publishedOf(license)).toBeNull();
  });

  it('heals: a token that never was is refused', async () => {
    const license = await newLicense();
    const setBack = await remember();
    const { token } = await createToken(['LICENSE_VALIDATE']);
    await isAllPublished();
    await setBack();
    expect(await answersTo(askFor(license), token)).toEqual(Array(6).fill(401));
    expect(Object.keys(await published())).not.toContain(`token:${await sha256Hex(token)}`);
  });

  it('heals: a token that was revoked is live again', async () => {
    const license = await newLicense();
    const { id, token } = await createToken(['LICENSE_VALIDATE']);
    await isAllPublished();
    await newLicense();
    // The log has forgotten it: no news can tell.
    await settleLog();
    const setBack = await remember();
    await change('DELETE', `/tokens/${id}`);
    await setBack();
    expect(await answersTo(askFor(license), token)).toEqual(Array(6).fill(200));
  });

  it('heals: the blacklist is what it was', async () => {
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
    expect(await answersTo(body)).toEqual(Array(6).fill(200));
    expect(JSON.stringify(await published())).not.toContain('198.51.100.77');
  });
});
