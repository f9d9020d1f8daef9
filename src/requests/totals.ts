import { eq, type SQL, sql } from 'drizzle-orm';
import type { SQLiteUpdateSetSource } from 'drizzle-orm/sqlite-core';
import type { Database } from '../db/client.ts';
import { RESPONSE_TYPE_CODES } from '../db/codes.ts';
import { isOneOf } from '../db/predicates.ts';
import { callers, licenses } from '../db/schema.ts';
import { BoundedMap } from '../lib/bounded-map.ts';
import { bucketAt, firstIdAt } from '../lib/time-id.ts';
import {
  BUCKETS_A_DAY,
  bucketOf,
  bucketOfIdSql,
  isStored,
  productOf,
  timeOfRecordIdSql,
} from './record.ts';

/**
 * The number of requests of a license, `totalRequests` (1.6), has three parts, of which no request is in two:
 *
 * - `past_requests` of the license: those that another service counted, and those of callers that were removed;
 * - `requests` of its callers: their records up to the bucket up to which each is folded;
 * - the records since.
 *
 * A fold moves records from the third part to the second. A counter has the bucket up to which all callers are folded.
 */

/** The bucket up to which all callers are folded. */
export const FOLDED_BUCKET = sql`(select value from counters where name = 'folded_bucket')`;

/**
 * The bucket up to which a caller is folded. The counter covers callers without records since their last
 * fold.
 *
 * @param caller the name of the table in the statement
 */
export const foldedBucketOf = (caller: string): SQL =>
  sql`max(${sql.raw(caller)}.folded_bucket, ${FOLDED_BUCKET})`;

/** Up to which bucket a new caller is folded. Other isolates can still store records of the bucket before. */
export const foldedBucketOfNew = (firstId: number): number => bucketOf(firstId) - 2;

/** Whether a record `r` counts. */
const COUNTS = sql`r.outcome <> ${sql.raw(String(RESPONSE_TYPE_CODES.RATE_LIMITED))}`;

/** The buckets `b` and the records `r` of a caller since its last fold, in a join. */
const recordsSinceFold = (caller: string, lastBucket?: number): SQL =>
  sql`buckets b cross join requests r on b.bucket > ${foldedBucketOf(caller)}
    ${lastBucket === undefined ? sql`` : sql`and b.bucket <= ${lastBucket}`}
    and r.bucket = b.bucket and r.product_id = ${productOf(caller)}
    and r.caller_id = ${sql.raw(caller)}.id`;

/** Whether a caller has such a record since its last fold. */
const hasRecent = (caller: string, isRecord: SQL): SQL =>
  sql`exists (select 1 from ${recordsSinceFold(caller)} and ${isRecord})`;

/** Whether all records of a caller are folded. */
export const isFolded = (caller: string): SQL => sql`not ${hasRecent(caller, sql`true`)}`;

/** The callers of the license of the row, in a join. */
const callersOfLicense = sql.raw(`callers c where c.license_key_normalized =
  licenses.license_key_normalized and c.license_id = licenses.id`);

const requestsOfCallers = sql`(
  select ifnull(sum(c.requests + (
    select count(*) from ${recordsSinceFold('c')} and ${COUNTS})), 0)
  from ${callersOfLicense})`;

/** The exact column `totalRequests` of a select from the licenses [2.2]. */
export const totalRequests = sql`licenses.past_requests + ${requestsOfCallers}`
  .mapWith(Number)
  .as('totalRequests');

/** Callers whose requests a snapshot adds up: made-up callers must not make a look-up slow. */
const MAX_ADDED = 1_000;

/** A lower bound of {@link totalRequests} that takes few rows: it has no records since the folds. */
export const totalRequestsAtLeast = sql`licenses.past_requests + (
    select ifnull(sum(requests), 0) from (
      select c.requests from ${callersOfLicense} limit ${sql.raw(String(MAX_ADDED))}))`
  .mapWith(Number)
  .as('totalRequests');

/** Whether the license of the row has such a caller. */
const hasCaller = (isCaller: SQL): SQL =>
  sql`exists (select 1 from ${callersOfLicense} and (${isCaller}))`;

/** Whether {@link totalRequests} is not 0. */
export const isUsed = sql`(licenses.past_requests > 0 or ${hasCaller(
  sql`c.requests > 0 or ${hasRecent('c', COUNTS)}`,
)})`;

/** Whether the license of the row has a request since a time, in milliseconds since 1970. */
export const wasSeenSince = (time: number): SQL =>
  hasCaller(
    sql`c.last_seen_at >= ${time} or ${hasRecent(
      'c',
      sql`b.bucket >= ${bucketAt(time)} and r.id >= ${firstIdAt(time)}`,
    )}`,
  );

/** The `requests` and the `last_id` of callers `c` since their last fold, by `id`. */
const sumSinceFold = (from: SQL, lastBucket?: number): SQL =>
  sql`select c.id, count(*) filter (where ${COUNTS}) as requests, max(r.id) as last_id
    from ${from} cross join ${recordsSinceFold('c', lastBucket)} group by c.id`;

/**
 * A select of the `id`, `last_seen_at` and `requests` of callers, with the records since their last fold.
 *
 * @param known the name of a table with the columns of callers
 */
export const exactCallers = (known: string): SQL =>
  sql`select k.id, max(k.last_seen_at, ifnull(${timeOfRecordIdSql(sql`recent.last_id`)}, 0)) as last_seen_at,
      k.requests + ifnull(recent.requests, 0) as requests
    from ${sql.raw(known)} k
      left join (${sumSinceFold(sql.raw(`${known} c`))}) recent on recent.id = k.id`;

/** Adds to callers the `requests` and the `last_id` that a select has by `id`. */
const addToCallers = (db: Database, due: SQL, set: SQLiteUpdateSetSource<typeof callers>) =>
  db
    .update(callers)
    .set({
      requests: sql`${callers.requests} + due.requests`,
      lastSeenAt: sql`max(${callers.lastSeenAt}, ${timeOfRecordIdSql(sql`due.last_id`)})`,
      ...set,
    })
    .from(sql`(${due}) due`)
    .where(eq(callers.id, sql`due.id`));

/**
 * Folds callers that have records in a bucket, at most `limit` of them.
 *
 * @param lastBucket the last bucket that is folded
 */
export const foldCallers = (db: Database, bucket: number, lastBucket: number, limit: number) =>
  addToCallers(
    db,
    sumSinceFold(
      sql`(
        select distinct s.product_id, s.caller_id as id
        from requests s join callers on callers.id = s.caller_id
        where s.bucket = ${bucket} and callers.folded_bucket < ${lastBucket}
        limit ${limit}
      ) due join callers c on c.id = due.id`,
      lastBucket,
    ),
    { foldedBucket: lastBucket },
  );

/** Whether all callers with records in a bucket are folded. */
export const isBucketFolded = (bucket: number): SQL => sql`not exists (
  select 1 from requests r join callers c on c.id = r.caller_id
  where r.bucket = ${bucket} and c.folded_bucket < ${bucket})`;

/**
 * Counts records whose callers may be folded already. Goes before the insert of the records: one that is there already
 * is counted already.
 *
 * @param records a select of their `caller_id`, `id`, `nonce` and `outcome`
 */
export const countLate = (db: Database, records: SQL) =>
  addToCallers(
    db,
    sql`
      select c.id, min(r.id) as first_id, max(r.id) as last_id,
        count(*) filter (where ${COUNTS}) as requests
      from (${records}) r join callers c on c.id = r.caller_id
      where ${foldedBucketOf('c')} >= ${bucketOfIdSql(sql`r.id`)}
        and not ${isStored(sql`r.id`, sql`r.nonce`)}
      group by c.id`,
    {
      firstSeenAt: sql`min(${callers.firstSeenAt}, ${timeOfRecordIdSql(sql`due.first_id`)})`,
    },
  );

/** Adds the requests of folded callers to their licenses, which lose these callers. */
export const keepRequests = (db: Database, isLost: SQL) =>
  db
    .update(licenses)
    .set({ pastRequests: sql`${licenses.pastRequests} + lost.requests` })
    .from(
      sql`(select license_id, sum(requests) as requests from ${callers} where ${isLost}
        group by license_id) lost`,
    )
    .where(eq(licenses.id, sql`lost.license_id`));

const DAY = sql.raw(String(BUCKETS_A_DAY));

/**
 * The statements before callers lose their license. No later record joins such a caller. It is folded to the end of
 * its last day, or it would take a place in each later fold of that day.
 */
export const keepRequestsOf = (db: Database, callerIds: readonly number[]) => ({
  folded: addToCallers(
    db,
    sumSinceFold(
      sql`json_each(${JSON.stringify(callerIds)}) lost join callers c on c.id = lost.value`,
    ),
    { foldedBucket: sql`${bucketOfIdSql(sql`due.last_id`)} / ${DAY} * ${DAY} + ${DAY} - 1` },
  ),
  kept: keepRequests(db, isOneOf(callers.id, callerIds)),
});

/** Takes the requests here off the totals of returning licenses, which include them already. */
export const subtractRequestsHere = (db: Database, licenseIds: readonly number[]) =>
  db
    .update(licenses)
    .set({ pastRequests: sql`max(0, ${licenses.pastRequests} - ${requestsOfCallers})` })
    .where(isOneOf(licenses.id, licenseIds));

const MAX_KNOWN = 10_000;

/** The totals of licenses as an isolate knows them (1.1): it counts the requests that it sees itself. */
export class KnownTotals {
  /** By the id of the license. */
  readonly #totals = new BoundedMap<number, number>(MAX_KNOWN);

  /**
   * Counts a request. `totalRequests` is a lower bound.
   *
   * @returns the total with this request
   */
  count({ id, totalRequests }: { id: number; totalRequests: number }): number {
    const total = Math.max(this.#totals.get(id) ?? 0, totalRequests) + 1;
    this.#totals.set(id, total);
    return total;
  }
}
