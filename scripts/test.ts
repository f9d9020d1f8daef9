import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { done, run } from '../packages/cli/src/terminal.ts';

/** `npm test`: every check of the project, then its tests, and a line that counts them. */

const folder = mkdtempSync(join(tmpdir(), 'licet-test-'));
const reportFile = join(folder, 'report.json');
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

const tests = spawnSync(
  'vitest',
  ['run', '--reporter=default', '--reporter=json', `--outputFile.json=${reportFile}`],
  { stdio: 'inherit' },
);
try {
  const report = JSON.parse(readFileSync(reportFile, 'utf8'));
  passed += report.numPassedTests;
  failed += report.numFailedTests;
} catch {
  console.error('✗ The tests gave no report');
}
// A file that does not load, or an error outside a test, fails the run but no test.
if (tests.status !== 0 && failed === 0) failed = 1;

rmSync(folder, { recursive: true });
console.log(`\n${passed} passed, ${failed} failed`);
process.exit(failed > 0 ? 1 : 0);
