import { writeFileSync } from 'node:fs';
import { availableParallelism, cpus } from 'node:os';
import { fail } from '../packages/cli/src/terminal.ts';
import { bundle } from './bundle.ts';
import { readOptions } from './options.ts';
import { type Finding, printFinding, progress, round } from './report.ts';
import { SCENARIOS } from './scenarios/index.ts';
import type { Scripts } from './scenarios/scenario.ts';
import { PlainWorker } from './workers.ts';

/**
 * `npm run bench`: validations by the built bundle in workerd, beside a bare Worker in the same run. The figures
 * that count are ratios: both share this machine with their load, and with its other work.
 */

const RESULT_FILE = 'bench/result.json';

const { scenarios, settings } = readOptions(process.argv.slice(2));

progress('building');
const [service, counting, bare, blacklist] = await Promise.all([
  bundle('src/index.ts'),
  bundle('bench/worker/counting.ts'),
  bundle('bench/worker/bare.ts'),
  bundle('bench/worker/blacklist.ts'),
]);
const scripts: Scripts = { service, counting, blacklist };

const startedAt = new Date();
const findings: Finding[] = [];
{
  await using bareWorker = await PlainWorker.start(bare);
  for (const name of scenarios) {
    const start = performance.now();
    const finding = await SCENARIOS[name]({ settings, bare: bareWorker, scripts });
    findings.push(finding);
    progress(`${name} took ${round((performance.now() - start) / 1000, 1)} s`);
    printFinding(finding);
  }
}

const loads = findings.flatMap(({ results }) => results);
const greatest = Math.max(0, ...loads.map(({ loadCpuShare }) => loadCpuShare));
if (loads.length > 0) {
  console.log(`\nThe load itself took ${round(greatest * 100, 0)} % of one core at most.`);
}
const result = {
  startedAt: startedAt.toISOString(),
  seconds: round((Date.now() - startedAt.getTime()) / 1000, 0),
  machine: { cores: availableParallelism(), model: cpus()[0]?.model, node: process.version },
  settings,
  findings,
};
const rounded = (_: string, value: unknown) =>
  typeof value === 'number' ? round(value, 3) : value;
writeFileSync(RESULT_FILE, `${JSON.stringify(result, rounded, 2)}\n`);
console.log(`Written to ${RESULT_FILE}.`);

const faults = findings.flatMap((finding) => finding.faults);
const missed = findings.flatMap(({ thresholds }) =>
  thresholds.filter(({ isMet, isExact }) => isExact && !isMet),
);
if (faults.length + missed.length > 0) {
  fail(
    `${faults.length} faults, and ${missed.length} missed thresholds of counts and virtual time.`,
  );
}
process.exit(0);
