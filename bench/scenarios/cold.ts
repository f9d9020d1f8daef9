import { sendTo } from '../contest.ts';
import { faultsOf } from '../faults.ts';
import { spreadIds } from '../population.ts';
import { boundRequests } from '../requests.ts';
import { LicetService } from '../workers.ts';
import {
  type Bench,
  bareContestant,
  hotContestant,
  measure,
  type Scenario,
  shopOf,
} from './scenario.ts';

/** How many licenses warm up a Worker that has just started; they are not asked for again. */
const WARM_UP_LICENSES = 100;
const FILL_CONNECTIONS = 16;

/** What asks for licenses for the first time since the Worker's start, and has to be stopped. */
export async function startCold({ script, settings }: Bench) {
  const { countedRequests } = settings;
  const licenses = countedRequests + WARM_UP_LICENSES;
  const ids = spreadIds(licenses, licenses);
  const coldIds = ids.slice(WARM_UP_LICENSES);
  const warmUpAt = boundRequests(ids.slice(0, WARM_UP_LICENSES));
  const service = await LicetService.start(script, { population: shopOf(licenses) });
  const turnRequests = countedRequests;
  const contestant = { ...hotContestant('cold', service, coldIds), warmUpAt, turnRequests };
  const load = { connections: FILL_CONNECTIONS, from: 0, until: { count: licenses } };
  // All are published, but for the very first, with which the Worker warms up.
  const filled = await sendTo(contestant, { ...load, requestAt: boundRequests(ids) });
  return {
    service,
    contestant,
    coldIds,
    rules: { beforeRound: () => service.restart() },
    inspect: () => ({
      faults: faultsOf([{ ...filled, name: 'cold', connections: FILL_CONNECTIONS }], []),
      notes: [`${service.kvValues().size} values in KV, ${licenses} licenses`],
    }),
  };
}

/** Licenses that are published, but that the Worker, just started, does not have in memory. */
export const cold: Scenario = (bench) =>
  measure({
    bench,
    scenario: 'cold',
    title: `Cold validation: each of ${bench.settings.countedRequests} licenses for the first time since the start`,
    levels: bench.settings.connections,
    setUp: async () => {
      const { service, contestant, coldIds, rules, inspect } = await startCold(bench);
      return {
        contestants: [bareContestant(bench, boundRequests(coldIds)), contestant],
        services: [service],
        rules,
        inspect: async () => inspect(),
      };
    },
  });
