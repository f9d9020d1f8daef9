import { loadService } from '../../test/simulation/modules.ts';
import { atMost, exact, type Finding, progress, round, type TableRow } from '../report.ts';
import { percentile } from '../statistics.ts';
import { type Shop, simulateShop } from '../world.ts';
import type { Bench } from './scenario.ts';

const VALIDATIONS_PER_DAY = [1_000, 17_000, 100_000, 1_000_000];
const INTERVALS_MINUTES = [60, 5] as const;
const MAX_P95_MS = 65;

/** Response times of known, bound licenses for servers all over the world, in virtual time. */
export async function world({ settings }: Bench): Promise<Finding> {
  const start = await loadService();
  const finding: Finding = {
    scenario: 'world',
    title: 'Responses to servers all over the world, with D1 in Frankfurt, in virtual time',
    results: [],
    thresholds: [],
    faults: [],
    notes: [],
  };
  const table: TableRow[] = [];
  const shops = VALIDATIONS_PER_DAY.flatMap((validationsPerDay) =>
    INTERVALS_MINUTES.map((intervalMinutes): Shop => ({ validationsPerDay, intervalMinutes })),
  );
  for (const shop of shops) {
    const name = `${shop.validationsPerDay} a day, every ${shop.intervalMinutes} minutes`;
    progress(`world: ${name}`);
    const result = await simulateShop(start, shop, settings.worldRequests);
    const percentileMs = (share: number): number =>
      round(percentile(result.responseTimesMs, share), 0);
    table.push({
      'validations a day': shop.validationsPerDay,
      'interval, minutes': shop.intervalMinutes,
      'p50 ms': percentileMs(0.5),
      'p95 ms': percentileMs(0.95),
      'p99 ms': percentileMs(0.99),
      'waited for D1': result.waitedForD1,
      'isolates started': result.isolates,
    });
    // In virtual time a run is the same on every machine.
    finding.thresholds.push(exact(atMost(`p95 in ms, ${name}`, percentileMs(0.95), MAX_P95_MS)));
    const waited = `responses that waited for D1 though KV had the license, ${name}`;
    finding.thresholds.push(exact(atMost(waited, result.waitedForD1, 0)));
    if (result.wrong > 0) {
      const details = `not 200, ${name}`;
      finding.faults.push({ kind: 'wrong', count: result.wrong, where: 'world', details });
    }
  }
  return { ...finding, table };
}
