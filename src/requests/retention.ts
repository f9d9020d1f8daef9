import type { Database } from '../db/client';
import { removeTermsOfRemovedRequests } from './indexing';
import { deleteRequestsBefore } from './queries';

const DAY_MS = 24 * 60 * 60 * 1000;
const CHUNK_ROWS = 1_000;
const MAX_CHUNKS = 25;

/**
 * Removes the records that are older than the retention, and the index of them, in chunks and no more
 * of them than one run may take; the next run goes on. Safe to run twice at once.
 *
 * @param retentionDays the variable REQUEST_RETENTION_DAYS; 0 keeps all
 * @param now milliseconds since 1970
 * @returns how many records were removed
 * @throws where the variable is no number of days
 */
export async function removeExpiredRequests(
  db: Database,
  retentionDays: string,
  now: number,
): Promise<number> {
  const days = Number(retentionDays);
  // To remove history by mistake is worse than to keep it.
  if (!(days >= 0)) throw new RangeError('REQUEST_RETENTION_DAYS must be a number of days');
  if (days === 0) return 0;
  let removed = 0;
  for (let chunk = 0; chunk < MAX_CHUNKS; chunk++) {
    const count = await deleteRequestsBefore(db, now - days * DAY_MS, CHUNK_ROWS);
    removed += count;
    if (count < CHUNK_ROWS) break;
  }
  if (removed > 0) await removeTermsOfRemovedRequests(db);
  return removed;
}
