import { spreadIds } from '../population.ts';
import { boundRequests } from '../requests.ts';
import { TARGET_CONNECTIONS } from '../settings.ts';
import { LicetService } from '../workers.ts';
import { bareContestant, hotContestant, measure, type Scenario, shopOf } from './scenario.ts';

/** So many that nobody asks for one of them as often as the limiters forbid. */
const TIMES_AS_MANY_LICENSES = 4;

/** Hot validation with the rate limiters bound: what they cost here, where they are simulated. */
export const limits: Scenario = (bench) => {
  const licenses = bench.settings.licenses * TIMES_AS_MANY_LICENSES;
  const ids = spreadIds(licenses, licenses);
  return measure({
    bench,
    scenario: 'limits',
    title: `Hot validation of ${licenses} licenses with and without the rate limiters, below their limits`,
    levels: [TARGET_CONNECTIONS],
    setUp: async () => {
      const population = shopOf(licenses);
      const free = await LicetService.start(bench.script, { population });
      const limited = await LicetService.start(bench.script, { population, isLimited: true });
      return {
        contestants: [
          bareContestant(bench, boundRequests(ids)),
          hotContestant('not limited', free, ids),
          hotContestant('limited', limited, ids),
        ],
        services: [free, limited],
        rules: { warmUpRequests: licenses },
      };
    },
  });
};
