import type { Measured } from './load.ts';
import type { Witnessed } from './witness.ts';
import type { Tally } from './workers.ts';

/** Kinds of events that must never happen, however slow the machine is: their names in singular and plural. */
const KINDS = {
  lost: ['record was lost', 'records were lost'],
  doubled: ['record was stored twice', 'records were stored twice'],
  'given up': ['record was given up, as the log says', 'records were given up, as the log says'],
  wrong: ['response was wrong', 'responses were wrong'],
  withoutResponse: ['request got no response', 'requests got no response'],
  unconnected: ['connection could not be opened', 'connections could not be opened'],
  total: ['total was wrong', 'totals were wrong'],
  threshold: ['exact threshold was missed', 'exact thresholds were missed'],
  ended: ['scenario ended early', 'scenarios ended early'],
} as const;

export interface Fault {
  kind: keyof typeof KINDS;
  count: number;
  /** The scenario, and the load where it is known. */
  where: string;
  details?: string;
}

/** A load, with its records. */
export type FaultyLoad = Pick<
  Measured,
  'wrong' | 'wrongResponse' | 'withoutResponse' | 'failedConnects' | 'failure'
> &
  Pick<Witnessed, 'lost' | 'doubled'> & { name: string; connections: number };

/** A count and its kind, in words. */
export const inWords = (kind: Fault['kind'], count: number): string =>
  `${count.toLocaleString('en')} ${KINDS[kind][count === 1 ? 0 : 1]}`;

/** A fault in words. */
export const describeFault = ({ kind, count, where, details }: Fault): string =>
  `${inWords(kind, count)} (${where})${details === undefined ? '' : `: ${details}`}`;

/** The faults of loads, and of the services that took them. */
export function faultsOf(
  scenario: string,
  loads: readonly FaultyLoad[],
  tallies: readonly Tally[] = [],
): Fault[] {
  const ofLoads = loads.flatMap((load): Fault[] => {
    const target = load.name === scenario ? scenario : `${scenario}, ${load.name},`;
    const where = `${target} at ${load.connections} connection${load.connections === 1 ? '' : 's'}`;
    return [
      { kind: 'lost', count: load.lost, where },
      { kind: 'doubled', count: load.doubled, where },
      {
        kind: 'wrong',
        count: load.wrong,
        where,
        details: `such as ${load.wrongResponse}`,
      },
      { kind: 'withoutResponse', count: load.withoutResponse, where, details: `${load.failure}` },
      { kind: 'unconnected', count: load.failedConnects, where, details: `${load.failure}` },
    ];
  });
  const ofTallies = tallies.flatMap(({ ofKnown, counted, orphans }): Fault[] => [
    {
      kind: 'total',
      count: Number(counted !== ofKnown),
      where: scenario,
      details: `${ofKnown} records of known licenses, ${counted} in their totals`,
    },
    {
      kind: 'total',
      count: Number(orphans > 0),
      where: scenario,
      details: `${orphans} records are not those of their installations`,
    },
  ]);
  return [...ofLoads, ...ofTallies].filter(({ count }) => count > 0);
}
