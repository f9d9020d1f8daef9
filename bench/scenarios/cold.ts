import { sendTo } from '../contest.ts';
import { faultsOf } from '../faults.ts';
import { spreadIds } from '../population.ts';
import { boundRequests } from '../requests.ts';
import { LicetService } from '../workers.ts';
import { bareContestant, hotContestant, measure, type Scenario, shopOf } from './scenario.ts';

/** How many licenses warm up a Worker that has just started; they are not asked for again. */
const WARM_UP_LICENSES = 100;
const FILL_CONNECTIONS = 16;

/** Licenses that are published, but that the Worker, just started, does not have in memory. */
export const cold: Scenario = (bench) => {
  const { countedRequests, connections } = bench.settings;
  const licenses = countedRequests + WARM_UP_LICENSES;
  const ids = spreadIds(licenses, licenses);
  const coldIds = ids.slice(WARM_UP_LICENSES);
  const warmUpAt = boundRequests(ids.slice(0, WARM_UP_LICENSES));
  return measure({
    bench,
    scenario: 'cold',
    title: `Cold validation: each of ${coldIds.length} licenses for the first time since the start`,
    levels: connections,
    setUp: async () => {
      const service = await LicetService.start(bench.script, { population: shopOf(licenses) });
      const turnRequests = countedRequests;
      const cold = { ...hotContestant('cold', service, coldIds), warmUpAt, turnRequests };
      const until = { count: licenses };
      const load = { connections: FILL_CONNECTIONS, from: 0, until };
      const filled = await sendTo(cold, { ...load, requestAt: boundRequests(ids) });
      return {
        contestants: [bareContestant(bench, boundRequests(coldIds)), cold],
        services: [service],
        rules: { beforeRound: () => service.restart() },
        inspect: async () => ({
          faults: faultsOf([{ ...filled, name: 'cold', connections: FILL_CONNECTIONS }], []),
          notes: [`${service.kvValues().size} values in KV, ${licenses} licenses`],
        }),
      };
    },
  });
};
