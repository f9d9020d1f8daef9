import { HOUR_MS, MINUTE_MS } from '@licet/contract/durations';
import { and, eq, gt, lte, type SQL, sql } from 'drizzle-orm';
import { batch, type Database } from '../db/client.ts';
import { ALL_PRODUCTS, NO_PRODUCT } from '../db/codes.ts';
import { counters } from '../db/schema.ts';
import { numberIn, type Task } from '../db/task.ts';
import { BUCKETS_A_DAY, bucketAt, firstBucketOfDay, lastBucketOfDay } from '../lib/time-id.ts';
import { AGGREGATED_BUCKET, aggregate, isBucketAggregated } from '../resources/licenses/totals.ts';
import { raise } from './alerts.ts';
import { selectManyAddresses } from './many-addresses.ts';
import { buckets, dailyRollups, rollups } from './schema.ts';

/**
 * The counts that the scheduled handler makes of the history:
 *
 * - **Roll-ups**, hourly: records per product and outcome, and per outcome. The first roll-up of a later day also sums
 *   those of the day before. A late record has the roll-ups made again from the records, so it counts once.
 * - **Aggregates**, daily: adds the records of a day to their installations (see `totals.ts`).
 */

/** A bucket is closed this long after its end: longer than any clock error (LATE_MS in insert.ts). */
const CLOSING_MS = 15 * MINUTE_MS;
/** A day is aggregated this long after its end. */
const AGGREGATION_DELAY_MS = HOUR_MS;
/** A run handles this much, because its queries are limited. The next run goes on. */
const MAX_ROLLUPS = 2;
const MAX_AGGREGATED_BUCKETS = 2;
const MAX_AGGREGATED_INSTALLATIONS = 1_000;

type Counter = typeof counters.$inferSelect.name;

/** Moves a counter, unless it was moved meanwhile, or a late record opened a bucket in between. */
const moveCounter = (db: Database, name: Counter, from: number, to: number, condition?: SQL) =>
  db
    .update(counters)
    .set({ value: to })
    .where(
      and(
        eq(counters.name, name),
        eq(counters.value, from),
        sql`not exists (select 1 from ${buckets} where bucket > ${from} and bucket < ${to})`,
        condition,
      ),
    );

/** The bucket up to which the roll-ups have all records. */
export const ROLLED_UP_BUCKET = sql`(select value from counters where name = 'rolled_up_bucket')`;

/** Whether a bucket is rolled up and aggregated, in a select from `buckets`. */
export const isCounted = and(
  lte(buckets.bucket, ROLLED_UP_BUCKET),
  lte(buckets.bucket, AGGREGATED_BUCKET),
);

/** Whether a bucket may hold records of an outcome, in a select from `buckets`. */
export const mayHave = (isOutcome: SQL): SQL =>
  sql`(${buckets.bucket} > ${ROLLED_UP_BUCKET} or exists (
    select 1 from rollups u where u.bucket = ${buckets.bucket} and ${isOutcome}))`;

/** The first bucket with records after that of a counter, and at most `last`; undefined if there is none. */
async function nextBucket(db: Database, name: Counter, last: number) {
  const [row] = await db
    .select({ done: counters.value, bucket: buckets.bucket })
    .from(counters)
    .innerJoin(buckets, gt(buckets.bucket, counters.value))
    .where(and(eq(counters.name, name), lte(buckets.bucket, last)))
    .orderBy(buckets.bucket)
    .limit(1);
  return row;
}

/** Sums the roll-ups of the day of a bucket. They never shrink, so neither does the sum. */
const rollUpDay = (db: Database, bucket: number) =>
  db
    .insert(dailyRollups)
    .select(
      // A seek for each product, because the table has the hours of all days.
      sql`with recursive product(id) as (
          select min(product_id) from rollups
          union all select (select min(product_id) from rollups where product_id > product.id)
            from product where product.id is not null)
        select ${firstBucketOfDay(bucket)}, r.product_id, r.outcome, sum(r.requests)
        from product cross join rollups r on r.product_id = product.id
          and r.bucket between ${firstBucketOfDay(bucket)} and ${lastBucketOfDay(bucket)}
        group by 2, 3`,
    )
    .onConflictDoUpdate({
      target: [dailyRollups.productId, dailyRollups.outcome, dailyRollups.bucket],
      set: { requests: sql`excluded.requests` },
    });

/**
 * Rolls up the closed buckets, the oldest first, and raises the alerts about their addresses. Safe to run twice at once.
 *
 * @param manyAddresses see {@link selectManyAddresses}; 0 for no such alert
 * @param now milliseconds since 1970
 */
async function rollUp(db: Database, manyAddresses: number, now: number): Promise<void> {
  const lastClosed = bucketAt(now - CLOSING_MS) - 1;
  for (let run = 0; run < MAX_ROLLUPS; run++) {
    const next = await nextBucket(db, 'rolled_up_bucket', lastClosed);
    if (next === undefined) return;
    const { done, bucket } = next;
    await batch(db, {
      hour: db
        .insert(rollups)
        .select(
          // Programs can send any number as a product: made-up ones must not fill the table.
          // A deleted product keeps its roll-ups.
          sql`with counted as materialized (
              select product_id, outcome, count(*) as requests
              from requests where bucket = ${bucket} group by 1, 2)
            select ${bucket}, product, outcome, sum(requests) from (
              select iif(
                exists (select 1 from products where id = product_id) or exists (
                  select 1 from rollups r
                  where r.bucket = ${bucket} and r.product_id = counted.product_id),
                product_id, ${NO_PRODUCT}) as product, outcome, requests from counted
              union all select ${ALL_PRODUCTS}, outcome, requests from counted)
            group by 2, 3`,
        )
        // A roll-up never shrinks: the other records may be removed before a late one comes.
        .onConflictDoUpdate({
          target: [rollups.bucket, rollups.productId, rollups.outcome],
          set: { requests: sql`max(${rollups.requests}, excluded.requests)` },
        }),
      dayBefore: bucket > lastBucketOfDay(done) ? rollUpDay(db, done) : [],
      // Unless a late record has set it back meanwhile.
      counter: moveCounter(db, 'rolled_up_bucket', done, bucket),
      ...(manyAddresses > 0 && raise(db, selectManyAddresses(bucket, manyAddresses), now)),
    });
  }
}

/**
 * Aggregates the records of whole days into their installations. Safe to run twice at once.
 *
 * @param now milliseconds since 1970
 */
async function aggregateDays(db: Database, now: number): Promise<void> {
  const lastDay = lastBucketOfDay(bucketAt(now - AGGREGATION_DELAY_MS)) - BUCKETS_A_DAY;
  for (let run = 0; run < MAX_AGGREGATED_BUCKETS; run++) {
    const next = await nextBucket(db, 'aggregated_bucket', lastDay);
    if (next === undefined) return;
    const { done, bucket } = next;
    const { meta } = await aggregate(
      db,
      bucket,
      lastBucketOfDay(bucket),
      MAX_AGGREGATED_INSTALLATIONS,
    );
    if (meta.changes === MAX_AGGREGATED_INSTALLATIONS) return;
    // Unless a record has come meanwhile.
    await moveCounter(db, 'aggregated_bucket', done, bucket, isBucketAggregated(bucket));
  }
}

export const ROLL_UP: Task = {
  failure: 'Records were not rolled up',
  most: 7 * MAX_ROLLUPS,
  run: ({ db, now, settings }) =>
    rollUp(db, numberIn(settings, 'MANY_ADDRESSES', 'addresses', 'none are too many'), now),
};

export const AGGREGATE: Task = {
  failure: 'Records were not aggregated',
  most: 3 * MAX_AGGREGATED_BUCKETS,
  run: ({ db, now }) => aggregateDays(db, now),
};
