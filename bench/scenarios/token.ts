import { spreadIds, TOKEN } from '../population.ts';
import { boundRequests } from '../requests.ts';
import { THRESHOLD_CONNECTIONS } from '../settings.ts';
import { LicetService } from '../workers.ts';
import { bareTarget, hotTarget, measure, type Scenario, shopOf } from './scenario.ts';

/** Hot validation under v2: the token is looked up as well. */
export const token: Scenario = (bench) => {
  const { licenses } = bench.settings;
  const ids = spreadIds(licenses, licenses);
  return measure({
    bench,
    scenario: 'token',
    title: 'Hot validation under v2, with a token',
    levels: [THRESHOLD_CONNECTIONS],
    setUp: async () => {
      const service = await LicetService.start(bench.scripts.service, {
        population: shopOf(licenses),
      });
      return {
        targets: [
          bareTarget(bench, boundRequests(ids, { token: TOKEN })),
          hotTarget('v2', service, ids, { token: TOKEN }),
          hotTarget('v1', service, ids),
        ],
        services: [service],
      };
    },
  });
};
