import type { CacheHit, SnapshotCache } from '../cache/snapshot-cache.ts';
import { POLICY_KEY } from '../cache/snapshots.ts';
import type { RequestTimings } from '../lib/request-timings.ts';
import { keysMeantBy } from '../resources/licenses/rules.ts';
import type { LicenseSnapshot } from '../resources/licenses/snapshot.ts';
import type { Policy } from '../resources/policy.ts';
import type { Services } from '../services.ts';
import type { ValidationRequest } from './request.ts';

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
