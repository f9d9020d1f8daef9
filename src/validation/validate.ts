import type { Edge } from '../edge/edge';
import type { Visit } from '../edge/visit';
import { foldLicenseKey } from '../licenses/key';
import type { LicenseSnapshot } from '../licenses/snapshot';
import { claim } from './claim';
import { decide, type Facts, type Outcome } from './decide';
import type { ValidationRequest } from './request';

/**
 * Answers a validation from the copies at the edge. Only what a copy cannot tell for certain is asked
 * of the primary: a new value, and a limit that looks full, is claimed there, and decided on what the
 * database then holds [4.7].
 *
 * @param now milliseconds since 1970
 * @throws when the database is needed and cannot be reached
 */
export async function validate(
  edge: Edge,
  request: ValidationRequest,
  context: Pick<Facts, 'connectingAddress' | 'requireHwid'>,
  now: number,
  visit: Visit,
): Promise<{ outcome: Outcome; license: LicenseSnapshot | null }> {
  const key = foldLicenseKey(request.licenseKey);
  let license = await edge.licenses.find(key, visit);
  const blacklist = await edge.blacklist(visit);
  // The look for the blacklist may have brought news of the license.
  if (!edge.licenses.isCurrent(key, license)) license = await edge.licenses.find(key, visit);
  const facts = { ...context, license, blacklist };
  const outcome = decide(facts, request, now);
  if (!license || !dependsOnSlots(outcome)) return { outcome, license };

  const startedAt = performance.now();
  const claimed = await claim(edge, license, request, now);
  visit.note('d1', performance.now() - startedAt);
  if (claimed && claimed.revision !== license.revision) {
    edge.licenses.keep(key, claimed);
    visit.afterAnswer(edge.licenses.publish(key));
  }
  return { outcome: decide({ ...facts, license: claimed }, request, now), license: claimed };
}

const dependsOnSlots = (outcome: Outcome): boolean =>
  outcome.responseType === 'VALID'
    ? outcome.needsClaim
    : outcome.responseType === 'MAX_IPS_REACHED' || outcome.responseType === 'MAX_HWIDS_REACHED';
