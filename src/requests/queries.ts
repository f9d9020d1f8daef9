import { and, count, desc, eq, gte, inArray, lt, ne, type SQL } from 'drizzle-orm';
import type { Database } from '../db/client';
import { requests } from '../db/schema';
import { foldLicenseKey } from '../validation/request';
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

function matching(filter: RequestFilter): SQL | undefined {
  const { licenseKey, productId, ip, hwid, valid, from, to } = filter;
  return and(
    licenseKey === undefined
      ? undefined
      : eq(requests.licenseKeyFolded, foldLicenseKey(licenseKey)),
    productId === undefined ? undefined : eq(requests.productId, productId),
    ip === undefined ? undefined : eq(requests.ip, ip),
    hwid === undefined ? undefined : eq(requests.hwid, hwid),
    valid === undefined ? undefined : (valid ? eq : ne)(requests.responseType, 'VALID'),
    from === undefined ? undefined : gte(requests.id, firstRequestIdAt(from)),
    to === undefined ? undefined : lt(requests.id, firstRequestIdAt(to + 1)),
  );
}

/** Newest first; `after` is the id of the last record of the page before. */
export const listRequests = (
  db: Database,
  filter: RequestFilter,
  page: { limit: number; after?: number | undefined },
): Promise<RequestRow[]> =>
  db
    .select()
    .from(requests)
    .where(
      and(matching(filter), page.after === undefined ? undefined : lt(requests.id, page.after)),
    )
    .orderBy(desc(requests.id))
    .limit(page.limit);

export async function countRequests(db: Database, filter: RequestFilter): Promise<number> {
  const [row] = await db.select({ total: count() }).from(requests).where(matching(filter));
  return row?.total ?? 0;
}

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
