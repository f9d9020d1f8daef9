import { execFileSync, spawn } from 'node:child_process';
import {
  cpSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { isCommandName, runHere } from '../cli/run-command.ts';
import { ownFolder } from '../node/own.ts';
import { argsOfScript, spawnGroup, watch } from '../node/service.ts';
import { misunderstanding } from './wrangler-commands.ts';

/** The commands of npm and npx that documents name. */

const read = (file: string): string => readFileSync(file, 'utf8');
const NOT_OURS = ['node_modules', '.wrangler', 'dist'];
const FENCED = /^ *```(\w*)\n(.*?)^ *```/gms;

/** The commands of a document: the lines of its shells, and what it names in a sentence. */
function commandsOf(text: string): string[] {
  const shells = [...text.matchAll(FENCED)].filter(([, kind]) => kind === 'sh' || kind === 'bash');
  const named = [...text.replaceAll(FENCED, '').matchAll(/`([^`]+)`/g)];
  return [
    ...shells.flatMap(([, , lines = '']) => lines.split('\n')),
    ...named.map(([, code = '']) => code.replaceAll(/\s+/g, ' ')),
  ]
    .flatMap((line) => line.replace(/ +# .*/, '').split('&&'))
    .map((command) => command.trim())
    .filter((command) => /^(\w+=\S+ )*(npm|npx) /.test(command));
}

const documents = globSync('**/*.md', { exclude: (name) => NOT_OURS.includes(name) });
const commands = [...new Set(documents.flatMap((document) => commandsOf(read(document))))];
const isOfWrangler = (command: string): boolean => command.startsWith('npx wrangler ');
const ours = commands.filter((command) => !isOfWrangler(command));

/** The files that run the commands: the tests, `npm test` itself and the workflow. */
const RUNNERS = ['test/**/*.ts', 'scripts/test.ts', '.github/workflows/*.yml'];
const runners = globSync(RUNNERS).map(read).join('\n');

/** The place of an npm script or of a program of npx in a command. */
const nameIn = (command: string): string =>
  /(?:npm (?:run )?(?:-s )?|npx )([\w:]+)/.exec(command)?.[1] ?? '';

/** The scripts with options of our own, and the subcommands that documents name. */
const HELPFUL = ['backup', 'demo', 'deploy', 'doctor', 'export', 'import', 'restore', 'start'];
const subcommands = commands.flatMap(
  (command) => /licet -- ([a-z]+(?: [a-z]+)?)\b/.exec(command)?.[1] ?? [],
);
const helps = [...HELPFUL, 'licet', ...new Set(subcommands.map((words) => `licet ${words}`))];

function helpOf(script: string, words: readonly string[]) {
  if (isCommandName(script)) return runHere(script, [...words, '--help']);
  return watch(spawn(process.execPath, [...argsOfScript(script), '--help'])).ended;
}

describe('the commands of all documents', () => {
  it('the commands of all documents are run by tests or by the workflow', () => {
    const missing = commands.filter((command) => !runners.includes(nameIn(command)));
    expect(missing).toEqual([]);
  });

  it.each(helps)(
    'a command has a help, which shows its options: %s',
    { tags: 'long' },
    async (name) => {
      const [script = '', ...words] = name.split(' ');
      const { code, output } = await helpOf(script, words);
      expect(code, output).toBe(0);
      expect(output).toContain(name.replace(' ', ' -- '));
      const command = `${name.replace(' ', ' -- ')} `;
      const own = name === 'licet' ? [] : ours.filter((line) => line.includes(command));
      const options = own.flatMap((line) => line.match(/(?<= )--[a-z][\w-]*/g) ?? []);
      expect(options.filter((option) => !output.includes(option))).toEqual([]);
    },
  );

  // Those need an account.
  it.each(commands.filter(isOfWrangler))('a command is known to wrangler: %s', (command) => {
    expect(misunderstanding(command.split(' ').slice(2))).toBeUndefined();
  });
});

/** As in a terminal: what Vitest tells those that it runs is not for those that they run. */
const env = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !/^(VITEST|TEST$|NODE_ENV$|CI$)/.test(name)),
);

describe('in another folder, the command', () => {
  const folder = ownFolder();
  const at = (file: string): string => join(folder, file);
  const run = (command: string): string =>
    execFileSync('bash', ['-c', command], { cwd: folder, env, encoding: 'utf8', stdio: 'pipe' });
  beforeAll(() => {
    for (const file of ['package.json', 'biome.json', 'drizzle.config.ts']) {
      cpSync(file, at(file));
    }
    for (const name of ['node_modules', 'openapi', 'scripts', 'src']) {
      symlinkSync(resolve(name), at(name));
    }
    execFileSync('git', ['init', '-q'], { cwd: folder });
    writeFileSync(at('.gitignore'), 'node_modules\nopenapi\nscripts\nsrc\n');
  });

  it('npm run format formats in another folder', { tags: 'long' }, () => {
    writeFileSync(at('one.ts'), 'export const one = "1"');
    run('npm run format');
    expect(read(at('one.ts'))).toBe("export const one = '1';\n");
  });

  it('npm run migration adds nothing to the migrations that are committed, in another folder', {
    tags: 'long',
  }, () => {
    cpSync('drizzle', at('drizzle'), { recursive: true });
    expect(run('npm run migration'), 'Run npm run migration').toContain('No schema changes');
    expect(readdirSync(at('drizzle'))).toEqual(readdirSync('drizzle'));
  });

  it('npm run openapi writes what is committed, in another folder', { tags: 'long' }, () => {
    const files = ['docs/openapi.json', 'packages/client/src/types.ts'];
    for (const file of files) mkdirSync(dirname(at(file)), { recursive: true });
    run('npm run openapi');
    for (const file of files) expect(read(at(file)) === read(file), file).toBe(true);
  });

  it('npm run test:watch runs the project of the service, and waits for changes', {
    tags: 'long',
  }, async () => {
    const names = [...read('vitest.config.ts').matchAll(/name: '(\w+)'/g)].map(([, name]) => name);
    const projects = names.map((name) => ({ test: { name, include: ['*.test.ts'] } }));
    writeFileSync(
      at('vitest.config.ts'),
      `export default { test: ${JSON.stringify({ projects })} }`,
    );
    writeFileSync(at('one.test.ts'), `import { it } from 'vitest';\nit('passes', () => {});`);
    const child = spawnGroup('npm', ['run', 'test:watch', '--', '--watch'], env, folder);
    const { printed, ended } = watch(child);
    await printed('Waiting for file changes');
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGTERM');
    const { output } = await ended;
    expect(output).toMatch(/workers.*one\.test\.ts/);
    expect(output).toMatch(/Tests.*1 passed/);
  });
});

it.each(['test:unit', 'test:e2e'])('npm run %s names a folder of tests', (script) => {
  const folder = JSON.parse(read('package.json')).scripts[script].split(' ').at(-1);
  expect(globSync(`${folder}/*.test.ts`)).not.toEqual([]);
});

it('the documented command for more runs of the simulation names one test and variables that it takes', () => {
  const [command = ''] = commands.filter((command) => command.startsWith('SIMULATION_RUNS='));
  const [, variables = '', project, title = ''] =
    /^(.+) npx vitest run --project (\w+) -t '(.+)'$/.exec(command) ?? [];
  const files = globSync(`test/${project}/*.test.ts`).map(read);
  const named = files.filter((text) => text.includes(`('${title}`));
  expect(named).toHaveLength(1);
  expect(files.join('').split(title)).toHaveLength(2);
  for (const [name] of variables.matchAll(/\w+(?==)/g)) expect(named[0]).toContain(name);
});
