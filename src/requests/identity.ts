import type { ResponseType } from '@licet/contract/enums';
import { sql } from 'drizzle-orm';
import { toBase64url } from '../lib/base64url.ts';
import { sha256 } from '../lib/sha256.ts';
import { dayOf } from '../lib/time-id.ts';
import { type HistoryRecord, installationFields } from './record.ts';

/**
 * The installation of a record is found by its fingerprint, a hash of its identity: the license and all that the
 * program sends. Many new installations of a license and day share a row (1.7, see `insert.ts`).
 */

/** Enough for no two installations to share a fingerprint. */
const FINGERPRINT_BYTES = 12;

/** In the order of the identity, which never changes. */
const FIELDS = installationFields.keyof().options;

/** Without a `kid` it is as before signatures existed: known installations stay known. */
export function identityOf(licenseId: number, { installation, kid }: HistoryRecord): string {
  let identity = String(licenseId);
  for (const field of FIELDS) {
    const value = installation[field];
    // Unambiguous: no value contains NUL.
    identity += value === null ? '\0' : `\0=${value}`;
  }
  if (kid !== undefined) identity += `\0=${kid}`;
  return identity;
}

export const fingerprintOf = async (identity: string): Promise<string> =>
  toBase64url((await sha256(identity)).subarray(0, FINGERPRINT_BYTES));

/** Begins the fingerprint of a shared row, and no other. */
const SHARED_PREFIX = 'day:';

export const isShared = ({ fingerprint }: { fingerprint: string }): boolean =>
  fingerprint.startsWith(SHARED_PREFIX);

/** {@link isShared} in a select from `installations`. */
export const IS_SHARED = sql.raw(`fingerprint glob '${SHARED_PREFIX}*'`);

/** Outcomes of requests whose product need not be that of the license (1.3). */
const HAS_ANY_PRODUCT: ReadonlySet<ResponseType> = new Set([
  'INVALID_REQUEST',
  'RATE_LIMITED',
  'IP_BLACKLISTED',
  'HWID_BLACKLISTED',
  'PRODUCT_MISMATCH',
  'ERROR',
]);

/** A row that new installations share. */
export interface SharedRow {
  /** Depends on the record alone: a repeated write finds the same row. */
  fingerprint: string;
  /** Null if the program can have made it up. */
  productId: number | null;
}

export function sharedRowOf(
  licenseId: number,
  { id, outcome, installation }: HistoryRecord,
): SharedRow {
  const productId = HAS_ANY_PRODUCT.has(outcome) ? null : installation.productId;
  return { fingerprint: `${SHARED_PREFIX}${dayOf(id)}:${licenseId}:${productId}`, productId };
}
