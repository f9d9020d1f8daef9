import { and, eq, lte, sql } from 'drizzle-orm';
import { batch, type Database } from '../db/client.ts';
import { retentionStart, type Task } from '../db/task.ts';
import { bucketAt, timeOfBucket } from '../lib/time-id.ts';
import { installations } from '../resources/licenses/schema.ts';
import { keepUses } from '../resources/licenses/slot-uses.ts';
import { isAggregated, keepRequests } from '../resources/licenses/totals.ts';
import { isCounted } from './aggregate.ts';
import { removeGaps } from './gaps.ts';
import { buckets, requests } from './schema.ts';

/** Records that one run removes at most; the next run goes on. */
const MAX_RECORDS = 25_000;

/**
 * Removes a bounded number of counted records (see `aggregate.ts`), the oldest bucket first. Their installations keep
 * the count. Removes installations without records, too, and their licenses keep the count. Safe to run twice at once.
 *
 * @param start the time of the oldest records that are kept, in milliseconds since 1970
 */
async function removeRecordsBefore(db: Database, start: number): Promise<void> {
  const [oldest] = await db
    .select()
    .from(buckets)
    .where(and(lte(buckets.bucket, bucketAt(start) - 1), isCounted))
    .orderBy(buckets.bucket)
    .limit(1);
  if (oldest) await removeRecords(db, oldest.bucket);
  await removeGaps(db, start);
}

/** Removes the first records of a bucket, and the bucket when it is empty. */
async function removeRecords(db: Database, bucket: number): Promise<void> {
  const key = [requests.productId, requests.installationId, requests.id, requests.nonce] as const;
  const [firstKept] = await db
    .select({ productId: key[0], installationId: key[1], id: key[2], nonce: key[3] })
    .from(requests)
    .where(eq(requests.bucket, bucket))
    .orderBy(...key)
    .limit(1)
    .offset(MAX_RECORDS);
  const isRemoved = firstKept
    ? sql`bucket = ${bucket} and (product_id, installation_id, id, nonce) <
        (${firstKept.productId}, ${firstKept.installationId}, ${firstKept.id}, ${firstKept.nonce})`
    : sql`bucket = ${bucket}`;
  // Aggregated installations whose last records are removed here.
  const isExpired = sql`${installations.id} in (select installation_id from requests where ${isRemoved})
    and ${installations.id} is not ${firstKept?.installationId ?? null}
    and ${installations.lastSeenAt} < ${timeOfBucket(bucket + 1)}
    and ${isAggregated('installations')}`;
  await batch(db, {
    kept: keepRequests(db, isExpired),
    uses: keepUses(db, isExpired),
    installations: db.delete(installations).where(isExpired),
    records: db.delete(requests).where(isRemoved),
    bucket: db
      .delete(buckets)
      .where(
        and(
          eq(buckets.bucket, bucket),
          sql`not exists (select 1 from requests where bucket = ${bucket})`,
        ),
      ),
  });
}

export const REMOVE_RECORDS: Task = {
  failure: 'Old records were not removed',
  most: 8,
  async run(run) {
    const start = retentionStart(run, 'REQUEST_RETENTION_DAYS');
    if (start !== null) await removeRecordsBefore(run.db, start);
  },
};
