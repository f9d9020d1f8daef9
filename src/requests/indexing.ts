import { inArray, lt, lte, type SQL, sql } from 'drizzle-orm';
import type { Database } from '../db/client';
import { lateRequests, requestBlocks, requests, requestTerms } from '../db/schema';
import { firstRequestIdAt } from './id';
import {
  HIGHEST_ID,
  LOWEST_ID,
  literal,
  newestIndexed,
  PRODUCT_BUCKET,
  REFUSED_BUCKET,
  termsId,
  type ValueKind,
  valueBucket,
  valueTerm,
} from './terms';

const BLOCK_RECORDS = 4_096;

/**
 * A record is written half a minute after its request at the latest, if all is well. The index is as
 * exact for one that comes later; it only costs a row more, for the note that it is late.
 */
const MIN_AGE_MS = 2 * 60 * 1000;

/**
 * Whoever looks for a block reads the whole tail, and every minute that would be more rows in a day
 * than the Free plan has: so only in the first minute of each interval. Its 13 minutes have no factor
 * in common with an hour or a day: however often the scheduled handler runs, it meets that minute.
 */
export const INDEXING_INTERVAL_MS = 13 * 60 * 1000;
const INDEXING_MS = 60 * 1000;

/** How many blocks a run makes: with two statements for each, less than the Free plan's 50 in all. */
const MAX_BLOCKS = 16;

/** How many rows of the index a run removes: more than those of the records that it can remove. */
const MAX_REMOVED_ROWS = 2_000;

/**
 * Indexes records that are older than two minutes, as many of them as make whole blocks: one written
 * row for 64 records, and no work for this program. Safe to run twice at once.
 *
 * @param now milliseconds since 1970
 * @param blockRecords how many records make a block
 * @returns how many blocks it made, or another run before it
 */
export async function indexRequests(
  db: Database,
  now: number,
  blockRecords = BLOCK_RECORDS,
): Promise<number> {
  if (now % INDEXING_INTERVAL_MS >= INDEXING_MS) return 0;

  const tooYoung = firstRequestIdAt(now - MIN_AGE_MS);
  const endsIn = (table: typeof requests | typeof lateRequests, after: SQL) =>
    blockEnds(db, sql`${table} where id < ${tooYoung}`, after, blockRecords);

  const ends = await endsIn(requests, newestIndexed);
  for (const end of ends) {
    // Nothing, where another run has come first.
    await db.batch(makeBlock(db, sql`id > ${newestIndexed} and id <= ${end}`, false));
  }
  const lateEnds = await endsIn(lateRequests, literal(LOWEST_ID));
  for (const end of lateEnds) {
    const noted = sql`(select id from late_requests where id <= ${end})`;
    await db.batch([
      ...makeBlock(db, sql`id in ${noted}`, true),
      db.delete(lateRequests).where(lte(lateRequests.id, end)),
    ]);
  }
  return ends.length + lateEnds.length;
}

/** The ids of the records with which whole blocks end. */
async function blockEnds(
  db: Database,
  records: SQL,
  after: SQL,
  blockRecords: number,
): Promise<number[]> {
  const rows = await db.all<{ id: number }>(sql`
    with recursive ends(id) as (
      select ${after}
      union all
      select (select id from ${records} and id > ends.id
        order by id limit 1 offset ${literal(blockRecords - 1)})
      from ends where id is not null
      limit ${literal(1 + MAX_BLOCKS)})
    select id from ends where id is not null limit -1 offset 1`);
  return rows.map(({ id }) => id);
}

/** Terms first: it is the block that takes its records out of the tail. */
function makeBlock(db: Database, contents: SQL, isLate: boolean) {
  const block = sql`block as materialized (
    select id, license_key_folded, ip, hwid, product_id, response_type <> 'VALID' as is_refused
    from requests where ${contents})`;
  const termsOf = (kind: ValueKind, column: string) => {
    const value = sql.raw(column);
    return sql`select ${valueTerm(kind, value)} as term, id from block where ${value} is not null`;
  };
  const values = sql`
    ${termsOf('key', 'license_key_folded')} union all ${termsOf('ip', 'ip')}
    union all ${termsOf('hwid', 'hwid')}`;
  const products = sql`products as materialized (
    select ifnull(cast(product_id as text), '') as term, json_group_array(id) as ids,
      json_group_array(id) filter (where is_refused) as refused_ids
    from block group by product_id)`;
  const lists = sql`lists(bucket, term, ids) as (
    select ${valueBucket(sql`term`)}, term, json_group_array(id) from (${values}) group by term
    union all select ${literal(PRODUCT_BUCKET)}, term, ids from products
    union all select ${literal(REFUSED_BUCKET)}, term, refused_ids from products
      where refused_ids <> '[]')`;
  return [
    db.insert(requestTerms).select(sql`with ${block}, ${products}, ${lists}
      select ${termsId(sql`(select max(id) from block)`, sql`bucket`)},
        json_group_object(term, json(ids))
      from lists group by bucket`),
    db.insert(requestBlocks).select(sql`with ${block}
      select max(id), min(id), count(*), sum(is_refused), ${literal(isLate ? 1 : 0)}
      from block having count(*) > 0`),
  ] as const;
}

/**
 * Removes what is indexed of records that retention has removed, the oldest first and a bounded part
 * of it. A block stays until the last of its records is gone.
 */
export async function removeTermsOfRemovedRequests(db: Database): Promise<void> {
  const oldest = sql`(select ifnull(min(id), ${literal(HIGHEST_ID)}) from requests)`;
  const first = (ids: SQL) => sql`(select ${ids} order by 1 limit ${literal(MAX_REMOVED_ROWS)})`;
  const terms = first(sql`id from request_terms where id < ${termsId(oldest, literal(0))}`);
  const blocks = first(sql`newest_id from request_blocks where newest_id < ${oldest}`);
  await db.batch([
    db.delete(lateRequests).where(lt(lateRequests.id, oldest)),
    db.delete(requestTerms).where(inArray(requestTerms.id, terms)),
    // The newest block goes last, for it tells where the tail begins; nothing below it is left then.
    db.delete(requestBlocks).where(inArray(requestBlocks.newestId, blocks)),
  ]);
}
