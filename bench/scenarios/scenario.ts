import { type Contestant, compete, type Result, type Rules } from '../contest.ts';
import { faultsOf } from '../faults.ts';
import type { Population } from '../population.ts';
import type { Finding, Target } from '../report.ts';
import { BARE_ANSWER, boundRequests, type RequestAt, validAnswer } from '../requests.ts';
import { type Settings, TARGET_CONNECTIONS } from '../settings.ts';
import type { BareWorker, LicetService, Tally } from '../workers.ts';

/** What all scenarios are given. */
export interface Bench {
  settings: Settings;
  bare: BareWorker;
  /** The service's bundle. */
  script: string;
}

export type Scenario = (bench: Bench) => Promise<Finding>;

/** How one level of a scenario is measured. */
export interface Setup {
  /** The bare Worker first. */
  contestants: readonly [Contestant, ...Contestant[]];
  /** What was started for it. */
  services: readonly LicetService[];
  rules?: Partial<Rules>;
  /** What else is to be seen once the loads are through. */
  inspect?: () => Promise<Partial<Pick<Finding, 'faults' | 'notes' | 'targets'>>>;
}

interface Plan extends Pick<Finding, 'scenario' | 'title'> {
  bench: Bench;
  /** Numbers of connections. */
  levels: readonly number[];
  setUp: () => Promise<Setup>;
  /** What the figures at a level should be; for the level that the targets are set for. */
  targets?: (resultOf: (name: string) => Result) => Target[];
}

/** What was answered and what is stored, in words. */
export const describeTally = ({ answered, stored, answeredKnown, totals }: Tally): string =>
  `${answered} answered, ${stored} stored; of known licenses ${answeredKnown} answered, ${totals} counted`;

/** Measures a scenario at each level, with services of its own each time. */
export async function measure(plan: Plan): Promise<Finding> {
  const { bench, scenario, title, levels, setUp, targets } = plan;
  const finding: Finding = { scenario, title, results: [], targets: [], faults: [], notes: [] };
  for (const connections of levels) {
    const { contestants, services, rules, inspect } = await setUp();
    await using started = new AsyncDisposableStack();
    for (const service of services) started.use(service);

    const { rounds, turnSeconds, warmUpRequests } = bench.settings;
    const results = await compete(
      { scenario, connections, rounds, turnSeconds, warmUpRequests, ...rules },
      contestants,
    );
    const inspected = (await inspect?.()) ?? {};
    const tallies = await Promise.all(services.map((service) => service.tally()));

    finding.results.push(...results);
    finding.faults.push(...faultsOf(results, tallies), ...(inspected.faults ?? []));
    finding.notes.push(
      ...tallies.map(describeTally),
      ...services.flatMap((service) => service.logs()),
      ...(inspected.notes ?? []),
    );
    if (connections === TARGET_CONNECTIONS) {
      const resultOf = (name: string): Result => {
        const result = results.find((one) => one.name === name);
        if (!result) throw new RangeError(`No load is called ${name}`);
        return result;
      };
      finding.targets.push(...(targets?.(resultOf) ?? []), ...(inspected.targets ?? []));
    }
  }
  return finding;
}

/** As many servers as are bound: no other one gets in. */
const MAX_SERVERS = 2;

/** A shop with so many licenses, and nothing on the blacklist. */
export const shopOf = (licenses: number): Population => ({
  licenses,
  maxServers: MAX_SERVERS,
  blacklistEntries: 0,
});

export const bareContestant = ({ bare }: Bench, requestAt: RequestAt): Contestant => ({
  name: 'bare',
  worker: bare,
  requestAt,
  expected: BARE_ANSWER,
});

/** Asks for licenses by their bound servers: after the warm-up all that is needed is in memory. */
export const hotContestant = (
  name: string,
  service: LicetService,
  ids: readonly number[],
  token?: string,
): Contestant => ({
  name,
  worker: service,
  requestAt: boundRequests(ids, token),
  expected: validAnswer(MAX_SERVERS),
  records: { service, areKnown: true },
});
