import * as z from 'zod';
import { REQUEST_TYPES, RESPONSE_TYPES } from '../lib/enums';
import { newNonce, newRecordId } from './id';

const text = z.string().nullable();

/** The fields that a program sends. Together with its license they are a caller. */
export const callerFields = z.object({
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
export type CallerFields = z.infer<typeof callerFields>;

const recordDetails = z.object({
  blockReason: z.exactOptional(text),
  remarks: z.exactOptional(text),
  spam: z.exactOptional(z.boolean()),
});
/** The part of a record that neither its caller nor its outcome has. */
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
  caller: callerFields,
  details: recordDetails,
});
export type HistoryRecord = z.infer<typeof historyRecord>;

/** @param requestedAt milliseconds since 1970 */
export const newRecord = (
  record: Omit<HistoryRecord, 'id' | 'nonce'>,
  requestedAt: number,
): HistoryRecord => ({ id: newRecordId(requestedAt), nonce: newNonce(), ...record });
