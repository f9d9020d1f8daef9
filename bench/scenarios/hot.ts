import { spreadIds } from '../population.ts';
import { atLeast, atMost, exact, round } from '../report.ts';
import { boundRequests } from '../requests.ts';
import { type Target, throughputRatio } from '../rounds.ts';
import { countRowsWritten } from '../rows.ts';
import { LicetService } from '../workers.ts';
import { BESIDE, bareTarget, hotTarget, measure, type Scenario, shopOf } from './scenario.ts';

const MIN_THROUGHPUT_RATIO = 0.57;
const MAX_P99_RATIO = 4;
const MAX_STORED_AFTER_MS = 2_000;
const MAX_ROWS_WRITTEN = 1;

/** Licenses whose snapshots the Worker has in memory, asked for by bound servers. */
export const hot: Scenario = async (bench) => {
  const { licenses, hotConnections, warmUpRequests } = bench.settings;
  const { service: script, beside: other } = bench.scripts;
  const ids = spreadIds(licenses, licenses);
  const finding = await measure({
    bench,
    scenario: 'hot',
    title: `Hot validation: ${licenses} licenses in memory, asked for by bound servers`,
    levels: hotConnections,
    setUp: async () => {
      const population = shopOf(licenses);
      const service = await LicetService.start(script, { population });
      const { checkout } = other ?? {};
      const beside = other && (await LicetService.start(other.script, { population, checkout }));
      const target = (name: string, worker: LicetService): Target => ({
        ...hotTarget(name, worker, ids),
        backsOff: true,
      });
      return {
        targets: [
          bareTarget(bench, boundRequests(ids)),
          target('hot', service),
          ...(beside ? [target(BESIDE, beside)] : []),
        ],
        services: [service],
        beside,
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
  for (const connections of other ? hotConnections : []) {
    const [, own, beside] = finding.results.filter((one) => one.connections === connections);
    if (!own || !beside) continue;
    const ratio = round(throughputRatio(own, beside));
    finding.notes.push(
      `throughput at ${connections} connections, in that of ${other?.checkout}: ${ratio}`,
    );
  }
  const requestAt = boundRequests(ids);
  const { perRequest, faults } = await countRowsWritten('hot', bench.scripts.counting, {
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
