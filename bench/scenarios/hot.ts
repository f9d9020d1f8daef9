import { spreadIds } from '../population.ts';
import { atLeast, atMost } from '../report.ts';
import { boundRequests } from '../requests.ts';
import { LicetService } from '../workers.ts';
import { bareContestant, hotContestant, measure, type Scenario, shopOf } from './scenario.ts';

const MIN_THROUGHPUT_RATIO = 0.45;
const MAX_P99_RATIO = 5;
const MAX_STORED_AFTER_MS = 2_000;

/** Licenses that the Worker has in memory, asked for by bound servers. */
export const hot: Scenario = (bench) => {
  const { licenses, connections } = bench.settings;
  const ids = spreadIds(licenses, licenses);
  return measure({
    bench,
    scenario: 'hot',
    title: `Hot validation: ${licenses} licenses in memory, asked for by bound servers`,
    levels: connections,
    setUp: async () => {
      const service = await LicetService.start(bench.script, { population: shopOf(licenses) });
      return {
        contestants: [
          bareContestant(bench, boundRequests(ids)),
          hotContestant('hot', service, ids),
        ],
        services: [service],
      };
    },
    targets: (resultOf) => {
      const { throughputRatio, p99Ratio, storedAfterMs } = resultOf('hot');
      return [
        atLeast("throughput to the bare Worker's", throughputRatio, MIN_THROUGHPUT_RATIO),
        atMost("p99 to the bare Worker's", p99Ratio, MAX_P99_RATIO),
        atMost('ms until the last record is stored', storedAfterMs, MAX_STORED_AFTER_MS),
      ];
    },
  });
};
