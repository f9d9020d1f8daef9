import { countGlobal, firstOfSlots, isGlobal, slotOf } from '@licet/contract/addresses';
import type { LicenseDataType } from '@licet/contract/enums';
import type { BlockedType, ResponseType } from '@licet/contract/outcomes';
import type { CacheHit, SnapshotCache } from '../cache/snapshot-cache.ts';
import { POLICY_KEY } from '../cache/snapshots.ts';
import { DATABASE_TIMEOUT_MS, withTimeout } from '../lib/async.ts';
import type { RequestTimings } from '../lib/request-timings.ts';
import type { RecordDetails } from '../requests/record.ts';
import type { Blacklist } from '../resources/blacklists/blacklist.ts';
import type { SlotKind } from '../resources/licenses/address-slots.ts';
import { keysMeantBy, statusAt, whyNoKey } from '../resources/licenses/rules.ts';
import type { LicenseSnapshot } from '../resources/licenses/snapshot.ts';
import { takeOver } from '../resources/licenses/take-over.ts';
import type { Policy } from '../resources/policy.ts';
import { type FullRefusal, type Services, senderOf, type WantedSlots } from '../services.ts';
import { bind, type IdleSlot } from './bind.ts';
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

type FullTypes = readonly [LicenseDataType, ...LicenseDataType[]];
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

/** The snapshots on which a validation is decided. */
export interface Snapshots {
  license: CacheHit<LicenseSnapshot>;
  policy: CacheHit<Policy>;
}

/**
 * Looks up the snapshots of a validation side by side, without a promise if both are in memory. Rejects when the
 * database is needed and cannot be reached.
 */
export function findSnapshots(
  { caches }: Services,
  request: ValidationRequest,
  timings: RequestTimings,
): Snapshots | Promise<Snapshots> {
  const exact = caches.licenses.find(request.key, timings);
  const isKnown = !(exact instanceof Promise) && exact.value !== null;
  const license = isKnown ? exact : findMeant(caches.licenses, exact, request, timings);
  const policy = caches.policy.find(POLICY_KEY, timings);
  if (!(license instanceof Promise || policy instanceof Promise)) return { license, policy };
  return Promise.all([license, policy]).then((found) => ({ license: found[0], policy: found[1] }));
}

type LicenseCache = SnapshotCache<LicenseSnapshot>;
type LicenseHit = CacheHit<LicenseSnapshot>;

/** The keys that a request may mean where no license has the key as it was sent (1.2). */
const otherKeysOf = ({ licenseKey, key }: ValidationRequest): string[] =>
  keysMeantBy(licenseKey).filter((one) => one !== key);

/**
 * The license that is meant by a key: the one that has it as it was sent, else as a person reads it (1.2). The readings
 * of a key are looked up in one query. While D1 cannot be reached, a reading that memory or KV knows is better than none.
 */
async function findMeant(
  cache: LicenseCache,
  finding: LicenseHit | Promise<LicenseHit>,
  request: ValidationRequest,
  timings: RequestTimings,
): Promise<LicenseHit> {
  try {
    const exact = await finding;
    if (exact.value) return exact;
    const others = await Promise.all(otherKeysOf(request).map((key) => cache.find(key, timings)));
    return others.find(({ value }) => value !== null) ?? exact;
  } catch (error) {
    const published = await findPublished(cache, otherKeysOf(request), timings, async () => true);
    if (published) return published;
    throw error;
  }
}

/** The first of some keys that memory or KV knows. */
async function findPublished(
  cache: LicenseCache,
  keys: readonly string[],
  timings: RequestTimings,
  mayReadPublished: () => Promise<boolean>,
): Promise<LicenseHit | undefined> {
  for (const key of keys) {
    const found = await cache.findCachedOnly(key, timings, mayReadPublished);
    if (found?.value) return found;
  }
  return undefined;
}

/** A request with the key of the license that it means; as it is if it means none. */
export const withMeantKey = (
  request: ValidationRequest,
  { license }: Snapshots,
): ValidationRequest => (license.key === request.key ? request : { ...request, key: license.key });

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

/**
 * Finds the snapshots of a validation of a client over a limit in memory or KV (1.7). D1 is read for the policy alone,
 * at most every 30 seconds.
 *
 * @param mayReadPublished whether KV may be asked
 * @returns undefined if neither knows the key
 */
export async function findSnapshotsCachedOnly(
  { caches }: Services,
  request: ValidationRequest,
  timings: RequestTimings,
  mayReadPublished: () => Promise<boolean>,
): Promise<Snapshots | undefined> {
  const keys = keysMeantBy(request.licenseKey);
  const license = await findPublished(caches.licenses, keys, timings, mayReadPublished);
  if (!license) return undefined;
  return { license, policy: await caches.policy.find(POLICY_KEY, timings) };
}

/** A decision, and the snapshots that it was made on. */
export interface Decision {
  outcome: Outcome;
  snapshots: Snapshots;
  /** About slots that are or will be idle (7), for administrators alone. */
  remarks?: string | null;
}

/**
 * Decides in D1 if a decision on snapshots depends on slots or on the first use, unless this isolate has seen the license
 * full of such values just now.
 */
export function confirmSlots(
  services: Services,
  decision: Decision,
  request: ValidationRequest,
  circumstances: Circumstances,
): Decision | Promise<Decision> {
  const { outcome, snapshots } = decision;
  const license = snapshots.license.value;
  if (!license) return decision;
  if ('full' in outcome) {
    const wanted = wantedOf(outcome.full, request);
    const refusal = services.findFull(license, wanted, circumstances.requestedAt);
    if (refusal) return refuseFull(snapshots, outcome.full, refusal);
  } else if (outcome.responseType !== 'VALID' || !outcome.mustBeStored) return decision;
  const binding = bindSlots(services, license, snapshots, request, circumstances);
  return request.takesOver ? takeOverIfFull(services, binding, request, circumstances) : binding;
}

/** Moves a license whose slots are full to the machine of the request, and decides again (1.8). */
async function takeOverIfFull(
  services: Services,
  binding: Promise<Decision>,
  request: ValidationRequest,
  circumstances: Circumstances,
): Promise<Decision> {
  const decision = await binding;
  const { outcome, snapshots } = decision;
  const license = snapshots.license.value;
  if (!license || !('full' in outcome)) return decision;
  const { waitUntil } = circumstances.timings;
  const author = { actor: 'program', ip: circumstances.connectingAddress } as const;
  // It may still move after the timeout, which the next request would do anyway.
  const moved = await withTimeout(
    takeOver(() => senderOf(services, author, waitUntil), license.id, request),
    DATABASE_TIMEOUT_MS,
  );
  if (moved.result === 'free') {
    return bindSlots(services, license, snapshots, request, circumstances);
  }
  const remarks = moved.remarks ?? decision.remarks ?? null;
  if (moved.result === 'refused') {
    const type = outcome.responseType === 'MAX_IPS_REACHED' ? 'IP' : 'HWID';
    const wanted = wantedOf(outcome.full, request);
    services.noteFull(license, wanted, { type, remarks }, circumstances.requestedAt);
    return { ...decision, remarks };
  }
  // Another program may have taken it over since, and this one was valid before.
  const after = { ...snapshots, license: { ...snapshots.license, value: moved.license } };
  return { outcome: decideFrom(after, request, circumstances), snapshots: after, remarks };
}

/** The kinds of the slots of which none is free: each has its own (1.2). */
const kindsOf = (full: FullTypes, { ip }: ValidationRequest): SlotKind[] =>
  full.map((type) => (type === 'IP' && ip !== null && !isGlobal(ip) ? 'LOCAL' : type));

/** The same, and whether the request would take them over. */
const wantedOf = (full: FullTypes, request: ValidationRequest): WantedSlots[] => [
  ...kindsOf(full, request),
  ...(request.takesOver ? (['TAKEN_OVER'] as const) : []),
];

/** Such as `2026-10-01`: in UTC. */
const dayOf = (time: number): string => new Date(time).toISOString().slice(0, 10);

const refuseFull = (
  snapshots: Snapshots,
  full: FullTypes,
  { type, remarks }: FullRefusal,
): Decision => ({
  outcome: { responseType: type === 'IP' ? 'MAX_IPS_REACHED' : 'MAX_HWIDS_REACHED', full },
  snapshots,
  remarks,
});

/** The refusal of values that D1 has not bound: for the first type of which no slot is free or idle. */
function refusalOf(full: FullTypes, idle: readonly IdleSlot[]): FullRefusal {
  const slotOf = (type: LicenseDataType) => idle.find((slot) => slot.type === type);
  const type = full.find((one) => !slotOf(one)?.taken) ?? full[0];
  const next = slotOf(type)?.idleAt ?? null;
  return { type, remarks: next === null ? null : `The next slot is idle on ${dayOf(next)}` };
}

/** The sentences about values that gave way. */
function remarksOn(idle: readonly IdleSlot[]): string | null {
  const taken = idle.map(
    ({ taken, usedAt }) => `Took the slot of ${taken}, idle since ${dayOf(usedAt ?? 0)}`,
  );
  return taken.length > 0 ? taken.join('. ') : null;
}

/**
 * Binds the values of a request, starts the expiry if it waits for the first use, and decides on the license as the primary has it then [4.7].
 *
 * @throws when the database cannot be reached
 */
async function bindSlots(
  services: Services,
  known: LicenseSnapshot,
  snapshots: Snapshots,
  request: ValidationRequest,
  circumstances: Circumstances,
): Promise<Decision> {
  const { db, caches } = services;
  const { license: found } = snapshots;
  const { requestedAt, timings } = circumstances;
  // A client that disconnects must not leave a binding without its record.
  timings.keepAlive();
  const startedAt = performance.now();
  const { license, isChanged, idle } = await bind(
    db,
    known,
    request,
    requestedAt,
    circumstances.requireHwid,
  );
  timings.noteRead('d1');
  const { key } = found;
  if (license) {
    caches.licenses.put(key, license, startedAt);
    // KV may lack this change, or an earlier one that was never put.
    const isNewer = license.revision > known.revision;
    const isWorthPublishing = isChanged || (isNewer && found.needsComparison);
    if (isWorthPublishing && caches.licenses.canPublish()) {
      timings.waitUntil(caches.licenses.publish(key, { row: license }));
    }
  } else {
    // A removed row counts as one more revision.
    caches.licenses.invalidate(key, known.revision + 1);
  }
  const bound = { ...snapshots, license: { ...found, value: license, needsComparison: false } };
  const outcome = decideFrom(bound, request, circumstances);
  if (!license || !('full' in outcome)) {
    return { outcome, snapshots: bound, remarks: remarksOn(idle) };
  }
  const refusal = refusalOf(outcome.full, idle);
  services.noteFull(license, kindsOf(outcome.full, request), refusal, requestedAt);
  return refuseFull(bound, outcome.full, refusal);
}
