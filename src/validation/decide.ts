import type { LicenseDataType, LicenseState, ResponseType } from '../enums';
import { statusAt } from '../licenses/status';
import { networksHolding } from '../network';
import type { ValidationRequest } from './request';

/** All that a decision needs to know of a license. */
export interface LicenseSnapshot {
  id: number;
  productId: number;
  state: LicenseState;
  /** Null for a license that never expires. */
  expiresAt: number | null;
  /** -1 is unlimited, 0 is none. */
  maxIPs: number;
  maxHWIDs: number;
  /** What is bound, in the order in which it was bound. */
  ips: readonly string[];
  hwids: readonly string[];
  totalRequests: number;
}

export interface BlacklistEntry {
  licenseDataType: LicenseDataType;
  /** A canonical address or CIDR range, or a hardware ID. */
  data: string;
  /** Null for an entry that is for all products. */
  productId: number | null;
  reason: string;
}

export interface Facts {
  /** Null when no license has the key. */
  license: LicenseSnapshot | null;
  /** Every entry that could apply; more do no harm. */
  blacklist: readonly BlacklistEntry[];
  /** Canonical; null where the platform does not tell it. */
  connectingAddress: string | null;
  /** Refuse a request without a hardware ID where the license limits them. */
  requireHwid: boolean;
}

export type Outcome =
  /** `needsClaim` where the address or the hardware ID is new and has yet to take a slot. */
  | { responseType: 'VALID'; license: LicenseSnapshot; needsClaim: boolean }
  | { responseType: 'IP_BLACKLISTED' | 'HWID_BLACKLISTED'; entry: BlacklistEntry }
  | { responseType: 'INVALID_REQUEST'; message: string }
  | { responseType: Refusal };

type Refusal = Exclude<
  ResponseType,
  'VALID' | 'IP_BLACKLISTED' | 'HWID_BLACKLISTED' | 'INVALID_REQUEST' | 'RATE_LIMITED' | 'ERROR'
>;

/**
 * Decides a validation: the table of decisions 1.3 from row 3 to 12, top to bottom, the first row
 * that applies; a hardware ID that REQUIRE_HWID misses counts before the limits. Pure: what it needs
 * is given, `now` (milliseconds since 1970) too.
 *
 * VALID that needs a claim is a promise only: the claim at the database may find the slots taken.
 */
export function decide(facts: Facts, request: ValidationRequest, now: number): Outcome {
  const { license, blacklist } = facts;

  const blockedIp = findIp(blacklist, request, facts.connectingAddress);
  if (blockedIp) return { responseType: 'IP_BLACKLISTED', entry: blockedIp };
  const blockedHwid = find(
    blacklist,
    'HWID',
    request.hwid ? [request.hwid] : [],
    request.productId,
  );
  if (blockedHwid) return { responseType: 'HWID_BLACKLISTED', entry: blockedHwid };

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

  const needsClaim = ip === 'free' || hwid === 'free';
  return { responseType: 'VALID', license, needsClaim };
}

function slotFor(
  value: string | null,
  bound: readonly string[],
  limit: number,
): 'not needed' | 'free' | 'none free' {
  if (value === null || limit === -1 || bound.includes(value)) return 'not needed';
  return bound.length < limit ? 'free' : 'none free';
}

function findIp(
  blacklist: readonly BlacklistEntry[],
  request: ValidationRequest,
  connectingAddress: string | null,
): BlacklistEntry | undefined {
  if (blacklist.length === 0) return undefined;
  const networks = [request.ip, connectingAddress].flatMap((address) =>
    address ? networksHolding(address) : [],
  );
  return find(blacklist, 'IP', networks, request.productId);
}

const find = (
  blacklist: readonly BlacklistEntry[],
  licenseDataType: LicenseDataType,
  candidates: readonly string[],
  productId: number,
): BlacklistEntry | undefined =>
  blacklist.find(
    (entry) =>
      entry.licenseDataType === licenseDataType &&
      (entry.productId === null || entry.productId === productId) &&
      candidates.includes(entry.data),
  );
