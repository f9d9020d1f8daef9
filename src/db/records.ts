import { type SQL, sql } from 'drizzle-orm';
import { BUCKET_MS, EPOCH, SLOTS } from '../lib/time-id.ts';
import { NO_PRODUCT } from './codes.ts';

/** Parts of statements about the records of the history. */

/**
 * Begins the fingerprint of a row that many installations share, and no other (see `requests/insert.ts`). Earlier versions
 * stored such a row for each day and product.
 */
export const SHARED_PREFIX = 'day:';

/** Whether a row of a select from `installations` is such a row. */
export const IS_SHARED = sql.raw(`fingerprint glob '${SHARED_PREFIX}*'`);

/** The product under which the records of an installation are stored. */
export const productOf = (installation: string): SQL =>
  sql.raw(`ifnull(${installation}.product_id, ${NO_PRODUCT})`);

export const timeOfIdSql = (id: SQL): SQL =>
  sql`(${id} / ${sql.raw(String(SLOTS))} + ${sql.raw(String(EPOCH))})`;

export const bucketOfIdSql = (id: SQL): SQL => sql`(${id} / ${sql.raw(String(SLOTS * BUCKET_MS))})`;

/** The bucket of a time in milliseconds since 1970. */
export const bucketAtSql = (time: SQL): SQL =>
  sql`((${time} - ${sql.raw(String(EPOCH))}) / ${sql.raw(String(BUCKET_MS))})`;

/** Whether an installation `i` has this record already. */
export const isStored = (id: SQL, nonce: SQL): SQL =>
  sql`exists (
    select 1 from requests q
    where q.bucket = ${bucketOfIdSql(id)} and q.product_id = ${productOf('i')}
      and q.installation_id = i.id and q.id = ${id} and q.nonce = ${nonce})`;
