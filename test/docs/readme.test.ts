import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ownFolder } from '../node/own.ts';
import { argsOfScript, type RunningService, startService } from '../node/service.ts';
import { hasTools } from '../node/tools.ts';
import { isLong } from '../support/long.ts';

/** Runs the commands of the README as printed. */

const readme = readFileSync('README.md', 'utf8');

const folder = ownFolder();
let service: RunningService;
beforeAll(async () => {
  service = await startService(folder);
});
afterAll(() => service.stop());

/** Replaces values that differ between runs. */
const masked = (text: string): string =>
  text
    .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00/g, 'TIMESTAMP')
    .replaceAll(/\b([0-9A-HJKMNP-TV-Z]{4}-){4}[0-9A-HJKMNP-TV-Z]{4}\b/g, 'LICENSE-KEY')
    .replaceAll(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d/gm, 'YYYY-MM-DD hh:mm:ss')
    .replaceAll(/licet_[\w-]{43}/g, 'TOKEN')
    .trim();

const blocks = [
  ...readme
    .slice(readme.indexOf('## Five-minute tour with curl'), readme.indexOf('## Run it for good'))
    .matchAll(/```(sh|json|text)\n(.*?)```/gs),
].map(([, kind, text = '']) => ({ kind, text }));
const printed = blocks.filter(({ kind }) => kind !== 'sh').map(({ text }) => masked(text));

/** Runs the tour's commands in one shell. @returns the output of each block */
function runTour(change = (command: string): string => command): string[] {
  const commands = blocks.filter(({ kind }) => kind === 'sh').map(({ text }) => change(text));
  const script = commands.join('echo -----\n').replaceAll(':8787', `:${service.port}`);
  // A record is written after the response: a person's pace is slow enough, a test has to wait.
  const history = 'curl -sS "$LICET_URL/api/v2/requests?licenseKey=$KEY';
  const settled = script.replace(
    history,
    () =>
      `until ${history}&limit=1" -H "TOKEN: $TOKEN" | grep -q BLACKLISTED; do :; done\n${history}`,
  );
  const output = execFileSync('bash', ['-e', '-c', `exec 2>&1\n${settled}`], {
    encoding: 'utf8',
    timeout: 120_000,
    env: { ...process.env, LICET_URL: service.address },
  });
  return output.split('-----\n').slice(1).map(masked);
}

const hasCurl = hasTools('the tour, the import and the export of README.md', 'curl');
const hasJava = hasTools('the Java program of README.md', 'curl', 'javac');

it.skipIf(!hasCurl)('the tour of the README prints what the README shows', () => {
  expect(printed.length).toBeGreaterThan(8);
  expect(runTour()).toEqual(printed);
});

it.runIf(hasCurl && isLong)(
  'the tour of the README also works on a service with data, with other ids',
  () => {
    const withoutIds = (responses: string[]) =>
      responses.map((response) =>
        response
          .replaceAll(/"(id|productId)":\d+/g, '"$1":0')
          // And in tables.
          .replaceAll(/ +/g, ' ')
          .replaceAll(/(?<=^| )\d+(?= |$)/gm, '0'),
      );
    // npm takes longer than the command that it starts. The test above runs the commands by npm.
    const withoutNpm = ['node', ...argsOfScript('licet')].join(' ');
    const output = runTour((command) => command.replaceAll('npm run -s licet --', withoutNpm));
    expect(withoutIds(output)).toEqual(withoutIds(printed));
  },
);

const programs = [...readme.matchAll(/```bash\n(.*?)```/gs)].map(([, program = '']) => program);

/** Runs a program with the tour's variables `LICET_URL`, `TOKEN`, `PRODUCT` and `KEY`. */
function runAfterTour(program = ''): string {
  const [settings, product, license] = blocks.filter(({ kind }) => kind === 'sh');
  const script = [settings, product, license].map((block) => block?.text).join('') + program;
  const inFolder = script.replaceAll(':8787', `:${service.port}`).replaceAll('/tmp', folder);
  // Java starts faster with these options.
  const env = { ...process.env, JAVA_TOOL_OPTIONS: '-XX:TieredStopAtLevel=1 -XX:+UseSerialGC' };
  return execFileSync('bash', ['-e', '-c', inFolder], { encoding: 'utf8', env, stdio: 'pipe' });
}

it.skipIf(!hasJava)(
  'the Java program of the README accepts a license of the tour',
  { tags: 'long' },
  () => {
    const [program] = programs;
    expect(runAfterTour(program).trim().split('\n').at(-1)).toBe('License is valid');
  },
);

it.skipIf(!hasCurl)(
  'the import and the export of the README move 1,000 licenses',
  { tags: 'long' },
  () => {
    const [, moving = ''] = programs;
    const toService = moving
      .replace('import --', `import -- --url ${service.address}`)
      .replace('export --', `export -- --url ${service.address}`);
    expect(runAfterTour(toService)).toMatch(/^licenses +1,000 +0 +0 +0$/m);
    const exported = readFileSync(join(folder, 'shop.jsonl'), 'utf8');
    expect(exported.match(/"licenseKey":"OLD-/g)).toHaveLength(1_000);
  },
);

it('the README has at most 2,800 words', () => {
  expect(readme.trim().split(/\s+/).length).toBeLessThanOrEqual(2_800);
});

it('the README has a reason for each dependency', () => {
  const { workspaces } = JSON.parse(readFileSync('package.json', 'utf8'));
  const table = readme.slice(readme.indexOf('### Dependencies'));
  for (const folder of ['.', ...workspaces]) {
    const file = readFileSync(join(folder, 'package.json'), 'utf8');
    const { dependencies, devDependencies } = JSON.parse(file);
    for (const name of Object.keys({ ...dependencies, ...devDependencies })) {
      if (!name.startsWith('@licet/')) expect(table, name).toContain(name);
    }
  }
});
