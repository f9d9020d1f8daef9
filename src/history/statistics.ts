import { and, eq, gte, inArray, lt, type SQL, sql } from 'drizzle-orm';
import type { SQLiteColumn } from 'drizzle-orm/sqlite-core';
import type * as z from 'zod';
import type { Database } from '../db/client';
import { isOneOf } from '../db/predicates';
import {
  callers,
  counters,
  dailyCounts,
  dailyRollups,
  licenses,
  products,
  requests,
  rollups,
} from '../db/schema';
import { DAY_MS } from '../lib/durations';
import { type LicenseStatus, RESPONSE_TYPES, type ResponseType } from '../lib/enums';
import { toTimestamp } from '../lib/time';
import { bucketAt } from '../lib/time-id';
import {
  ALL,
  dayAt,
  expiresAhead,
  expiryDate,
  isInstallation,
  MAX_VERSIONS,
  statusSql,
} from './daily-counts';
import { ALL_OUTCOMES, ALL_PRODUCTS, ROLLED_UP_BUCKET } from './fold';
import { readGaps } from './gaps';
import { BUCKETS_A_DAY, firstBucketOfDay, timeOfBucket } from './record';
import type { Step, statistics } from './statistics-schema';

/** The products with the most active licenses. */
const MAX_PRODUCTS = 10;
/** With more rows than this, the daily counts of the scheduled handler are used. */
const MAX_COUNTED_NOW = 1_000;
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

/** The buckets of the steps of a period. Nothing is recorded before 2025. */
function bucketsOf({ from, to, step }: Period) {
  const size = STEP_BUCKETS[step];
  return {
    first: Math.max(0, Math.floor(bucketAt(from) / size) * size),
    last: Math.floor(bucketAt(to) / size) * size + size - 1,
  };
}

/** The buckets from `first` up to the one before `end`. */
interface Range {
  first: number;
  end: number;
}

const isIn = (bucket: SQLiteColumn, { first, end }: Range) =>
  and(gte(bucket, first), lt(bucket, end));

const ofHours = (db: Database, range: Range, productIds: readonly number[]) =>
  db
    .select()
    .from(rollups)
    .where(and(inArray(rollups.productId, [...productIds]), isIn(rollups.bucket, range)));

const ofDays = (db: Database, range: Range, productId: number) =>
  db
    .select()
    .from(dailyRollups)
    .where(
      and(
        eq(dailyRollups.productId, productId),
        inArray(dailyRollups.outcome, [...RESPONSE_TYPES]),
        isIn(dailyRollups.bucket, range),
      ),
    );

const sumsOfDays = (db: Database, range: Range, productIds: readonly number[]) =>
  db
    .select({
      productId: dailyRollups.productId,
      requests: sql<number>`sum(requests)`.as('counted'),
    })
    .from(dailyRollups)
    .where(
      and(
        inArray(dailyRollups.productId, [...productIds]),
        eq(dailyRollups.outcome, ALL_OUTCOMES),
        isIn(dailyRollups.bucket, range),
      ),
    )
    .groupBy(dailyRollups.productId);

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
 * Counts the validations of a period, by step and by product. Reads the roll-ups of whole days and of the hours around
 * them, and the records of the buckets from `unrolled` on.
 */
async function countValidations(
  db: Database,
  period: Period,
  productIds: readonly number[],
  unrolled: number,
) {
  const { productId = ALL_PRODUCTS, step } = period;
  const { first, last } = bucketsOf(period);
  const end = Math.min(last + 1, unrolled);
  // The last day with a roll-up may still be incomplete.
  const firstDay = Math.ceil(first / BUCKETS_A_DAY) * BUCKETS_A_DAY;
  const daysEnd = Math.max(firstDay, firstBucketOfDay(Math.min(last + 1, unrolled - 1)));
  const days = { first: firstDay, end: daysEnd };
  // A bucket that is rolled up meanwhile is read from the history all the same.
  const [before, after, ofSteps, sums, recent] = await db.batch([
    ofHours(db, { first, end: Math.min(firstDay, end) }, [productId, ...productIds]),
    ofHours(db, { first: daysEnd, end }, [productId, ...productIds]),
    step === 'hour' ? ofHours(db, days, [productId]) : ofDays(db, days, productId),
    sumsOfDays(db, days, productIds),
    ofHistory(db, { first: Math.max(first, unrolled), end: last + 1 }, period.productId),
  ]);
  const around = [...before, ...after];
  const size = STEP_BUCKETS[step];
  const steps = new Map<number, Partial<Record<ResponseType, number>>>();
  const rolledUp = [...around.filter(isOf(productId)), ...ofSteps];
  for (const { bucket, outcome, requests: counted } of [...rolledUp, ...recent]) {
    const start = Math.floor(bucket / size) * size;
    const counts = steps.get(start) ?? {};
    counts[outcome] = (counts[outcome] ?? 0) + counted;
    steps.set(start, counts);
  }
  const byProduct = new Map<number, number>();
  for (const { productId: product, requests: counted } of [...around, ...sums, ...recent]) {
    byProduct.set(product, (byProduct.get(product) ?? 0) + counted);
  }
  return { steps, byProduct };
}

/** Licenses or installations of a product, by status, version or date. */
interface CountRow {
  productId: number;
  label: string;
  count: number;
}

const sum = (rows: readonly { count: number }[]): number =>
  rows.reduce((total, { count }) => total + count, 0);

const isOf = (productId: number) => (row: { productId: number }) => row.productId === productId;

/** The last day that is counted (see `daily-counts.ts`). */
const COUNTED_DAY = sql`(select value from counters where name = 'counted_day')`;

const ofDay = (
  db: Database,
  day: SQL | number,
  kind: 'status' | 'version' | 'expiry',
  condition?: SQL,
) =>
  db
    .select({
      productId: dailyCounts.productId,
      label: dailyCounts.label,
      count: dailyCounts.count,
    })
    .from(dailyCounts)
    .where(and(eq(dailyCounts.day, sql`${day}`), eq(dailyCounts.kind, kind), condition));

/** The licenses of each product and status, now. */
async function countStatuses(db: Database, now: number): Promise<CountRow[]> {
  const rows = await db
    .select({
      productId: licenses.productId,
      label: sql<string>`${statusSql(now)}`.as('status'),
      count: sql<number>`count(*)`.as('counted'),
    })
    .from(licenses)
    .groupBy(sql`1, 2`);
  return [...rows, ...rows.map((row) => ({ ...row, productId: ALL }))];
}

/** The licenses by status, and the number of active ones at the start of the period. */
async function readLicenses(db: Database, { from, productId = ALL }: Period, now: number) {
  const [counted, today, before] = await db.batch([
    db.select().from(counters).where(eq(counters.name, 'counted_day')),
    ofDay(db, COUNTED_DAY, 'status'),
    ofDay(
      db,
      dayAt(from),
      'status',
      and(
        sql`day <= ${COUNTED_DAY}`,
        eq(dailyCounts.productId, productId),
        eq(dailyCounts.label, 'ACTIVE'),
      ),
    ),
  ]);
  const isLarge = sum(today.filter(isOf(ALL))) > MAX_COUNTED_NOW;
  const countedDay = counted[0]?.value ?? 0;
  return {
    isLarge,
    countedAt: isLarge ? countedDay * DAY_MS : now,
    rows: isLarge ? today : await countStatuses(db, now),
    activeBefore: before[0]?.count ?? null,
  };
}

const isActive = ({ label }: CountRow): boolean => label === 'ACTIVE';

/** The products of the statistics: the requested one, or those with the most active licenses. */
async function readProducts(
  db: Database,
  rows: readonly CountRow[],
  productId: number | undefined,
) {
  const active = new Map<number, number>();
  for (const row of rows) {
    if (row.productId === ALL) continue;
    active.set(row.productId, (active.get(row.productId) ?? 0) + (isActive(row) ? row.count : 0));
  }
  const ids = [...active]
    .toSorted(([one, few], [other, many]) => many - few || one - other)
    .slice(0, MAX_PRODUCTS)
    .map(([id]) => id);
  const found = await db
    .select({ id: products.id, name: products.name })
    .from(products)
    .where(isOneOf(products.id, productId === undefined ? ids : [productId]));
  return found
    .map((product) => ({ ...product, active: active.get(product.id) ?? 0 }))
    .toSorted((one, other) => other.active - one.active || one.id - other.id);
}

/** The installations of products by version, the most frequent versions of each. */
async function readVersions(db: Database, productIds: readonly number[]): Promise<CountRow[]> {
  const [[span], stored] = await db.batch([
    db
      .select({
        // Two selects: in one, SQLite would read all callers instead of seeking each end.
        ids: sql<number>`(select max(id) from callers) - (select min(id) from callers)`.as('ids'),
      })
      .from(sql`(select 1)`),
    ofDay(db, COUNTED_DAY, 'version', isOneOf(dailyCounts.productId, productIds)),
  ]);
  const isLarge = Number(span?.ids) >= MAX_COUNTED_NOW && stored.length > 0;
  const rows = isLarge
    ? stored
    : await db
        .select({
          productId: sql<number>`product_id`.as('product'),
          label: sql<string>`ifnull(product_version, '')`.as('version'),
          count: sql<number>`count(*)`.as('counted'),
        })
        .from(callers)
        .where(and(isOneOf(callers.productId, productIds), isInstallation))
        .groupBy(sql`1, 2`);
  return productIds.flatMap((id) =>
    rows
      .filter(isOf(id))
      .toSorted(
        (one, other) =>
          other.count - one.count ||
          other.label.localeCompare(one.label, undefined, { numeric: true }),
      )
      .slice(0, MAX_VERSIONS),
  );
}

/** The licenses that expire on each of the next days. */
async function readExpiries(
  db: Database,
  productId: number | undefined,
  isLarge: boolean,
  now: number,
): Promise<{ label: string; count: number }[]> {
  if (isLarge && productId === undefined) {
    return ofDay(
      db,
      COUNTED_DAY,
      'expiry',
      and(eq(dailyCounts.productId, ALL), gte(dailyCounts.label, toTimestamp(now).slice(0, 10))),
    );
  }
  return db
    .select({
      label: sql<string>`${expiryDate}`.as('date'),
      count: sql<number>`count(*)`.as('counted'),
    })
    .from(licenses)
    .where(
      productId === undefined
        ? expiresAhead(now)
        : and(eq(licenses.productId, productId), expiresAhead(now, sql`+expires_at`)),
    )
    .groupBy(sql`1`)
    .orderBy(sql`1`);
}

/** The statistics of a period. @param now milliseconds since 1970 */
export async function readStatistics(
  db: Database,
  period: Period,
  now: number,
): Promise<z.infer<typeof statistics>> {
  const { step, productId } = period;
  const [{ isLarge, countedAt, rows, activeBefore }, unrolled] = await Promise.all([
    readLicenses(db, period, now),
    firstUnrolledBucket(db),
  ]);
  const shown = await readProducts(db, rows, productId);
  const ids = shown.map(({ id }) => id);
  const size = STEP_BUCKETS[step];
  const first = Math.floor(bucketAt(period.from) / size);
  const last = Math.floor(bucketAt(period.to) / size);
  const start = timeOfBucket(first * size);
  const end = timeOfBucket((last + 1) * size);
  const [{ steps, byProduct }, versions, expiries, gaps] = await Promise.all([
    countValidations(db, period, ids, unrolled),
    readVersions(db, ids),
    readExpiries(db, productId, isLarge, now),
    readGaps(db, start, end),
  ]);
  const ofStatus = (status: LicenseStatus): number =>
    sum(rows.filter(isOf(productId ?? ALL)).filter(({ label }) => label === status));
  return {
    from: toTimestamp(start),
    to: toTimestamp(end - 1),
    step,
    series: Array.from({ length: last - first + 1 }, (_, index) => {
      const bucket = (first + index) * size;
      return { time: toTimestamp(timeOfBucket(bucket)), ...steps.get(bucket) };
    }),
    products: shown.map(({ id, name, active }) => ({
      productId: id,
      productName: name,
      active,
      validations: byProduct.get(id) ?? 0,
    })),
    licenses: {
      countedAt: toTimestamp(countedAt),
      active: ofStatus('ACTIVE'),
      activeBefore,
      deactivated: ofStatus('DEACTIVATED'),
      expired: ofStatus('EXPIRED'),
    },
    versions: versions.map(({ productId: id, label, count }) => ({
      productId: id,
      productVersion: label === '' ? null : label,
      installations: count,
    })),
    expiries: expiries.map(({ label, count }) => ({ date: label, licenses: count })),
    gaps: gaps.map(({ bucket, requests: missing }) => ({
      time: toTimestamp(timeOfBucket(bucket)),
      requests: missing,
    })),
  };
}
