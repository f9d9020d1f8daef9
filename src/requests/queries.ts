import { and, count, desc, eq, gte, inArray, lt, type SQL, sql } from 'drizzle-orm';
import type { Database } from '../db/client';
import type { Page } from '../db/page';
import { requests } from '../db/schema';
import { equalsAll, equalsUnindexed } from '../db/search';
import { foldLicenseKey } from '../licenses/key';
import { firstRequestIdAt } from './id';
import type { RequestRow } from './schema';

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

// In the words of the partial index, which a parameter would not find.
const isRefused = sql`${requests.responseType} <> 'VALID'`;
const isValid = sql`${requests.responseType} = 'VALID'`;

function matching(filter: RequestFilter): SQL | undefined {
  const { licenseKey, productId, ip, hwid, valid, from, to } = filter;
  return and(
    equalsAll(
      [requests.licenseKeyFolded, licenseKey && foldLicenseKey(licenseKey)],
      [requests.hwid, hwid],
      [requests.ip, ip],
      // A product can have a million records, and few that were refused.
      [requests.productId, valid === false ? undefined : productId],
    ),
    valid === false ? and(isRefused, equalsUnindexed(requests.productId, productId)) : undefined,
    valid === true ? isValid : undefined,
    from === undefined ? undefined : gte(requests.id, firstRequestIdAt(from)),
    to === undefined ? undefined : lt(requests.id, firstRequestIdAt(to + 1)),
  );
}

/** Newest first; `after` is the id of the last record of the page before. */
export const listRequests = (
  db: Database,
  filter: RequestFilter,
  page: Page,
): Promise<RequestRow[]> =>
  db
    .select()
    .from(requests)
    .where(
      and(matching(filter), page.after === undefined ? undefined : lt(requests.id, page.after)),
    )
    .orderBy(desc(requests.id))
    .limit(page.limit);

/** How many records match. */
export async function countRequests(db: Database, filter: RequestFilter): Promise<number> {
  const total = (part: RequestFilter) =>
    db.select({ total: count() }).from(requests).where(matching(part));
  if (filter.valid !== true) return (await total(filter))[0]?.total ?? 0;
  // Both are counted in an index alone, and the valid ones would have to be looked at one by one.
  const [all, refused] = await db.batch([
    total({ ...filter, valid: undefined }),
    total({ ...filter, valid: false }),
  ]);
  return (all[0]?.total ?? 0) - (refused[0]?.total ?? 0);
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
