import type { Found } from '../cache/snapshot-cache';
import type { Snapshot } from '../cache/snapshots';
import { newRecord, type RecordDetails } from '../history/record';
import type { Recording } from '../history/recorder';
import type { RequestType, ResponseType } from '../lib/enums';
import { normalizeLicenseKey } from '../resources/licenses/key';
import { cutLogged, type PartialRequest } from './request';
import type { Snapshots } from './validate';

/** A validation that is decided. */
export interface Answered {
  requestType: RequestType;
  request: PartialRequest;
  outcome: ResponseType;
  details: RecordDetails;
  /** The basis of the response; undefined if nothing was looked up. */
  snapshots: Snapshots | undefined;
  token: Found<Snapshot> | undefined;
  /** Milliseconds since 1970. */
  requestedAt: number;
}

/** Work after a response: its record, and the snapshots to be compared with D1 [2.4]. */
export function recordingOf({
  requestType,
  request,
  outcome,
  details,
  snapshots,
  token,
  requestedAt,
}: Answered): Recording {
  const { licenseKey, key, productId, ip, hwid, logged } = request;
  const license = snapshots?.license.value;
  const cutKey = cutLogged(licenseKey);
  const record = newRecord(
    {
      type: requestType,
      outcome,
      licenseId: license === null ? null : license?.id,
      // Not cut itself: a key of a license can be longer when it is normalized.
      licenseKeyNormalized: cutKey === licenseKey ? key : cutKey && normalizeLicenseKey(cutKey),
      caller: { licenseKey: cutKey, productId, ip, hwid, ...logged },
      details,
    },
    requestedAt,
  );
  const found = snapshots ? [snapshots.license, snapshots.blacklist] : [];
  return { record, used: token ? [...found, token] : found, usedAt: requestedAt };
}
