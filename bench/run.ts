import { writeFileSync } from 'node:fs';
import { availableParallelism, cpus } from 'node:os';
import { inspect, styleText } from 'node:util';
import { bundle } from './bundle.ts';
import { describeFault } from './faults.ts';
import { readOptions } from './options.ts';
import { type Finding, printFinding, progress, round } from './report.ts';
import { SCENARIOS, type ScenarioName } from './scenarios/index.ts';
import type { Scripts } from './scenarios/scenario.ts';
import { allFaultsOf, verdictOf } from './verdict.ts';
import { PlainWorker } from './workers.ts';

/**
 * `npm run bench`: validations by the built bundle in workerd, beside a bare Worker in the same run. The figures
 * that count are ratios: both share this machine with their load, and with its other work.
 */

const RESULT_FILE = 'bench/result.json';

const { scenarios, settings, beside: checkout } = readOptions(process.argv.slice(2));

progress('building');
const [service, counting, bare, blacklist, beside] = await Promise.all([
  bundle('src/index.ts'),
  bundle('bench/worker/counting.ts'),
  bundle('bench/worker/bare.ts'),
  bundle('bench/worker/blacklist.ts'),
  checkout && bundle('src/index.ts', checkout),
]);
const scripts: Scripts = {
  service,
  counting,
  blacklist,
  ...(checkout && beside && { beside: { script: beside, checkout } }),
};

/** A scenario that ends early must not hide the findings of the others. */
const endedEarly = (scenario: ScenarioName, error: unknown): Finding => ({
  scenario,
  title: `${scenario}: ended early`,
  results: [],
  thresholds: [],
  faults: [{ kind: 'ended', count: 1, where: scenario, details: inspect(error) }],
  notes: [],
});

const startedAt = new Date();
const findings: Finding[] = [];
{
  await using bareWorker = await PlainWorker.start(bare);
  for (const name of scenarios) {
    const start = performance.now();
    const ended = SCENARIOS[name]({ settings, bare: bareWorker, scripts });
    const finding = await ended.catch((error) => endedEarly(name, error));
    findings.push(finding);
    progress(`${name} took ${round((performance.now() - start) / 1000, 1)} s`);
    printFinding(finding);
  }
}

const { verdict, isGood } = verdictOf(findings);
const result = {
  verdict,
  startedAt: startedAt.toISOString(),
  seconds: round((Date.now() - startedAt.getTime()) / 1000, 0),
  machine: { cores: availableParallelism(), model: cpus()[0]?.model, node: process.version },
  settings,
  findings,
};
const rounded = (_: string, value: unknown) =>
  typeof value === 'number' ? round(value, 3) : value;
writeFileSync(RESULT_FILE, `${JSON.stringify(result, rounded, 2)}\n`);

console.log(`\n${styleText(['bold', isGood ? 'green' : 'red'], verdict)}`);
for (const fault of findings.flatMap(allFaultsOf)) console.log(`  ${describeFault(fault)}`);
const missed = findings.flatMap(({ scenario, thresholds }) =>
  thresholds.filter(({ isMet }) => !isMet).map(({ text, value }) => ({ scenario, text, value })),
);
for (const { scenario, text, value } of missed) {
  console.log(`  missed, ${scenario}: ${text} (${value ?? 'not known'})`);
}
const loads = findings.flatMap(({ results }) => results);
const greatest = Math.max(0, ...loads.map(({ loadCpuShare }) => loadCpuShare));
if (loads.length > 0) {
  console.log(`The load itself took ${round(greatest * 100, 0)} % of one core at most.`);
}
console.log(`Written to ${RESULT_FILE}.`);
process.exit(isGood ? 0 : 1);
