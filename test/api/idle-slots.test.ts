import { env } from 'cloudflare:workers';
import fc from 'fast-check';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { newIsolate } from '../support/app.ts';
import { call, create, get, historyOf, type License, updateLicense } from '../support/client.ts';
import { spyOnDatabase } from '../support/d1-spy.ts';
import { type Fault, withFaults } from '../support/faults.ts';
import {
  DAY_MS,
  emptyHistory,
  HOUR_MS,
  type RecordFields,
  recordAt,
  runScheduled,
  runToTheEnd,
  setNow,
  write,
} from '../support/history.ts';
import { emptyOutbox } from '../support/published.ts';

/** Idle slots: new values take over the slots of values that nobody uses (7). */

const START = Date.UTC(2026, 5, 1, 12);
const at = (days: number): number => START + days * DAY_MS;

beforeEach(async () => {
  await emptyHistory();
  setNow(START);
});

const newLicense = async (fields: object, days: object = { ipIdleDays: 7 }): Promise<License> =>
  create.license({ productId: (await create.product(days)).id, maxHWIDs: -1, ...fields });

/** A validation, to the end of all that it leaves to be done. */
async function ask(
  { licenseKey, productId }: License,
  values: object,
  isolate = newIsolate(),
): Promise<string> {
  const { json, recorded } = await isolate.validate({ licenseKey, productId, ...values });
  await recorded;
  return json instanceof Object && 'message' in json ? String(json.message) : '';
}

const recordOf = ({ id, licenseKey, productId }: License, days: number, fields: RecordFields) =>
  recordAt(at(days), { licenseId: id, licenseKey, productId, ...fields });

/** The newest remark in the history of a license. */
async function remarkOf(
  { licenseKey }: License,
  count: number,
): Promise<string | null | undefined> {
  const [newest] = await historyOf({ licenseKey }, count);
  return newest?.remarks;
}

const OLD = '203.0.113.9';
const NEW = '203.0.113.10';

it('a new value takes the slot of the value that is idle the longest, after more than the days of the product [7.2.2, 7.2.12]', async () => {
  const license = await newLicense({ maxIPs: 2, ips: [OLD, '203.0.113.8'] });
  await write(recordOf(license, 1, { ip: '203.0.113.8' }));
  setNow(at(7));
  expect(await ask(license, { ip: NEW })).toBe('Max IPs reached');
  setNow(at(7) + 1);
  expect(await ask(license, { ip: NEW })).toBe('License is valid');
  expect((await get.license(license.id)).ips).toEqual(['203.0.113.8', NEW]);
  // The replaced value needs a slot again.
  expect(await ask(license, { ip: OLD })).toBe('Max IPs reached');
});

it.each<{ used: string; use: (license: License) => Promise<unknown> }>([
  {
    used: 'another version',
    use: (one) => write(recordOf(one, 6, { ip: OLD, productVersion: '2' })),
  },
  {
    used: 'a request over a rate limit',
    use: (one) => write(recordOf(one, 6, { ip: OLD, outcome: 'RATE_LIMITED' })),
  },
  {
    used: 'a refused request for another product',
    use: (one) => write(recordOf(one, 6, { ip: OLD, outcome: 'PRODUCT_MISMATCH', productId: 1 })),
  },
  {
    used: 'an installation that was aggregated',
    use: async (one) => {
      await write(recordOf(one, 1, { ip: OLD }));
      await write(recordOf(one, 6, { ip: OLD }));
      await runToTheEnd(at(8));
    },
  },
  {
    used: 'a known installation a minute ago',
    use: async (one) => {
      await write(recordOf(one, 0, { ip: OLD }));
      await runToTheEnd(at(2));
      await write(recordOf(one, 7.999, { ip: OLD }));
    },
  },
  {
    used: 'an installation that was removed since',
    use: async (one) => {
      await write(recordOf(one, 6, { ip: OLD }));
      await runToTheEnd(at(7.9), { REQUEST_RETENTION_DAYS: '1' });
      const rows = await env.DB.prepare('select * from installations').all();
      expect(rows.results).toEqual([]);
    },
  },
  {
    used: 'an installation that was erased since',
    use: async (one) => {
      await write(recordOf(one, 1, { ip: OLD }));
      await runToTheEnd(at(3));
      await write(recordOf(one, 6, { ip: OLD }));
      expect((await call('DELETE', `/api/v2/customers/${one.customer?.id}`)).status).toBe(204);
    },
  },
  {
    used: 'installations that share a row',
    use: async (one) => {
      await write(recordOf(one, 6, { ip: '203.0.113.77' }));
      await env.DB.prepare("update installations set fingerprint = 'day:1', ip = null").run();
    },
  },
  {
    used: 'installations whose shared row was removed since',
    use: async (one) => {
      await write(recordOf(one, 6, { ip: '203.0.113.77' }));
      await env.DB.prepare("update installations set fingerprint = 'day:1', ip = null").run();
      await runToTheEnd(at(7.9), { REQUEST_RETENTION_DAYS: '1' });
    },
  },
  {
    used: 'more than 10,000 installations',
    use: ({ id }) =>
      env.DB.prepare(
        `with recursive n(i) as (select 1 union all select i + 1 from n where i < 10001)
         insert into installations (license_key_normalized, fingerprint, license_id, license_key,
           first_seen_at, last_seen_at, aggregated_bucket) select 'K', 'f' || i, ${id}, 'K', 0, 0, 0 from n`,
      ).run(),
  },
  {
    used: 'a binding from before its time was stored, of a license that changed',
    use: async ({ id }) => {
      setNow(at(6));
      await updateLicense(id, { notes: 'changed' });
      await env.DB.prepare('update bindings set used_at = null').run();
    },
  },
])(
  'a value stays bound that was used within the days: by $used [7.2.3, 7.2.4, 7.2.5, 7.2.6]',
  async ({ use }) => {
    const license = await newLicense({ maxIPs: 1, ips: [OLD], ownerChatId: crypto.randomUUID() });
    await use(license);
    setNow(at(8));
    expect(await ask(license, { ip: NEW })).toBe('Max IPs reached');
    expect((await get.license(license.id)).ips).toEqual([OLD]);
    await env.DB.prepare('delete from installations where license_id = ?').bind(license.id).run();
    setNow(at(30));
    expect(await ask(license, { ip: NEW })).toBe('License is valid');
  },
);

it('a request of another license is no use [7.2.3]', async () => {
  const license = await newLicense({ maxIPs: 1, ips: [OLD] });
  await write(recordOf(await newLicense({}), 7, { ip: OLD }));
  setNow(at(8));
  expect(await ask(license, { ip: NEW })).toBe('License is valid');
});

it('each product has its own days, and each type [7.2.1]', async () => {
  const fields = { maxIPs: 1, maxHWIDs: 1, ips: [OLD], hwids: ['HW-1'] };
  const short = await newLicense(fields, { ipIdleDays: 1 });
  const long = await newLicense(fields, { ipIdleDays: 9, hwidIdleDays: 1 });
  const never = await newLicense(fields, {});
  setNow(at(2));
  expect(await ask(short, { ip: NEW })).toBe('License is valid');
  expect(await ask(short, { hwid: 'HW-2' })).toBe('Max HWIDs reached');
  expect(await ask(long, { ip: NEW })).toBe('Max IPs reached');
  expect(await ask(long, { hwid: 'HW-2' })).toBe('License is valid');
  setNow(at(999));
  expect(await ask(never, { ip: NEW })).toBe('Max IPs reached');
});

it('address and hardware ID take slots over together or not at all, and the refusal names the one without [7.2.8, 7.2.12, 7.2.13]', async () => {
  const fields = { maxIPs: 1, maxHWIDs: 1, ips: [OLD], hwids: ['HW-1'] };
  const license = await newLicense(fields, { ipIdleDays: 1, hwidIdleDays: 5 });
  const isolate = newIsolate();
  setNow(at(2));
  for (let repetition = 0; repetition < 2; repetition++) {
    expect(await ask(license, { ip: NEW, hwid: 'HW-2' }, isolate)).toBe('Max HWIDs reached');
  }
  expect(await remarkOf(license, 2)).toBe('The next slot is idle on 2026-06-06');
  expect(await get.license(license.id)).toMatchObject({ ips: [OLD], hwids: ['HW-1'] });
  setNow(at(6));
  expect(await ask(license, { ip: NEW, hwid: 'HW-2' }, isolate)).toBe('License is valid');
  expect(await get.license(license.id)).toMatchObject({ ips: [NEW], hwids: ['HW-2'] });
  expect(await remarkOf(license, 3)).toBe(
    `Took the slot of ${OLD}, idle since 2026-06-01. Took the slot of HW-1, idle since 2026-06-01`,
  );
});

it('a value that is bound with one that takes a slot over is bound too [7.2.8, 7.2.13]', async () => {
  const license = await newLicense({ maxIPs: 1, maxHWIDs: 1, ips: [OLD] });
  setNow(at(8));
  expect(await ask(license, { ip: NEW, hwid: 'HW-1' })).toBe('License is valid');
  expect(await get.license(license.id)).toMatchObject({ ips: [NEW], hwids: ['HW-1'] });
});

it.each<{ fault: Fault; remark: string | null }>([
  { fault: 'response is lost', remark: null },
  { fault: 'fails', remark: `Took the slot of ${OLD}, idle since 2026-06-01` },
])(
  'a take-over that $fault is repeated, and the remark is $remark [7.2.17]',
  async ({ fault, remark }) => {
    const license = await newLicense({ maxIPs: 1, ips: [OLD] });
    setNow(at(8));
    const faults = [fault];
    const DB = withFaults(env.DB, (sql) =>
      sql.includes('insert into "bindings"') ? (faults.shift() ?? null) : null,
    );
    expect(await ask(license, { ip: NEW }, newIsolate({ DB }))).toBe('License is valid');
    expect((await get.license(license.id)).ips).toEqual([NEW]);
    expect(await remarkOf(license, 1)).toBe(remark);
  },
);

it('beyond a lowered limit a value gives way only if fewer than the limit are in use [7.2.9]', async () => {
  const ips = [OLD, '203.0.113.7', '203.0.113.8'];
  const license = await newLicense({ maxIPs: 3, ips });
  await updateLicense(license.id, { maxIPs: 2 });
  await write(...ips.slice(1).map((ip) => recordOf(license, 3, { ip })));
  setNow(at(8));
  expect(await ask(license, { ip: NEW })).toBe('Max IPs reached');
  expect(await remarkOf(license, 3)).toBe('The next slot is idle on 2026-06-11');
  await write(recordOf(license, 8, { ip: ips[1] ?? '' }));
  setNow(at(11));
  expect(await ask(license, { ip: NEW })).toBe('License is valid');
  expect((await get.license(license.id)).ips).toEqual([...ips.slice(1), NEW]);
  await updateLicense(license.id, { maxIPs: 0 });
  setNow(at(99));
  expect(await ask(license, { ip: OLD })).toBe('Max IPs reached');
});

it('a refusal from memory has the remark of the refusal by D1 [7.2.13]', async () => {
  const license = await newLicense({ maxIPs: 1, ips: [OLD] });
  const { spy, roundTrips } = spyOnDatabase(env.DB);
  const isolate = newIsolate({ DB: spy });
  for (const ip of [NEW, '203.0.113.11']) {
    expect(await ask(license, { ip }, isolate)).toBe('Max IPs reached');
    expect(await remarkOf(license, ip === NEW ? 1 : 2)).toBe('The next slot is idle on 2026-06-08');
  }
  const binding = roundTrips.flat().filter(({ sql }) => sql.startsWith('insert into "bindings"'));
  expect(binding).toHaveLength(1);
});

it('a value on the blacklist stays refused when it returns [7.2.10]', async () => {
  const license = await newLicense({ maxIPs: 1, ips: [OLD] });
  await create.blacklist({ data: OLD, isForAllProducts: false, productId: license.productId });
  setNow(at(8));
  expect(await ask(license, { ip: NEW })).toBe('License is valid');
  setNow(at(20));
  expect(await ask(license, { ip: OLD })).toBe('IP address is blacklisted');
  expect((await get.license(license.id)).ips).toEqual([NEW]);
});

describe('publishing', () => {
  /** The rows that the transaction of a binding writes, and the outbox after it. */
  async function bindingOf(license: License) {
    await emptyOutbox();
    const { spy, roundTrips } = spyOnDatabase(env.DB);
    expect(await ask(license, { ip: NEW }, newIsolate({ DB: spy, SNAPSHOTS: undefined }))).toBe(
      'License is valid',
    );
    const batch =
      roundTrips.find((sent) => sent.some(({ sql }) => sql.includes('"bindings"'))) ?? [];
    const { results } = await env.DB.prepare('select subject from outbox').all();
    const written = batch.map(({ meta }) => meta?.rows_written ?? 0);
    return { written: written.reduce((sum, one) => sum + one, 0), results };
  }

  it('a first binding is no change in the outbox, and a take-over is: two rows more [7.2.11]', async () => {
    const first = await bindingOf(await newLicense({ maxIPs: 1 }));
    expect(first).toEqual({ written: 2, results: [] });
    const license = await newLicense({ maxIPs: 1, ips: [OLD] });
    setNow(at(8));
    const taken = await bindingOf(license);
    const subject = `license:${license.licenseKey}`;
    expect(taken).toEqual({ written: 4, results: [{ subject }] });
  });
});

it.each([1, 3])(
  '50 newcomers at once take over the %i idle slots of 5, and no other [7.2.7]',
  async (idle) => {
    const ips = Array.from({ length: 5 }, (_, n) => `11.60.0.${n}`);
    const license = await newLicense({ maxIPs: 5, ips });
    await write(...ips.slice(idle).map((ip) => recordOf(license, 3, { ip })));
    setNow(at(8));
    const isolates = [newIsolate(), newIsolate(), newIsolate()];
    const newcomers = Array.from({ length: 50 }, (_, n) => `11.61.0.${n}`);
    const messages = await Promise.all(
      newcomers.map((ip, n) => ask(license, { ip }, isolates[n % isolates.length])),
    );
    const valid = newcomers.filter((_, n) => messages[n] === 'License is valid');
    expect(valid).toHaveLength(idle);
    const stored = (await get.license(license.id)).ips;
    expect(stored.slice(0, 5 - idle)).toEqual(ips.slice(idle));
    expect(new Set(stored)).toEqual(new Set([...ips.slice(idle), ...valid]));
  },
);

const DAYS = 3;
const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ newcomers: fc.uniqueArray(fc.nat(7), { minLength: 1 }) }) },
  { weight: 2, arbitrary: fc.record({ hours: fc.constantFrom(1, 20, 50, 73) }) },
  { weight: 1, arbitrary: fc.record({ maxIPs: fc.nat(3) }) },
  { weight: 1, arbitrary: fc.record({ ips: fc.uniqueArray(fc.nat(7), { maxLength: 2 }) }) },
  { weight: 1, arbitrary: fc.constant({ scheduled: true }) },
);
const addressOf = (number: number): string => `11.62.0.${number}`;

it('the limit is strict and no value that was used within the days is taken over, whatever runs at once [7.2.7]', {
  tags: 'long',
  timeout: 60_000,
}, async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 14 }), async (steps) => {
      await emptyHistory();
      let now = START;
      setNow(now);
      const license = await newLicense({ maxIPs: 2 }, { ipIdleDays: DAYS });
      const usedAt = new Map<string, number>();
      let bound: string[] = [];
      let maxIPs = 2;
      for (const one of steps) {
        if ('hours' in one) {
          now += one.hours * HOUR_MS;
          setNow(now);
        } else if ('scheduled' in one) {
          await runScheduled(now, { REQUEST_RETENTION_DAYS: '1' });
        } else if ('maxIPs' in one) {
          maxIPs = one.maxIPs;
          await updateLicense(license.id, { maxIPs });
        } else if ('ips' in one) {
          const ips = one.ips.map(addressOf).slice(0, maxIPs);
          const added = ips.filter((ip) => !bound.includes(ip));
          bound = (await updateLicense(license.id, { ips })).ips;
          for (const ip of added) usedAt.set(ip, now);
        } else {
          const before = bound;
          // Cold, and without the waits of a publisher.
          const isolates = [1, 2].map(() => newIsolate({ SNAPSHOTS: undefined }));
          await Promise.all(
            one.newcomers.map((number) =>
              ask(license, { ip: addressOf(number) }, isolates[number % isolates.length]),
            ),
          );
          bound = (await get.license(license.id)).ips;
          expect(bound.length).toBeLessThanOrEqual(Math.max(maxIPs, before.length));
          for (const ip of before) {
            const idleFor = now - (usedAt.get(ip) ?? 0);
            if (!bound.includes(ip)) expect(idleFor, ip).toBeGreaterThan(DAYS * DAY_MS);
          }
          for (const number of one.newcomers) usedAt.set(addressOf(number), now);
        }
      }
    }),
    { numRuns: env.IS_LONG ? 25 : 5 },
  );
});

it('forgetting a person erases the remarks with their values [7.2.18]', async () => {
  const fields = { maxIPs: 1, ips: [OLD], ownerChatId: 'forgotten' };
  const license = await newLicense(fields);
  setNow(at(8));
  expect(await ask(license, { ip: NEW })).toBe('License is valid');
  expect(await remarkOf(license, 1)).toContain(OLD);
  expect((await call('DELETE', `/api/v2/customers/${license.customer?.id}`)).status).toBe(204);
  await vi.waitFor(async () => {
    const { results } = await env.DB.prepare('select details from requests').all();
    expect(results).toEqual([{ details: '{}' }]);
  });
});

const stamp = (time: number): string => new Date(time).toISOString().replace('Z', '+00:00');

it('the slots of a license are listed in the order bound, with their exact last use and when they are idle [7.2.14, 7.2.15]', async () => {
  const fields = { maxIPs: -1, ips: [OLD], hwids: ['HW-1'] };
  const license = await newLicense(fields);
  await write(recordOf(license, 1, { ip: OLD }));
  await runToTheEnd(at(3));
  setNow(at(4));
  await updateLicense(license.id, { ips: [OLD, NEW] });
  await write(
    recordOf(license, 5, { ip: OLD, hwid: 'HW-1' }),
    recordOf(license, 6, { ip: '10.0.0.1' }),
  );
  const slots = await call('GET', `/api/v2/licenses/${license.id}/slots`);
  expect(slots.json).toEqual([
    { type: 'IP', value: OLD, lastUsed: stamp(at(5)), idleDate: stamp(at(12)) },
    { type: 'HWID', value: 'HW-1', lastUsed: stamp(at(5)), idleDate: null },
    { type: 'IP', value: NEW, lastUsed: stamp(at(4)), idleDate: stamp(at(11)) },
  ]);
  const installations = await call('GET', `/api/v2/licenses/${license.id}/installations`);
  expect(installations.json).toMatchObject([
    { ip: '10.0.0.1', ipIdleDate: null, hwidIdleDate: null },
    { ip: OLD, hwid: 'HW-1', ipIdleDate: stamp(at(12)), hwidIdleDate: null },
    { ip: OLD, hwid: null, ipIdleDate: stamp(at(12)), hwidIdleDate: null },
  ]);
});

it('a license without bound values has no slots, and one that is not there returns 404 [7.2.14, 7.2.15]', async () => {
  const { id } = await newLicense({});
  expect((await call('GET', `/api/v2/licenses/${id}/slots`)).json).toEqual([]);
  expect((await call('GET', '/api/v2/licenses/999999999/slots')).status).toBe(404);
});

it('idleSlots leaves the licenses with an idle slot, or those without [7.2.16]', async () => {
  const { id: productId } = await create.product({ ipIdleDays: 7 });
  const each = { productId, maxIPs: 2, maxHWIDs: -1 };
  const idle = await create.license({ ...each, ips: [OLD, NEW] });
  const used = await create.license({ ...each, ips: [OLD] });
  const empty = await create.license({ ...each, hwids: ['HW-1'] });
  const never = await newLicense({ ips: [OLD] }, {});
  await write(recordOf(used, 5, { ip: OLD }), recordOf(idle, 5, { ip: NEW }));
  setNow(at(8));
  const idsOf = async (query: string) =>
    JSON.stringify((await call('GET', `/api/v2/licenses?${query}`)).json).match(/(?<=\{"id":)\d+/g);
  expect(await idsOf(`productId=${productId}&idleSlots=true`)).toEqual([String(idle.id)]);
  const without = [used, empty].map(({ id }) => String(id));
  expect(await idsOf(`productId=${productId}&idleSlots=false`)).toEqual(without);
  expect(await idsOf(`productId=${never.productId}&idleSlots=true`)).toBeNull();
});

/** Binds addresses as an earlier version did, at the start. */
const store = ({ id }: License, ips: readonly string[]) =>
  env.DB.prepare(
    `insert into bindings (license_id, type, value, position, used_at)
     select ?1, 'IP', value, key + 1, ?3 from json_each(?2)`,
  )
    .bind(id, JSON.stringify(ips), START)
    .run();

it('a use of any address of its /64 keeps a slot, also after its records are removed [1.4.15, 7.2.3]', async () => {
  const license = await newLicense({ maxIPs: 1, ips: ['2a01:5::1'] });
  await write(recordOf(license, 6, { ip: '2a01:5::2' }));
  const lastUsed = async () => {
    const { json } = await call('GET', `/api/v2/licenses/${license.id}/slots`);
    return Array.isArray(json) ? json.map(({ lastUsed }) => lastUsed) : [];
  };
  expect(await lastUsed()).toEqual([stamp(at(6))]);
  setNow(at(8));
  expect(await ask(license, { ip: NEW }, newIsolate({ SNAPSHOTS: undefined }))).toBe(
    'Max IPs reached',
  );
  const installations = await call('GET', `/api/v2/licenses/${license.id}/installations`);
  expect(installations.json).toMatchObject([
    { ip: NEW, ipIdleDate: null },
    { ip: '2a01:5::2', ipIdleDate: stamp(at(13)) },
  ]);
  await runToTheEnd(at(9));
  await runScheduled(at(6 + 90) + 2 * HOUR_MS);
  const left = await call('GET', `/api/v2/licenses/${license.id}/installations`);
  expect(left.json).toMatchObject([{ ip: NEW }]);
  expect(await lastUsed()).toEqual([stamp(at(6))]);
});

it('a slot with several addresses of an earlier version gives way as one: the limit stays strict [1.4.18, 7.2.7]', async () => {
  const license = await newLicense({ maxIPs: 2 });
  await store(license, ['2a01:6::1', '2a01:6::2', OLD]);
  await write(recordOf(license, 6, { ip: OLD }));
  setNow(at(8));
  const isolate = newIsolate({ SNAPSHOTS: undefined });
  expect(await ask(license, { ip: NEW }, isolate)).toBe('License is valid');
  const { results } = await env.DB.prepare('select value from bindings where license_id = ?')
    .bind(license.id)
    .all();
  expect(results.map(({ value }) => value).sort()).toEqual([NEW, OLD]);
  expect(await ask(license, { ip: '203.0.113.11' }, isolate)).toBe('Max IPs reached');
  expect(await ask(license, { ip: '2a01:6::2' }, isolate)).toBe('Max IPs reached');
});

it('an address that identifies no machine gives way to none that does [1.2.31, 7.2.7]', async () => {
  const license = await newLicense({ maxIPs: 1 });
  await store(license, ['172.18.0.5', OLD]);
  setNow(at(8));
  const isolate = newIsolate({ SNAPSHOTS: undefined });
  expect(await ask(license, { ip: NEW }, isolate)).toBe('License is valid');
  expect((await get.license(license.id)).ips).toEqual(['172.18.0.5', NEW]);
});
