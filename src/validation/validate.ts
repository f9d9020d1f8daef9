import type { Database } from '../db/client';
import { claim } from './claim';
import { decide, type Facts, type LicenseSnapshot, type Outcome } from './decide';
import { lookUp } from './lookup';
import type { ValidationRequest } from './request';

/**
 * Answers a validation: look up, decide, and where new values need slots claim them and decide on
 * what the database then holds [4.7].
 *
 * @param now milliseconds since 1970
 * @throws when the database cannot be reached
 */
export async function validate(
  db: Database,
  request: ValidationRequest,
  context: Pick<Facts, 'connectingAddress' | 'requireHwid'>,
  now: number,
): Promise<{ outcome: Outcome; license: LicenseSnapshot | null }> {
  const found = { ...context, ...(await lookUp(db, request, context.connectingAddress)) };
  const outcome = decide(found, request, now);
  if (outcome.responseType !== 'VALID' || !outcome.needsClaim) {
    return { outcome, license: found.license };
  }
  const license = await claim(db, outcome.license, request, now);
  return { outcome: decide({ ...found, license }, request, now), license };
}
