import type { SentStatement } from './d1-intercept.ts';

/** The purposes of round trips to D1, and the statement that tells each of them. */
const STEPS = {
  record: 'insert into "requests"',
  bind: 'insert into "bindings"',
  'check revision': 'as "isCurrent"',
  'token used': 'update "tokens" set "last_used_at"',
  policy: '"offline_days" > 0',
  token: '"token_hash" in',
  license: '"license_key_normalized" in',
};

export type Step = keyof typeof STEPS | 'other';

const isStep = (name: string): name is keyof typeof STEPS => name in STEPS;
const NAMES = Object.keys(STEPS).filter(isStep);

/** The purpose of a round trip of a validation or a publisher. */
export const stepOf = (trip: readonly Pick<SentStatement, 'sql'>[]): Step =>
  NAMES.find((name) => trip.some(({ sql }) => sql.includes(STEPS[name]))) ?? 'other';
