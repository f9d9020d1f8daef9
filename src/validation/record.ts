import type { RequestType } from '@licet/contract/enums';
import type { ResponseType } from '@licet/contract/outcomes';
import type { Found } from '../cache/snapshot-cache.ts';
import type { Snapshot } from '../cache/snapshots.ts';
import { newRecord, type RecordDetails } from '../requests/record.ts';
import type { Recording } from '../requests/recorder.ts';
import { normalizeLicenseKey } from '../resources/licenses/rules.ts';
import type { Outcome, Snapshots } from './decide.ts';
import { cutLoggedKey, type PartialRequest } from './request.ts';

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
  requestedAt: number;
}

/** The work after a response: its record, and the snapshots to compare with D1 [2.4]. */
export function recordingOf(decided: DecidedValidation): Recording {
  const { snapshots, kid, requestedAt } = decided;
  const { licenseKey, key, productId, ip, hwid, logged } = decided.request;
  const license = snapshots?.license.value;
  const cutKey = cutLoggedKey(licenseKey);
  const record = newRecord(
    {
      type: decided.requestType,
      outcome: decided.outcome,
      licenseId: license === null ? null : license?.id,
      // Not cut itself, because a license key can be longer when it is normalized.
      licenseKeyNormalized: cutKey === licenseKey ? key : cutKey && normalizeLicenseKey(cutKey),
      installation: { licenseKey: cutKey, productId, ip, hwid, ...logged },
      details: decided.details,
      ...(kid !== undefined && { kid }),
    },
    requestedAt,
  );
  const used = [snapshots?.license, snapshots?.policy, decided.token].filter(needsComparison);
  return { record, used, usedAt: requestedAt };
}

const needsComparison = (found: Found<Snapshot> | undefined): found is Found<Snapshot> =>
  found?.needsComparison ?? false;

export const NO_DETAILS: RecordDetails = {};

/** Details for administrators beyond the outcome. */
export function detailsOf(
  outcome: Outcome,
  requestIp: string | null,
  connectingAddress: string | null,
): RecordDetails {
  if (outcome.responseType === 'INVALID_REQUEST') return { remarks: outcome.message };
  if (!('blockReason' in outcome)) return NO_DETAILS;
  const { responseType, blockReason } = outcome;
  if (responseType !== 'IP_BLACKLISTED') return { blockReason };
  // Explains the rejection of an address that is not on the blacklist itself.
  const isOther = connectingAddress !== null && connectingAddress !== requestIp;
  const remarks = isOther ? 'The connecting address may be the one on the blacklist' : null;
  return { blockReason, remarks };
}
