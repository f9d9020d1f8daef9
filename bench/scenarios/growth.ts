import { spreadIds } from '../population.ts';
import { atLeast } from '../report.ts';
import { boundRequests } from '../requests.ts';
import { throughputRatio } from '../rounds.ts';
import { THRESHOLD_CONNECTIONS } from '../settings.ts';
import { LicetService } from '../workers.ts';
import { bareTarget, hotTarget, measure, type Scenario, shopOf } from './scenario.ts';

const MIN_RATIO = 0.85;
/** The two services differ by less than two rounds do. */
const MORE_ROUNDS = 3;

/** The same number of licenses asked for in a small shop and, spread over all of it, in a large one. */
export const growth: Scenario = (bench) => {
  const { licenses, manyLicenses, blacklistEntries, rounds } = bench.settings;
  const ids = spreadIds(licenses, licenses);
  return measure({
    bench,
    scenario: 'growth',
    title: `Growth: ${licenses} licenses asked for, out of ${licenses} and out of ${manyLicenses} with ${blacklistEntries} blacklist entries`,
    levels: [THRESHOLD_CONNECTIONS],
    setUp: async () => {
      const small = await LicetService.start(bench.scripts.service, {
        population: shopOf(licenses),
      });
      const large = await LicetService.start(bench.scripts.service, {
        population: { ...shopOf(manyLicenses), blacklistEntries },
      });
      return {
        targets: [
          bareTarget(bench, boundRequests(ids)),
          hotTarget('small', small, ids),
          hotTarget('large', large, spreadIds(licenses, manyLicenses)),
        ],
        services: [small, large],
        rules: { rounds: rounds * MORE_ROUNDS },
      };
    },
    thresholds: (resultOf) => [
      atLeast(
        'throughput of the large shop, in that of the small one',
        throughputRatio(resultOf('large'), resultOf('small')),
        MIN_RATIO,
      ),
    ],
  });
};
