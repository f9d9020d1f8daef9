import type { Database } from '../db/client';
import { claim } from './claim';
import { decide, type Facts, type LicenseSnapshot, type Outcome } from './decide';
import { lookUp } from './lookup';
import type { ValidationRequest } from './request';

/** A claim fails to settle only where an administrator changes the license at the same moment. */
const MAX_CLAIMS = 5;

/**
 * Answers a validation: look up, decide, and where new values need slots claim them and decide
 * again on what the database then holds.
 *
 * @throws when the database cannot be reached
 */
export async function validate(
  db: Database,
  request: ValidationRequest,
  context: Pick<Facts, 'connectingAddress' | 'requireHwid'>,
  now: number,
): Promise<{ outcome: Outcome; license: LicenseSnapshot | null }> {
  const facts: Facts = { ...context, ...(await lookUp(db, request, context.connectingAddress)) };
  let outcome = decide(facts, request, now);
  for (let claimed = 0; needsClaim(outcome); claimed++) {
    if (claimed === MAX_CLAIMS) throw new Error('The claim did not settle');
    facts.license = await claim(db, outcome.license, outcome.claims, now);
    outcome = decide(facts, request, now);
  }
  return { outcome, license: facts.license };
}

type ValidOutcome = Extract<Outcome, { responseType: 'VALID' }>;

const needsClaim = (outcome: Outcome): outcome is ValidOutcome =>
  outcome.responseType === 'VALID' && Object.keys(outcome.claims).length > 0;
