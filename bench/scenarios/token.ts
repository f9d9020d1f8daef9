import { spreadIds, TOKEN } from '../population.ts';
import { boundRequests } from '../requests.ts';
import { TARGET_CONNECTIONS } from '../settings.ts';
import { LicetService } from '../workers.ts';
import { bareContestant, hotContestant, measure, type Scenario, shopOf } from './scenario.ts';

/** Hot validation under v2: the token is looked up as well. */
export const token: Scenario = (bench) => {
  const { licenses } = bench.settings;
  const ids = spreadIds(licenses, licenses);
  return measure({
    bench,
    scenario: 'token',
    title: 'Hot validation under v2, with a token',
    levels: [TARGET_CONNECTIONS],
    setUp: async () => {
      const service = await LicetService.start(bench.script, { population: shopOf(licenses) });
      return {
        contestants: [
          bareContestant(bench, boundRequests(ids, TOKEN)),
          hotContestant('v2', service, ids, TOKEN),
          hotContestant('v1', service, ids),
        ],
        services: [service],
      };
    },
  });
};
