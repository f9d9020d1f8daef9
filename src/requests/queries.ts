import { and, count, desc, eq, gte, inArray, lt, ne, type SQL } from 'drizzle-orm';
import type { SQLiteColumn } from 'drizzle-orm/sqlite-core';
import type { Database } from '../db/client';
import type { Page } from '../db/page';
import { requests } from '../db/schema';
import { foldLicenseKey } from '../licenses/key';
import { firstRequestIdAt } from './id';
import type { RequestRow } from './schema';
import {
  countIndexed,
  countIndexedOfProduct,
  type IdRange,
  isInTail,
  isLate,
  newestIndexedRequests,
  newestLateRequests,
  type Term,
  termOfProduct,
  termOfValue,
} from './search';

export interface RequestFilter {
  licenseKey?: string | undefined;
  productId?: number | undefined;
  /** Canonical. */
  ip?: string | undefined;
  hwid?: string | undefined;
  valid?: boolean | undefined;
  /** Milliseconds since 1970, both inclusive. */
  from?: number | undefined;
  to?: number | undefined;
}

const equals = (column: SQLiteColumn, value: string | number | undefined): SQL | undefined =>
  value === undefined ? undefined : eq(column, value);

function matching({ licenseKey, productId, ip, hwid, valid, from, to }: RequestFilter) {
  return and(
    equals(requests.licenseKeyFolded, licenseKey && foldLicenseKey(licenseKey)),
    equals(requests.hwid, hwid),
    equals(requests.ip, ip),
    equals(requests.productId, productId),
    equals(requests.responseType, valid === true ? 'VALID' : undefined),
    valid === false ? ne(requests.responseType, 'VALID') : undefined,
    from === undefined ? undefined : gte(requests.id, firstRequestIdAt(from)),
    to === undefined ? undefined : lt(requests.id, firstRequestIdAt(to + 1)),
  );
}

/** The ids that records of this time, and behind this one, can have. */
function rangeOf({ from, to }: RequestFilter, after = Number.MAX_SAFE_INTEGER): IdRange {
  return {
    from: from === undefined ? undefined : firstRequestIdAt(from),
    to: Math.min(after, to === undefined ? after : firstRequestIdAt(to + 1)) - 1,
  };
}

/** What leads to the fewest records: the others of the filter only sort them out. */
function valueTermOf({ licenseKey, hwid, ip }: RequestFilter): Term | undefined {
  if (licenseKey !== undefined) return termOfValue('key', foldLicenseKey(licenseKey));
  if (hwid !== undefined) return termOfValue('hwid', hwid);
  if (ip !== undefined) return termOfValue('ip', ip);
  return undefined;
}

const productTermOf = ({ productId, valid }: RequestFilter) =>
  termOfProduct(productId, valid === false);

/** Newest first; `after` is the id of the last record of the page before. */
export async function listRequests(
  db: Database,
  filter: RequestFilter,
  { limit, after }: Page,
): Promise<RequestRow[]> {
  const where = and(matching(filter), after === undefined ? undefined : lt(requests.id, after));
  const newest = (part?: SQL) =>
    db.select().from(requests).where(and(part, where)).orderBy(desc(requests.id)).limit(limit);

  const valueTerm = valueTermOf(filter);
  // Of what is not refused there is enough wherever one looks.
  const isFrequent = filter.productId === undefined && filter.valid !== false;
  if (valueTerm === undefined && isFrequent) return newest();

  const search = {
    term: valueTerm ?? productTermOf(filter),
    range: rangeOf(filter, after),
    where,
  };
  const parts = await db.batch([
    newest(isInTail),
    newest(isLate),
    newestLateRequests(db, search, limit),
    newestIndexedRequests(db, search, limit),
  ]);
  const found = parts.flat().sort((one, other) => other.id - one.id);
  return found.slice(0, limit);
}

/** How many records match. */
export async function countRequests(db: Database, filter: RequestFilter): Promise<number> {
  const where = matching(filter);
  const range = rangeOf(filter);
  const countOf = (part: SQL) =>
    db.select({ total: count() }).from(requests).where(and(part, where));
  const indexed = (part: RequestFilter) => countIndexedOfProduct(db, productTermOf(part), range);

  const term = valueTermOf(filter);
  const [[tail], [late], [all], refused] = await db.batch([
    countOf(isInTail),
    countOf(isLate),
    term ? countIndexed(db, { term, range, where }) : indexed(filter),
    // The index knows who was refused, and by that who was not.
    ...(term === undefined && filter.valid === true ? [indexed({ ...filter, valid: false })] : []),
  ]);
  return (tail?.total ?? 0) + (late?.total ?? 0) + (all?.total ?? 0) - (refused?.[0]?.total ?? 0);
}

/** The record with an id. */
export async function findRequest(db: Database, id: number): Promise<RequestRow | undefined> {
  const [row] = await db.select().from(requests).where(eq(requests.id, id));
  return row;
}

/**
 * Removes records older than a moment (milliseconds since 1970), the oldest first and at most
 * `limit` of them.
 *
 * @returns how many were removed
 */
export async function deleteRequestsBefore(
  db: Database,
  moment: number,
  limit: number,
): Promise<number> {
  const oldest = db
    .select({ id: requests.id })
    .from(requests)
    .where(lt(requests.id, firstRequestIdAt(moment)))
    .orderBy(requests.id)
    .limit(limit);
  const deleted = await db.delete(requests).where(inArray(requests.id, oldest));
  return deleted.meta.changes;
}
