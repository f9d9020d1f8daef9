import type { LicenseStatus } from '@licet/contract/enums';
import { MAX_STATISTICS_PRODUCTS } from '@licet/contract/limits';
import { RESPONSE_TYPES, type ResponseType } from '@licet/contract/outcomes';
import type { Statistics, Step } from '@licet/contract/statistics';
import { toTimestamp } from '@licet/contract/time';
import { and, eq, gte, inArray, lt, sql } from 'drizzle-orm';
import { type SQLiteColumn, unionAll } from 'drizzle-orm/sqlite-core';
import { batch, type Database } from '../db/client.ts';
import { ALL_PRODUCTS } from '../db/codes.ts';
import { isOneOf } from '../db/predicates.ts';
import type { WaitUntil } from '../lib/async.ts';
import { BUCKETS_A_DAY, bucketAt, firstBucketOfDay, timeOfBucket } from '../lib/time-id.ts';
import { products } from '../resources/products/schema.ts';
import { ROLLED_UP_BUCKET } from './aggregate.ts';
import { activeOnDay, type Counts, dayAt, type HeldCounts } from './counts.ts';
import { readGaps } from './gaps.ts';
import { dailyRollups, requests, rollups } from './schema.ts';

/** A late record makes older roll-ups stale. Above this number of buckets, the oldest keep theirs. */
const MAX_UNROLLED_BUCKETS = 48;

export interface Period {
  /** Milliseconds since 1970: the first and the last millisecond. */
  from: number;
  to: number;
  step: Step;
  productId?: number | undefined;
}

const STEP_BUCKETS: Record<Step, number> = { hour: 1, day: BUCKETS_A_DAY };

/** The buckets from `first` up to the one before `end`. Those before 2025 are negative. */
interface Range {
  first: number;
  end: number;
}

const isIn = (bucket: SQLiteColumn, { first, end }: Range) =>
  and(gte(bucket, first), lt(bucket, end));

const isOfProducts = (table: typeof rollups, range: Range, productIds: readonly number[]) =>
  and(
    inArray(table.productId, [...productIds]),
    // By its index, the table of days has the days of each outcome together.
    inArray(table.outcome, [...RESPONSE_TYPES]),
    isIn(table.bucket, range),
  );

const rolledUp = (db: Database, table: typeof rollups, range: Range, productId: number) =>
  db
    .select()
    .from(table)
    .where(isOfProducts(table, range, [productId]));

/** The sums of products, because the rows of years would take longer to send than to add. */
const sumsOf = (db: Database, table: typeof rollups, range: Range, productIds: readonly number[]) =>
  db
    .select({ productId: table.productId, requests: sql<number>`sum(${table.requests})` })
    .from(table)
    .where(isOfProducts(table, range, productIds))
    .groupBy(table.productId);

const ofHistory = (db: Database, range: Range, productId: number | undefined) =>
  db
    .select({
      bucket: requests.bucket,
      productId: requests.productId,
      outcome: requests.outcome,
      requests: sql<number>`count(*)`.as('counted'),
    })
    .from(requests)
    .where(
      and(
        isIn(requests.bucket, range),
        productId === undefined
          ? undefined
          : // As in the roll-ups, a product that does not exist has no records.
            and(
              eq(requests.productId, productId),
              sql`exists (select 1 from products where id = ${productId})`,
            ),
      ),
    )
    .groupBy(requests.bucket, requests.productId, requests.outcome);

/** The first bucket whose records are read from the history. */
async function firstUnrolledBucket(db: Database): Promise<number> {
  const [row] = await db
    .select({
      bucket: sql<number>`max(${ROLLED_UP_BUCKET} + 1, ifnull((
        select bucket from buckets where bucket > ${ROLLED_UP_BUCKET}
        order by bucket desc limit 1 offset ${MAX_UNROLLED_BUCKETS - 1}), 0))`.as('first_unrolled'),
    })
    .from(sql`(select 1)`);
  return row?.bucket ?? 0;
}

/**
 * Counts the validations of a period, by step and by product. Reads the roll-ups of the step, for the products those
 * of whole days and the hours around them, and the records of the buckets from `unrolled` on.
 */
async function countValidations(
  db: Database,
  { step, productId }: Period,
  { first, end }: Range,
  productIds: readonly number[],
  unrolled: number,
) {
  const size = STEP_BUCKETS[step];
  const firstDay = Math.ceil(first / BUCKETS_A_DAY) * BUCKETS_A_DAY;
  // The last day with a roll-up may still be incomplete.
  const daysEnd = Math.max(firstDay, firstBucketOfDay(Math.min(end, unrolled - 1)));
  const days = { first: firstDay, end: daysEnd };
  const hoursEnd = Math.min(end, unrolled);
  const before = { first, end: Math.min(firstDay, hoursEnd) };
  const after = { first: daysEnd, end: hoursEnd };
  const shown = productId ?? ALL_PRODUCTS;
  // A bucket that is rolled up meanwhile is read from the history all the same.
  const { ofSteps, ofProducts, recent } = await batch(db, {
    ofSteps:
      step === 'hour'
        ? rolledUp(db, rollups, { first, end: hoursEnd }, shown)
        : unionAll(rolledUp(db, dailyRollups, days, shown), rolledUp(db, rollups, after, shown)),
    // Whole days at each step: the hours of all products are too many rows.
    ofProducts: unionAll(
      sumsOf(db, dailyRollups, days, productIds),
      sumsOf(db, rollups, before, productIds),
      sumsOf(db, rollups, after, productIds),
    ),
    recent: ofHistory(db, { first: Math.max(first, unrolled), end }, productId),
  });
  const steps = new Map<number, Partial<Record<ResponseType, number>>>();
  for (const { bucket, outcome, requests: counted } of [...ofSteps, ...recent]) {
    const start = Math.floor(bucket / size) * size;
    const counts = steps.get(start) ?? {};
    counts[outcome] = (counts[outcome] ?? 0) + counted;
    steps.set(start, counts);
  }
  const byProduct = new Map<number, number>();
  for (const { productId: product, requests: counted } of [...ofProducts, ...recent]) {
    byProduct.set(product, (byProduct.get(product) ?? 0) + counted);
  }
  return { steps, byProduct };
}

const sum = (rows: readonly { count: number }[]): number =>
  rows.reduce((total, { count }) => total + count, 0);

const isOf = (productId: number) => (row: { productId: number }) => row.productId === productId;

/** The products of the statistics: the requested one, or those with the most active licenses. */
async function readProducts(db: Database, { licenses }: Counts, productId: number | undefined) {
  const active = new Map<number, number>();
  for (const { productId: id, status, count } of licenses) {
    active.set(id, (active.get(id) ?? 0) + (status === 'ACTIVE' ? count : 0));
  }
  const ids = [...active]
    .toSorted(([one, few], [other, many]) => many - few || one - other)
    .slice(0, MAX_STATISTICS_PRODUCTS)
    .map(([id]) => id);
  const found = await db
    .select({ id: products.id, name: products.name })
    .from(products)
    .where(isOneOf(products.id, productId === undefined ? ids : [productId]));
  return found
    .map((product) => ({ ...product, active: active.get(product.id) ?? 0 }))
    .toSorted((one, other) => other.active - one.active || one.id - other.id);
}

/** The versions of products, the most frequent of each first. */
const versionsOf = ({ versions }: Counts, productIds: readonly number[]) =>
  productIds.flatMap((id) =>
    versions
      .filter(isOf(id))
      .toSorted(
        (one, other) =>
          other.count - one.count ||
          (other.version ?? '').localeCompare(one.version ?? '', undefined, { numeric: true }),
      ),
  );

/** The licenses that expire on each of the next days. */
function expiriesOf(rows: Counts['licenses']): [date: string, licenses: number][] {
  const expiries = new Map<string, number>();
  for (const { expiryDate, count } of rows) {
    if (expiryDate !== null) expiries.set(expiryDate, (expiries.get(expiryDate) ?? 0) + count);
  }
  return [...expiries].toSorted(([one], [other]) => (one < other ? -1 : 1));
}

/** The statistics of a period. @param now milliseconds since 1970 */
export async function readStatistics(
  db: Database,
  held: HeldCounts,
  period: Period,
  now: number,
  waitUntil: WaitUntil,
): Promise<Statistics> {
  const { step, productId } = period;
  const [counts, activeBefore, unrolled] = await Promise.all([
    held.read(now, waitUntil),
    activeOnDay(db, dayAt(period.from), productId),
    firstUnrolledBucket(db),
  ]);
  const shown = await readProducts(db, counts, productId);
  const ids = shown.map(({ id }) => id);
  const size = STEP_BUCKETS[step];
  const first = Math.floor(bucketAt(period.from) / size) * size;
  const end = Math.floor(bucketAt(period.to) / size) * size + size;
  const [from, to] = [timeOfBucket(first), timeOfBucket(end)];
  const [{ steps, byProduct }, gaps] = await Promise.all([
    countValidations(db, period, { first, end }, ids, unrolled),
    readGaps(db, from, to),
  ]);
  const licenses =
    productId === undefined ? counts.licenses : counts.licenses.filter(isOf(productId));
  const ofStatus = (status: LicenseStatus): number =>
    sum(licenses.filter((row) => row.status === status));
  return {
    from: toTimestamp(from),
    to: toTimestamp(to - 1),
    step,
    series: Array.from({ length: (end - first) / size }, (_, index) => {
      const bucket = first + index * size;
      return { time: toTimestamp(timeOfBucket(bucket)), ...steps.get(bucket) };
    }),
    products: shown.map(({ id, name, active }) => ({
      productId: id,
      productName: name,
      active,
      validations: byProduct.get(id) ?? 0,
    })),
    licenses: {
      countedAt: toTimestamp(counts.countedAt),
      active: ofStatus('ACTIVE'),
      activeBefore,
      deactivated: ofStatus('DEACTIVATED'),
      expired: ofStatus('EXPIRED'),
    },
    versions: versionsOf(counts, ids).map(({ productId: id, version, count }) => ({
      productId: id,
      productVersion: version,
      installations: count,
    })),
    expiries: expiriesOf(licenses).map(([date, count]) => ({ date, licenses: count })),
    gaps: gaps.map(({ bucket, requests: missing }) => ({
      time: toTimestamp(timeOfBucket(bucket)),
      requests: missing,
    })),
  };
}
