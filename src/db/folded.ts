import { type SQL, sql } from 'drizzle-orm';

/** SQL about `callers`, for the history and for the totals of licenses. See `history/fold.ts`. */

/** The bucket up to which all callers are folded. */
export const FOLDED_BUCKET = sql`(select value from counters where name = 'folded_bucket')`;

/**
 * The bucket up to which a caller is folded. Without the counter, a caller that has not asked for months
 * would have all buckets since.
 *
 * @param caller the name of the table in the statement
 */
export const foldedBucketOf = (caller: string): SQL =>
  sql`max(${sql.raw(caller)}.folded_bucket, ${FOLDED_BUCKET})`;

/** The product under which the records of a caller are stored. */
export const productOf = (caller: string): SQL => sql.raw(`ifnull(${caller}.product_id, 0)`);
