import { createScheduledController } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { openDatabase } from '../../src/db/client';
import worker from '../../src/index';
import { firstRequestIdAt, timeOfRequestId } from '../../src/history/id';
import { INDEXING_INTERVAL_MS, indexRequests } from '../../src/requests/indexing';
import { removeExpiredRequests } from '../../src/requests/retention';
import { callWith } from '../support/app';
import { call, createLicense, createProduct, historyOf, validate } from '../support/client';
import { captureConsole } from '../support/console';
import { type RoundTrips, spyOnDatabase } from '../support/d1-spy';
import { beforeFirstWrite, type Fault, unreachable, withFaults } from '../support/faults';
import { indexAll, indexingTime } from '../support/large-database';
import { idsOf } from '../support/resources';

/** The filters of the history find every record, whenever it was written, indexed or not (1.6). */

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const NOW = indexingTime(Date.UTC(2026, 5, 1));
const BLOCK = 4_096;
const REQUESTS = '/api/v2/requests';

beforeEach(async () => {
  const tables = ['requests', 'late_requests', 'request_blocks', 'request_terms'];
  await env.DB.batch(tables.map((table) => env.DB.prepare(`delete from ${table}`)));
});

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

interface Stored {
  id: number;
  key: string | null;
  product: number | null;
  ip: string | null;
  hwid: string | null;
  valid: boolean;
}

/** Writes records in one statement. */
const write = (records: readonly Stored[]) =>
  env.DB.prepare(
    `insert into requests (id, nonce, license_key, license_key_normalized, product_id, ip, hwid,
       request_type, response_type)
     select value ->> 'id', '', value ->> 'key', value ->> 'key', value ->> 'product',
       value ->> 'ip', value ->> 'hwid', 'V1_VALIDATE',
       case when value ->> 'valid' then 'VALID' else 'MAX_IPS_REACHED' end
     from json_each(?)`,
  )
    .bind(JSON.stringify(records))
    .run();

let written = 0;

/** So many records, a second apart from one another, of which the newest is so old at `now`. */
const recordsOf = (
  count: number,
  ageMs: number,
  fields: Partial<Omit<Stored, 'id'>> = {},
  now = NOW,
): Stored[] =>
  Array.from({ length: count }, (_, index) => ({
    id: firstRequestIdAt(now - ageMs - index * 1_000) + (written++ % 4_096),
    key: null,
    product: null,
    ip: null,
    hwid: null,
    valid: true,
    ...fields,
  }));

const rowsIn = async (table: string): Promise<number> =>
  (await env.DB.prepare(`select count(*) n from ${table}`).first<number>('n')) ?? Number.NaN;

const runScheduled = (now: number, bindings: Partial<Env> = {}) =>
  worker.scheduled(createScheduledController({ scheduledTime: now }), { ...env, ...bindings });

interface Filter {
  licenseKey?: string;
  productId?: string;
  ip?: string;
  hwid?: string;
  valid?: string;
  from?: string;
  to?: string;
}

const newestFirst = (ids: readonly number[]): number[] => ids.toSorted((one, other) => other - one);

/** The ids that a filter finds, and the total that it tells. */
async function search(filter: Filter, page: { limit: number; after?: number } = { limit: 1000 }) {
  const parameters = new URLSearchParams({ ...filter });
  for (const [name, value] of Object.entries(page)) parameters.set(name, String(value));
  const answer = await call('GET', `${REQUESTS}?${parameters}`);
  expect(answer.status, answer.text).toBe(200);
  const records = Array.isArray(answer.json) ? answer.json : [];
  return {
    ids: records.map(({ id }) => Number(id)),
    total: Number(answer.headers.get('X-Total-Count')),
  };
}

async function expectFound(filter: Filter, records: readonly Stored[]): Promise<void> {
  const ids = newestFirst(records.map(({ id }) => id));
  expect(await search(filter), JSON.stringify(filter)).toEqual({ ids, total: ids.length });
}

describe('whatever happened, a search finds what a reading of all records would', () => {
  /** Values with the same ends, and with what JSON and paths into it escape. */
  const VALUES = ['A', 'B', `${'1'.repeat(40)}-SAME-LAST-24-CHARACTERS`].concat(
    `${'2'.repeat(40)}-SAME-LAST-24-CHARACTERS`,
    '"',
    '\\',
    `'$."A"[0]\\"`,
    '\u{1F511}\u0001É',
  );
  const value = fc.option(fc.constantFrom(...VALUES));
  const record = fc.record({
    key: value,
    product: fc.option(fc.constantFrom(1, 2, 12)),
    ip: fc.option(fc.constantFrom('10.0.0.1', '110.0.0.1', '2001:db8::1')),
    hwid: value,
    valid: fc.boolean(),
    ageMinutes: fc.oneof(
      { weight: 5, arbitrary: fc.constantFrom(0, 1, 2) },
      { weight: 1, arbitrary: fc.nat(300) },
    ),
  });
  const step = fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({
        do: fc.constant('write'),
        records: fc.array(record, { maxLength: 12 }),
      }),
    },
    { weight: 3, arbitrary: fc.record({ do: fc.constant('index'), runs: fc.constantFrom(1, 2) }) },
    {
      weight: 1,
      arbitrary: fc.record({ do: fc.constant('remove'), hours: fc.constantFrom(0.5, 1, 2) }),
    },
  );
  // Up to two at a time: more would find nothing.
  const filter = fc.tuple(
    fc.shuffledSubarray(['licenseKey', 'productId', 'ip', 'hwid', 'valid', 'from', 'to'] as const, {
      maxLength: 2,
    }),
    fc.record({
      licenseKey: fc.constantFrom(...VALUES),
      productId: fc.constantFrom('1', '2', '12', '3'),
      ip: fc.constantFrom('10.0.0.1', '110.0.0.1', '2001:db8::1'),
      hwid: fc.constantFrom(...VALUES),
      valid: fc.constantFrom('true', 'false'),
      // Moments of records, by their place among all.
      from: fc.nat(),
      to: fc.nat(),
    }),
  );

  function matches(one: Stored, wanted: Filter): boolean {
    return (
      (wanted.licenseKey === undefined || one.key === wanted.licenseKey) &&
      (wanted.productId === undefined || one.product === Number(wanted.productId)) &&
      (wanted.ip === undefined || one.ip === wanted.ip) &&
      (wanted.hwid === undefined || one.hwid === wanted.hwid) &&
      (wanted.valid === undefined || String(one.valid) === wanted.valid) &&
      (wanted.from === undefined || one.id >= firstRequestIdAt(Date.parse(wanted.from))) &&
      (wanted.to === undefined || one.id < firstRequestIdAt(Date.parse(wanted.to) + 1))
    );
  }

  it('under every filter, page by page, with the total', async () => {
    const db = openDatabase(env.DB);
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(step, filter), { minLength: 5, maxLength: 25 }),
        fc.integer({ min: 1, max: 5 }),
        fc.integer({ min: 1, max: 6 }),
        async (steps, blockRecords, limit) => {
          const tables = ['requests', 'late_requests', 'request_blocks', 'request_terms'];
          await env.DB.batch(tables.map((table) => env.DB.prepare(`delete from ${table}`)));
          let now = NOW;
          let all: Stored[] = [];
          for (const [doing, [names, values]] of steps) {
            if ('records' in doing) {
              const added = doing.records.flatMap(({ ageMinutes, ...fields }) =>
                recordsOf(1, ageMinutes * MINUTE_MS, fields, now),
              );
              await write(added);
              all.push(...added);
            } else if ('runs' in doing) {
              now += INDEXING_INTERVAL_MS;
              const run = () => indexRequests(db, now, blockRecords);
              await Promise.all(Array.from({ length: doing.runs }, run));
            } else {
              await removeExpiredRequests(db, String(doing.hours / 24), now);
              const oldest = firstRequestIdAt(now - (doing.hours / 24) * DAY_MS);
              all = all.filter(({ id }) => id >= oldest);
            }

            const at = (place: number) =>
              new Date(timeOfRequestId(all[place % all.length]?.id ?? 0)).toISOString();
            const filters = { ...values, from: at(values.from), to: at(values.to) };
            const wanted: Filter = Object.fromEntries(names.map((name) => [name, filters[name]]));
            const ids = newestFirst(all.filter((one) => matches(one, wanted)).map(({ id }) => id));
            expect(await search(wanted)).toEqual({ ids, total: ids.length });
            const after = ids[limit - 1];
            if (after === undefined) continue;
            expect(await search(wanted, { limit, after })).toEqual({
              ids: ids.slice(limit, 2 * limit),
              total: ids.length,
            });
          }
        },
      ),
      // When it fails, so much of the time is left to say how little it takes to fail.
      { numRuns: 15, interruptAfterTimeLimit: 30_000 },
    );
  }, 60_000);
});

describe('a record of hours ago', () => {
  const LATE_MS = 3 * HOUR_MS;

  /** Validates at a moment. */
  async function validateAt(moment: number, body: object): Promise<void> {
    vi.useFakeTimers({ toFake: ['Date'] });
    vi.setSystemTime(moment);
    await validate(body);
    vi.useRealTimers();
  }

  it('is found under every filter, and counted, when all of its time is indexed', async () => {
    const { id: product } = await createProduct();
    const { licenseKey } = await createLicense({ productId: product });
    const ip = '203.0.113.9';
    const hwid = 'Late';
    const others = recordsOf(BLOCK, HOUR_MS, { key: 'OTHER', product, ip: '10.0.0.1' });
    await write([...others, ...recordsOf(1, 0, { key: 'OTHER' })]);
    await runScheduled(NOW);
    expect(await rowsIn('request_blocks')).toBe(1);

    await validateAt(NOW - LATE_MS, { licenseKey, productId: product, ip, hwid });
    const [late] = await historyOf({ licenseKey }, 1);
    expect(await rowsIn('late_requests')).toBe(1);

    const id = late?.id ?? 0;
    const from = new Date(NOW - LATE_MS).toISOString();
    for (const filter of [
      { licenseKey },
      { hwid },
      { ip },
      { hwid, valid: 'true' },
      { hwid, from },
    ])
      expect(await search(filter), JSON.stringify(filter)).toEqual({ ids: [id], total: 1 });
    const productId = String(product);
    expect((await search({ productId })).total).toBe(BLOCK + 1);
    const between = newestFirst([...others.map((one) => one.id), id]);
    const after = between[between.indexOf(id) - 1] ?? 0;
    expect((await search({ productId }, { limit: 1, after })).ids).toEqual([id]);
  });

  it('is indexed with others like it, and found as before', async () => {
    await write([...recordsOf(BLOCK, HOUR_MS), ...recordsOf(1, 0)]);
    await runScheduled(NOW);
    const late = recordsOf(BLOCK, LATE_MS, { key: 'LATE', hwid: 'LATE', product: 7 });
    const latest = recordsOf(5, 2 * HOUR_MS, { key: 'LATE', hwid: 'LATEST' });
    await write([...late, ...latest]);
    const newest = newestFirst([...latest, ...late].map(({ id }) => id));
    const expectAll = async () => {
      expect(await search({ licenseKey: 'LATE' }, { limit: 10 })).toEqual({
        ids: newest.slice(0, 10),
        total: newest.length,
      });
      expect((await search({ productId: '7' }, { limit: 1 })).total).toBe(late.length);
      await expectFound({ hwid: 'LATEST' }, latest);
    };
    await expectAll();
    await runScheduled(NOW);
    expect(await rowsIn('late_requests')).toBe(latest.length);
    expect(await rowsIn('request_blocks')).toBe(2);
    await expectAll();
  });

  it('that comes while its time is being indexed is found', async () => {
    await write(recordsOf(BLOCK + 5, HOUR_MS, { key: 'EARLY' }));
    const late = recordsOf(2, 2 * HOUR_MS - 500, { key: 'LATE' });
    const DB = beforeFirstWrite(env.DB, () => write(late));
    await indexRequests(openDatabase(DB), NOW);
    await expectFound({ licenseKey: 'LATE' }, late);
    expect((await search({ licenseKey: 'EARLY' }, { limit: 1 })).total).toBe(BLOCK + 5);
    expect((await search({}, { limit: 1 })).total).toBe(BLOCK + 7);
  });
});

describe('the scheduled handler', () => {
  const contents = async () => {
    const [blocks, terms] = await env.DB.batch([
      env.DB.prepare('select * from request_blocks'),
      env.DB.prepare('select cast(id as text), record_ids from request_terms'),
    ]);
    return [blocks?.results, terms?.results];
  };

  it('indexes all that is older than two minutes, and leaves what makes no block', async () => {
    const old = recordsOf(3 * BLOCK + 7, 2 * MINUTE_MS + 1, { key: 'OLD' });
    const young = recordsOf(1, 2 * MINUTE_MS - 1, { key: 'YOUNG' });
    await write([...old, ...young]);
    await runScheduled(NOW);
    expect(await rowsIn('request_blocks')).toBe(3);
    const [block] = (await env.DB.prepare('select max(newest_id) n from request_blocks').all())
      .results;
    expect(block?.n).toBe(newestFirst(old.map(({ id }) => id))[7]);
  });

  it('does not index what may still be on its way', async () => {
    const id = (index: number) => firstRequestIdAt(NOW - 2 * MINUTE_MS + index);
    await write(recordsOf(BLOCK, 0).map((one, index) => ({ ...one, id: id(index) })));
    await runScheduled(NOW);
    expect(await rowsIn('request_blocks')).toBe(0);
    await write(recordsOf(1, HOUR_MS));
    expect(await rowsIn('late_requests')).toBe(0);
  });

  it.each([1, 2, 5, 10, 15, 30, 60, 24 * 60])(
    'indexes before long when it runs every %d minutes',
    async (everyMinutes) => {
      await write(recordsOf(BLOCK, HOUR_MS));
      const start = NOW + 7 * MINUTE_MS + 3_000;
      let run = 0;
      while ((await rowsIn('request_blocks')) === 0 && run < 13) {
        await runScheduled(start + run++ * everyMinutes * MINUTE_MS);
      }
      expect(await rowsIn('request_blocks')).toBe(1);
    },
  );

  it('indexes the same twice at once as once', async () => {
    await write(recordsOf(2 * BLOCK + 9, HOUR_MS, { key: 'ONE', product: 1, valid: false }));
    await write(recordsOf(BLOCK, 4 * HOUR_MS, { hwid: 'ONE' }));
    await runScheduled(NOW);
    const once = await contents();
    await env.DB.batch(
      ['request_blocks', 'request_terms'].map((table) => env.DB.prepare(`delete from ${table}`)),
    );
    await Promise.all([runScheduled(NOW), runScheduled(NOW), runScheduled(NOW)]);
    expect(await contents()).toEqual(once);
  });

  it.each<Fault>(['fails', 'answer is lost'])(
    'goes on where it broke off when a write %s',
    async (fault) => {
      const records = recordsOf(3 * BLOCK + 9, HOUR_MS, { key: 'ONE', product: 1, valid: false });
      await write(records);
      captureConsole();
      let writes = 0;
      const DB = withFaults(env.DB, (sql) =>
        /insert into "request_terms"/.test(sql) && ++writes === 2 ? fault : null,
      );
      await runScheduled(NOW, { DB });
      await expect(indexRequests(openDatabase(DB), NOW)).resolves.toBeDefined();
      expect(writes).toBeGreaterThanOrEqual(2);
      await runScheduled(NOW);
      expect(await rowsIn('request_blocks')).toBe(3);
      for (const filter of [{ licenseKey: 'ONE' }, { productId: '1' }, { valid: 'false' }, {}]) {
        expect((await search(filter, { limit: 1 })).total).toBe(records.length);
      }
    },
  );

  it('indexes when old records cannot be removed, and removes them when it cannot index', async () => {
    const log = captureConsole();
    await write([...recordsOf(BLOCK, HOUR_MS), ...recordsOf(5, 100 * DAY_MS)]);
    const failsAt = (part: string) =>
      withFaults(env.DB, (sql) => (sql.includes(part) ? 'fails' : null));
    await runScheduled(NOW, { DB: failsAt('delete from "requests"') });
    expect(await rowsIn('request_blocks')).toBe(1);
    expect(log).toEqual([
      JSON.stringify({ message: 'Old records were not removed', error: 'Error' }),
    ]);
    await runScheduled(NOW, { DB: failsAt('with recursive ends') });
    expect(await rowsIn('requests')).toBe(BLOCK);
    expect(log[1]).toBe(JSON.stringify({ message: 'Records were not indexed', error: 'Error' }));
  });

  it('throws nothing without the database', async () => {
    const log = captureConsole();
    await runScheduled(NOW, { DB: unreachable(env.DB) });
    expect(log).toContain(JSON.stringify({ message: 'Records were not indexed', error: 'Error' }));
  });
});

describe('the index costs', () => {
  const sum = (roundTrips: RoundTrips, key: 'rows_read' | 'rows_written') =>
    roundTrips.flat().reduce((rows, { meta }) => rows + (meta?.[key] ?? Number.NaN), 0);

  async function indexWithSpy(now = NOW): Promise<RoundTrips> {
    const { spy, roundTrips } = spyOnDatabase(env.DB);
    await indexRequests(openDatabase(spy), now);
    return roundTrips;
  }

  /** Of different keys, addresses and hardware IDs, for fifty products; every tenth is refused. */
  const variedRecords = (count: number) =>
    recordsOf(count, HOUR_MS).map((one, n) => ({
      ...one,
      key: `7K2M-9QX4-B3TD-WJ8R-${n}`,
      product: n % 50,
      ip: `10.0.${n >> 8}.${n & 255}`,
      hwid: `hardware-${n}`,
      valid: n % 10 !== 0,
    }));

  it('one written row for 64 records', async () => {
    await write(variedRecords(BLOCK));
    const roundTrips = await indexWithSpy();
    expect(await rowsIn('request_blocks')).toBe(1);
    expect(sum(roundTrips, 'rows_written')).toBeLessThanOrEqual(BLOCK / 64);
    expect(sum(roundTrips, 'rows_read')).toBeLessThanOrEqual(18 * BLOCK);
  });

  it('no row and a reading of what is left when there is no block to make', async () => {
    await write(variedRecords(BLOCK - 1));
    const roundTrips = await indexWithSpy();
    expect(sum(roundTrips, 'rows_written')).toBe(0);
    expect(sum(roundTrips, 'rows_read')).toBeLessThanOrEqual(BLOCK + 10);
  });

  it('nothing at all in most minutes', async () => {
    await write(variedRecords(BLOCK));
    const costs = [];
    for (let minute = 1; minute < 13; minute++) {
      costs.push(await indexWithSpy(NOW + minute * MINUTE_MS));
    }
    expect(costs.flat()).toEqual([]);
  });

  it('a page no more of a product than one block, and none where the rest fills it', async () => {
    await write(recordsOf(3 * BLOCK, HOUR_MS, { product: 7 }));
    await runScheduled(NOW);
    await write(recordsOf(20, 0, { product: 7 }));
    const readFor = async (page: string) => {
      const { spy, roundTrips } = spyOnDatabase(env.DB);
      const path = `${REQUESTS}?productId=7&${page}`;
      const answer = await callWith({ DB: spy }, 'GET', path);
      expect(answer.json).toHaveLength(10);
      const [listed] = roundTrips.filter((trip) => trip.length === 4);
      return sum(listed ? [listed] : [], 'rows_read');
    };
    expect(await readFor('limit=10')).toBeLessThan(50);
    const after = await env.DB.prepare('select max(newest_id) n from request_blocks').first('n');
    const ofOneBlock = await readFor(`limit=10&after=${after}`);
    expect(ofOneBlock).toBeGreaterThan(10);
    // Its entries, their records, and these in order.
    expect(ofOneBlock).toBeLessThan(3 * BLOCK + 50);
  });

  it('fewer statements than the Free plan has for a run, however much is left', async () => {
    for (let part = 0; part < 4; part++) await write(recordsOf(5 * BLOCK, HOUR_MS + part * DAY_MS));
    const roundTrips = await indexWithSpy();
    expect(await rowsIn('request_blocks')).toBeGreaterThan(10);
    expect(roundTrips.flat().length).toBeLessThan(40);
    await indexAll(env.DB, NOW);
    expect(await rowsIn('request_blocks')).toBe(20);
    expect((await search({}, { limit: 1 })).total).toBe(20 * BLOCK);
  });

  it('rows below the 2 MB that D1 takes, whatever clients send', async () => {
    // The longest that is stored, of characters that JSON writes as six, all in one bucket.
    const longest = (length: number, n: number) =>
      `${n.toString(2).replaceAll('0', '\u0001').replaceAll('1', '\u0002')}\u0003\u0003\u0003`.padStart(
        length,
        '\u0004',
      );
    const records = recordsOf(BLOCK, HOUR_MS).map((one, n) => ({
      ...one,
      key: longest(255, n),
      hwid: longest(512, n),
      ip: `2001:db8:1111:2222:3333:4444:5555:${(n % 4096).toString(16)}`,
      product: 2 ** 53 - 1 - n,
      valid: false,
    }));
    for (let from = 0; from < BLOCK; from += 256) await write(records.slice(from, from + 256));
    await runScheduled(NOW);
    expect(await rowsIn('request_blocks')).toBe(1);
    const longestRow = await env.DB.prepare(
      'select max(length(cast(record_ids as blob))) n from request_terms',
    ).first<number>('n');
    expect(longestRow).toBeGreaterThan(1_000_000);
    expect(longestRow).toBeLessThan(2_000_000);
    const hwid = longest(512, 99);
    expect((await search({ hwid }, { limit: 5 })).ids).toEqual([records[99]?.id]);
  });
});

describe('what retention removes', () => {
  const removeBefore = (moment: number) =>
    removeExpiredRequests(openDatabase(env.DB), String((NOW - moment) / DAY_MS), NOW);

  it('leaves the index only when a whole block is gone, and the totals at once', async () => {
    const fields = { key: 'ONE', hwid: 'ONE', product: 1, valid: false };
    const records = recordsOf(2 * BLOCK, HOUR_MS, fields);
    await write(records);
    await runScheduled(NOW);
    const rows = await rowsIn('request_terms');
    const filters = [{ licenseKey: 'ONE' }, { productId: '1' }, { valid: 'false' }, {}];
    for (const [kept, blocks] of [
      [2 * BLOCK - 1, 2],
      [BLOCK + 1, 2],
      [BLOCK, 1],
      [1, 1],
      [0, 0],
    ] as const) {
      await removeBefore(NOW - HOUR_MS - kept * 1_000 + 1_000);
      expect(await rowsIn('requests')).toBe(kept);
      expect(await rowsIn('request_blocks')).toBe(blocks);
      expect(await rowsIn('request_terms')).toBe((rows / 2) * blocks);
      for (const filter of filters) {
        const { ids, total } = await search(filter);
        expect(total).toBe(kept);
        expect(ids).toEqual(records.slice(0, Math.min(kept, 1000)).map(({ id }) => id));
      }
    }
    const later = recordsOf(3, 5 * HOUR_MS, fields);
    await write(later);
    for (const filter of filters) await expectFound(filter, later);
  });

  it('is no longer noted as late', async () => {
    await write(recordsOf(BLOCK, HOUR_MS));
    await runScheduled(NOW);
    const kept = recordsOf(2, 2 * HOUR_MS, { key: 'LATE' });
    await write([...recordsOf(3, 10 * HOUR_MS, { key: 'LATE' }), ...kept]);
    expect(await rowsIn('late_requests')).toBe(5);
    await removeBefore(NOW - 5 * HOUR_MS);
    expect(await rowsIn('late_requests')).toBe(2);
    await expectFound({ licenseKey: 'LATE' }, kept);
  });

  it('is a bounded part of the index at a time', async () => {
    // Many more than 25,000 records have: what a run that broke off has left.
    const many = `with recursive n(i) as (select 1 union all select i + 1 from n where i <= 5000)`;
    await env.DB.batch([
      env.DB.prepare(`${many} insert into request_terms select i * 64, '{}' from n`),
      env.DB.prepare(`${many} insert into request_blocks select i, i, 1, 0, 0 from n`),
    ]);
    await write([...recordsOf(1, 100 * DAY_MS), ...recordsOf(1, 0)]);
    await removeBefore(NOW - 90 * DAY_MS);
    const left = await rowsIn('request_terms');
    expect(left).toBeGreaterThan(0);
    expect(left).toBeLessThan(5_000);
    expect(await rowsIn('request_blocks')).toBe(left);
    for (let run = 0; run < 3; run++) {
      await write(recordsOf(1, 100 * DAY_MS));
      await removeBefore(NOW - 90 * DAY_MS);
    }
    expect([await rowsIn('request_terms'), await rowsIn('request_blocks')]).toEqual([0, 0]);
  });
});

it('what was recorded before there was an index is found, and indexed', async () => {
  const records = recordsOf(BLOCK + 3, HOUR_MS, { key: 'BEFORE', valid: false });
  await write(records);
  const ids = newestFirst(records.map(({ id }) => id));
  for (const when of ['before', 'after']) {
    expect(await search({ licenseKey: 'BEFORE' }, { limit: 5 }), when).toEqual({
      ids: ids.slice(0, 5),
      total: ids.length,
    });
    await runScheduled(NOW);
  }
  expect(await idsOf(`${REQUESTS}?valid=false&limit=1&after=${ids[BLOCK]}`)).toEqual([
    ids[BLOCK + 1],
  ]);
});
