import { execFileSync, spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, delimiter, join, resolve } from 'node:path';
import { readRootToken } from '@licet/cli/root-token';
import { Licet } from '@licet/client';
import { beforeAll, describe, expect, it } from 'vitest';
import { ownFolder } from './own.ts';
import { sharedService } from './shared-service.ts';

/** The packages as `npm run pack` makes them, installed into an empty project, without a network. */

const PACKAGES = ['contract', 'client', 'cli'];

/** A copy of the project: packing builds its packages. */
const project = ownFolder();
const consumer = ownFolder();
const ours = join(consumer, 'node_modules/@licet');

interface Manifest {
  version: string;
  private?: boolean;
  repository?: { url: string };
  engines: { node: string };
  dependencies?: Record<string, string>;
}

function readManifest(folder: string): Manifest {
  const manifest: Manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  return manifest;
}

function copyProject(): void {
  const names = 'console/src/screens/program/packages.ts';
  for (const file of ['package.json', 'scripts/pack.ts', names, ...globSync('docs/*.md')]) {
    cpSync(file, join(project, file));
  }
  cpSync('packages', join(project, 'packages'), {
    recursive: true,
    filter: (path) => basename(path) !== 'dist',
  });
  const modules = join(project, 'node_modules');
  mkdirSync(join(modules, '@licet'), { recursive: true });
  for (const name of readdirSync('node_modules')) {
    if (name !== '@licet') symlinkSync(resolve('node_modules', name), join(modules, name));
  }
  for (const name of PACKAGES) {
    symlinkSync(`../../packages/${name}`, join(modules, '@licet', name));
  }
}

/** The command of the README that packs all three. */
const [packing = ''] = /^npm run pack$/m.exec(readFileSync('packages/cli/README.md', 'utf8')) ?? [];

/** Other packages come from this project: the cache of npm may be empty. */
const needed = new Set(
  PACKAGES.flatMap((name) => Object.keys(readManifest(`packages/${name}`).dependencies ?? {})),
);
const others = [...needed].filter((name) => !name.startsWith('@licet/'));

let url: string;
beforeAll(async () => {
  copyProject();
  const [npm = '', ...args] = packing.split(' ');
  const quiet = { cwd: project, stdio: 'pipe' } as const;
  execFileSync(npm, [...args, '--', '--pack-destination', consumer], quiet);
  writeFileSync(join(consumer, 'package.json'), '{ "private": true }');
  const options = '--offline --install-links --ignore-scripts --no-audit --no-fund --prefix';
  const packed = globSync('*.tgz', { cwd: consumer }).map((file) => join(consumer, file));
  const folders = others.map((name) => resolve('node_modules', name));
  execFileSync('npm', ['install', ...options.split(' '), consumer, ...packed, ...folders], quiet);
  url = await sharedService();
});

/** The project's Node, and the machine's own where it is another: often an older one. */
const nodes = [
  ...new Set([
    process.execPath,
    execFileSync('sh', ['-c', 'command -v node || true'], {
      encoding: 'utf8',
      env: {
        PATH: (process.env.PATH ?? '')
          .split(delimiter)
          .filter((part) => !part.includes('node_modules'))
          .join(delimiter),
      },
    }).trim() || process.execPath,
  ]),
];

/** Node can hang when it exits without (CONTRIBUTING.md). */
const FLAG = '--single-threaded';

/** Runs a script of the project that installed the packages. */
const runScript = (node: string, script: string): string =>
  execFileSync(node, [FLAG, script], {
    cwd: consumer,
    encoding: 'utf8',
    env: { LICET_URL: url, LICET_TOKEN: readRootToken() },
  });

describe('npm run pack', () => {
  it.each(PACKAGES)('npm pack refuses to pack the sources of @licet/%s', (name) => {
    const folder = join(project, 'packages', name);
    const { status, stderr } = spawnSync('npm', ['pack'], { cwd: folder, encoding: 'utf8' });
    expect(status).not.toBe(0);
    expect(stderr).toContain('Run npm run pack in the folder of the project.');
    expect(globSync('*.tgz', { cwd: folder })).toEqual([]);
  });

  it.each(PACKAGES)('@licet/%s has compiled files only, and no path of this machine', (name) => {
    const folder = join(ours, name);
    const files = globSync('**/*.*', { cwd: folder });
    const others = files.filter((file) => !/^dist\/[\w/-]+\.(js|d\.ts)$/.test(file));
    const documents = name === 'cli' ? globSync('docs/*.md') : [];
    expect(others.sort()).toEqual(['README.md', ...documents.sort(), 'package.json']);
    const sources = globSync('**/*.ts', { cwd: join('packages', name, 'src') });
    const modules = sources.map((file) => join('dist', file.replace(/\.ts$/, '')));
    const expected = modules.flatMap((module) => [`${module}.js`, `${module}.d.ts`]);
    expect(files.filter((file) => file.startsWith('dist')).sort()).toEqual(expected.sort());
    for (const file of files) {
      const text = readFileSync(join(folder, file), 'utf8');
      for (const path of [project, resolve('.')]) expect(text, file).not.toContain(path);
      if (file.endsWith('.js')) expect(text, file).not.toMatch(/(from|import\() ?'\..*\.ts'/);
    }
  });

  it.each(PACKAGES)('the README of @licet/%s links only to files that are installed', (name) => {
    const readme = join(ours, name, 'README.md');
    for (const [, link = ''] of readFileSync(readme, 'utf8').matchAll(/\]\((?!https?:)([^)#]+)/g)) {
      expect(existsSync(resolve(readme, '..', link)), link).toBe(true);
    }
  });

  it('the three packages need nothing else than their declared packages', () => {
    const installed = globSync(['*', '@*/*'], { cwd: join(consumer, 'node_modules') });
    const names = installed.filter((name) => !/^(\.|@[^/]+$)/.test(name));
    expect(names.sort()).toEqual([...PACKAGES.map((name) => `@licet/${name}`), ...others].sort());
  });
});

describe('the installed client', () => {
  it('the package of the client needs nothing, and runs what its README shows', () => {
    expect(readManifest(join(ours, 'client'))).not.toHaveProperty('dependencies');
    const readme = readFileSync(join(ours, 'client/README.md'), 'utf8');
    const scripts = [...readme.matchAll(/```js\n(.*?)```/gs)].map(([, script = '']) => script);
    expect(scripts).toHaveLength(2);
    for (const node of nodes) {
      const [first, second] = scripts.map((script) => {
        // Each Node has a customer of its own.
        const own = script.replace('ada@', `ada-${nodes.indexOf(node)}@`);
        writeFileSync(join(consumer, 'readme.mjs'), own);
        return runScript(node, 'readme.mjs');
      });
      expect(first).toMatch(/^([\w-]{24})\n\1 \n409 Product has licenses, cannot delete\n$/);
      expect(second).toMatch(/^frees 192\.0\.2\.10\ntrue\ntrue 20\d\d-.*\n(license\.rotated\n)+$/);
    }
  });

  it.each(PACKAGES)('@licet/%s can be published, from its file alone', (name) => {
    const { private: isPrivate, repository } = readManifest(join(ours, name));
    expect(isPrivate).toBeUndefined();
    expect(repository?.url).toMatch(/^git\+https:/);
    expect(readManifest(join('packages', name)).private).toBe(true);
  });

  it('the packages are typed for their users, without the types of Node', () => {
    writeFileSync(
      join(consumer, 'script.mts'),
      `import { Licet, type License } from '@licet/client';
import { LICENSE_STATUSES } from '@licet/contract/enums';
declare const process: { env: Record<string, string> };
const { LICET_URL = '', LICET_TOKEN = '' } = process.env;
const licet = new Licet({ url: LICET_URL, token: LICET_TOKEN });
for await (const { name } of licet.products.iterate({ productType: 'OTHER' })) name.trim();
const { name } = await licet.tokens.self();
const statuses: readonly License['licenseStatus'][] = LICENSE_STATUSES;
console.log(name, statuses.join());

export async function use(license: License) {
  await licet.licenses.update(7, license);
  const { keys: signingKeys } = await licet.signingKeys();
  const response = await licet.validate({ licenseKey: 'A', productId: 7 }, { signingKeys });
  // @ts-expect-error
  await licet.products.list({ productType: 'OTHRE' });
  // @ts-expect-error
  await licet.licenses.change(7, (current) => ({ maxIps: current.maxIPs }));
  // @ts-expect-error
  await licet.requests.create({});
  // @ts-expect-error
  await licet.requests.delete(7);
  return response.valid ? response.maxIPs : response.message;
}
`,
    );
    const options = ['--strict', '--exactOptionalPropertyTypes', '--module', 'nodenext'];
    const lib = ['--target', 'es2022', '--lib', 'es2022,dom', '--types', ''];
    execFileSync('tsc', [...options, ...lib, 'script.mts'], { cwd: consumer, stdio: 'pipe' });
    for (const node of nodes) {
      expect(runScript(node, 'script.mjs')).toBe('root ACTIVE,EXPIRED,DEACTIVATED,DELETED\n');
    }
  });
});

it('every module of the contract loads in each Node, as its README shows', () => {
  const modules = globSync('*.js', { cwd: join(ours, 'contract/dist') });
  const names = modules.map((file) => `@licet/contract/${basename(file, '.js')}`);
  const readme = readFileSync(join(ours, 'contract/README.md'), 'utf8');
  const [, shown = ''] = /```js\n(.*?)```/s.exec(readme) ?? [];
  const imports = names.map((name) => `import '${name}';\n`);
  writeFileSync(join(consumer, 'contract.mjs'), [...imports, shown].join(''));
  for (const node of nodes) expect(runScript(node, 'contract.mjs')).toBe('true 86400000\n');
});

describe('the installed licet', () => {
  const bin = join(consumer, 'node_modules/.bin/licet');

  /** Runs the program in the folder of the project that installed it. */
  const licet = (args: readonly string[], env: NodeJS.ProcessEnv = {}, node = process.execPath) =>
    spawnSync(node, [FLAG, bin, ...args], {
      cwd: consumer,
      encoding: 'utf8',
      env: { LICET_URL: url, LICET_TOKEN: readRootToken(), NO_COLOR: '1', ...env },
    });

  it.each(nodes)(
    'licet lists licenses with the service and the token of the environment: %s',
    async (node) => {
      const client = new Licet({ url, token: readRootToken() });
      const { id: productId } = await client.products.create({
        name: 'Plugin',
        productType: 'OTHER',
      });
      const { licenseKey } = await client.licenses.create({ productId, licenseType: 'PERMANENT' });
      const args = ['licenses', 'list', '--product', `id:${productId}`];
      expect(licet(args, {}, node)).toMatchObject({
        status: 0,
        stdout: expect.stringContaining(licenseKey),
      });
      expect(licet(args, { LICET_TOKEN: 'unknown' }, node)).toMatchObject({
        status: 1,
        stdout: '',
      });
      expect(licet(['licenses', 'lst'], {}, node)).toMatchObject({ status: 2, stdout: '' });
    },
  );

  it('licet runs by npx, and has the version of the project', () => {
    const env = { ...process.env, npm_config_offline: 'true' };
    const output = execFileSync('npx', ['licet', '--version'], {
      cwd: consumer,
      encoding: 'utf8',
      stdio: 'pipe',
      env,
    });
    expect(output).toBe(`${readManifest('.').version}\n`);
  });

  it('licet knows no token of another project on this machine', () => {
    writeFileSync(join(consumer, '.dev.vars'), `ROOT_TOKEN=${readRootToken()}\n`);
    for (const args of [
      ['licenses', 'list'],
      ['export', '-'],
    ]) {
      expect(licet(args, { LICET_TOKEN: '' })).toMatchObject({
        status: 2,
        stdout: '',
        stderr: expect.stringMatching(/^✗ No token\. Set .*LICET_TOKEN.*\n$/),
      });
    }
  });

  it('the installed licet names a document that is there', () => {
    writeFileSync(join(consumer, 'empty.json'), '{}');
    const { stderr } = licet(['import', 'empty.json']);
    const [document = ''] = /\S+import\.md/.exec(stderr) ?? [];
    expect(readFileSync(resolve(consumer, document), 'utf8')).toContain('# ');
  });

  it('licet imports, exports and checks a service', () => {
    writeFileSync(join(consumer, 'shop.csv'), 'id,name,productType\n999999999,Plugin,OTHER\n');
    // Files are found from the folder of the program, and not from where npm was called.
    const env = { INIT_CWD: '/not-there' };
    const imported = licet(['import', 'shop.csv', '--kind', 'products', '--dry-run'], env);
    expect(imported).toMatchObject({
      status: 0,
      stdout: expect.stringMatching(/^✓ All items can be imported into .* dry run/m),
    });
    const exported = licet(['export', '-']);
    expect(exported).toMatchObject({ status: 0, stdout: expect.stringMatching(/^\{/) });
    const { host } = new URL(url);
    const checked = licet(['doctor', host]);
    expect(checked).toMatchObject({ status: 0, stdout: expect.stringContaining('All is well.') });
  });

  /** The text of the project's folder, where npm scripts and a secrets file are. */
  const OF_PROJECT = /npm|\.dev\.vars/;

  it('licet lists import, export and doctor, and explains their place', () => {
    const { status, stdout } = licet(['help']);
    expect(status).toBe(0);
    expect(stdout).not.toMatch(OF_PROJECT);
    for (const name of ['import', 'export', 'doctor']) {
      expect(stdout).toMatch(new RegExp(`^ {2}${name} `, 'm'));
      const help = licet([name, '--help']);
      expect(help.status).toBe(0);
      expect(help.stdout).toMatch(new RegExp(`^Usage: licet ${name} `));
      expect(help.stdout).not.toMatch(OF_PROJECT);
    }
    expect(licet(['help', 'import']).stdout).toMatch(/^Usage: licet import /);
    expect(licet(['--json', 'import', 'shop.csv'])).toMatchObject({
      status: 2,
      stderr: '✗ Give options after the name of the command: licet import …\n',
    });
  });

  it('licet never names the scripts of the project to a user of the package', () => {
    const calls = [
      ['help', 'licenses', 'create'],
      ['help', 'completion'],
      ['help', 'none'],
    ];
    for (const args of [...calls, ['completion', 'zsh']]) {
      const { stdout, stderr } = licet(args);
      expect(stdout + stderr, args.join(' ')).toContain('licet');
      expect(stdout + stderr, args.join(' ')).not.toMatch(OF_PROJECT);
    }
  });
});
