import { writeFileSync } from 'node:fs';
import { availableParallelism, cpus } from 'node:os';
import { fail } from '../scripts/terminal.ts';
import { bundle } from './bundle.ts';
import { readOptions } from './options.ts';
import { type Finding, printFinding, progress, round } from './report.ts';
import { SCENARIOS } from './scenarios/index.ts';
import { BareWorker } from './workers.ts';

/**
 * `npm run bench`: validations by the built bundle in workerd, beside a bare Worker in the same run.
 * What counts is the ratio: both share this machine with their load, and with whatever else it does.
 */

const RESULT_FILE = 'bench/result.json';

const { scenarios, settings } = readOptions(process.argv.slice(2));

progress('building');
const [script, bareScript] = await Promise.all([
  bundle('src/index.ts'),
  bundle('bench/bare-worker.ts'),
]);

const startedAt = new Date();
const findings: Finding[] = [];
{
  await using bare = await BareWorker.start(bareScript);
  for (const name of scenarios) {
    const start = performance.now();
    const finding = await SCENARIOS[name]({ settings, bare, script });
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
if (faults.length > 0)
  fail(`${faults.length} faults: a request was lost, doubled or answered wrongly.`);
process.exit(0);
