import { throughputRatio } from '../contest.ts';
import { spreadIds } from '../population.ts';
import { atLeast } from '../report.ts';
import { boundRequests } from '../requests.ts';
import { TARGET_CONNECTIONS } from '../settings.ts';
import { LicetService } from '../workers.ts';
import { bareContestant, hotContestant, measure, type Scenario, shopOf } from './scenario.ts';

const MIN_RATIO = 0.85;
/** One service beside its like: what lies between them is less than what lies between two rounds. */
const MORE_ROUNDS = 3;

/** As many licenses asked for in a small shop and, spread over all of it, in a large one. */
export const growth: Scenario = (bench) => {
  const { licenses, manyLicenses, blacklistEntries, rounds } = bench.settings;
  const ids = spreadIds(licenses, licenses);
  return measure({
    bench,
    scenario: 'growth',
    title: `Growth: ${licenses} licenses asked for, out of ${licenses} and out of ${manyLicenses} with ${blacklistEntries} blacklist entries`,
    levels: [TARGET_CONNECTIONS],
    setUp: async () => {
      const small = await LicetService.start(bench.script, { population: shopOf(licenses) });
      const large = await LicetService.start(bench.script, {
        population: { ...shopOf(manyLicenses), blacklistEntries },
      });
      return {
        contestants: [
          bareContestant(bench, boundRequests(ids)),
          hotContestant('small', small, ids),
          hotContestant('large', large, spreadIds(licenses, manyLicenses)),
        ],
        services: [small, large],
        rules: { rounds: rounds * MORE_ROUNDS },
      };
    },
    targets: (resultOf) => [
      atLeast(
        "throughput of the large shop to the small one's",
        throughputRatio(resultOf('large'), resultOf('small')),
        MIN_RATIO,
      ),
    ],
  });
};
