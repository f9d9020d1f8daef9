import { describeFault, faultsOf } from '../faults.ts';
import type { Population } from '../population.ts';
import type { Finding, Threshold } from '../report.ts';
import {
  BARE_RESPONSE,
  boundRequests,
  type Extras,
  type RequestAt,
  signedResponse,
  validResponse,
} from '../requests.ts';
import { type Result, type Rules, runRounds, type Target } from '../rounds.ts';
import { type Settings, THRESHOLD_CONNECTIONS } from '../settings.ts';
import type { LicetService, PlainWorker, Tally } from '../workers.ts';

/** The bundles of the Workers that scenarios start. */
export interface Scripts {
  service: string;
  /** The service, with a count of its rows. */
  counting: string;
  blacklist: string;
  /** The service of another checkout, to compare with. */
  beside?: { script: string; checkout: string };
}

/** The input of all scenarios. */
export interface Bench {
  settings: Settings;
  bare: PlainWorker;
  scripts: Scripts;
}

export type Scenario = (bench: Bench) => Promise<Finding>;

/** How one level of a scenario is measured. */
export interface Setup {
  /** The bare Worker first. */
  targets: readonly [Target, ...Target[]];
  /** The services that were started for it. */
  services: readonly LicetService[];
  /** The service of another checkout. Its faults do not fail the run. */
  beside?: LicetService | undefined;
  rules?: Partial<Rules>;
  /** Looks at the services after the rounds. */
  inspect?: () => Promise<Partial<Pick<Finding, 'faults' | 'notes' | 'thresholds'>>>;
}

interface Plan extends Pick<Finding, 'scenario' | 'title'> {
  bench: Bench;
  /** Numbers of connections. */
  levels: readonly number[];
  setUp: () => Promise<Setup>;
  /** The thresholds, at the level that they are set for. */
  thresholds?: (resultOf: (name: string) => Result) => Threshold[];
}

/** The name of the target of another checkout. */
export const BESIDE = 'beside';

/** A tally in words. */
export const describeTally = ({ responses, stored, ofKnown, counted }: Tally): string =>
  `${responses} responses, ${stored} records; ${ofKnown} records of known licenses, ${counted} in their totals`;

/** Measures a scenario at each level, with services of its own each time. */
export async function measure(plan: Plan): Promise<Finding> {
  const { bench, scenario, title, levels, setUp, thresholds } = plan;
  const finding: Finding = { scenario, title, results: [], thresholds: [], faults: [], notes: [] };
  for (const connections of levels) {
    const { targets, services, beside, rules, inspect } = await setUp();
    await using started = new AsyncDisposableStack();
    for (const service of services) started.use(service);
    if (beside) started.use(beside);

    const { rounds, roundSeconds, warmUpRequests } = bench.settings;
    const results = await runRounds(
      { scenario, connections, rounds, roundSeconds, warmUpRequests, ...rules },
      targets,
    );
    const inspected = (await inspect?.()) ?? {};
    const tallies = await Promise.all(services.map((service) => service.tally()));

    const isBeside = ({ name }: Result) => name === BESIDE;
    const own = results.filter((result) => !isBeside(result));
    finding.results.push(...results);
    finding.faults.push(
      ...faultsOf(scenario, own, tallies),
      ...services.flatMap(({ log }) => log.faults(`${scenario} at ${connections} connections`)),
      ...(inspected.faults ?? []),
    );
    finding.notes.push(
      ...tallies.map(describeTally),
      ...services.flatMap(({ log }) => log.notes()),
      ...faultsOf(scenario, results.filter(isBeside)).map(describeFault),
      ...(inspected.notes ?? []),
    );
    if (connections === THRESHOLD_CONNECTIONS) {
      const resultOf = (name: string): Result => {
        const result = results.find((one) => one.name === name);
        if (!result) throw new RangeError(`No target is called ${name}`);
        return result;
      };
      finding.thresholds.push(...(thresholds?.(resultOf) ?? []), ...(inspected.thresholds ?? []));
    }
  }
  return finding;
}

/** All of them are bound: no other server gets a slot. */
const MAX_SERVERS = 2;

/** A shop with an empty blacklist. */
export const shopOf = (licenses: number): Population => ({
  licenses,
  maxServers: MAX_SERVERS,
  blacklistEntries: 0,
});

export const bareTarget = ({ bare }: Bench, requestAt: RequestAt): Target => ({
  name: 'bare',
  worker: bare,
  requestAt,
  expected: BARE_RESPONSE,
});

/** Licenses that are asked for by their bound servers: after the warm-up all snapshots are in memory. */
export const hotTarget = (
  name: string,
  service: LicetService,
  ids: readonly number[],
  extras: Extras = {},
): Target => ({
  name,
  worker: service,
  requestAt: boundRequests(ids, extras),
  expected:
    extras.kid === undefined ? validResponse(MAX_SERVERS) : signedResponse(MAX_SERVERS, extras.kid),
  records: { witness: service.witness, areKnown: true },
});
