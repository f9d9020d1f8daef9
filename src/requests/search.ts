import {
  and,
  between,
  count,
  desc,
  eq,
  getTableColumns,
  gte,
  lte,
  type SQL,
  sql,
} from 'drizzle-orm';
import type { Database } from '../db/client';
import { requestBlocks, requests, requestTerms } from '../db/schema';
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

/** The parts of a search in the history; see `terms.ts` for the places in which records are. */

/** Records that are in no block yet. */
export const isInTail = sql`${requests.id} > ${newestIndexed}`;
export const isLate = sql`${requests.id} in (select id from late_requests)`;

/** What is looked for in a block: one term of a bucket, or all of them. */
export interface Term {
  bucket: SQL;
  text: SQL | undefined;
}

interface ProductTerm extends Term {
  refusedOnly: boolean;
}

/** Leads to the records with a value, and to others: they are to be compared with it. */
export function termOfValue(kind: ValueKind, value: string): Term {
  const text = valueTerm(kind, sql`${value}`);
  return { bucket: valueBucket(text), text };
}

/** Leads to the records of a product, or of all products, and to no others. */
export const termOfProduct = (
  productId: number | undefined,
  refusedOnly: boolean,
): ProductTerm => ({
  bucket: literal(refusedOnly ? REFUSED_BUCKET : PRODUCT_BUCKET),
  text: productId === undefined ? undefined : sql`${String(productId)}`,
  refusedOnly,
});

/** Ids of records, both inclusive. */
export interface IdRange {
  from?: number | undefined;
  to?: number | undefined;
}

/** The rows of the index in which a term's records between two ids are. */
const isAsked = (term: Term, { from = LOWEST_ID, to = HIGHEST_ID }: IdRange): SQL | undefined =>
  and(
    gte(requestBlocks.newestId, from),
    lte(requestBlocks.oldestId, to),
    eq(requestTerms.id, termsId(sql`${requestBlocks.newestId}`, term.bucket)),
    // Spares taking rows apart that do not have the term.
    term.text && sql`instr(${requestTerms.recordIds}, json_quote(${term.text})) > 0`,
  );

const pathOf = ({ text }: Term): SQL =>
  text === undefined ? sql`'$'` : sql`'$.' || json_quote(${text})`;

const entriesOf = (term: Term): SQL =>
  sql`json_tree(${requestTerms.recordIds}, ${pathOf(term)}) as entry`;

/** The records of the entries that are ids. */
const isListed = ({ from = LOWEST_ID, to = HIGHEST_ID }: IdRange): SQL | undefined =>
  and(
    sql`entry.type = 'integer'`,
    between(sql`entry.value`, from, to),
    eq(requests.id, sql`entry.value`),
  );

/** What is looked for in blocks: a term's records between two ids that fulfil a condition. */
interface Search {
  term: Term;
  range: IdRange;
  where: SQL | undefined;
}

// The joins are crossed, which SQLite takes for the order in which to read.
const indexedRequests = (db: Database, { term, range, where }: Search) =>
  db
    .select(getTableColumns(requests))
    .from(requestBlocks)
    .crossJoin(requestTerms)
    .crossJoin(entriesOf(term))
    .crossJoin(requests)
    .where(and(isAsked(term, range), isListed(range), where));

/**
 * The newest records in blocks, which are read from the newest on and no further than it takes: not
 * at all where the tail has enough.
 */
export function newestIndexedRequests(db: Database, search: Search, limit: number) {
  const inTail = db
    .select({ id: requests.id })
    .from(requests)
    .where(and(isInTail, search.where))
    .limit(limit);
  const where = and(
    sql`(select count(*) from ${inTail}) < ${limit}`,
    eq(requestBlocks.isLate, false),
    search.where,
  );
  return (
    indexedRequests(db, { ...search, where })
      // These blocks follow one another: the first order is that of the second.
      .orderBy(desc(requestBlocks.newestId), desc(requests.id))
      .limit(limit)
  );
}

/** The newest records in blocks of late ones, of which there are few if any: all are read. */
export const newestLateRequests = (db: Database, search: Search, limit: number) =>
  indexedRequests(db, { ...search, where: and(eq(requestBlocks.isLate, true), search.where) })
    .orderBy(desc(requests.id))
    .limit(limit);

/** How many records in blocks match. */
export const countIndexed = (db: Database, search: Search) =>
  db.select({ total: count() }).from(indexedRequests(db, search).as('found'));

/**
 * How many records in blocks a product's term leads to. Hardly one of them is read: a block knows how
 * many it has, unless retention has begun with it (its oldest goes first) or it is only in part
 * between the two ids.
 */
export function countIndexedOfProduct(db: Database, term: ProductTerm, range: IdRange) {
  const { from = LOWEST_ID, to = HIGHEST_ID } = range;
  const isWhole = and(
    gte(requestBlocks.oldestId, from),
    lte(requestBlocks.newestId, to),
    sql`exists (select 1 from ${requests} where ${requests.id} = ${requestBlocks.oldestId})`,
  );
  const all = term.refusedOnly ? requestBlocks.refused : requestBlocks.records;
  const known = term.text
    ? sql`json_array_length(${requestTerms.recordIds}, ${pathOf(term)})`
    : all;
  const counted = sql`(
    select count(*) from ${entriesOf(term)} cross join ${requests} where ${isListed(range)})`;
  return db
    .select({
      total: sql<number>`ifnull(sum(case when ${isWhole} then ${known} else ${counted} end), 0)`,
    })
    .from(requestBlocks)
    .crossJoin(requestTerms)
    .where(isAsked(term, range));
}
