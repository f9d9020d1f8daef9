import { and, eq, notExists, sql } from 'drizzle-orm';
import type { Database } from '../db/client';
import { retry } from '../db/retry';
import { licenses, requests } from '../db/schema';
import type { RequestType, ResponseType } from '../enums';
import { foldLicenseKey } from '../licenses/key';
import { newRequestId } from '../requests/id';
import { cutLogged, type PartialRequest } from './request';

/** A history record before it has an id. */
export type NewRequest = Omit<typeof requests.$inferInsert, 'id' | 'nonce'>;

/** What is known of a request only once it is decided; `licenseId` is null for an unknown key. */
export type RecordDetails = Pick<NewRequest, 'licenseId' | 'blockReason' | 'remarks'>;

/** The record of a request [2.4]. */
export const newRecord = (
  requestType: RequestType,
  { logged, licenseKey, productId, ip, hwid }: PartialRequest,
  responseType: ResponseType,
  details: RecordDetails,
): NewRequest => ({
  requestType,
  responseType,
  licenseKey: cutLogged(licenseKey),
  licenseKeyFolded: cutLogged(licenseKey && foldLicenseKey(licenseKey)),
  productId,
  ip,
  hwid,
  ...logged,
  ...details,
});

/** Between ten and twenty seconds in all: with the attempts, within the thirty after an answer. */
const RETRY_DELAYS_MS = [100, 400, 1_500, 5_000, 12_000];

/**
 * Writes a record into the history and counts it in the license's total, exactly once: a write
 * whose answer was lost is repeated under the same id and nonce and then changes nothing.
 *
 * @param requestedAt milliseconds since 1970
 * @throws when the database could not be reached for more than ten seconds
 */
export async function recordRequest(
  db: Database,
  record: NewRequest,
  requestedAt: number,
): Promise<void> {
  const nonce = crypto.randomUUID();
  let id = newRequestId(requestedAt);
  await retry(RETRY_DELAYS_MS, async () => {
    // Another record may have drawn the same id in the same millisecond: then draw again.
    while (!(await write(db, { ...record, id, nonce }))) id = newRequestId(requestedAt);
  });
}

/** Whether the id now holds this record. */
async function write(
  db: Database,
  row: NewRequest & { id: number; nonce: string },
): Promise<boolean> {
  // A request that came to no decision may still name a license that is known.
  const isLicense =
    row.licenseId === undefined
      ? eq(licenses.licenseKeyFolded, row.licenseKeyFolded ?? '')
      : eq(licenses.id, row.licenseId ?? 0);
  const license = db.select({ id: licenses.id }).from(licenses).where(isLicense);
  const hasId = eq(requests.id, row.id);
  const taken = db.select({ id: requests.id }).from(requests).where(hasId);
  const countsFor = row.responseType === 'RATE_LIMITED' ? sql`false` : isLicense;
  const [, , confirmed] = await db.batch([
    db
      .update(licenses)
      .set({ totalRequests: sql`${licenses.totalRequests} + 1` })
      .where(and(countsFor, notExists(taken))),
    db
      .insert(requests)
      .values({ ...row, licenseId: row.licenseId === undefined ? sql`${license}` : row.licenseId })
      .onConflictDoNothing({ target: requests.id }),
    db
      .select({ id: requests.id })
      .from(requests)
      .where(and(hasId, eq(requests.nonce, row.nonce))),
  ]);
  return confirmed.length > 0;
}
