import { and, eq, lte, sql } from 'drizzle-orm';
import type { Database } from '../db/client';
import { buckets, callers, licenses, requests } from '../db/schema';
import { foldCallers, isRolledUp } from './fold';
import { bucketAt, timeOfBucket } from './id';

const DAY_MS = 24 * 60 * 60 * 1000;
/** Buckets that one run removes at most; the next run goes on. */
const MAX_BUCKETS = 3;
/** After this many records a run ends. */
const MAX_RECORDS = 5_000;

/** A setting that makes no sense. Its message may be logged. */
export class SettingError extends Error {
  override name = 'SettingError';
}

/**
 * Removes the records that are older than the retention, whole buckets, the oldest first, each after it
 * was rolled up. Their callers keep the count. Callers without records are removed too, and their licenses
 * keep the count. Safe to run twice at once.
 *
 * @param retentionDays the variable REQUEST_RETENTION_DAYS; 0 keeps all
 * @param now milliseconds since 1970
 * @throws SettingError if the variable is not a number of days
 */
export async function removeExpiredRecords(
  db: Database,
  retentionDays: string,
  now: number,
): Promise<void> {
  const days = Number(retentionDays);
  // Removing history by mistake is worse than keeping it.
  if (!(days >= 0)) throw new SettingError('REQUEST_RETENTION_DAYS must be a number of days');
  if (days === 0) return;
  const lastExpired = bucketAt(now - days * DAY_MS) - 1;
  for (let removed = 0, run = 0; removed < MAX_RECORDS && run < MAX_BUCKETS; run++) {
    const [oldest] = await db
      .select()
      .from(buckets)
      .where(and(lte(buckets.bucket, lastExpired), isRolledUp))
      .orderBy(buckets.bucket)
      .limit(1);
    if (!oldest) return;
    const { bucket } = oldest;
    // Usually nothing is left to fold: that was done when the day had ended.
    const folded = await foldCallers(db, bucket, bucket);
    if (folded === 0) removed += await removeBucket(db, bucket);
  }
}

/** Removes a bucket whose records are folded. @returns how many records were removed */
async function removeBucket(db: Database, bucket: number): Promise<number> {
  // A caller that was last seen in this bucket, and has nothing that is not folded yet.
  const isGone = sql`${callers.id} in (select caller_id from requests where bucket = ${bucket})
    and ${callers.lastSeenAt} < ${timeOfBucket(bucket + 1)}
    and not exists (
      select 1 from buckets b cross join requests r on r.bucket = b.bucket
        and r.product_id = ifnull(${callers.productId}, 0) and r.caller_id = ${callers.id}
      where b.bucket > ${callers.foldedBucket})`;
  const [, , removed] = await db.batch([
    db
      .update(licenses)
      .set({ pastRequests: sql`${licenses.pastRequests} + gone.requests` })
      .from(
        sql`(select license_id, sum(requests) as requests from ${callers} where ${isGone}
          group by license_id) gone`,
      )
      .where(eq(licenses.id, sql`gone.license_id`)),
    db.delete(callers).where(isGone),
    db.delete(requests).where(eq(requests.bucket, bucket)),
    db.delete(buckets).where(eq(buckets.bucket, bucket)),
  ]);
  return removed.meta.changes;
}
