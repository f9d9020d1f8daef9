import { countGlobal, firstOfSlots, isGlobal, slotOf } from '@licet/contract/addresses';
import type { LicenseDataType } from '@licet/contract/enums';
import type { BlockedType, ResponseType } from '@licet/contract/outcomes';
import type { RequestTimings } from '../lib/request-timings.ts';
import type { RecordDetails } from '../requests/record.ts';
import type { Blacklist } from '../resources/blacklists/blacklist.ts';
import { keysMeantBy, statusAt, whyNoKey } from '../resources/licenses/rules.ts';
import type { LicenseSnapshot } from '../resources/licenses/snapshot.ts';
import type { Policy } from '../resources/policy.ts';
import type { Snapshots } from './find-snapshots.ts';
import type { ValidationRequest } from './request.ts';

export interface Facts {
  /** Null when no license has the key. */
  license: LicenseSnapshot | null;
  blacklist: Pick<Blacklist, 'findAddress' | 'findHwid'>;
  /** Canonical; null if it is unknown. */
  connectingAddress: string | null;
  /** Rejects a request without a hardware ID if the license limits them. */
  requireHwid: boolean;
  /** The bits of an IPv6 address that count for a slot. */
  ipv6SlotPrefix: number;
}

export type Outcome =
  /** `mustBeStored` if a new value must be bound first, or the expiry starts with this validation. */
  | { responseType: 'VALID'; license: LicenseSnapshot; mustBeStored: boolean }
  /** `blockReason` is for administrators only. */
  | { responseType: BlockedType; blockReason: string }
  | { responseType: 'INVALID_REQUEST'; message: string }
  /** `full` has the types of which no slot is free. */
  | { responseType: FullType; full: FullTypes }
  | { responseType: Rejection };

export type FullTypes = readonly [LicenseDataType, ...LicenseDataType[]];
type FullType = 'MAX_IPS_REACHED' | 'MAX_HWIDS_REACHED';

type Rejection = Exclude<
  ResponseType,
  'VALID' | 'INVALID_REQUEST' | 'RATE_LIMITED' | 'ERROR' | BlockedType | FullType
>;

/**
 * Decides a validation: the first row that applies of the table in decisions 1.3, from row 3 on. The hardware
 * ID that REQUIRE_HWID requires counts before the limits. A pure function.
 *
 * VALID that must be stored is provisional: in D1 all slots may be taken.
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

  // A license can have been imported with such a text as its key. It would admit everybody without a key (7).
  if (!license || whyNoKey(request.key)) return { responseType: 'LICENSE_NOT_FOUND' };
  if (license.productId !== request.productId) return { responseType: 'PRODUCT_MISMATCH' };
  const status = statusAt(license, now);
  if (status === 'DELETED') return { responseType: 'LICENSE_DELETED' };
  if (status === 'DEACTIVATED') return { responseType: 'LICENSE_DEACTIVATED' };
  if (status === 'EXPIRED') return { responseType: 'LICENSE_EXPIRED' };

  if (facts.requireHwid && license.maxHWIDs !== -1 && !request.hwid) {
    return { responseType: 'INVALID_REQUEST', message: 'hwid is required' };
  }
  const ip = addressSlotFor(request.ip, license, facts.ipv6SlotPrefix);
  const hwid = slotFor(request.hwid, license.hwids, license.maxHWIDs);
  if (ip === 'none free') {
    return { responseType: 'MAX_IPS_REACHED', full: hwid === ip ? ['IP', 'HWID'] : ['IP'] };
  }
  if (hwid === 'none free') return { responseType: 'MAX_HWIDS_REACHED', full: ['HWID'] };

  const mustBeStored = ip === 'free' || hwid === 'free' || license.expiresAfterDays !== null;
  return { responseType: 'VALID', license, mustBeStored };
}

function slotFor(
  value: string | null,
  bound: readonly string[],
  limit: number,
): 'not needed' | 'free' | 'none free' {
  if (value === null || limit === -1 || bound.includes(value)) return 'not needed';
  return bound.length < limit ? 'free' : 'none free';
}

/** The slots of the addresses of a license in memory: the lists of a snapshot never change. */
interface AddressSlots {
  slots: ReadonlySet<string>;
  globalCount: number;
}
const addressSlots = new WeakMap<readonly string[], AddressSlots>();

function slotsOfAddresses(ips: readonly string[], ipv6SlotPrefix: number): AddressSlots {
  const known = addressSlots.get(ips);
  if (known) return known;
  const firsts = firstOfSlots(ips, ipv6SlotPrefix);
  const slots = new Set(firsts.map((first) => slotOf(first, ipv6SlotPrefix)));
  const made = { slots, globalCount: countGlobal(firsts) };
  addressSlots.set(ips, made);
  return made;
}

/** {@link slotFor} an address. One that does not say where a machine is counts beside others of that kind alone (1.4). */
function addressSlotFor(
  ip: string | null,
  { ips, maxIPs }: LicenseSnapshot,
  ipv6SlotPrefix: number,
): ReturnType<typeof slotFor> {
  if (ip === null || maxIPs === -1 || ips.includes(ip)) return 'not needed';
  const { slots, globalCount } = slotsOfAddresses(ips, ipv6SlotPrefix);
  if (slots.has(slotOf(ip, ipv6SlotPrefix))) return 'not needed';
  const count = isGlobal(ip) ? globalCount : slots.size - globalCount;
  return count < maxIPs ? 'free' : 'none free';
}

/**
 * Details of an outcome, for administrators alone.
 *
 * @param policy undefined if the decision did not need it
 */
export function detailsOf(
  outcome: Outcome,
  { licenseKey, productId, ip }: Pick<ValidationRequest, 'licenseKey' | 'productId' | 'ip'>,
  connectingAddress: string | null,
  policy: Policy | null | undefined,
): RecordDetails {
  if (outcome.responseType === 'INVALID_REQUEST') return { remarks: outcome.message };
  if (outcome.responseType === 'LICENSE_NOT_FOUND') {
    return { remarks: keysMeantBy(licenseKey).map(whyNoKey).find(Boolean) ?? null };
  }
  if (!('blockReason' in outcome)) return {};
  const { responseType, blockReason } = outcome;
  if (responseType !== 'IP_BLACKLISTED') return { blockReason };
  // Explains the rejection of an address that is not on the blacklist itself.
  const isListed = ip !== null && policy?.blacklist.findAddress(ip, productId) !== undefined;
  const isOther = connectingAddress !== null && connectingAddress !== ip && !isListed;
  const remarks = isOther ? 'The connecting address may be the one on the blacklist' : null;
  return { blockReason, remarks };
}

/** The circumstances of a decision beside the request and the snapshots. */
export interface Circumstances
  extends Pick<Facts, 'connectingAddress' | 'requireHwid' | 'ipv6SlotPrefix'> {
  /** When the body had arrived, in milliseconds since 1970. */
  requestedAt: number;
  timings: RequestTimings;
}

/** Decides on snapshots. */
export function decideFrom(
  { license, policy }: Snapshots,
  request: ValidationRequest,
  { connectingAddress, requireHwid, ipv6SlotPrefix, requestedAt }: Circumstances,
): Outcome {
  if (!policy.value) throw new Error('The policy has no revision');
  const { blacklist } = policy.value;
  const facts = {
    license: license.value,
    blacklist,
    connectingAddress,
    requireHwid,
    ipv6SlotPrefix,
  };
  return decide(facts, request, requestedAt);
}
