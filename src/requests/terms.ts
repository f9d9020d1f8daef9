import { type SQL, sql } from 'drizzle-orm';

/**
 * The index of the history. An index of SQLite's own costs every record a written row, and SQLite's
 * full-text search makes a database that D1 does not export. This one costs 64 rows for 4,096 records:
 * it is built later (`indexing.ts`), and what it does not hold yet is read through (`search.ts`). A
 * record is in one of three places, and a search reads all three in one transaction:
 *
 * - in a block: records that have been indexed together;
 * - in the tail: above the newest record of all blocks, by id;
 * - late: below it, but written when that block was there already.
 *
 * So the index is exact however late a record comes, hours after a failure too: a trigger notes a late
 * one in the transaction that writes it, and as transactions follow one another, a record is either
 * there for the block or finds it there.
 *
 * In a block, terms lead to ids: those of values (a key, an address, a hardware ID), and those of
 * products. They are spread over buckets, one row each, so that a search reads one row of a block.
 */

/** Terms of values are spread by their last characters, in which they differ; a prime does it well. */
const VALUE_BUCKETS = 61;
/** The records by their product: all of them, and those that were refused. */
export const PRODUCT_BUCKET = 61;
export const REFUSED_BUCKET = 62;
const BUCKETS = 64;

/**
 * How many characters of a value are in its term: the last ones. What is found is compared with the
 * value itself; the limit keeps a row below the 2 MB of D1 whatever clients send. 4,096 keys and as
 * many hardware IDs that share a bucket, of characters that take six in JSON, make 1.6 MB.
 */
const TERM_CHARACTERS = 24;

export const LOWEST_ID = Number.MIN_SAFE_INTEGER;
export const HIGHEST_ID = Number.MAX_SAFE_INTEGER;

/** A number of ours in SQL, where a parameter would do, but not as clearly. */
export const literal = (value: number): SQL => sql.raw(String(value));

/** The id of a row of the index. */
export const termsId = (block: SQL, bucket: SQL): SQL =>
  sql`${block} * ${literal(BUCKETS)} + ${bucket}`;

/** The highest id that is in a block; what is above it is the tail. */
export const newestIndexed = sql`(
  select ifnull(max(newest_id), ${literal(LOWEST_ID)}) from request_blocks)`;

export type ValueKind = 'key' | 'ip' | 'hwid';

/** The term of a value, in SQL. */
export const valueTerm = (kind: ValueKind, value: SQL): SQL =>
  sql`${sql.raw(`'${kind} '`)} || substr(${value}, -${literal(TERM_CHARACTERS)})`;

/** The bucket of a value's term, in SQL. */
export const valueBucket = (term: SQL): SQL =>
  sql`(unicode(substr(${term}, -3, 1)) * 100 + unicode(substr(${term}, -2, 1)) * 10
    + unicode(substr(${term}, -1))) % ${literal(VALUE_BUCKETS)}`;
