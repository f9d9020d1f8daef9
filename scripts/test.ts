import { existsSync, mkdtempSync, readFileSync, rmSync, statfsSync } from 'node:fs';
import { setPriority, tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { done, run, runShown } from '@licet/cli/terminal';
import { ensureConsole } from './console/ensure.ts';

/** `npm test`: every check of the project, then its tests, the tests that could not run, and a line that counts them. */

const folder = mkdtempSync(join(tmpdir(), 'licet-test-'));
let passed = 0;
/** Tests of the long forms. */
let leftOut = 0;
/** Each failure with its message. Shown again at the end, where the last lines of a long output are read first. */
const failures: string[] = [];

/** The file of the tests that cannot run here (test/node/tools.ts), a line each. */
const skippedFile = join(folder, 'skipped.jsonl');
process.env.LICET_SKIPPED = skippedFile;

/** The needs that this machine does not meet, each with the tests that were skipped for it. */
function readSkipped(): Map<string, Set<string>> {
  const skipped = new Map<string, Set<string>>();
  const lines = existsSync(skippedFile) ? readFileSync(skippedFile, 'utf8').split('\n') : [];
  for (const line of lines.filter(Boolean)) {
    const { need, tests }: { need: string; tests: string } = JSON.parse(line);
    skipped.set(need, (skipped.get(need) ?? new Set()).add(tests));
  }
  return skipped;
}

interface VitestReport {
  numPassedTests: number;
  testResults: {
    name: string;
    status: string;
    message: string;
    assertionResults: {
      status: string;
      fullName: string;
      failureMessages: string[] | null;
      tags: string[];
    }[];
  }[];
}

/** The tests that failed, and the files that could not be loaded. */
function failuresOf(report: VitestReport): string[] {
  return report.testResults.flatMap(({ name, status, message, assertionResults }) => {
    const file = relative('.', name);
    const tests = assertionResults.filter((test) => test.status === 'failed');
    if (tests.length === 0 && status === 'failed') return [`${file}\n${message}`];
    return tests.map(
      (test) => `${file}: ${test.fullName}\n${test.failureMessages?.join('\n') ?? ''}`,
    );
  });
}

/** Runs an npm script. */
async function check(script: string, ...options: string[]): Promise<void> {
  const { ok, output } = await run('npm', ['run', '--silent', script, '--', ...options]);
  if (ok) {
    passed++;
    done(script);
  } else {
    failures.push(`npm run ${script}\n${output}`);
    console.error(`✗ npm run ${script}\n${output}`);
  }
}

/** Runs tests, and counts them by vitest's report. */
async function countTests(
  runVitest: (command: string, args: readonly string[]) => Promise<boolean>,
  project: string,
  ...options: string[]
): Promise<void> {
  const file = join(folder, `${project}.json`);
  const reports = ['--reporter=default', '--reporter=json', `--outputFile.json=${file}`];
  const tags = process.env.LICET_LONG ? [] : ['--tagsFilter=short || !long'];
  const args = ['run', `--project=${project}`, ...reports, ...tags, ...options];
  const isGood = await runVitest('vitest', args);
  try {
    const report: VitestReport = JSON.parse(readFileSync(file, 'utf8'));
    const found = failuresOf(report);
    passed += report.numPassedTests;
    const tests = report.testResults.flatMap(({ assertionResults }) => assertionResults);
    leftOut += tests.filter(
      ({ status, tags: own }) => status === 'skipped' && own.includes('long'),
    ).length;
    failures.push(...found);
    if (!isGood && found.length === 0)
      failures.push(`vitest run --project=${project}: an error outside a test, see above`);
  } catch {
    failures.push(`vitest run --project=${project} gave no report`);
  }
}

const MIN_MEMORY_BYTES = 4e9;
/** Below the normal priority, which is 0. */
const NODE_TESTS_PRIORITY = 5;

/** A new folder in memory where there is room: local D1 waits for the disk after each write. */
function newFastFolder(): string {
  const memory = '/dev/shm';
  const space = existsSync(memory) ? statfsSync(memory) : undefined;
  const isLarge = space !== undefined && space.bavail * space.bsize >= MIN_MEMORY_BYTES;
  return mkdtempSync(join(isLarge ? memory : folder, 'licet-test-'));
}

const early = ['lint', 'typecheck'].map((script) => check(script));
// Once, and before the services of the tests start: each of them would build it. The check `build` reports a failure.
await ensureConsole(console.log).catch(() => undefined);

// All at the same time, because the tests in Node often wait for the processes that they start. The others run
// in two processes, because each further Worker would load the service again.
const fastFolder = newFastFolder();
let otherOutput = '';
const otherTests = countTests(
  async (command, args) => {
    const { ok, output } = await run(command, args, { TMPDIR: fastFolder });
    otherOutput = output;
    return ok;
  },
  '!node',
  '--maxWorkers=3',
);
// With the same priority these processes would end long after the three of the tests in Node, and a core would be idle.
setPriority(NODE_TESTS_PRIORITY);
await Promise.all([
  otherTests,
  countTests(runShown, 'node'),
  ...early,
  check('build'),
  check('types', '--check'),
]);
console.log(otherOutput);

const skipped = [...readSkipped()].sort();
for (const made of [folder, fastFolder]) rmSync(made, { recursive: true, force: true });
for (const failure of failures) console.error(`\n✗ ${failure}`);
if (skipped.length > 0) console.log('\nSkipped, because this machine lacks');
for (const [need, tests] of skipped) console.log(`  ${need}: ${[...tests].sort().join('; ')}`);
if (leftOut > 0 && !process.env.LICET_LONG)
  console.log(`\nLeft out: ${leftOut} long tests, which LICET_LONG=1 npm test runs`);
console.log(`\n${passed} passed, ${failures.length} failed`);
process.exit(failures.length > 0 ? 1 : 0);
