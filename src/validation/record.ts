import { and, eq, notExists, sql } from 'drizzle-orm';
import type { Database } from '../db/client';
import { licenses, requests } from '../db/schema';
import type { RequestType, ResponseType } from '../enums';
import { newRequestId } from '../requests/id';
import { cutLogged, foldLicenseKey, type PartialRequest } from './request';

/** A history record before it has an id. */
export type NewRequest = Omit<typeof requests.$inferInsert, 'id' | 'nonce'>;

/** What is known of a request only once it is decided. */
export type RecordDetails = Pick<NewRequest, 'licenseId' | 'blockReason' | 'remarks'>;

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

/** Together under the 30 seconds that the platform grants after an answer. */
const RETRY_DELAYS_MS = [100, 400, 1_500, 5_000, 12_000];

const wait = (milliseconds: number) => new Promise<void>((done) => setTimeout(done, milliseconds));

/**
 * Writes a record into the history and counts it in the license's total, exactly once: a write
 * whose answer was lost is repeated under the same id and nonce and then changes nothing.
 *
 * @throws when the database could not be reached for about twenty seconds
 */
export async function recordRequest(
  db: Database,
  record: NewRequest,
  requestedAt: number,
): Promise<void> {
  const nonce = crypto.randomUUID();
  let id = newRequestId(requestedAt);
  for (const delayMs of [...RETRY_DELAYS_MS, null]) {
    try {
      // Another record may have drawn the same id in the same millisecond: then draw again.
      while (!(await write(db, { ...record, id, nonce }))) id = newRequestId(requestedAt);
      return;
    } catch (error) {
      if (delayMs === null) throw error;
      await wait(delayMs * (0.5 + Math.random() / 2));
    }
  }
}

/** Whether the id now holds this record. */
async function write(
  db: Database,
  row: NewRequest & { id: number; nonce: string },
): Promise<boolean> {
  const hasId = eq(requests.id, row.id);
  const taken = db.select({ id: requests.id }).from(requests).where(hasId);
  const insert = db.insert(requests).values(row).onConflictDoNothing({ target: requests.id });
  const confirm = db
    .select({ id: requests.id })
    .from(requests)
    .where(and(hasId, eq(requests.nonce, row.nonce)));
  if (row.licenseId == null || row.responseType === 'RATE_LIMITED') {
    const [, confirmed] = await db.batch([insert, confirm]);
    return confirmed.length > 0;
  }
  const count = db
    .update(licenses)
    .set({ totalRequests: sql`${licenses.totalRequests} + 1` })
    .where(and(eq(licenses.id, row.licenseId), notExists(taken)));
  const [, , confirmed] = await db.batch([count, insert, confirm]);
  return confirmed.length > 0;
}
