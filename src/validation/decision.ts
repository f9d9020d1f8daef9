import { OUTCOMES } from '@licet/contract/outcomes';
import type { FoundPolicy } from '../cache/caches.ts';
import type { Found } from '../cache/snapshot-cache.ts';
import type { Isolate } from '../isolate.ts';
import type { RequestTimings } from '../lib/request-timings.ts';
import type { LicenseSnapshot } from '../resources/licenses/snapshot.ts';
import { bind } from './bind.ts';
import { decide, type Facts, type Outcome } from './decide.ts';
import type { ValidationRequest } from './request.ts';

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
