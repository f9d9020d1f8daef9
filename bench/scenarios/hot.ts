import { spreadIds } from '../population.ts';
import { atLeast, atMost, exact } from '../report.ts';
import { boundRequests } from '../requests.ts';
import { countRowsWritten } from '../rows.ts';
import { LicetService } from '../workers.ts';
import { bareTarget, hotTarget, measure, type Scenario, shopOf } from './scenario.ts';

const MIN_THROUGHPUT_RATIO = 0.57;
const MAX_P99_RATIO = 4;
const MAX_STORED_AFTER_MS = 2_000;
const MAX_ROWS_WRITTEN = 1;

/** Licenses whose snapshots the Worker has in memory, asked for by bound servers. */
export const hot: Scenario = async (bench) => {
  const { licenses, connections, warmUpRequests } = bench.settings;
  const ids = spreadIds(licenses, licenses);
  const finding = await measure({
    bench,
    scenario: 'hot',
    title: `Hot validation: ${licenses} licenses in memory, asked for by bound servers`,
    levels: connections,
    setUp: async () => {
      const service = await LicetService.start(bench.scripts.service, {
        population: shopOf(licenses),
      });
      return {
        targets: [bareTarget(bench, boundRequests(ids)), hotTarget('hot', service, ids)],
        services: [service],
      };
    },
    thresholds: (resultOf) => {
      const { throughputRatio, p99Ratio, storedAfterMs } = resultOf('hot');
      return [
        atLeast("throughput, in the bare Worker's", throughputRatio, MIN_THROUGHPUT_RATIO),
        atMost("p99, in the bare Worker's", p99Ratio, MAX_P99_RATIO),
        atMost('ms until the last record is stored', storedAfterMs, MAX_STORED_AFTER_MS),
      ];
    },
  });
  const requestAt = boundRequests(ids);
  const { perRequest, faults } = await countRowsWritten(bench.scripts.counting, {
    population: shopOf(licenses),
    warmUpAt: requestAt,
    // Each license by both of its servers.
    warmUpRequests: 2 * licenses,
    requestAt,
    requests: warmUpRequests,
  });
  finding.faults.push(...faults);
  finding.thresholds.push(
    exact(atMost('rows written per hot validation', perRequest, MAX_ROWS_WRITTEN)),
  );
  return finding;
};
