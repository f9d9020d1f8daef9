import { type BlockedType, OUTCOMES, type ResponseType } from '@licet/contract/outcomes';
import type { FoundPolicy } from '../cache/caches.ts';
import type { Found } from '../cache/snapshot-cache.ts';
import type { Isolate } from '../isolate.ts';
import type { RequestTimings } from '../lib/request-timings.ts';
import type { Blacklist } from '../resources/blacklists/blacklist.ts';
import { statusAt } from '../resources/licenses/rules.ts';
import type { LicenseSnapshot } from '../resources/licenses/snapshot.ts';
import { bind } from './bind.ts';
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

/** The snapshots on which a validation is decided. */
export interface Snapshots {
  license: Found<LicenseSnapshot>;
  policy: FoundPolicy;
}

/**
 * Looks up the snapshots of a validation side by side, without a promise if both are in memory. Rejects when the
 * database is needed and cannot be reached.
 */
export function findSnapshots(
  { caches }: Isolate,
  { key }: ValidationRequest,
  timings: RequestTimings,
): Snapshots | Promise<Snapshots> {
  const license = caches.licenses.find(key, timings);
  const policy = caches.findPolicy(timings);
  const isInMemory = !(license instanceof Promise || policy instanceof Promise);
  return isInMemory ? { license, policy } : findBoth(license, policy);
}

async function findBoth(
  license: Found<LicenseSnapshot> | Promise<Found<LicenseSnapshot>>,
  policy: FoundPolicy | Promise<FoundPolicy>,
): Promise<Snapshots> {
  const found = await Promise.all([license, policy]);
  return { license: found[0], policy: found[1] };
}

/** The facts of a decision beside the request and the snapshots. */
export type Circumstances = Pick<Facts, 'connectingAddress' | 'requireHwid'>;

/** A validation that memory or KV can tell to be VALID. */
interface CachedValid {
  snapshots: Snapshots;
  license: LicenseSnapshot;
}

/**
 * Decides a validation of a client over a limit: VALID if memory or KV can tell, else nothing (1.7). D1 is read for the
 * policy alone, at most every 30 seconds.
 *
 * @param mayReadPublished whether KV may be asked
 * @returns the license as well if memory or KV knows the key
 */
export async function decideCachedOnly(
  { caches }: Isolate,
  request: ValidationRequest,
  circumstances: Circumstances,
  now: number,
  timings: RequestTimings,
  mayReadPublished: () => Promise<boolean>,
): Promise<{ license?: LicenseSnapshot; valid?: CachedValid }> {
  const found = await caches.licenses.findCachedOnly(request.key, timings, mayReadPublished);
  if (!found?.value) return {};
  const policy = await caches.findPolicy(timings);
  const { value: license } = found;
  const { blacklist } = policy.value;
  const outcome = decide({ ...circumstances, license, blacklist }, request, now);
  if (outcome.responseType !== 'VALID' || outcome.needsSlot) return { license };
  return { license, valid: { snapshots: { license: found, policy }, license } };
}

/**
 * Decides a validation on snapshots. Only a new value and a limit that looks full need D1: then the license as
 * the primary has it decides [4.7].
 *
 * @param now milliseconds since 1970
 * @throws when the database is needed and cannot be reached
 */
export async function decideStrictly(
  isolate: Isolate,
  request: ValidationRequest,
  { license: found, policy }: Snapshots,
  circumstances: Circumstances,
  now: number,
  timings: RequestTimings,
): Promise<{ outcome: Outcome; license: Found<LicenseSnapshot> }> {
  const { db, caches } = isolate;
  const { blacklist } = policy.value;
  const facts = { ...circumstances, license: found.value, blacklist };
  const outcome = decide(facts, request, now);
  if (!found.value || !dependsOnSlots(outcome)) return { outcome, license: found };
  if (isFull(outcome) && isolate.wasFull(found.value, now)) return { outcome, license: found };

  // A client that disconnects must not leave a binding without its record.
  timings.keepAlive();
  const startedAt = performance.now();
  const { license, hasBound } = await bind(db, found.value, request, now);
  timings.record('d1', performance.now() - startedAt);
  const { key } = found;
  if (license) {
    caches.licenses.put(key, license, startedAt);
    // KV may lack this binding, or an earlier one that was never put.
    const isNewer = license.revision > found.value.revision;
    const isWorthPublishing = hasBound || (isNewer && found.needsComparison);
    if (isWorthPublishing && caches.licenses.canPublish()) {
      timings.waitUntil(caches.licenses.publish(key, { row: license }));
    }
  } else {
    // A removed row counts as one more revision.
    caches.licenses.invalidate(key, found.value.revision + 1);
  }
  const decided = decide({ ...facts, license }, request, now);
  if (license && isFull(decided)) isolate.noteFull(license, now);
  return { outcome: decided, license: { ...found, value: license, needsComparison: false } };
}

const isFull = ({ responseType }: Outcome): boolean => OUTCOMES[responseType].group === 'full';

const dependsOnSlots = (outcome: Outcome): boolean =>
  outcome.responseType === 'VALID' ? outcome.needsSlot : isFull(outcome);
