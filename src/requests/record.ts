import { REQUEST_TYPES } from '@licet/contract/enums';
import { RESPONSE_TYPES } from '@licet/contract/outcomes';
import { installationFields } from '@licet/contract/requests';
import * as z from 'zod';
import { SHARED_PREFIX } from '../db/records.ts';
import { toBase64url } from '../lib/base64url.ts';
import { sha256 } from '../lib/sha256.ts';
import { firstIdAt, SLOTS } from '../lib/time-id.ts';

const text = z.string().nullable();

const recordDetails = z.object({
  blockReason: z.exactOptional(text),
  remarks: z.exactOptional(text),
  spam: z.exactOptional(z.boolean()),
  /** The key as it was sent, if it is a reading: its installation has the key that is meant (1.2). */
  licenseKey: z.exactOptional(text),
});
/** The part of a record that neither its installation nor its outcome has. */
export type RecordDetails = z.infer<typeof recordDetails>;

/** A record of the history. Its identity makes a repeated write change nothing [2.4]. */
export const historyRecord = z.object({
  id: z.int().positive(),
  nonce: z.int().min(0),
  type: z.enum(REQUEST_TYPES),
  outcome: z.enum(RESPONSE_TYPES),
  /** Null for an unknown key; undefined if no license was looked up. The key decides then. */
  licenseId: z.int().nullish(),
  licenseKeyNormalized: text,
  installation: installationFields,
  /** The signing key of the response. It belongs to the installation, and is not on the wire. */
  kid: z.exactOptional(z.string()),
  details: recordDetails,
});
export type HistoryRecord = z.infer<typeof historyRecord>;

/** @param requestedAt milliseconds since 1970 */
export const newRecord = (
  record: Omit<HistoryRecord, 'id' | 'nonce'>,
  requestedAt: number,
): HistoryRecord => ({ id: newRecordId(requestedAt), nonce: newNonce(), ...record });

/** Two isolates can draw the same id in the same millisecond. The nonce tells the records apart. */
const NONCES = 2 ** 15;

let last = { now: 0, slot: 0 };

/**
 * A new id, which holds the time of the record (see `lib/time-id.ts`). It needs no coordination, and is known before
 * the write. Later calls in an isolate return greater ids, unless the clock steps back.
 */
export function newRecordId(now: number): number {
  // The random start keeps isolates apart; the lower half leaves room to count up.
  const slot = now === last.now ? last.slot + 1 : Math.floor((Math.random() * SLOTS) / 2);
  last = { now, slot: slot % SLOTS };
  return firstIdAt(now) + last.slot;
}

/** A random number, by which records of an installation with the same id differ. */
export const newNonce = (): number => Math.floor(Math.random() * NONCES);

/**
 * The installation of a record is found by its fingerprint, a hash of its identity: the license and all that the
 * program sends. Many new installations of a license share a row (1.7, see `insert.ts`).
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

export const isShared = ({ fingerprint }: { fingerprint: string }): boolean =>
  fingerprint.startsWith(SHARED_PREFIX);

/** The fingerprint of the row that further new installations of a license share. It has no product. */
export const sharedFingerprintOf = (licenseId: number): string => `${SHARED_PREFIX}${licenseId}`;
