import { type Fault, inWords } from './faults.ts';
import type { Finding } from './report.ts';

/** Places that a verdict names of each kind of fault. */
const MAX_PLACES = 3;

/** The faults of a scenario, and its missed thresholds that are the same on every machine. */
export function allFaultsOf({ scenario, faults, thresholds }: Finding): Fault[] {
  const missed = thresholds.filter(({ isMet, isExact }) => isExact && !isMet).length;
  return missed === 0 ? faults : [...faults, { kind: 'threshold', count: missed, where: scenario }];
}

/** The outcome of a run in one line. */
export function verdictOf(findings: readonly Finding[]): { verdict: string; isGood: boolean } {
  const faults = findings.flatMap(allFaultsOf);
  if (faults.length === 0) {
    return { verdict: 'No record was lost, and no response was wrong.', isGood: true };
  }
  const failed = findings.filter((finding) => allFaultsOf(finding).length > 0).length;
  const kinds = [...Map.groupBy(faults, ({ kind }) => kind)].map(([kind, ofKind]) => {
    const count = ofKind.reduce((sum, fault) => sum + fault.count, 0);
    const places = [...new Set(ofKind.map(({ where }) => where))];
    const others = places.length - MAX_PLACES;
    const named = places.slice(0, MAX_PLACES).join('; ');
    return `${inWords(kind, count)} (${named}${others > 0 ? `; ${others} more` : ''})`;
  });
  const scenarios = `${failed} of ${findings.length} scenario${findings.length === 1 ? '' : 's'}`;
  return { verdict: `${scenarios} failed: ${kinds.join(', ')}`, isGood: false };
}
