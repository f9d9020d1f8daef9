import { execFileSync } from 'node:child_process';
import {
  cpSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newFolder, spawnGroup, watch } from '../node/service.ts';
import { misunderstanding } from './wrangler-commands.ts';

/** Every command of npm and npx that a document tells somebody to type is run somewhere. */

const HERE = 'test/docs/commands.test.ts';

/** By whom each is run, with these arguments or such that differ in their values alone. */
const RUN_BY: Record<string, readonly string[]> = {
  '.github/workflows/ci.yml': ['npm ci', 'npm start', 'npm test'],
  'test/node/service.ts': ['npm start -- --port 9000 --persist-to DIR'],
  'test/docs/deploy-document.test.ts': ['npm run dev', 'npm start -- --persist-to DIR'],
  'test/node/start.test.ts': [
    'npm run demo',
    'npm start -- --help',
    'npm start -- --var NAME:VALUE',
  ],
  'test/docs/readme.test.ts': [
    'npm run -s export -- /tmp/shop.jsonl',
    'npm run -s import -- /tmp/old.csv --kind licenses',
    'npm run -s licet -- history --key $KEY --refused',
    'npm run -s licet -- licenses find $KEY',
    'npm run -s licet -- licenses free $KEY --ips',
  ],
  'test/node/backup.test.ts': ['npm run backup', 'npm run restore'],
  'test/cli/licet.test.ts': ['npm run licet', 'npm run licet -- --help'],
  'test/cli/import.test.ts': [
    'npm run export',
    'npm run export -- shop.jsonl --from https://old.example --token $LICET_FROM_TOKEN',
    'npm run import',
    'npm run import -- --from https://old.example',
    'npm run import -- --from https://old.example --dry-run --report import-report.jsonl',
    'npm run import -- licenses.csv --kind licenses',
    'npm run import -- shop.jsonl --dry-run',
  ],
  'test/cli/doctor.test.ts': [
    'npm run doctor',
    'npm run doctor -- URL',
    'npm run doctor -- https://license.example.com',
  ],
  'test/cli/deploy.test.ts': ['npm run deploy', 'npm run deploy -- --dry-run'],
  'test/node/move.test.ts': [
    'npm run export -- shop.jsonl',
    'npm run import -- shop.jsonl --to https://license.example.com',
  ],
  'test/node/client.test.ts': ['npm install', 'npm pack'],
  [HERE]: [
    "SIMULATION_RUNS=2000 SIMULATION_SEED=7 npx vitest run --project simulation -t 'the invariants hold'",
    "SIMULATION_SEED=7 npx vitest run --project simulation -t 'its name'",
    'npm run format',
    'npm run migration',
    'npm run openapi',
    'npm run test:watch',
    'npx vitest run --project simulation',
    'npx vitest run test/unit/network.test.ts',
  ],
};

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

describe('the commands of all documents', () => {
  it('are run, each somewhere', () => {
    const run = Object.values(RUN_BY).flat();
    const ours = commands.filter((command) => !isOfWrangler(command));
    expect(ours.toSorted()).toEqual(run.toSorted());
  });

  it.each(Object.entries(RUN_BY))('are named where they are run: %s', (file, run) => {
    const source = read(file);
    for (const command of run) {
      const [, name = ''] = /(?:npm (?:run )?(?:-s )?|npx )([\w:]+)/.exec(command) ?? [];
      expect(source).toContain(name);
    }
  });

  // Those need an account.
  it.each(commands.filter(isOfWrangler))('are known to wrangler: %s', (command) => {
    expect(misunderstanding(command.split(' ').slice(2))).toBeUndefined();
  });
});

/** As in a terminal: what Vitest tells those that it runs is not for those that they run. */
const env = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !/^(VITEST|TEST$|NODE_ENV$|CI$)/.test(name)),
);

describe('in another folder, the command', () => {
  const folder = newFolder();
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
  afterAll(() => rmSync(folder, { recursive: true }));

  it('npm run format formats', () => {
    writeFileSync(at('one.ts'), 'export const one = "1"');
    run('npm run format');
    expect(read(at('one.ts'))).toBe("export const one = '1';\n");
  });

  it('npm run migration writes what the schema asks for', () => {
    run('npm run migration');
    const [migration = ''] = readdirSync(at('drizzle')).filter((name) => name.endsWith('.sql'));
    expect(migration).toMatch(/^0000_/);
    expect(read(at(join('drizzle', migration)))).toContain('CREATE TABLE `licenses`');
  });

  it('npm run openapi writes what is committed', () => {
    const files = ['docs/openapi.json', 'packages/client/src/types.ts'];
    for (const file of files) mkdirSync(dirname(at(file)), { recursive: true });
    run('npm run openapi');
    for (const file of files) expect(read(at(file)) === read(file), file).toBe(true);
  });
});

describe('Vitest is run by', () => {
  it('npm run test:watch, which waits for changes', async () => {
    const command = ['run', 'test:watch', '--', '--watch', 'test/unit/network.test.ts'];
    const child = spawnGroup('npm', command, env);
    const { printed, ended } = watch(child);
    await printed('Waiting for file changes');
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGTERM');
    const { output } = await ended;
    expect(output).toMatch(/workers.*test\/unit\/network\.test\.ts/);
  });

  it('the line that looks further with the simulation', () => {
    const [line = ''] = commands.filter((command) => command.startsWith('SIMULATION_RUNS='));
    const command = line.replace('SIMULATION_RUNS=2000', 'SIMULATION_RUNS=1');
    const output = execFileSync('bash', ['-c', command], { env, encoding: 'utf8', stdio: 'pipe' });
    expect(output).toMatch(/Tests.*1 passed/);
  });
});
