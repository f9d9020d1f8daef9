import { type ChildProcess, execFile } from 'node:child_process';
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import type { RequestListener } from 'node:http';
import { delimiter, join, resolve } from 'node:path';
import { readRootToken } from '@licet/cli/root-token';
import { ensureSigningKeys, readSigningKeys } from '@licet/cli/signing-keys';
import { CliError } from '@licet/cli/terminal';
import { parse } from 'smol-toml';
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { deploy } from '../../scripts/deployment.ts';
import { listen, ownFolder } from '../node/own.ts';
import { deployVariables, linkProject, TLS } from './deploy-folder.ts';
import { FakeWrangler } from './fake-wrangler.ts';

/** `npm run deploy` with a fake wrangler. test/node/move.long.test.ts deploys with the real one at a fake Cloudflare. */

const root = ownFolder();

const TOML = readFileSync('wrangler.toml', 'utf8');
const MIGRATIONS = readdirSync('drizzle').filter((name) => name.endsWith('.sql'));

/** Signing keys for deployments that do not test their creation, which takes a while. */
const KEYS_MADE = join(root, 'signing-keys');
ensureSigningKeys(KEYS_MADE);

let folder: string;
let account: FakeWrangler;
let lines: string[];
beforeEach(() => {
  folder = join(root, crypto.randomUUID());
  mkdirSync(folder);
  cpSync('drizzle', join(folder, 'drizzle'), { recursive: true });
  configure(TOML);
  account = new FakeWrangler();
  lines = [];
  vi.spyOn(console, 'log').mockImplementation((line) => lines.push(String(line)));
  for (const name of ['ACCOUNT_ID', 'API_TOKEN']) vi.stubEnv(`CLOUDFLARE_${name}`, undefined);
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
});

const configure = (toml: string): void => writeFileSync(join(folder, 'wrangler.toml'), toml);
const tokenFile = (): string => join(folder, '.root-token.licet');
const keysFile = (): string => join(folder, '.signing-keys.licet');

let examined: string[];
async function run({ isDryRun = false, isWell = true, hasKeys = true } = {}) {
  if (hasKeys && !isDryRun && !existsSync(keysFile())) copyFileSync(KEYS_MADE, keysFile());
  examined = [];
  account.calls = [];
  const tools = account.tools(async (address) => {
    examined.push(address);
    return isWell;
  });
  return deploy(folder, tools, isDryRun);
}

/** The message of the error. */
async function failureOf(running: Promise<unknown>): Promise<string> {
  const error = await running.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof CliError)) throw new Error(`no CliError: ${error}`);
  return error.message;
}

const LOOKS = ['whoami', 'secret list', 'd1 list', 'kv namespace list'];
const FIRST_TIME = [
  ...LOOKS,
  'd1 create licet',
  'kv namespace create licet-snapshots',
  'd1 migrations apply DB',
  'deploy',
];

it('a deployment creates what is missing, applies the migrations, then uploads the code with the root token', async () => {
  const deployed = await run();
  expect(account.calls).toEqual(FIRST_TIME);
  expect(account.migrations).toEqual({ licet: MIGRATIONS });
  expect(account.worker?.settings).toMatchObject({
    d1_databases: [{ binding: 'DB', database_name: 'licet' }],
    kv_namespaces: [{ binding: 'SNAPSHOTS', id: 'id-of-licet-snapshots' }],
  });
  expect(examined).toEqual(['https://licet.shop.workers.dev']);
  expect(deployed).toEqual({
    addresses: examined,
    tokenFile: '.root-token.licet',
    keysFile: '.signing-keys.licet',
    isWell: true,
  });
});

it('a deployment shows the PUBLIC_URL of wrangler.toml first, and examines it, too [3.3.5]', async () => {
  const withUrl = (url: string): string => TOML.replace('PUBLIC_URL = ""', `PUBLIC_URL = "${url}"`);
  configure(withUrl('https://license.example.com'));
  const addresses = ['https://license.example.com', 'https://licet.shop.workers.dev'];
  expect(await run()).toMatchObject({ addresses });
  expect(examined).toEqual(addresses);
  configure(withUrl('http://license.example.com'));
  expect(await failureOf(run())).toContain('PUBLIC_URL must be https://license.example.com, not');
});

it('a deployment keeps the binding for mails, and says which of their settings is missing [13.1.4]', async () => {
  const withMail = TOML.replace('# [[send_email]]\n# name', '[[send_email]]\nname');
  expect(withMail).not.toBe(TOML);
  configure(withMail.replace('MAIL_FROM = ""', 'MAIL_FROM = "keys@example.com"'));
  await run();
  expect(account.worker?.settings).toMatchObject({ send_email: [{ name: 'EMAIL' }] });
  expect(lines.join('\n')).toContain(
    'No mails are sent: MAIL_FROM is set, and the secret MAIL is not. Set it: npx wrangler secret put MAIL --name licet',
  );
  const secrets = account.worker?.secrets ?? {};
  secrets.MAIL = 'cloudflare:';
  lines = [];
  await run();
  expect(account.worker?.secrets.MAIL).toBe('cloudflare:');
  expect(lines.join('\n')).not.toContain('No mails are sent');
  configure(TOML);
  await run();
  expect(lines.join('\n')).toContain(
    'the secret MAIL is set, and MAIL_FROM in wrangler.toml is not',
  );
});

it('a deployment with a secret of mails in wrangler.toml is rejected, and repeats nothing of it', async () => {
  configure(TOML.replace('MAIL_FROM =', 'MAIL = "resend:se-cret"\nMAIL_FROM ='));
  const message = await failureOf(run());
  expect(message).toContain('wrangler.toml has MAIL, which is a secret. Nothing was changed.');
  expect(message).not.toContain('se-cret');
  expect(account.calls).toEqual([]);
});

it('a deployment writes the root token only into a file for its owner, and into the secret', async () => {
  await run();
  const token = account.worker?.secrets.ROOT_TOKEN ?? '';
  expect(token).toMatch(/^[0-9a-f]{64}$/);
  expect(account.worker?.secrets).toEqual({
    ROOT_TOKEN: readRootToken(tokenFile()),
    ...readSigningKeys(keysFile()),
  });
  expect(statSync(tokenFile()).mode & 0o077).toBe(0);
  expect(JSON.stringify([lines, account.argv, account.worker?.settings])).not.toContain(token);
});

it('a deployment makes a signing key of each kind once, only in a file for its owner and in secrets [1.8.25]', async () => {
  await run({ hasKeys: false });
  const keys = readSigningKeys(keysFile());
  const kinds = Object.values(keys).map((key) => JSON.parse(key));
  expect(kinds).toMatchObject([
    { kty: 'EC', crv: 'P-256', kid: expect.stringMatching(/^es-[0-9a-f]{8}$/) },
    { kty: 'RSA', e: 'AQAB', kid: expect.stringMatching(/^rs-[0-9a-f]{8}$/) },
  ]);
  expect(statSync(keysFile()).mode & 0o077).toBe(0);
  const shown = JSON.stringify([lines, account.argv, account.worker?.settings]);
  for (const { d } of kinds) expect(shown).not.toContain(d);
  rmSync(keysFile());
  expect(await run({ hasKeys: false })).toMatchObject({ keysFile: undefined });
  expect(account.worker?.secrets).toMatchObject(keys);
  expect(existsSync(keysFile())).toBe(false);
});

it('a deployment of a service without signing keys adds them and keeps its root token', async () => {
  await run();
  const { ROOT_TOKEN = '' } = account.worker?.secrets ?? {};
  if (account.worker) account.worker.secrets = { ROOT_TOKEN };
  rmSync(keysFile());
  expect(await run({ hasKeys: false })).toMatchObject({ keysFile: '.signing-keys.licet' });
  expect(account.worker?.secrets).toEqual({ ROOT_TOKEN, ...readSigningKeys(keysFile()) });
});

it('a deployment rejects the signing keys of another account, and takes keys that name no account', async () => {
  await run();
  const keys = readSigningKeys(keysFile());
  account = new FakeWrangler();
  account.accounts = [{ id: 'a2', name: 'Other' }];
  const failure = await failureOf(run());
  expect(failure).toContain('of the account a1, and this deployment is for the account a2.');
  expect(failure).toContain('remove the line "# account a1"');
  expect(await failureOf(run({ isDryRun: true }))).toBe(failure);
  expect(account.calls).toEqual(LOOKS);
  const text = readFileSync(keysFile(), 'utf8');
  writeFileSync(keysFile(), text.replace('# account a1', ''));
  await run();
  expect(account.worker?.secrets).toMatchObject(keys);
  expect(readFileSync(keysFile(), 'utf8')).toContain('\n# account a2\n');
});

it('a second deployment changes nothing but the code', async () => {
  await run();
  const before = structuredClone(account.worker);
  expect(await run()).toMatchObject({ isWell: true });
  expect(account.calls).toEqual([...LOOKS, 'd1 migrations apply DB', 'deploy']);
  expect(account.argv.filter((arg) => arg === '--secrets-file')).toHaveLength(1);
  expect(account.worker).toEqual(before);
});

it('new migrations are applied before the code that needs them', async () => {
  await run();
  const added = ['9998_more.sql', '9999_yet_more.sql'];
  for (const name of added) writeFileSync(join(folder, 'drizzle', name), 'select 1;');
  await run();
  expect(account.calls.slice(-2)).toEqual(['d1 migrations apply DB', 'deploy']);
  expect(account.migrations).toEqual({ licet: [...MIGRATIONS, ...added] });
});

it('a deployment keeps the root token that is set, and names its file until that is deleted or another', async () => {
  await run();
  const before = account.worker?.secrets;
  expect(await run()).toMatchObject({ tokenFile: '.root-token.licet' });
  rmSync(tokenFile());
  expect(await run()).toMatchObject({ tokenFile: undefined });
  writeFileSync(tokenFile(), `ROOT_TOKEN=${'f'.repeat(64)}\n`);
  expect(await run()).toMatchObject({ tokenFile: undefined });
  expect(account.worker?.secrets).toEqual(before);
});

it('a deployment uses a root token that a person wrote into the file, if it is long enough', async () => {
  writeFileSync(tokenFile(), 'ROOT_TOKEN=short\n');
  expect(await failureOf(run())).toContain('fewer than 32 characters');
  expect(account.calls).not.toContain('deploy');
  writeFileSync(tokenFile(), `ROOT_TOKEN=${'e'.repeat(40)}`);
  account.failure = { command: 'kv namespace create', isLate: false };
  await failureOf(run());
  account.failure = undefined;
  await run();
  expect(account.worker?.secrets.ROOT_TOKEN).toBe('e'.repeat(40));
});

describe('a deployment of which a step fails', () => {
  const steps = FIRST_TIME;
  const isChange = (command: string): boolean => /create|apply|deploy/.test(command);
  const cases = steps.flatMap((command) =>
    (isChange(command) ? [false, true] : [false]).map((isLate) => ({ command, isLate })),
  );
  const state = ({ databases, namespaces, migrations, worker }: FakeWrangler) => {
    return { databases, namespaces, migrations, settings: worker?.settings };
  };
  let undisturbed: ReturnType<typeof state>;
  beforeEach(async () => {
    configure(TOML);
    await run();
    expect(account.calls).toEqual(steps);
    undisturbed = state(account);
    account = new FakeWrangler();
    rmSync(tokenFile());
  });

  it.each(cases)(
    'a deployment stops at a failed step, and the next one completes it: $command (failure after the change: $isLate)',
    async ({ command, isLate }) => {
      account.failure = { command, isLate };
      const message = await failureOf(run());
      expect(message).toMatch(
        // wrangler shows the error of these.
        ['d1 migrations apply DB', 'deploy'].includes(command)
          ? /(Deployment failed|could not be applied); see the error above.*the previous version is still running/
          : /Nothing was (changed|deployed)[\s\S]*The API failed/,
      );
      const notAfter = LOOKS.includes(command)
        ? 'd1 create licet'
        : steps[steps.indexOf(command) + 1];
      expect(account.calls).not.toContain(notAfter);
      expect(examined).toEqual([]);
      expect(readdirSync(folder)).not.toContain('wrangler.deploy.json');
      const tokenBefore = readRootToken(tokenFile());

      account.failure = undefined;
      expect(await run()).toMatchObject({ isWell: true });
      expect(state(account)).toEqual(undisturbed);
      expect(account.worker?.secrets).toEqual({
        ROOT_TOKEN: readRootToken(tokenFile()),
        ...readSigningKeys(keysFile()),
      });
      if (tokenBefore !== undefined) expect(readRootToken(tokenFile())).toBe(tokenBefore);
    },
  );

  it('a deployment has failed where the person declined a question of wrangler', async () => {
    account.isDeclined = true;
    expect(await failureOf(run())).toContain('Deployment failed');
    expect(examined).toEqual([]);
  });

  it('a deployment examines every address with the doctor, and reports a finding', async () => {
    account.targets = ['license.example.com (custom domain)', 'https://licet.shop.workers.dev'];
    expect(await run({ isWell: false })).toMatchObject({ isWell: false });
    expect(examined).toEqual(['https://license.example.com', 'https://licet.shop.workers.dev']);
  });
});

describe('unreadable output of wrangler', () => {
  it.each([...LOOKS, 'deploy'])('unreadable output ends a deployment: %s', async (command) => {
    await run();
    for (const printed of ['▲ [WARNING] An old version', '{"error":"no list"}', '']) {
      account.garble = (responding, text) => (responding === command ? printed : text);
      const message = await failureOf(run());
      expect(message).toContain(`wrangler ${command} printed no valid JSON`);
      expect(message).toContain(printed || 'nothing');
      expect(message).toContain(
        command === 'deploy' ? 'may be live: run npm run deploy again' : 'Nothing was changed',
      );
    }
    account.garble = (responding, text) => (responding === command ? `- ${text}` : text);
    account.accounts[0] = { id: 'a1', name: 'x'.repeat(2_000) };
    expect((await failureOf(run())).length).toBeLessThan(400);
    account.garble = (_, text) => text;
    expect(await run()).toMatchObject({ isWell: true });
  });
});

describe('a file that cannot be used', () => {
  const at = (name: string): string => join(folder, name);
  it.each(['.root-token.licet', 'wrangler.deploy.json', 'temporary'])(
    'an unusable file ends the deployment with its name, before anything is created: %s',
    async (name) => {
      mkdirSync(at('temporary'));
      vi.stubEnv('TMPDIR', at('temporary'));
      if (name === 'temporary') rmdirSync(at(name));
      else mkdirSync(at(name));
      expect(await failureOf(run())).toContain(at(name));
      expect(account.calls.filter((call) => !LOOKS.includes(call))).toEqual([]);
      if (name === 'temporary') mkdirSync(at(name));
      else rmdirSync(at(name));
      expect(await run()).toMatchObject({ isWell: true });
      expect(readdirSync(at('temporary'))).toEqual([]);
      expect(readdirSync(folder)).not.toContain('wrangler.deploy.json');
    },
  );
});

describe('wrangler.toml of a deployment', () => {
  it('wrangler.toml of a deployment is used as it is, with the ids of the KV namespaces that it leaves out', async () => {
    configure(
      TOML.replace('name = "licet"', 'name = "shop"\naccount_id = "a1"\nworkers_dev = false')
        .replace('REQUIRE_HWID = "false"', 'REQUIRE_HWID = "true"')
        .replace('database_name = "licet"', 'database_name = "licenses"')
        .concat(`
          [[kv_namespaces]]
          binding = "MY_OWN"
          id = "0123456789abcdef"
        `),
    );
    await run();
    expect(account.worker?.settings).toEqual({
      ...parse(readFileSync(join(folder, 'wrangler.toml'), 'utf8')),
      kv_namespaces: [
        { binding: 'SNAPSHOTS', id: 'id-of-shop-snapshots' },
        { binding: 'MY_OWN', id: '0123456789abcdef' },
      ],
    });
    expect(account.worker?.settings.vars).toMatchObject({ REQUIRE_HWID: 'true' });
    expect(account.namespaces).toEqual(['shop-snapshots']);
    expect(readRootToken(join(folder, '.root-token.shop'))).toHaveLength(64);
  });

  it('wrangler.toml of a deployment may have the ids of existing databases and namespaces', async () => {
    configure(TOML.replace('migrations_dir', 'database_id = "id-of-mine"\nmigrations_dir'));
    await run();
    expect(account.databases).toEqual([]);
    expect(account.migrations).toEqual({ mine: MIGRATIONS });
  });

  it('wrangler.toml of a deployment is rejected where it cannot be parsed, or has no database', async () => {
    configure('name = ');
    expect(await failureOf(run())).toContain('wrangler.toml cannot be read');
    configure('name = "licet"');
    expect(await failureOf(run())).toContain('a database with the binding DB');
    expect(account.calls).toEqual([]);
  });

  it.each([
    ['name', 'name = "licet"', 'name = 5'],
    ['name', 'name = "licet"', ''],
    ['d1_databases', '[[d1_databases]]', '[d1_databases]'],
    ['d1_databases.0.database_name', '_name = "licet"', '_name = ""'],
    ['kv_namespaces', '[[kv_namespaces]]', '[kv_namespaces]'],
    ['kv_namespaces.0.binding', 'binding = "SNAPSHOTS"', ''],
    ['vars', '[vars]', '[[vars]]'],
    ['queues', '[vars]', '[[queues]]\n[vars]'],
    ['queues.producers', '[vars]', '[queues]\nproducers = "x"\n[vars]'],
    ['queues.consumers.0.queue', '[vars]', '[[queues.consumers]]\n[vars]'],
  ])('wrangler.toml is rejected with the wrong setting: %s', async (setting, right, wrong) => {
    configure(TOML.replace(right, wrong));
    expect(await failureOf(run())).toContain(`wrangler.toml: ${setting} must be`);
    expect(account.calls).toEqual([]);
  });

  it.each([true, false])(
    'wrangler.toml with a wrong variable is rejected: dry run %j',
    async (isDryRun) => {
      configure(TOML.replace('HWID = "false"', 'HWID = "yes"'));
      const message = 'REQUIRE_HWID must be true or false, not "yes".';
      await expect(run({ isDryRun })).rejects.toMatchObject({ message, status: 2 });
      configure(TOML.replace('REQUIRE_HWID = "false"', 'REQUIRE_HWD = "true"'));
      expect(await failureOf(run({ isDryRun }))).toContain('Did you mean REQUIRE_HWID?');
      expect(account.calls).toEqual([]);
    },
  );

  it('wrangler.toml may have booleans and numbers of TOML as variables', async () => {
    configure(TOML.replace('HWID = "false"', 'HWID = true').replace('"90"', '90'));
    await run();
    expect(account.worker?.settings.vars).toMatchObject({ REQUIRE_HWID: true });
  });
});

describe('the account of a deployment', () => {
  it('the account of a deployment must be logged in', async () => {
    account.isLoggedIn = false;
    const message = await failureOf(run());
    expect(message).toContain('npx wrangler login');
    expect(message).toContain('CLOUDFLARE_API_TOKEN and CLOUDFLARE_ACCOUNT_ID');
  });

  it('the account of a deployment must be chosen where the login has several', async () => {
    account.accounts.push({ id: 'a2', name: 'Other' });
    const message = await failureOf(run());
    expect(message).toContain('  a1  Shop\n  a2  Other');
    expect(account.calls).toEqual(['whoami']);

    vi.stubEnv('CLOUDFLARE_ACCOUNT_ID', 'a2');
    await run();
    expect(lines).toContainEqual(expect.stringContaining('Account Other'));
    expect([...account.accountIds]).toEqual(['a2']);

    configure(`account_id = "a1"\n${TOML}`);
    await run();
    expect([...account.accountIds]).toEqual(['a2', 'a1']);
  });

  it('the account of a deployment must be named where the token may not list it', async () => {
    account.accounts = [];
    expect(await failureOf(run())).toContain('set CLOUDFLARE_ACCOUNT_ID');
    vi.stubEnv('CLOUDFLARE_ACCOUNT_ID', 'a3');
    await run();
    expect([...account.accountIds]).toEqual(['a3']);
  });

  it('the account of a deployment is not looked up where CI names it and has a token', async () => {
    account.isLoggedIn = false;
    vi.stubEnv('CLOUDFLARE_ACCOUNT_ID', 'a4');
    vi.stubEnv('CLOUDFLARE_API_TOKEN', 'token');
    await run();
    expect(account.calls).toEqual(FIRST_TIME.slice(1));
    expect([...account.accountIds]).toEqual(['a4']);
  });

  it('a deployment keeps a Worker of its name without a database: it may belong to another project', async () => {
    account.worker = { secrets: {}, settings: {} };
    const message = await failureOf(run());
    expect(message).toContain('a Worker licet and no database licet');
    expect(account.calls).toEqual(LOOKS);
    account.databases.push('licet');
    expect(await run()).toMatchObject({ isWell: true });
  });
});

describe('an existing database without its Worker', () => {
  beforeEach(async () => {
    await run();
    configure(TOML.replace('name = "licet"', 'name = "shop"'));
    account.worker = undefined;
  });

  it.each([true, false])(
    'a database without its Worker is not used unless wrangler.toml has its id (dry run: %s)',
    async (isDryRun) => {
      const message = await failureOf(run({ isDryRun }));
      expect(message).toContain('a database licet and no Worker shop. Nothing was changed.');
      expect(message).toContain('database_id = "id-of-licet"');
      expect(account.calls).toEqual(LOOKS);
      expect(readdirSync(folder)).not.toContain('.root-token.shop');
    },
  );

  it('a database without its Worker is not used after an unfinished deployment to another account', async () => {
    account.failure = { command: 'd1 create', isLate: false };
    account.databases = [];
    await failureOf(run());
    account = new FakeWrangler();
    account.accounts = [{ id: 'a2', name: 'Other' }];
    account.databases = ['licet'];
    expect(await failureOf(run())).toContain('a database licet and no Worker shop.');
    expect(account.calls).toEqual(LOOKS);

    account.databases = [];
    rmSync(join(folder, '.signing-keys.shop'));
    account.failure = { command: 'kv namespace create', isLate: false };
    await failureOf(run());
    account.failure = undefined;
    expect(await run()).toMatchObject({ isWell: true });
    expect(account.worker?.secrets).toEqual({
      ROOT_TOKEN: readRootToken(join(folder, '.root-token.shop')),
      ...readSigningKeys(join(folder, '.signing-keys.shop')),
    });
  });

  it('a database without its Worker is used where wrangler.toml has its id', async () => {
    const settings = readFileSync(join(folder, 'wrangler.toml'), 'utf8');
    configure(settings.replace('migrations_dir', 'database_id = "id-of-licet"\nmigrations_dir'));
    expect(await run()).toMatchObject({ isWell: true });
    expect(account.databases).toEqual(['licet']);
  });
});

it('a dry run prints the steps of a deployment and changes nothing', async () => {
  expect(await run({ isDryRun: true })).toBeUndefined();
  expect(account.calls).toEqual(LOOKS);
  expect(lines.join('\n')).toMatch(
    /Database licet would be created[\s\S]*KV namespace licet-snapshots would[\s\S]*migrations[\s\S]*root token[\s\S]*deployed/,
  );
  expect(readdirSync(folder).toSorted()).toEqual(['drizzle', 'wrangler.toml']);
  await run();
  lines.length = 0;
  await run({ isDryRun: true });
  expect(lines.join('\n')).toContain('Database licet exists');
  expect(lines.join('\n')).not.toContain('root token');
});

it('a dry run without a login prints all steps of a deployment', async () => {
  account.isLoggedIn = false;
  expect(await run({ isDryRun: true })).toBeUndefined();
  expect(account.calls).toEqual(['whoami']);
  expect(lines.join('\n')).toMatch(
    /npx wrangler login[\s\S]*Database licet would be created, unless it exists[\s\S]*KV namespace licet-snapshots would[\s\S]*migrations[\s\S]*\.root-token\.licet[\s\S]*Worker licet would be deployed/,
  );
  expect(readdirSync(folder).toSorted()).toEqual(['drizzle', 'wrangler.toml']);
});

it('a deployment with the queue of an earlier version uses none, and prints how to remove it', async () => {
  configure(`${TOML}
    [[queues.producers]]
    binding = "RECORDS"
    queue = "licet-records"

    [[queues.consumers]]
    queue = "licet-records"
    dead_letter_queue = "licet-records-dead"`);
  const remedy = [
    'The queue licet-records is no longer used. Remove the [[queues]] sections from wrangler.toml.',
    'npx wrangler queues consumer worker remove licet-records licet\n',
    'npx wrangler queues delete licet-records',
  ];
  for (const isDryRun of [true, false]) {
    lines.length = 0;
    await run({ isDryRun });
    for (const text of remedy) expect(lines.join('\n').split(text)).toHaveLength(2);
  }
  expect(account.calls.filter((call) => call.includes('queue'))).toEqual([]);
  expect(account.worker?.settings).not.toHaveProperty('queues');
});

it('the addresses of a deployment are found among the targets of its Worker', async () => {
  account.targets = [
    'https://licet.shop.workers.dev',
    'license.example.com (custom domain - zone name: example.com)',
    'old.example.com/*',
    'old.example.com/api/* (zone id: 12)',
    '*.example.com/*',
    'schedule: * * * * *',
    'Producer for licet-records',
    'Consumer for licet-records',
  ];
  expect(await run()).toMatchObject({
    addresses: [
      'https://licet.shop.workers.dev',
      'https://license.example.com',
      'https://old.example.com',
    ],
  });
});

describe('npm run deploy', () => {
  let isWell = true;
  /** A new name responds only after a while. */
  let isNew = true;
  const respond: RequestListener = ({ method, url }, response) => {
    const json = (status: number, body: object) =>
      response.writeHead(status).end(JSON.stringify(isWell ? body : { ...body, more: true }));
    if (isNew) {
      isNew = false;
      response.writeHead(404).end();
    } else if (url === '/api/v2/healthy') response.end('healthy');
    else if (url === '/.well-known/jwks.json') response.end('{"keys":[]}');
    else if (url === '/api/v2/ping') json(401, { message: 'No token', accepted_intents: [] });
    else json(method === 'POST' ? 400 : 405, { valid: false, message: 'No' });
  };
  let host: string;
  beforeAll(async () => {
    ({ host } = new URL(await listen(respond, TLS)));
  });

  const npmRunDeploy = (
    programs: string,
    onStart = (_child: ChildProcess) => {},
  ): Promise<{ code: number | null; output: string }> =>
    new Promise((done) => {
      const command = [resolve('scripts/deploy.ts')];
      const variables = deployVariables(folder);
      const env = { ...variables, PATH: [programs, process.env.PATH].join(delimiter) };
      const child = execFile(process.execPath, command, { cwd: folder, env }, (_, out, err) =>
        done({ code: child.exitCode, output: out + err }),
      );
      onStart(child);
    });

  /** The responses of a wrangler that deploys. */
  const DEPLOYS = 'cp report "$WRANGLER_OUTPUT_FILE_PATH"';
  const reportDeployment = (to = host): void => {
    const report = { type: 'deploy', version_id: 'v', targets: [`${to}/*`] };
    writeFileSync(join(folder, 'report'), JSON.stringify(report));
  };

  beforeEach(() => {
    isWell = true;
    reportDeployment();
    configure(`routes = [{ pattern = "${host}/*", zone_id = "zone" }]\n${TOML}`);
    linkProject(folder);
  });

  /** A wrangler for an account that has all already, as the real one prints it, but for some commands. */
  function wranglerThat(does: Record<string, string>): string {
    const programs = join(folder, 'bin');
    mkdirSync(programs);
    const cases = Object.entries(does).map(([command, script]) => `'${command}'*) ${script} ;;`);
    writeFileSync(
      join(programs, 'wrangler'),
      `#!/bin/sh
      case "$*" in
        ${cases.join('\n')}
        whoami*) echo '{"loggedIn":true,"accounts":[{"id":"a1","name":"Shop"}]}' ;;
        secret*) echo '[{"name":"ROOT_TOKEN"}]' ;;
        'd1 list'*) echo '[{"name":"licet","uuid":"x"}]' ;;
        'kv namespace list') echo '[{"title":"licet-snapshots","id":"x"}]' ;;
      esac`,
      { mode: 0o755 },
    );
    return programs;
  }

  it('npm run deploy ends with 1 where programs could not use the service', {
    tags: 'long',
  }, async () => {
    isWell = false;
    const programs = wranglerThat({ deploy: DEPLOYS });
    const { code, output } = await npmRunDeploy(programs);
    expect(output).toContain('The service is deployed, but some programs could not use it');
    expect(code).toBe(1);
  });

  it('npm run deploy goes on to its end where nobody reads what it prints', {
    tags: 'long',
  }, async () => {
    const programs = wranglerThat({ deploy: DEPLOYS });
    const { code, output } = await npmRunDeploy(programs, (child) =>
      child.stdout?.once('data', () => child.stdout?.destroy()),
    );
    expect(output).toBe('✓ Account Shop\n');
    expect(code).toBe(0);
    expect(readdirSync(folder)).not.toContain('wrangler.deploy.json');
  });

  it('npm run deploy stops at SIGTERM with wrangler, and leaves no file behind', {
    tags: 'long',
  }, async () => {
    mkdirSync(join(folder, 'temporary'));
    vi.stubEnv('TMPDIR', join(folder, 'temporary'));
    const has = (file: string) => () => existsSync(join(folder, file));
    const waits = "trap 'kill $!; touch ended; exit' TERM; sleep 20 & touch begun; wait";
    const programs = wranglerThat({ 'd1 migrations apply': waits });
    const { code, output } = await npmRunDeploy(programs, async (child) => {
      await expect.poll(has('begun'), { timeout: 60_000 }).toBe(true);
      expect(readdirSync(folder)).toContain('wrangler.deploy.json');
      child.kill('SIGTERM');
    });
    await expect.poll(has('ended'), { timeout: 2_000 }).toBe(true);
    expect(output).toContain('✗ Stopped.');
    expect(code).toBe(143);
    expect(readdirSync(folder)).not.toContain('wrangler.deploy.json');
    expect(readdirSync(join(folder, 'temporary'))).toEqual([]);
  });

  it('npm run deploy names the file of the root token, also after a run that was stopped once the token was set', {
    tags: 'long',
  }, async () => {
    configure(TOML.replace('migrations_dir', 'database_id = "x"\nmigrations_dir'));
    const programs = wranglerThat({
      secret: `[ -e token-set ] && echo '[{"name":"ROOT_TOKEN"}]' || { echo 'Worker "licet" not found'; exit 1; }`,
      deploy: `touch token-set; ${DEPLOYS}`,
    });
    reportDeployment('localhost:1');
    const stopped = await npmRunDeploy(programs, (child) =>
      child.stdout?.on('data', (text) => {
        if (String(text).includes('Deployed')) child.kill('SIGINT');
      }),
    );
    expect(stopped.output).toContain('Run npm run deploy again');
    reportDeployment();
    const { code, output } = await npmRunDeploy(programs);
    expect(output).toMatch(/Root token +in \.root-token\.licet[\s\S]*delete the file/);
    expect(code).toBe(0);
  });
});
