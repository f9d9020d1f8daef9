import { faultsOf } from '../faults.ts';
import { spreadIds } from '../population.ts';
import { boundRequests } from '../requests.ts';
import { sendTo } from '../rounds.ts';
import { LicetService } from '../workers.ts';
import { type Bench, bareTarget, hotTarget, measure, type Scenario, shopOf } from './scenario.ts';

/** Licenses that warm up a Worker after its start. They are not asked for again. */
const WARM_UP_LICENSES = 100;
const FILL_CONNECTIONS = 16;

/** A target that asks for licenses for the first time since the Worker's start. Its service has to be stopped. */
export async function startCold({ scripts, settings }: Bench) {
  const { countedRequests } = settings;
  const licenses = countedRequests + WARM_UP_LICENSES;
  const ids = spreadIds(licenses, licenses);
  const coldIds = ids.slice(WARM_UP_LICENSES);
  const warmUpAt = boundRequests(ids.slice(0, WARM_UP_LICENSES));
  const service = await LicetService.start(scripts.service, { population: shopOf(licenses) });
  const roundRequests = countedRequests;
  const target = { ...hotTarget('cold', service, coldIds), warmUpAt, roundRequests };
  const load = { connections: FILL_CONNECTIONS, from: 0, until: { count: licenses } };
  // All are published but the very first, with which the Worker warms up.
  const filled = await sendTo(target, { ...load, requestAt: boundRequests(ids) });
  return {
    service,
    target,
    coldIds,
    rules: { beforeRound: () => service.restart() },
    inspect: (scenario: string) => ({
      faults: faultsOf(scenario, [{ ...filled, name: 'filled', connections: FILL_CONNECTIONS }]),
      notes: [`${service.kvValues().size} values in KV, ${licenses} licenses`],
    }),
  };
}

/** Licenses that are published, and that a Worker does not have in memory after its start. */
export const cold: Scenario = (bench) =>
  measure({
    bench,
    scenario: 'cold',
    title: `Cold validation: each of ${bench.settings.countedRequests} licenses for the first time since the start`,
    levels: bench.settings.connections,
    setUp: async () => {
      const { service, target, coldIds, rules, inspect } = await startCold(bench);
      return {
        targets: [bareTarget(bench, boundRequests(coldIds)), target],
        services: [service],
        rules,
        inspect: async () => inspect('cold'),
      };
    },
  });
