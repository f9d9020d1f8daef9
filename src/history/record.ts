import type { RequestType, ResponseType } from '../lib/enums';
import { newNonce, newRecordId } from './id';

/** What a program says about itself. Together with its license this is a caller. */
export interface CallerFields {
  /** As sent. */
  licenseKey: string | null;
  productId: number | null;
  productVersion: string | null;
  ip: string | null;
  hwid: string | null;
  macAddress: string | null;
  operatingSystem: string | null;
  operatingSystemVersion: string | null;
  operatingSystemArchitecture: string | null;
  javaVersion: string | null;
}

/** What a record says beyond its caller and its outcome. */
export interface RecordDetails {
  blockReason?: string | null;
  remarks?: string | null;
  spam?: boolean;
}

/** A record of the history, with its identity: a repeated write of it changes nothing [2.4]. */
export interface HistoryRecord {
  id: number;
  nonce: number;
  type: RequestType;
  outcome: ResponseType;
  /** Null for an unknown key; undefined where no license was looked up, and the key decides. */
  licenseId: number | null | undefined;
  licenseKeyNormalized: string | null;
  caller: CallerFields;
  details: RecordDetails;
}

/** @param requestedAt milliseconds since 1970 */
export const newRecord = (
  record: Omit<HistoryRecord, 'id' | 'nonce'>,
  requestedAt: number,
): HistoryRecord => ({ id: newRecordId(requestedAt), nonce: newNonce(), ...record });
