import type { LicenseDataType, ResponseType } from '../enums';
import { networksHolding } from '../network';
import type { ValidationRequest } from './request';

/** All that a decision needs to know of a license. */
export interface LicenseSnapshot {
  id: number;
  productId: number;
  state: 'ACTIVE' | 'DEACTIVATED' | 'DELETED';
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

/** A value to bind, per kind; what is bound already or needs no slot is left out. */
export type Claims = { readonly [kind in LicenseDataType]?: string };

export type Outcome =
  | { responseType: 'VALID'; license: LicenseSnapshot; claims: Claims }
  | { responseType: 'IP_BLACKLISTED' | 'HWID_BLACKLISTED'; entry: BlacklistEntry }
  | { responseType: 'INVALID_REQUEST'; message: string }
  | { responseType: Refusal };

type Refusal = Exclude<
  ResponseType,
  'VALID' | 'IP_BLACKLISTED' | 'HWID_BLACKLISTED' | 'INVALID_REQUEST' | 'RATE_LIMITED' | 'ERROR'
>;

/** The license's status at a moment: EXPIRED from the very millisecond of its expiry [3]. */
export function statusAt(
  license: Pick<LicenseSnapshot, 'state' | 'expiresAt'>,
  now: number,
): LicenseSnapshot['state'] | 'EXPIRED' {
  const isExpired = license.expiresAt !== null && license.expiresAt <= now;
  return license.state === 'ACTIVE' && isExpired ? 'EXPIRED' : license.state;
}

/**
 * Decides a validation: the table of decisions 1.3 from row 3 to 12, top to bottom, the first row
 * that applies. Pure: what it needs is given, `now` (milliseconds) too.
 *
 * VALID with claims is a promise only: the claim at the database may find the slots taken.
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

  return {
    responseType: 'VALID',
    license,
    claims: {
      ...(ip === 'claim' && request.ip && { IP: request.ip }),
      ...(hwid === 'claim' && request.hwid && { HWID: request.hwid }),
    },
  };
}

function slotFor(
  value: string | null,
  bound: readonly string[],
  limit: number,
): 'not needed' | 'claim' | 'none free' {
  if (value === null || limit === -1 || bound.includes(value)) return 'not needed';
  return bound.length < limit ? 'claim' : 'none free';
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
