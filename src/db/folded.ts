import { type SQL, sql } from 'drizzle-orm';

/** SQL about `callers` (see `history/fold.ts`), for the history and for the totals of licenses. */

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

/** The product under which the records of a caller are stored. */
export const productOf = (caller: string): SQL => sql.raw(`ifnull(${caller}.product_id, 0)`);
