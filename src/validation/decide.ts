import type { BlockedType, ResponseType } from '@licet/contract/outcomes';
import type { Blacklist } from '../resources/blacklists/blacklist.ts';
import type { LicenseSnapshot } from '../resources/licenses/snapshot.ts';
import { statusAt } from '../resources/licenses/status.ts';
import type { ValidationRequest } from './request.ts';

export interface Facts {
  /** Null when no license has the key. */
  license: LicenseSnapshot | null;
  blacklist: Pick<Blacklist, 'findAddress' | 'findHwid'>;
  /** Canonical; null if it is unknown. */
  connectingAddress: string | null;
  /** Rejects a request without a hardware ID if the license limits them. */
  requireHwid: boolean;
}

export type Outcome =
  /** `needsSlot` if the address or the hardware ID is new, and must be bound first. */
  | { responseType: 'VALID'; license: LicenseSnapshot; needsSlot: boolean }
  /** `blockReason` is for administrators only. */
  | { responseType: BlockedType; blockReason: string }
  | { responseType: 'INVALID_REQUEST'; message: string }
  | { responseType: Rejection };

type Rejection = Exclude<
  ResponseType,
  'VALID' | 'INVALID_REQUEST' | 'RATE_LIMITED' | 'ERROR' | BlockedType
>;

/**
 * Decides a validation: the first row that applies of the table in decisions 1.3, from row 3 on. The hardware
 * ID that REQUIRE_HWID requires counts before the limits. A pure function.
 *
 * VALID that needs a slot is provisional: in D1 all slots may be taken.
 *
 * @param now milliseconds since 1970
 */
export function decide(facts: Facts, request: ValidationRequest, now: number): Outcome {
  const { license, blacklist } = facts;

  for (const address of [request.ip, facts.connectingAddress]) {
    if (address === null) continue;
    const blockReason = blacklist.findAddress(address, request.productId);
    if (blockReason !== undefined) return { responseType: 'IP_BLACKLISTED', blockReason };
  }
  if (request.hwid !== null) {
    const blockReason = blacklist.findHwid(request.hwid, request.productId);
    if (blockReason !== undefined) return { responseType: 'HWID_BLACKLISTED', blockReason };
  }

  if (!license) return { responseType: 'LICENSE_NOT_FOUND' };
  if (license.productId !== request.productId) return { responseType: 'PRODUCT_MISMATCH' };
  const status = statusAt(license, now);
  if (status === 'DELETED') return { responseType: 'LICENSE_DELETED' };
  if (status === 'DEACTIVATED') return { responseType: 'LICENSE_DEACTIVATED' };
  if (status === 'EXPIRED') return { responseType: 'LICENSE_EXPIRED' };

  if (facts.requireHwid && license.maxHWIDs !== -1 && !request.hwid) {
    return { responseType: 'INVALID_REQUEST', message: 'hwid is required' };
  }
  const ip = slotFor(request.ip, license.ips, license.maxIPs);
  if (ip === 'none free') return { responseType: 'MAX_IPS_REACHED' };
  const hwid = slotFor(request.hwid, license.hwids, license.maxHWIDs);
  if (hwid === 'none free') return { responseType: 'MAX_HWIDS_REACHED' };

  const needsSlot = ip === 'free' || hwid === 'free';
  return { responseType: 'VALID', license, needsSlot };
}

function slotFor(
  value: string | null,
  bound: readonly string[],
  limit: number,
): 'not needed' | 'free' | 'none free' {
  if (value === null || limit === -1 || bound.includes(value)) return 'not needed';
  return bound.length < limit ? 'free' : 'none free';
}
