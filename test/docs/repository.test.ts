import { execFileSync } from 'node:child_process';
import { existsSync, globSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { MARKET_KINDS } from '@licet/contract/enums';
import { OUTCOMES, RESPONSE_TYPES } from '@licet/contract/outcomes';
import { load } from 'js-yaml';
import { describe, expect, it } from 'vitest';
import { BUILD_LINES } from '../../console/src/screens/program/packages.ts';
import { SUBJECTS } from '../../scripts/console/documents.ts';
import { zip } from '../../scripts/packages/archive.ts';
import { ownFolder } from '../node/own.ts';

/** The workflow, the settings and the documents of the repository agree. */

const read = (file: string): string => readFileSync(file, 'utf8');
const NOT_OURS = ['node_modules', '.wrangler', 'dist', 'public'];
const documents = globSync('**/*.md', { exclude: (name) => NOT_OURS.includes(name) });
const { engines, scripts, version, workspaces } = JSON.parse(read('package.json'));

interface Step {
  uses?: string;
  run?: string;
  env?: Record<string, string>;
}
interface Workflow {
  on: { schedule: { cron: string }[] };
  permissions: object;
  jobs: Record<
    string,
    {
      if?: string;
      needs?: string;
      environment?: string;
      permissions?: object;
      'timeout-minutes'?: number;
      strategy?: { matrix: { node: number[] } };
      steps: Step[];
    }
  >;
}

/** YAML goes through JSON, which has no types of its own either. */
function readYaml<Settings>(file: string): Settings {
  const settings: Settings = JSON.parse(JSON.stringify(load(read(file))));
  return settings;
}

describe('the workflow of GitHub Actions', () => {
  const { on, permissions, jobs } = readYaml<Workflow>('.github/workflows/ci.yml');
  const steps = Object.values(jobs).flatMap((job) => job.steps);
  const commands = steps.flatMap(({ run = '' }) => run.trim().split('\n'));

  it('the workflow of GitHub Actions runs the two commands of the README, and that of our own CI', () => {
    const [start, test] = [...read('README.md').matchAll(/```sh\n(npm ci && .*)\n```/g)].map(
      ([, command = '']) => command,
    );
    expect(commands).toContain(`${start} &`);
    expect(commands).toContain(test);
    expect(read('.ci/run').trim().split('\n').at(-1)).toBe(test);
    expect(commands.join('\n')).toMatch(/^curl .*:8787\/api\/v2\/healthy$/m);
  });

  it('the workflow of GitHub Actions runs them on the Node from which the project and its README say it works', () => {
    const node = Object.values(jobs).flatMap(({ strategy }) => strategy?.matrix.node ?? []);
    expect(engines.node).toBe(`>=${Math.min(...node)}`);
    expect(read('README.md')).toContain(`You need Node ${Math.min(...node)} or newer`);
    expect(node).toEqual([20, 22, 24]);
  });

  it('the workflow of GitHub Actions builds, starts and stops the container by the commands of docs/one-machine.md', () => {
    const document = read('docs/one-machine.md');
    const starting = commands.filter((command) => command.startsWith('docker compose up'));
    expect(starting).toHaveLength(1);
    for (const command of [...starting, 'docker compose stop']) {
      expect(commands).toContain(command);
      expect(document).toContain(`\n${command}\n`);
    }
  });

  it('the workflow of GitHub Actions runs the long forms once a week', () => {
    expect(on.schedule.map(({ cron }) => cron)).toEqual([
      expect.stringMatching(/^\d+ \d+ \* \* \d$/),
    ]);
    const prove = steps.find(({ run }) => run === 'npm ci && npm test');
    expect(prove?.env?.LICET_LONG).toContain("'schedule' && '1' ||");
    expect(read('test/support/long.ts')).toContain('process.env.LICET_LONG');
  });

  it('the workflow of GitHub Actions tests once a week without any tool that is optional', () => {
    const job = Object.values(jobs).find(({ steps }) =>
      steps.some(({ run }) => run === '.ci/without-tools'),
    );
    expect(job?.if).toBe("github.event_name == 'schedule'");
    expect(read('.ci/without-tools').trim().split('\n').at(-1)).toBe('npm ci && npm test');
  });

  it('the workflow of GitHub Actions may read only, ends in time, and takes actions by what they are, not by a name', () => {
    expect(permissions).toEqual({ contents: 'read' });
    for (const job of Object.values(jobs))
      expect(String(job['timeout-minutes'])).toMatch(/\b20|\b15/);
    const actions = steps.flatMap(({ uses }) => uses ?? []);
    expect(actions).toHaveLength(5);
    for (const action of actions) expect(action).toMatch(/^actions\/[a-z-]+@[0-9a-f]{40}$/);
  });
});

describe('the workflow of a release', () => {
  const { on, permissions, jobs } = readYaml<
    Pick<Workflow, 'permissions' | 'jobs'> & { on: object }
  >('.github/workflows/release.yml');
  const { prove, build, draft, ...registries } = jobs;

  it('the workflow of a release tests, and takes the actions of the other workflow', () => {
    expect(on).toEqual({ push: { tags: ['v[0-9]+.[0-9]+.[0-9]+'] } });
    expect(permissions).toEqual({ contents: 'read' });
    const steps = Object.values(jobs).flatMap((job) => job.steps);
    expect(steps.map(({ run }) => run)).toContain('npm ci && npm test');
    const own = /^(actions\/(upload|download)-artifact|pypa\/gh-action-pypi-publish|NuGet\/login)@/;
    const pinned = read('.github/workflows/ci.yml');
    for (const { uses } of steps) {
      if (!uses) continue;
      expect(uses).toMatch(/@[0-9a-f]{40}$/);
      if (!own.test(uses)) expect(pinned).toContain(`uses: ${uses} #`);
    }
  });

  it('the workflow of a release makes the files without any right, and compares their hashes in each other job', () => {
    expect([prove?.permissions, build?.permissions]).toEqual([undefined, undefined]);
    expect(build?.needs).toBe('prove');
    expect(JSON.stringify(build)).not.toContain('npm test');
    for (const job of [draft, ...Object.values(registries)]) {
      expect(job?.needs).toBe('build');
      const steps = job?.steps.filter(({ uses }) => !uses?.startsWith('actions/checkout@')) ?? [];
      expect(steps[0]?.uses).toMatch(/^actions\/download-artifact@/);
      expect(steps[1]?.run).toBe('cd release && echo "$SUMS" | sha256sum --check --strict');
      expect(JSON.stringify(steps)).not.toMatch(/npm (ci|install|run)/);
    }
  });

  it('each registry of a release has a job in an environment of its own, with no more rights than it needs', () => {
    const identity = { contents: 'read', 'id-token': 'write' };
    expect(
      Object.entries(registries).map(([name, job]) => [name, job.environment, job.permissions]),
    ).toEqual([
      ['maven', 'maven', { contents: 'read' }],
      ['npm', 'npm', identity],
      ['pypi', 'pypi', identity],
      ['packagist', 'packagist', { contents: 'read' }],
      ['nuget', 'nuget', identity],
      ['luarocks', 'luarocks', { contents: 'read' }],
      ['go', 'go', { contents: 'write' }],
    ]);
  });

  it('the workflow of a release publishes at npm only the packages that are not there with this version', () => {
    const folder = ownFolder();
    // The client is there, the contract in another version.
    writeFileSync(
      join(folder, 'npm'),
      `#!/bin/sh
case "$1 $2" in
  'view @licet/client@1.2.3') echo 1.2.3 ;;
  'view @licet/contract@'*) ;;
  view*) echo 'npm error code E404' >&2; exit 1 ;;
  *) echo "$2" ;;
esac
`,
      { mode: 0o755 },
    );
    const run = registries.npm?.steps.find((step) => step.run?.includes('npm publish'))?.run ?? '';
    const output = execFileSync('bash', ['-ec', run], {
      encoding: 'utf8',
      env: { PATH: `${folder}${delimiter}${process.env.PATH}`, GITHUB_REF_NAME: 'v1.2.3' },
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    expect(output.trim().split('\n')).toEqual(
      ['contract', 'cli', 'program'].map((name) => `./release/licet-${name}-1.2.3.tgz`),
    );
  });

  it('the workflow of a release leaves no file of an earlier one in the repository for Packagist', {
    tags: 'long',
  }, () => {
    const folder = ownFolder();
    const run = (command: string, env: NodeJS.ProcessEnv = {}): string =>
      execFileSync('bash', ['-ec', command], {
        cwd: folder,
        encoding: 'utf8',
        env: { PATH: `${folder}/bin${delimiter}${process.env.PATH}`, HOME: folder, ...env },
        stdio: ['ignore', 'pipe', 'ignore'],
      });
    mkdirSync(join(folder, 'bin'));
    mkdirSync(join(folder, 'release'));
    writeFileSync(join(folder, 'bin/gh'), '#!/bin/sh\n', { mode: 0o755 });
    run('git init -q --bare packagist.git');
    const step = registries.packagist?.steps.find(({ run = '' }) => run.includes('git push'));
    for (const [tag, file] of [
      ['v1.2.3', 'old.php'],
      ['v1.2.4', 'new.php'],
    ] as const) {
      const archive = zip({ 'composer.json': '{}', [file]: '<?php' });
      writeFileSync(join(folder, `release/licet-php-${tag.slice(1)}.zip`), archive);
      run(`rm -rf repository\n${step?.run}`, {
        COMPOSER_REPOSITORY: join(folder, 'packagist.git'),
        GITHUB_REF_NAME: tag,
      });
      const files = run(`git -C packagist.git ls-tree --name-only ${tag}`);
      expect(files.trim().split('\n')).toEqual(['composer.json', file]);
    }
  });

  it.each(Object.keys(registries))('docs/publishing.md has what the job of %s reads', (name) => {
    const row = read('docs/publishing.md')
      .split('\n')
      .find((line) => line.startsWith(`| \`${name}\` |`));
    const wanted = JSON.stringify(registries[name]).matchAll(/\b(?:secrets|vars)\.(\w+)/g);
    expect(row).toBeDefined();
    for (const [, variable] of wanted) expect(row).toContain(`\`${variable}\``);
  });
});

it('the workflow of a release packs the packages by the command of their README', () => {
  const { jobs } = readYaml<Workflow>('.github/workflows/release.yml');
  const commands = Object.values(jobs).flatMap((job) => job.steps.map(({ run = '' }) => run));
  const [packing = ''] = /^npm run pack$/m.exec(read('packages/cli/README.md')) ?? [];
  expect(commands).toContain(`${packing} -- --pack-destination release`);
});

it.each<string>(workspaces)(
  'the package in a folder has the version of the project: %s',
  (folder) => {
    const manifest = JSON.parse(read(join(folder, 'package.json')));
    expect(manifest.version).toBe(version);
    const { dependencies = {} }: { dependencies?: Record<string, string> } = manifest;
    const ours = Object.entries(dependencies).filter(([name]) => name.startsWith('@licet/'));
    for (const [name, needed] of ours) expect(needed, name).toBe(version);
  },
);

it('docs/packages.md has the line of each build file, with the version of the project', () => {
  const document = read('docs/packages.md');
  for (const lineOf of Object.values(BUILD_LINES))
    expect(document).toContain(`\`${lineOf(version)}\``);
  expect(document.match(/\b\d+\.\d+\.\d+\b/g)?.filter((each) => each !== version)).toEqual([]);
});

it('the changelog has a section for the version of package.json', () => {
  expect(read('CHANGELOG.md')).toContain(`\n## [${version}] - `);
});

it('docs/configuration.md has each variable of wrangler.toml', () => {
  const [, variables = ''] = /^\[vars\]\n(.*?)^\[/ms.exec(read('wrangler.toml')) ?? [];
  const names = [...variables.matchAll(/^(\w+) =/gm)].map(([, name]) => name);
  const rows = [...read('docs/configuration.md').matchAll(/^\| (\w+)/gm)].map(([, name]) => name);
  expect(names.length).toBeGreaterThan(5);
  expect(rows).toEqual(expect.arrayContaining(names));
});

it('each market has a guide, which the service shows', () => {
  const guides = MARKET_KINDS.map((kind) => `docs/markets/${kind}.md`);
  expect(Object.values(SUBJECTS).flat()).toEqual(expect.arrayContaining(guides));
});

it('docs/decisions.md has each outcome of a validation with its message, in the order of the decision', () => {
  const [, section = ''] = read('docs/decisions.md').split('### 1.3 ');
  const rows = [...section.matchAll(/^\| \d+ \|.*\| (\w+) \| (?:`(.+?)`)?.*\|$/gm)];
  expect(rows.map(([, outcome, message]) => [outcome, message ?? null])).toEqual(
    RESPONSE_TYPES.filter((outcome) => outcome !== 'ERROR').map((outcome) => [
      outcome,
      OUTCOMES[outcome].message,
    ]),
  );
});

it('each design record is in the index, with its date, and has at most 300 words', () => {
  const records = readdirSync('docs/adr').filter((file) => file !== 'README.md');
  const index = read('docs/adr/README.md');
  const rows = [...index.matchAll(/^\| \[\d{4}\]\((.+)\) \| ([\d-]+) \| (.+) \|$/gm)];
  expect(rows.map(([, file]) => file)).toEqual(records.toSorted());
  for (const [, file = '', date = '', title = ''] of rows) {
    const record = read(join('docs/adr', file));
    expect(record).toContain(`# ${file.slice(0, 4)}. ${title}\n\n${date}. `);
    const headings = [...record.matchAll(/^## (.+)$/gm)].map(([, heading]) => heading);
    expect(headings).toEqual(['Context', 'Decision', 'Alternatives', 'Cost']);
    expect(record.trim().split(/\s+/).length, file).toBeLessThanOrEqual(300);
  }
});

it('updates of dependencies are looked for where there are some', () => {
  const { version, updates } = readYaml<{
    version: number;
    updates: { 'package-ecosystem': string; directory: string }[];
  }>('.github/dependabot.yml');
  expect(version).toBe(2);
  expect(updates.map((update) => [update['package-ecosystem'], update.directory])).toEqual([
    ['npm', '/'],
    ['github-actions', '/'],
    ['docker', '/'],
  ]);
});

describe.each(documents)('%s', (document) => {
  const text = read(document);

  it('a document links to files that are there', () => {
    const links = [...text.matchAll(/\]\((?!https?:|#)([^)#]+)/g)].map(([, link = '']) => link);
    expect(links.filter((link) => !existsSync(join(dirname(document), link)))).toEqual([]);
  });

  it('a document names npm scripts that are there', () => {
    const names = [...text.matchAll(/npm run ([\w:]+)/g)].map(([, name = '']) => name);
    expect(names.filter((name) => !(name in scripts))).toEqual([]);
  });
});

it('the changelog has the form of Keep a Changelog', () => {
  const [title, ...headings] = read('CHANGELOG.md')
    .split('\n')
    .filter((line) => line.startsWith('#'));
  expect(title).toBe('# Changelog');
  expect(headings[0]).toBe('## [Unreleased]');
  for (const heading of headings) {
    expect(heading).toMatch(
      /^## \[(Unreleased|\d+\.\d+\.\d+\] - \d{4}-\d\d-\d\d)|^### (Added|Changed|Deprecated|Removed|Fixed|Security)$/,
    );
  }
});

it('the files that CONTRIBUTING.md names exist', () => {
  const names = [...read('CONTRIBUTING.md').matchAll(/`([\w.-]+\/[\w./-]+)`/g)];
  expect(names.length).toBeGreaterThan(15);
  expect(names.flatMap(([, name = '']) => (existsSync(name) ? [] : name))).toEqual([]);
});

it('npm ci brings one version of each large package, and no React', () => {
  const { packages }: { packages: Record<string, { peer?: boolean }> } = JSON.parse(
    read('package-lock.json'),
  );
  for (const name of ['esbuild', 'lightningcss', 'workerd', 'zod']) {
    const paths = Object.keys(packages).filter((path) => path.endsWith(`node_modules/${name}`));
    expect(paths).toEqual([`node_modules/${name}`]);
  }
  expect(packages['node_modules/react-dom']).toMatchObject({ peer: true });
  expect(read('.npmrc')).toMatch(/^omit=peer$/m);
});

it('CONTRIBUTING.md explains each npm script', () => {
  const text = read('CONTRIBUTING.md');
  const isNamed = (name: string): boolean => new RegExp(`npm (run )?${name}\\b(?!:)`).test(text);
  expect(Object.keys(scripts).filter((name) => !isNamed(name))).toEqual([]);
});
