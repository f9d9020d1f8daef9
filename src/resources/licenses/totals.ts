import { eq, type SQL, sql } from 'drizzle-orm';
import type { SQLiteUpdateSetSource } from 'drizzle-orm/sqlite-core';
import type { Database } from '../../db/client.ts';
import { RESPONSE_TYPE_CODES } from '../../db/codes.ts';
import { isOneOf } from '../../db/predicates.ts';
import { bucketOfIdSql, isStored, productOf, timeOfIdSql } from '../../db/records.ts';
import { BUCKETS_A_DAY, bucketAt, bucketOf, firstIdAt } from '../../lib/time-id.ts';
import { installations, licenses } from './schema.ts';

/**
 * The number of requests of a license, `totalRequests` (1.6), has three parts. Each request is in exactly one:
 *
 * - `past_requests` of the license: requests at another service, and of removed installations;
 * - `requests` of its installations: records up to the `aggregated_bucket` of each;
 * - the later records.
 *
 * An aggregation moves records from the third part to the second. A counter has the bucket up to which all
 * installations are aggregated.
 */

export const AGGREGATED_BUCKET = sql`(select value from counters where name = 'aggregated_bucket')`;

/**
 * The bucket up to which an installation is aggregated. The counter covers those without records since their last
 * aggregation.
 *
 * @param installation the name of the table in the statement
 */
export const aggregatedBucketOf = (installation: string): SQL =>
  sql`max(${sql.raw(installation)}.aggregated_bucket, ${AGGREGATED_BUCKET})`;

/**
 * The bucket up to which a new installation is aggregated. It lies two buckets before the first record, because another
 * isolate can still store a record of the bucket between.
 */
export const aggregatedBucketOfNew = (firstId: number): number => bucketOf(firstId) - 2;

/** Whether a record `r` counts. */
const COUNTS = sql`r.outcome <> ${sql.raw(String(RESPONSE_TYPE_CODES.RATE_LIMITED))}`;

/** The buckets `b` and the records `r` of an installation since its last aggregation, in a join. */
export const recentRecords = (installation: string, lastBucket?: number): SQL =>
  sql`buckets b cross join requests r on b.bucket > ${aggregatedBucketOf(installation)}
    ${lastBucket === undefined ? sql`` : sql`and b.bucket <= ${lastBucket}`}
    and r.bucket = b.bucket and r.product_id = ${productOf(installation)}
    and r.installation_id = ${sql.raw(installation)}.id`;

/** Whether an installation has such a record since its last aggregation. */
const hasRecent = (installation: string, isRecord: SQL): SQL =>
  sql`exists (select 1 from ${recentRecords(installation)} and ${isRecord})`;

/** Whether all records of an installation are aggregated. */
export const isAggregated = (installation: string): SQL =>
  sql`not ${hasRecent(installation, sql`true`)}`;

/**
 * Whether an installation belongs to a license, under its key or a replaced one. An erased installation has no key, and
 * belongs to none.
 *
 * @param installation the name of the table in the statement
 */
export const isOfLicense = (installation: string, licenseId: SQL | number): SQL =>
  sql`${sql.raw(installation)}.license_id = ${licenseId}
    and ${sql.raw(installation)}.license_key_normalized <> ''`;

/** The installations of the license of the row, in a join. */
const installationsOfLicense = sql`installations i where ${isOfLicense('i', sql`licenses.id`)}`;

const requestsOfInstallations = sql`(
  select ifnull(sum(i.requests + (
    select count(*) from ${recentRecords('i')} and ${COUNTS})), 0)
  from ${installationsOfLicense})`;

/** The exact column `totalRequests` of a select from the licenses [2.2]. */
export const totalRequests = sql`licenses.past_requests + ${requestsOfInstallations}`
  .mapWith(Number)
  .as('totalRequests');

/** Installations whose requests a snapshot adds up: made-up installations must not make a look-up slow. */
const MAX_ADDED = 1_000;

/** A lower bound of {@link totalRequests} that takes few rows: it has no records since the aggregations. */
export const totalRequestsAtLeast = sql`licenses.past_requests + (
    select ifnull(sum(requests), 0) from (
      select i.requests from ${installationsOfLicense} limit ${sql.raw(String(MAX_ADDED))}))`
  .mapWith(Number)
  .as('totalRequests');

/** Whether the license of the row has such an installation. */
const hasInstallation = (isInstallation: SQL): SQL =>
  sql`exists (select 1 from ${installationsOfLicense} and (${isInstallation}))`;

/** Whether {@link totalRequests} is not 0. */
export const isUsed = sql`(licenses.past_requests > 0 or ${hasInstallation(
  sql`i.requests > 0 or ${hasRecent('i', COUNTS)}`,
)})`;

/** Whether the license of the row has a request since a time, in milliseconds since 1970. */
export const wasSeenSince = (time: number): SQL =>
  hasInstallation(
    sql`i.last_seen_at >= ${time} or ${hasRecent(
      'i',
      sql`b.bucket >= ${bucketAt(time)} and r.id >= ${firstIdAt(time)}`,
    )}`,
  );

/** The `requests` and the `last_id` of installations `i` since their last aggregation, by `id`. */
const sumOfRecent = (from: SQL, lastBucket?: number): SQL =>
  sql`select i.id, count(*) filter (where ${COUNTS}) as requests, max(r.id) as last_id
    from ${from} cross join ${recentRecords('i', lastBucket)} group by i.id`;

/**
 * A select of the `id`, `last_seen_at` and `requests` of installations, with the records since their last aggregation.
 *
 * @param known the name of a table with the columns of installations
 */
export const exactInstallations = (known: string): SQL =>
  sql`select k.id, max(k.last_seen_at, ifnull(${timeOfIdSql(sql`recent.last_id`)}, 0)) as last_seen_at,
      k.requests + ifnull(recent.requests, 0) as requests
    from ${sql.raw(known)} k
      left join (${sumOfRecent(sql.raw(`${known} i`))}) recent on recent.id = k.id`;

/** Adds to installations the `requests` and the `last_id` that a select has by `id`. */
const addToInstallations = (
  db: Database,
  due: SQL,
  set: SQLiteUpdateSetSource<typeof installations>,
) =>
  db
    .update(installations)
    .set({
      requests: sql`${installations.requests} + due.requests`,
      lastSeenAt: sql`max(${installations.lastSeenAt}, ${timeOfIdSql(sql`due.last_id`)})`,
      ...set,
    })
    .from(sql`(${due}) due`)
    .where(eq(installations.id, sql`due.id`));

/**
 * Aggregates installations that have records in a bucket, at most `limit` of them.
 *
 * @param lastBucket the last bucket that is aggregated
 */
export const aggregate = (db: Database, bucket: number, lastBucket: number, limit: number) =>
  addToInstallations(
    db,
    sumOfRecent(
      sql`(
        select distinct s.product_id, s.installation_id as id
        from requests s join installations on installations.id = s.installation_id
        where s.bucket = ${bucket} and installations.aggregated_bucket < ${lastBucket}
        limit ${limit}
      ) due join installations i on i.id = due.id`,
      lastBucket,
    ),
    { aggregatedBucket: lastBucket },
  );

/** Whether all installations with records in a bucket are aggregated. */
export const isBucketAggregated = (bucket: number): SQL => sql`not exists (
  select 1 from requests r join installations i on i.id = r.installation_id
  where r.bucket = ${bucket} and i.aggregated_bucket < ${bucket})`;

/**
 * Counts records whose installations may be aggregated already. Goes before the insert of the records: one that is
 * there is counted.
 *
 * @param records a select of their `installation_id`, `id`, `nonce` and `outcome`
 */
export const countLate = (db: Database, records: SQL) =>
  addToInstallations(
    db,
    sql`
      select i.id, min(r.id) as first_id, max(r.id) as last_id,
        count(*) filter (where ${COUNTS}) as requests
      from (${records}) r join installations i on i.id = r.installation_id
      where ${aggregatedBucketOf('i')} >= ${bucketOfIdSql(sql`r.id`)}
        and not ${isStored(sql`r.id`, sql`r.nonce`)}
      group by i.id`,
    {
      firstSeenAt: sql`min(${installations.firstSeenAt}, ${timeOfIdSql(sql`due.first_id`)})`,
    },
  );

/** Adds the requests of aggregated installations to their licenses, which lose these installations. */
export const keepRequests = (db: Database, isLost: SQL) =>
  db
    .update(licenses)
    .set({ pastRequests: sql`${licenses.pastRequests} + lost.requests` })
    .from(
      sql`(select license_id, sum(requests) as requests from ${installations} where ${isLost}
        group by license_id) lost`,
    )
    .where(eq(licenses.id, sql`lost.license_id`));

const DAY = sql.raw(String(BUCKETS_A_DAY));

/**
 * The statements that precede those by which installations lose their license. No later record joins such an
 * installation. It is aggregated up to the end of its last day; otherwise it would use up a place of the `limit` in each
 * later aggregation of that day.
 */
export const keepRequestsOf = (db: Database, installationIds: readonly number[]) => ({
  aggregated: addToInstallations(
    db,
    sumOfRecent(
      // A cross join reads the installations by their ids, and not all of them.
      sql`json_each(${JSON.stringify(installationIds)}) lost
        cross join installations i on i.id = lost.value`,
    ),
    { aggregatedBucket: sql`${bucketOfIdSql(sql`due.last_id`)} / ${DAY} * ${DAY} + ${DAY} - 1` },
  ),
  kept: keepRequests(db, isOneOf(installations.id, installationIds)),
});

/** Takes the requests here off the totals of returning licenses, which include them already. */
export const subtractRequestsHere = (db: Database, licenseIds: readonly number[]) =>
  db
    .update(licenses)
    .set({ pastRequests: sql`max(0, ${licenses.pastRequests} - ${requestsOfInstallations})` })
    .where(isOneOf(licenses.id, licenseIds));
