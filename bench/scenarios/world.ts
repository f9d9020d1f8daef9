import { bundleService } from '../../test/simulation/bundle.ts';
import { atMost, type Finding, progress, round, type TableRow } from '../report.ts';
import { type Shop, simulateShop } from '../world.ts';
import type { Bench } from './scenario.ts';

const SIZES = [1_000, 17_000, 100_000, 1_000_000];
/** Milliseconds to 95 of 100 responses. */
const MAX_P95_MS = 65;

const percentile = (sorted: readonly number[], share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;

/** Response times of known, bound licenses for servers all over the world, in virtual time. */
export async function world({ settings }: Bench): Promise<Finding> {
  const start = await bundleService();
  const finding: Finding = {
    scenario: 'world',
    title: 'Responses to servers all over the world, the database in Frankfurt (virtual time)',
    results: [],
    targets: [],
    faults: [],
    notes: [],
  };
  const table: TableRow[] = [];
  const shops = SIZES.flatMap((validationsPerDay): Shop[] => [
    { validationsPerDay, intervalMinutes: 60 },
    { validationsPerDay, intervalMinutes: 5 },
  ]);
  for (const shop of shops) {
    const name = `${shop.validationsPerDay} a day, every ${shop.intervalMinutes} minutes`;
    progress(`world: ${name}`);
    const result = await simulateShop(start, shop, settings.worldRequests);
    const p95 = percentile(result.responseTimesMs, 0.95);
    table.push({
      'validations a day': shop.validationsPerDay,
      'asks every': `${shop.intervalMinutes} min`,
      'p50 ms': round(percentile(result.responseTimesMs, 0.5), 0),
      'p95 ms': round(p95, 0),
      'p99 ms': round(percentile(result.responseTimesMs, 0.99), 0),
      'waited for D1': result.waitedForD1,
      'isolates started': result.isolates,
    });
    finding.targets.push(atMost(`p95 in ms, ${name}`, p95, MAX_P95_MS));
    if (result.waitedForD1 > 0) {
      finding.faults.push(
        `${result.waitedForD1} responses waited for D1, though KV had the license: ${name}`,
      );
    }
    if (result.wrong > 0) finding.faults.push(`${result.wrong} responses were not 200: ${name}`);
  }
  return { ...finding, table };
}
