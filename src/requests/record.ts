import { REQUEST_TYPES, RESPONSE_TYPES } from '@licet/contract/enums';
import * as z from 'zod';
import { firstIdAt, SLOTS } from '../lib/time-id.ts';

const text = z.string().nullable();

/** The fields that a program sends. Together with its license they are an installation. */
export const installationFields = z.object({
  /** As sent. */
  licenseKey: text,
  productId: z.int().nullable(),
  productVersion: text,
  ip: text,
  hwid: text,
  macAddress: text,
  operatingSystem: text,
  operatingSystemVersion: text,
  operatingSystemArchitecture: text,
  javaVersion: text,
});
export type InstallationFields = z.infer<typeof installationFields>;

const recordDetails = z.object({
  blockReason: z.exactOptional(text),
  remarks: z.exactOptional(text),
  spam: z.exactOptional(z.boolean()),
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

/**
 * The id of a record holds its time (see `lib/time-id.ts`). It needs no coordination, and is known before the write.
 * Two isolates can draw the same id in the same millisecond. Their records differ in `nonce` or installation.
 */
const NONCES = 2 ** 15;

let last = { now: 0, slot: 0 };

/** A new id. Later calls in an isolate return greater ids, unless the clock steps back. */
export function newRecordId(now: number): number {
  // The random start keeps isolates apart; the lower half leaves room to count up.
  const slot = now === last.now ? last.slot + 1 : Math.floor((Math.random() * SLOTS) / 2);
  last = { now, slot: slot % SLOTS };
  return firstIdAt(now) + last.slot;
}

/** A random number, by which records of an installation with the same id differ. */
export const newNonce = (): number => Math.floor(Math.random() * NONCES);
