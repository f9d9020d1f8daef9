import { env } from 'cloudflare:workers';
import { request } from '@licet/contract/requests';
import fc from 'fast-check';
import { beforeAll, beforeEach, expect, it } from 'vitest';
import type { HistoryRecord } from '../../src/requests/record.ts';
import { call, create, get, type HistoryRecord as WireRecord } from '../support/client.ts';
import {
  DAY_MS,
  emptyHistory,
  type Filter,
  MINUTE_MS,
  readPages,
  recordAt,
  runScheduled,
  runToTheEnd,
  setNow,
  wireOf,
  write,
} from '../support/history.ts';
import { importOne } from '../support/import.ts';
import { newWriter, type Writer } from '../support/writer.ts';

/** The filters of the history find every record, whenever and however it was written (1.6). */

/** A minute after an hour has begun, so that records of the last minutes are of two buckets. */
const NOW = Date.UTC(2026, 5, 2, 9, 1);

beforeEach(emptyHistory);

/** Records newest first, in an order of those that share an id. */
function newestFirst(records: readonly WireRecord[]): WireRecord[] {
  const orderOf = (record: WireRecord) => JSON.stringify(request.parse(record));
  return records.toSorted(
    (one, other) => other.id - one.id || orderOf(one).localeCompare(orderOf(other)),
  );
}

const DELETED = 'Deleted-Key';
const GONE = 'of-a-deleted-product';
const KEYS = ['alpha-key', 'STRASSE-\u00DF', DELETED, GONE, '"\\%_\'$.x'];
const UNKNOWN_KEYS = ['unknown-key', '\u{1F511} key', '12'];
const products: number[] = [];
const licenseIds = new Map<string, number>();

beforeAll(async () => {
  for (const index of [0, 1, 2]) {
    products.push((await create.product({ name: `Product ${index}` })).id);
  }
  for (const [index, licenseKey] of KEYS.entries()) {
    const productId = products[licenseKey === GONE ? 2 : index % 2];
    const license = { licenseKey, productId, licenseType: 'PERMANENT', maxIPs: 5, maxHWIDs: 5 };
    const { id } = await importOne('licenses', license);
    licenseIds.set(licenseKey, Number(id));
  }
  for (const licenseKey of [DELETED, GONE]) {
    await call('DELETE', `/api/v2/licenses/${licenseIds.get(licenseKey)}`);
  }
  expect((await call('DELETE', `/api/v2/products/${products[2]}`)).status).toBe(204);
});

const IPS = ['10.0.0.1', '110.0.0.1', '2001:db8::1'];
const HWIDS = ['HW', 'hw', '"', '\\', `'$."A"[0]\\"`, '\u{1F5A5}\u0001\u00C9'];
const option = <Value>(arbitrary: fc.Arbitrary<Value>) => fc.option(arbitrary, { freq: 3 });

const installation = fc.record({
  licenseKey: option(fc.constantFrom(...KEYS, ...UNKNOWN_KEYS)),
  spelling: fc.constantFrom('as it is', 'in upper case', 'in lower case'),
  // Also no product, one that never existed, and an id that none can have.
  product: option(fc.constantFrom('first', 'second', 'deleted', '0', '999999', '-5')),
  ip: option(fc.constantFrom(...IPS)),
  hwid: option(fc.constantFrom(...HWIDS)),
  javaVersion: option(fc.constantFrom('21')),
});
const asked = fc.record({
  installation: fc.nat(),
  lookUp: fc.constantFrom('found', 'found', 'not found', 'not done'),
  outcome: fc.constantFrom('VALID', 'VALID', 'MAX_IPS_REACHED', 'RATE_LIMITED', 'ERROR'),
  details: fc.constantFrom({}, { remarks: 'Remarks' }, { blockReason: 'Fraud', spam: true }),
  ageMinutes: fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom(0, 2) },
    { weight: 1, arbitrary: fc.nat(50).map((hours) => hours * 60) },
  ),
  hasIdOfLast: fc.boolean(),
});
const isolate = fc.nat(1);
const step = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({ asked: fc.array(asked, { minLength: 1, maxLength: 4 }), isolate }),
  },
  { weight: 1, arbitrary: fc.record({ isRepeated: fc.constant(true), isolate }) },
  {
    weight: 2,
    arbitrary: fc.record({
      minutes: fc.oneof(fc.nat(10), fc.constantFrom(60, 1_440), fc.nat(3_000)),
    }),
  },
);
const filter = fc.tuple(
  fc.shuffledSubarray(['licenseKey', 'productId', 'ip', 'hwid', 'valid', 'from', 'to'] as const, {
    maxLength: 4,
  }),
  // The installation and the records whose values are asked for, by their place among all.
  fc.record({ installation: fc.nat(), valid: fc.boolean(), from: fc.nat(), to: fc.nat() }),
);

type Installation = typeof installation extends fc.Arbitrary<infer Value> ? Value : never;
type Asked = typeof asked extends fc.Arbitrary<infer Value> ? Value : never;

const productOf = (name: string): number =>
  products[['first', 'second', 'deleted'].indexOf(name)] ?? Number(name);

const normalized = (key: string | null) => key?.trim().toUpperCase() ?? null;

const matches = (record: WireRecord, wanted: Filter): boolean =>
  (wanted.licenseKey === undefined ||
    normalized(record.licenseKey) === normalized(wanted.licenseKey)) &&
  (wanted.productId === undefined || record.productId === Number(wanted.productId)) &&
  (wanted.ip === undefined || record.ip === wanted.ip.replace('::ffff:', '')) &&
  (wanted.hwid === undefined || record.hwid === wanted.hwid) &&
  (wanted.valid === undefined || String(record.valid) === wanted.valid) &&
  (wanted.from === undefined || Date.parse(record.requestDate) >= Date.parse(wanted.from)) &&
  (wanted.to === undefined || Date.parse(record.requestDate) <= Date.parse(wanted.to));

it('filters find every record that matches once, newest first, page by page [1.6.22, 3.16, 3.29]', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(installation, { minLength: 1, maxLength: 3 }),
      fc.array(fc.tuple(step, filter), { minLength: 4, maxLength: 10 }),
      fc.integer({ min: 1, max: 6 }),
      async (installations, steps, limit) => {
        await emptyHistory();
        const isolates: Writer[] = [newWriter(), newWriter()];
        let message: HistoryRecord[] = [];
        const all: WireRecord[] = [];
        let now = NOW;
        for (const [doing, [names, values]] of steps) {
          if ('minutes' in doing) {
            now += doing.minutes * MINUTE_MS;
            setNow(now);
            await runScheduled(now);
          } else {
            setNow(now);
            if ('asked' in doing) message = newMessage(installations, doing.asked, now, all);
            await isolates[doing.isolate]?.(...message);
          }

          const dateAt = (place: number) => all[place % all.length]?.requestDate ?? '2026-06-02';
          const { licenseKey, product, ip, hwid } =
            installations[values.installation % installations.length] ?? {};
          const filters = {
            licenseKey: ` ${licenseKey ?? 'none'}`,
            productId: String(Math.max(1, productOf(product ?? 'first'))),
            ip: ip?.replace(/^1(?=0)/, '::ffff:1') ?? '192.0.2.1',
            hwid: hwid ?? 'none',
            valid: String(values.valid),
            from: dateAt(values.from),
            to: dateAt(values.to),
          };
          const wanted: Filter = Object.fromEntries(names.map((name) => [name, filters[name]]));
          const { productId, valid } = filters;
          // The license key alone finds most: a record that is missing anywhere is missing here.
          for (const one of [wanted, { licenseKey: filters.licenseKey }, { productId, valid }]) {
            const found = await readPages(one, limit);
            expect(newestFirst(found)).toEqual(
              newestFirst(all.filter((record) => matches(record, one))),
            );
            const ids = found.map(({ id }) => id);
            expect(ids).toEqual(ids.toSorted((first, second) => second - first));
          }
        }
      },
    ),
    { numRuns: 8 },
  );
}, 60_000);

/** Makes a message of new records, and adds what the interface has to show of them. */
function newMessage(
  installations: readonly Installation[],
  message: readonly Asked[],
  now: number,
  all: WireRecord[],
): HistoryRecord[] {
  return message.map(({ installation, lookUp, outcome, details, ageMinutes, hasIdOfLast }) => {
    const { licenseKey, spelling, product, ...others } = installations[
      installation % installations.length
    ] ?? {
      licenseKey: null,
      spelling: 'as it is',
      product: null,
    };
    const spelled = {
      'as it is': licenseKey,
      'in upper case': licenseKey?.toUpperCase() ?? null,
      'in lower case': licenseKey?.toLowerCase() ?? null,
    }[spelling];
    const known = licenseIds.get(licenseKey ?? '') ?? null;
    const record = recordAt(now - ageMinutes * MINUTE_MS, {
      licenseKey: spelled,
      licenseKeyNormalized: normalized(spelled),
      licenseId: { found: known, 'not found': null, 'not done': undefined }[lookUp],
      productId: product === null ? null : productOf(product),
      ...others,
      outcome,
      details,
    });
    const last = all.at(-1);
    if (hasIdOfLast && last) record.id = last.id;
    record.nonce = all.length;
    const isFound = lookUp === 'found' || (lookUp === 'not done' && licenseKey !== GONE);
    all.push(wireOf(record, isFound ? known : null));
    return record;
  });
}

const productId = 1;

/** The license, and what writes a record of its only installation at a time. */
async function newInstallation() {
  const licenseKey = crypto.randomUUID();
  const product = (await create.product()).id;
  const item = { licenseKey, productId: product, licenseType: 'PERMANENT' };
  const { id } = await importOne('licenses', item);
  const licenseId = Number(id);
  const recordedAt = (requestedAt: number) =>
    recordAt(requestedAt, { licenseKey, licenseId, productId, ip: '192.0.2.1' });
  const expectFound = async (...requestedAt: number[]) => {
    const found = await readPages({ licenseKey }, 100);
    expect(found.map(({ requestDate }) => Date.parse(requestDate))).toEqual(requestedAt);
    expect((await get.license(licenseId)).totalRequests).toBe(requestedAt.length);
  };
  return { recordedAt, expectFound };
}

it('records of an isolate whose clock is two days slow are found and counted', async () => {
  const { recordedAt, expectFound } = await newInstallation();
  const isolate = newWriter();
  const fast = NOW + 2 * DAY_MS;
  setNow(NOW);
  await write(recordedAt(NOW));
  await runToTheEnd(fast);
  // The isolate knows neither its installation nor the buckets at first.
  for (const minutes of [1, 2]) {
    const requestedAt = NOW + minutes * MINUTE_MS;
    setNow(requestedAt);
    await isolate(recordedAt(requestedAt));
  }
  await expectFound(NOW + 2 * MINUTE_MS, NOW + MINUTE_MS, NOW);
  setNow(fast);
  await runToTheEnd(fast);
  await expectFound(NOW + 2 * MINUTE_MS, NOW + MINUTE_MS, NOW);
  const counted = env.DB.prepare('select sum(requests) n from rollups where product_id >= 0');
  expect(await counted.first('n')).toBe(3);
});
