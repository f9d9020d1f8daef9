import type { Found } from '../cache/snapshot-cache';
import type { Snapshot } from '../cache/snapshots';
import { newRecord, type RecordDetails } from '../history/record';
import type { Recording } from '../history/recorder';
import type { RequestType, ResponseType } from '../lib/enums';
import { normalizeLicenseKey } from '../resources/licenses/key';
import { cutLoggedKey, type PartialRequest } from './request';
import type { Snapshots } from './validate';

/** A validation with its outcome. */
interface DecidedValidation {
  requestType: RequestType;
  request: PartialRequest;
  outcome: ResponseType;
  details: RecordDetails;
  /** The snapshots that the response is based on; undefined without a look-up. */
  snapshots: Snapshots | undefined;
  token: Found<Snapshot> | undefined;
  /** The signing key of the response; undefined without a signature. */
  kid: string | undefined;
  /** Milliseconds since 1970. */
  requestedAt: number;
}

/** The work after a response: its record, and the snapshots to compare with D1 [2.4]. */
export function recordingOf({
  requestType,
  request,
  outcome,
  details,
  snapshots,
  token,
  kid,
  requestedAt,
}: DecidedValidation): Recording {
  const { licenseKey, key, productId, ip, hwid, logged } = request;
  const license = snapshots?.license.value;
  const cutKey = cutLoggedKey(licenseKey);
  const record = newRecord(
    {
      type: requestType,
      outcome,
      licenseId: license === null ? null : license?.id,
      // Not cut itself, because a license key can be longer when it is normalized.
      licenseKeyNormalized: cutKey === licenseKey ? key : cutKey && normalizeLicenseKey(cutKey),
      caller: { licenseKey: cutKey, productId, ip, hwid, ...logged },
      details,
      ...(kid !== undefined && { kid }),
    },
    requestedAt,
  );
  const used = [snapshots?.license, snapshots?.blacklist, token].filter(cameFromKv);
  return { record, used, usedAt: requestedAt };
}

const cameFromKv = (found: Found<Snapshot> | undefined): found is Found<Snapshot> =>
  found?.isFromKv ?? false;
