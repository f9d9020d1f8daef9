import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { CliError } from '@licet/cli/terminal';
import type { V4WorkerOptionsShape } from 'miniflare';
import { afterAll, beforeEach, expect, it, vi } from 'vitest';
import {
  experimental_readRawConfig,
  unstable_getMiniflareWorkerOptions,
  unstable_readConfig,
} from 'wrangler';
import * as z from 'zod';
import { findIgnored, readWorkerOptions } from '../../scripts/local/build.ts';
import { databaseId } from '../../scripts/local/database.ts';
import { readSettings } from '../../scripts/settings.ts';
import { ownFolder } from './own.ts';
import { argsOfScript } from './service.ts';

/** The settings of wrangler.toml, as npm start and npm run deploy read them, and as wrangler does. */

const project = resolve('.');
const START = argsOfScript('start');
const DEV = argsOfScript('dev');
const document = readFileSync('docs/deploy.md', 'utf8');
const settings = readFileSync('wrangler.toml', 'utf8').replaceAll(
  /"(src\/index.ts|public)"/g,
  (_, path) => JSON.stringify(resolve(path)),
);
/** Of an earlier version. */
const QUEUE = '[[queues.producers]]\nbinding = "RECORDS"\nqueue = "licet-records"\n';

const root = ownFolder();
beforeEach(() => process.chdir(mkdtempSync(join(root, 'settings-'))));
afterAll(() => process.chdir(project));

/** Settings that are not in the project's own file. */
const FURTHER = settings
  .replace('["global_fetch', '["nodejs_compat", "global_fetch')
  .replace('[vars]', '[define]\nEDITION = \'"own"\'\n[vars]\nLIST = [1, "two"]')
  .replace('migrations_dir', 'database_id = "id-of-mine"\nmigrations_dir')
  .replace('[assets]', '[assets]\nnot_found_handling = "404-page"\nhtml_handling = "none"')
  .replace('# Validations', '[[services]]\nbinding = "OTHER"\nservice = "other"\n# Validations')
  .replace('limit = 120', 'limit = 7');

it.each([
  ['of the project', settings],
  ['with the queue of an earlier version, which is left out as KV is', settings + QUEUE],
  ['with a database id, flags, further variables and other handling of files', FURTHER],
])('a wrangler.toml is read as wrangler reads it: %s', (_, text) => {
  writeFileSync('wrangler.toml', text);
  const token = 'a'.repeat(64);
  writeFileSync('.dev.vars', `ROOT_TOKEN="${token}"\nREQUIRE_HWID=true\nNOT_NAMED=1\n`);
  const config = 'wrangler.toml';
  expect(readSettings(z.unknown())).toEqual(experimental_readRawConfig({ config }).rawConfig);
  const options = readWorkerOptions();
  const { workerOptions, ...others } = unstable_getMiniflareWorkerOptions(config);
  const read: V4WorkerOptionsShape = workerOptions;
  const limits = Object.entries(read.ratelimits ?? {}).map(([name, { simple }]) => [
    name,
    simple.limit,
  ]);
  expect(options.variables).toMatchObject({ ROOT_TOKEN: token, REQUIRE_HWID: 'true' });
  expect(options).toEqual({
    main: others.main,
    define: others.define,
    crons: unstable_readConfig({ config }).triggers.crons,
    compatibilityDate: read.compatibilityDate,
    variables: read.bindings,
    limits: Object.fromEntries(limits),
    assets: {
      directory: read.assets?.directory,
      assetConfig: {
        html_handling: read.assets?.assetConfig?.html_handling,
        not_found_handling: read.assets?.assetConfig?.not_found_handling,
      },
    },
    others: {
      compatibilityFlags: read.compatibilityFlags,
      d1Databases: read.d1Databases,
    },
  });
});

it.each([
  ['the secrets that it requires', settings],
  ['no secrets', settings.replace('[secrets]', '[others]')],
])('without .dev.vars the environment counts as for wrangler: a file with %s', (_, text) => {
  writeFileSync('wrangler.toml', text);
  for (const name of ['REQUIRE_HWID', 'ROOT_TOKEN', 'NOT_NAMED']) vi.stubEnv(name, `own ${name}`);
  const { workerOptions } = unstable_getMiniflareWorkerOptions('wrangler.toml');
  const read: V4WorkerOptionsShape = workerOptions;
  vi.stubEnv('CLOUDFLARE_ENV', 'staging');
  expect(readWorkerOptions().variables).toEqual(read.bindings);
  vi.unstubAllEnvs();
});

it('a text of wrangler.toml that wrangler rejects is rejected', () => {
  writeFileSync('wrangler.toml', settings.replace('[vars]', '[vars]\nLIST = { one = 1,, }'));
  expect(() => experimental_readRawConfig({ config: 'wrangler.toml' })).toThrow();
  expect(readWorkerOptions).toThrow(/^wrangler.toml cannot be read: line \d+: [^\n]*$/);
});

it('a data folder is found whatever the other settings say', () => {
  writeFileSync('wrangler.toml', settings.replace('[assets]', '[files]'));
  expect(databaseId()).toBe('DB');
});

it('the settings for a domain in docs/deploy.md are read by wrangler as they are meant', () => {
  const [, domain = ''] = /```toml\n(.*?)```/s.exec(document) ?? [];
  writeFileSync('wrangler.toml', domain + settings);
  expect(unstable_readConfig({ config: 'wrangler.toml' })).toMatchObject({
    name: 'licet',
    workers_dev: true,
    routes: [{ pattern: 'license.example.com', custom_domain: true }],
  });
});

it.each([
  ['main =', 'main_file =', 'wrangler.toml: main must be a text.'],
  ['[assets]', '[files]', 'wrangler.toml: assets must be a table.'],
  ['limit = 120', 'limit = "x"', 'wrangler.toml: ratelimits.0.simple.limit must be a number.'],
  ['[vars]', '[[vars]]', 'wrangler.toml: vars must be a table.'],
  ['binding = "DB"', 'binding = "D"', 'wrangler.toml has no database with the binding DB.'],
  ['[assets]', '[assets]\nhtml_handling = "x"', 'assets.html_handling must be one of auto-'],
  ['[vars]', '[vars]\nDAY = 2026-01-01', 'wrangler.toml: vars.DAY must be a text, a number, true,'],
  ['name = "licet"', 'name = ', 'wrangler.toml cannot be read: line '],
])('npm start reports a wrangler.toml with %j as %j', (right, wrong, message) => {
  writeFileSync('wrangler.toml', settings.replace(right, wrong));
  expect(readWorkerOptions).toThrow(CliError);
  expect(readWorkerOptions).toThrow(message);
});

it.each([
  ['wrangler.toml', 'start', START, settings.replace('HWID = "false"', 'HWID = "yes"'), ''],
  ['wrangler.toml', 'dev', DEV, settings.replace('HWID = "false"', 'HWID = "yes"'), ''],
  ['.dev.vars', 'start', START, settings, 'REQUIRE_HWID=yes\nnonsense\n'],
])(
  'a wrong variable in %s is one line and status 2, before any file is made: npm run %s',
  { tags: 'long' },
  (_, __, script, toml, secrets) => {
    writeFileSync('wrangler.toml', toml);
    if (secrets !== '') writeFileSync('.dev.vars', secrets);
    const files = readdirSync('.');
    const { stderr, status } = spawnSync(process.execPath, script, { encoding: 'utf8' });
    const ignored = secrets === '' ? '' : '• Line 2 of .dev.vars is not NAME=VALUE.\n';
    expect(stderr).toBe(`${ignored}✗ REQUIRE_HWID must be true or false, not "yes".\n`);
    expect(status).toBe(2);
    expect(readdirSync('.')).toEqual(files);
  },
);

it('a line of .dev.vars without effect is named, without its value', () => {
  writeFileSync('wrangler.toml', settings);
  const quoted = `LOG_REQUESTS='\ntrue\n'`;
  const lines = [
    '# A comment',
    '',
    'nonsense',
    'export ROOT_TOKEN=x',
    quoted,
    'REQUIRE_HWID false',
  ];
  writeFileSync('.dev.vars', [...lines, 'SIGNING_KEY_1=abc', 'TRUSTED_PROXIES=::1'].join('\r\n'));
  expect(findIgnored({}, 'npm start')).toEqual([
    'Line 3 of .dev.vars is not NAME=VALUE',
    'Line 8 of .dev.vars is not NAME=VALUE',
    'SIGNING_KEY_1 in .dev.vars is ignored: put it into signing-keys.env in the data folder',
    'TRUSTED_PROXIES in .dev.vars is ignored: set it in wrangler.toml or with --var NAME:VALUE',
  ]);
});

it('npm start reads MAIL from .dev.vars, and npm run dev names it as ignored', () => {
  writeFileSync('wrangler.toml', settings);
  writeFileSync('.dev.vars', 'MAIL=resend:re_1\n');
  expect(readWorkerOptions().variables).toMatchObject({ MAIL: 'resend:re_1' });
  expect(findIgnored({}, 'npm start')).toEqual([]);
  expect(findIgnored({}, 'npm run dev')).toEqual([
    'MAIL in .dev.vars is ignored: set it in wrangler.toml or with --var NAME:VALUE',
  ]);
});

it.each([
  ['start', START, 'MAIL=postmark:se-cret', /^✗ MAIL must be resend:KEY/],
  ['start', START, 'MAIL=resend:se-cret', /^✗ MAIL_FROM must be set: /],
  ['start', START, 'MAIL=cloudflare:\nMAIL_FROM=a@b.example', /^✗ MAIL must .* at Cloudflare only/],
  ['dev', DEV, 'MAIL=cloudflare:\nMAIL_FROM=a@b.example', /✗ MAIL must .* at Cloudflare only/],
])(
  'npm run %s with wrong settings of mails is a line without the secret, and makes no file [13.1.4]',
  { tags: 'long' },
  (_, script, secrets, message) => {
    writeFileSync('wrangler.toml', settings);
    writeFileSync('.dev.vars', secrets);
    const files = readdirSync('.');
    const { stderr, status } = spawnSync(process.execPath, script, { encoding: 'utf8' });
    expect(stderr).toMatch(message);
    expect(stderr).not.toContain('se-cret');
    expect(status).toBe(2);
    expect(readdirSync('.')).toEqual(files);
  },
);

it.each([
  ['beside .dev.vars', 'ROOT_TOKEN=\n', {}, ['REQUIRE_HWID, TRUSTED_PROXIES']],
  ['that --var replaces', 'ROOT_TOKEN=\n', { REQUIRE_HWID: 'true' }, ['TRUSTED_PROXIES']],
  ['that wrangler.toml does not name', undefined, {}, ['TRUSTED_PROXIES']],
])('a setting in the environment without effect is named: %s', (_, secrets, given, names) => {
  writeFileSync('wrangler.toml', settings);
  if (secrets !== undefined) writeFileSync('.dev.vars', secrets);
  for (const name of ['REQUIRE_HWID', 'ROOT_TOKEN', 'TRUSTED_PROXIES', 'NOT_OURS']) {
    vi.stubEnv(name, 'false');
  }
  const ignored = findIgnored(given, 'npm start');
  vi.unstubAllEnvs();
  expect(ignored).toEqual(
    names.map(
      (name) =>
        `${name} in the environment: ignored; set it in wrangler.toml or with --var NAME:VALUE`,
    ),
  );
});
