import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { done, run, runShown } from '../packages/cli/src/terminal.ts';

/** `npm test`: every check of the project, then its tests, and a line that counts them. */

const folder = mkdtempSync(join(tmpdir(), 'licet-test-'));
let passed = 0;
let failed = 0;

async function check(name: string, command: string, ...args: string[]): Promise<void> {
  const { ok, output } = await run(command, args);
  if (ok) {
    passed++;
    done(name);
  } else {
    failed++;
    console.error(`✗ ${name}: ${command} ${args.join(' ')}\n${output}`);
  }
}

// With its four threads TypeScript would check shared files four times.
const tsc = (project: string) => ['tsc', '-p', project, '--noEmit', '--singleThreaded'] as const;
const typesOptions = ['--check', '--include-runtime=false', '--strict-vars=false'];
await Promise.all([
  check('types of the service and its tests', ...tsc('.')),
  check('types of the scripts', ...tsc('scripts')),
  check('types of the console', ...tsc('console')),
  check('types of the client', ...tsc('packages/client')),
  check('types of the bindings', 'wrangler', 'types', ...typesOptions),
  check('bundle', 'wrangler', 'deploy', '--dry-run', '--outdir', join(folder, 'bundle')),
  check('formatting and lint', 'biome', 'ci', '--error-on-warnings', '.'),
]);

/** Runs tests, and counts them by vitest's report. */
async function countTests(
  runVitest: (command: string, args: readonly string[]) => Promise<boolean>,
  projects: readonly string[],
  ...options: string[]
): Promise<void> {
  const file = join(folder, `${projects.join('-')}.json`);
  const reports = ['--reporter=default', '--reporter=json', `--outputFile.json=${file}`];
  const named = projects.map((name) => `--project=${name}`);
  const isGood = await runVitest('vitest', ['run', ...reports, ...named, ...options]);
  try {
    const report = JSON.parse(readFileSync(file, 'utf8'));
    passed += report.numPassedTests;
    failed += report.numFailedTests;
    // A file that does not load, or an error outside a test, fails the run but no test.
    if (!isGood && report.numFailedTests === 0) failed++;
  } catch {
    failed++;
    console.error(`✗ The tests of ${projects.join(' and ')} gave no report`);
  }
}

// One Worker runs all tests of the service, and keeps one core busy. Those beside it often wait for processes.
let workersOutput = '';
await Promise.all([
  countTests(runShown, ['node'], '--maxWorkers=2'),
  countTests(
    async (command, args) => {
      const { ok, output } = await run(command, args);
      workersOutput = output;
      return ok;
    },
    ['workers', 'simulation'],
    '--maxWorkers=1',
  ),
]);
// Not between the lines of the others.
console.log(workersOutput);

rmSync(folder, { recursive: true });
console.log(`\n${passed} passed, ${failed} failed`);
process.exit(failed > 0 ? 1 : 0);
