/** @module-tag long */

import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { serviceUrl } from '@licet/cli/command-line';
import { CliError } from '@licet/cli/terminal';
import { afterEach, expect, it } from 'vitest';
import { type LocalCommand, readOptions } from '../../scripts/local/options.ts';
import { listen, ownFolder } from '../node/own.ts';
import { argsOfScript, freePort } from '../node/service.ts';
import { type CommandName, runHere } from './run-command.ts';

/** The options of npm start and npm run dev, and options that npm took for its own. */

const env = { NO_COLOR: '1', LICET_TOKEN: 'licet_nobody', LICET_URL: 'http://127.0.0.1:9' };
const folder = ownFolder();
const { argv } = process;
afterEach(() => {
  process.argv = argv;
});

/** Runs a command, and returns what it printed and its status. */
function run(program: string, args: readonly string[], variables: NodeJS.ProcessEnv = {}) {
  const { stdout, stderr, status } = spawnSync(program, args, {
    encoding: 'utf8',
    timeout: 20_000,
    env: { ...process.env, ...env, ...variables },
  });
  return { stdout, stderr, status };
}
const runScript = (name: string, args: readonly string[], variables: NodeJS.ProcessEnv = {}) =>
  run(process.execPath, [...argsOfScript(name), ...args], variables);

it.each<[command: LocalCommand, args: string[], message: string]>([
  ['npm start', ['-p', '9000'], '-p is no option of npm start. Add --help to see what it takes.'],
  ['npm start', ['--inspector-port', '9229'], '--inspector-port is no option of npm start.'],
  ['npm start', ['--local-protocol', 'https'], '--local-protocol is no option of npm start.'],
  ['npm start', ['--port', 'eighty'], '--port must be a number from 1 to 65535'],
  ['npm start', ['--port', '70000'], '--port must be a number from 1 to 65535'],
  ['npm start', ['--persist-to'], '--persist-to needs a value'],
  ['npm start', ['9000'], '"9000" is no option'],
  ['npm start', ['--port', '--ip', '1'], '--port needs a value.'],
  ['npm start', ['--prot', '9000'], '--prot is no option of npm start. Did you mean --port?'],
  ['npm start', ['--var', 'A=true'], '--var takes NAME:VALUE, not "A=true"'],
  ['npm start', ['--var', 'TRUSTED_PROXIES:10.0.0.0/33'], 'TRUSTED_PROXIES holds "10.0.0.0/33"'],
  ['npm start', ['--var', 'TRUSTED_PROXIES:a.example'], 'TRUSTED_PROXIES holds "a.example"'],
  ['npm start', ['--var', 'TRUSTED_PROXIES:fe80::1%eth0'], 'TRUSTED_PROXIES holds "fe80::1%eth0"'],
  ['npm start', ['--var', 'REQUIRE_HWID:yes'], 'REQUIRE_HWID must be true or false, not "yes".'],
  ['npm start', ['--var', 'REQUIRE_HWD:true'], 'no setting of Licet. Did you mean REQUIRE_HWID?'],
  ['npm start', ['--var', 'COLOUR:red'], 'COLOUR is no setting of Licet. docs/configuration.md'],
  [
    'npm start',
    ['--var', 'IPV6_SLOT_PREFIX:47'],
    'IPV6_SLOT_PREFIX must be a number of bits from 48 to 128, not "47".',
  ],
  ['npm start', ['--var', 'TRUST_BODY_IP:'], 'TRUST_BODY_IP must be true or false, not "".'],
  [
    'npm start',
    ['--var', 'LOG_REQUESTS:no'],
    'LOG_REQUESTS must be true, false or failures, not "no".',
  ],
  ['npm start', ['--var', 'REQUEST_RETENTION_DAYS:ninety'], 'must be a number of days, or 0 to'],
  ['npm start', ['--var', 'EVENT_RETENTION_DAYS:-5'], 'EVENT_RETENTION_DAYS must be a number of'],
  ['npm start', ['--var', 'TIME_ZONE:Berlin'], 'TIME_ZONE must be a time zone such as "Europe/B'],
  ['npm start', ['--var', 'PLATFORM_LABELS:Spigot'], 'PLATFORM_LABELS must be labels such as "PL'],
  ['npm start', ['--var', 'PLATFORM_LABELS:MARKET_A=A,CHAT=B'], 'PLATFORM_LABELS must be labels'],
  ['npm start', ['--var', 'CONSOLE_HOSTS:https://a.example/'], 'CONSOLE_HOSTS must be hosts such'],
  [
    'npm start',
    ['--var', 'PUBLIC_URL:license.example.com'],
    'PUBLIC_URL must be an address such as https://license.example.com, not "license.example.com".',
  ],
  [
    'npm start',
    ['--var', 'PUBLIC_URL:http://license.example.com'],
    'PUBLIC_URL must be https://license.example.com, not "http://license.example.com": http is for',
  ],
  [
    'npm start',
    ['--var', 'PUBLIC_URL:https://license.example.com/console'],
    'PUBLIC_URL must have no path: https://license.example.com, not',
  ],
  [
    'npm start',
    ['--var', 'PUBLIC_URL:https://a@b.example'],
    'PUBLIC_URL must have no user name: write the scheme and the host alone.',
  ],
  ['npm start', ['--var', 'DISCORD_URL:discord'], 'DISCORD_URL must be an address such as https'],
  ['npm start', ['--var', 'DISCORD_URL:http://a.example'], 'DISCORD_URL must be https://a.example'],
  ['npm start', ['--var', 'DISCORD_URL:https://a.example/api'], 'DISCORD_URL must have no path: '],
  ['npm start', ['--var', 'MAIL:postmark:key'], 'MAIL must be resend:KEY, smtps://USER:PASSWORD@H'],
  ['npm start', ['--var', 'MAIL_FROM:keys'], 'MAIL_FROM must be an address such as keys@example'],
  ['npm start', ['--var', 'MAIL_REPLY_TO:a@b'], 'MAIL_REPLY_TO must be an address such as keys@'],
  ['npm start', ['--var', 'MAIL_DAILY_LIMIT:0'], 'MAIL_DAILY_LIMIT must be a number of mails a d'],
  ['npm start', ['--var', 'MAIL_WEBHOOK_SECRET:x'], 'which begins with whsec_.'],
  ['npm start', ['--var', 'REFUSED_LIMITER:many'], 'must be a number of requests a minute, not'],
  ['npm start', ['--var', 'ROOT_TOKEN:short'], 'ROOT_TOKEN has fewer than 32 characters, so the'],
  ['npm start', ['--var', 'SIGNING_KEY_1:abc'], 'SIGNING_KEY_1 must be a private JWK with a kid'],
  ['npm run dev', ['--foo=1'], '--foo is no option of npm run dev. Add --help to see what it'],
  ['npm run dev', ['--inspector-port', 'x'], 'must be a number from 1 to 65535, not "x".'],
])('%s rejects the options %j [3.3.5]', (command, args, message) => {
  process.argv = ['node', 'script', ...args];
  const usageError = expect.objectContaining({
    message: expect.stringContaining(message),
    status: 2,
  });
  expect(() => readOptions(command, '')).toThrow(CliError);
  expect(() => readOptions(command, '')).toThrow(usageError);
});

it('each setting is taken in the forms of the document', { tags: 'short' }, () => {
  const document = readFileSync('docs/configuration.md', 'utf8');
  const names = [...document.matchAll(/^\| ([A-Z][A-Z\d_]*[A-Z]) /gm)].map(([, name]) => name);
  const variables = {
    ROOT_TOKEN: 'a'.repeat(32),
    PUBLIC_URL: 'https://license.example.com:8443/',
    REQUIRE_HWID: 'TRUE',
    TRUST_BODY_IP: 'False',
    IPV6_SLOT_PREFIX: '56',
    REQUEST_RETENTION_DAYS: '0',
    EVENT_RETENTION_DAYS: '0.5',
    MANY_ADDRESSES: '25',
    SIGNING_ISSUER: 'Shop',
    SIGNING_DEFAULT_KID: 'rs-1',
    LOG_REQUESTS: 'true',
    TIME_ZONE: 'Europe/Berlin',
    PLATFORM_LABELS: 'PLATFORM_A=SpigotMC, MARKET_A=BuiltByBit,',
    TRUSTED_PROXIES: '10.0.0.0/8, ::1',
    CONSOLE_HOSTS: 'License.example.com, localhost:8443 [::1]:80',
    OUTBOUND_PRIVATE: 'false',
    DISCORD_URL: 'http://127.0.0.1:9000',
    MAIL: 'smtps://keys%40example.com:secret@mail.example.com',
    MAIL_FROM: 'Shop <keys@example.com>',
    MAIL_REPLY_TO: 'help@example.com',
    MAIL_DAILY_LIMIT: '100',
    MAIL_WEBHOOK_SECRET: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
  };
  expect(Object.keys(variables)).toEqual(names);
  const args = Object.entries(variables).flatMap(([name, value]) => ['--var', `${name}:${value}`]);
  process.argv = ['node', 'script', ...args];
  expect(readOptions('npm start', '').variables).toEqual(variables);
});

it.each([
  ['start', '--foo', '--foo is no option of npm start. Add --help to see what it takes.'],
  ['dev', '--remote', '--remote is no option of npm run dev. Add --help to see what it takes.'],
])('a wrong option is one line and status 2: %s %s', (script, option, message) => {
  const ended = runScript(script, [option, '--persist-to', folder]);
  expect(ended).toEqual({ stderr: `✗ ${message}\n`, stdout: '', status: 2 });
});

it('a taken inspector port of npm run dev is one line with another port', async () => {
  const taken = Number(new URL(await listen(() => undefined)).port);
  const ports = ['--port', String(await freePort()), '--inspector-port', String(taken)];
  expect(runScript('dev', ['--persist-to', folder, ...ports])).toEqual({
    stderr:
      `✗ Port ${taken} is taken, so the inspector cannot listen there. ` +
      `Choose another: npm run dev -- --inspector-port ${taken + 1} --persist-to ${folder}\n`,
    stdout: '',
    status: 1,
  });
});

it('a taken port is one line with another port and the same data folder', async () => {
  const port = Number(new URL(await listen(() => undefined)).port);
  const { stderr, status } = runScript('start', ['--persist-to', folder, '--port', String(port)]);
  expect(stderr).toContain(`: npm start -- --port ${port + 1} --persist-to ${folder}\n`);
  expect(status).toBe(1);
});

it.each(['300.1.1.1', '192.0.2.1', '::2'])(
  'an address that is not of this machine is one line and status 2: --ip %s',
  async (ip) => {
    const options = ['--persist-to', folder, '--port', String(await freePort()), '--ip', ip];
    expect(runScript('start', options)).toEqual({
      stderr: expect.stringMatching(/^✗ --ip \S+ is no address of this machine \(\w+\)\.\n$/),
      stdout: '',
      status: 2,
    });
  },
);

it.each([
  ['localhost:8787/docs', 'http://localhost:8787/'],
  ['https://licet.example/console/licenses/7', 'https://licet.example/'],
  ['https://licet.example/licet/api/v2', 'https://licet.example/licet'],
  ['https://licet.example/consoles', 'https://licet.example/consoles'],
  ['https://shop.example/api/licet', 'https://shop.example/api/licet'],
  // No other host: the token would go there.
  ['http://127.0.0.1:8787//other.example/console', 'http://127.0.0.1:8787//other.example'],
])('the address of a page, %s, stands for the service: %s', (sent, url) => {
  expect(serviceUrl(sent, '--url').href).toBe(url);
});

/**
 * The variables that npm sets for an option that it took, because the two dashes before it were missing. The command
 * must not run without the option.
 */
const takenBy = (script: string, option: string) => ({
  npm_lifecycle_event: script,
  [`npm_config_${option.replace('-', '_')}`]: 'true',
});

it.each<[name: CommandName, option: string, args: string[]]>([
  ['import', 'dry-run', ['shop.jsonl']],
  ['export', 'url', ['shop.jsonl']],
  ['licet', 'ips', ['licenses', 'free', 'KEY']],
  ['doctor', 'timeout', ['http://127.0.0.1:9']],
])('an option that npm took is a usage error of npm run %s: --%s', async (name, option, args) => {
  const { code, stdout, stderr } = await runHere(name, args, { ...env, ...takenBy(name, option) });
  expect(stderr).toContain(`npm run ${name} -- … --${option}`);
  expect(stdout).toBe('');
  expect(code).toBe(2);
});

it.each([
  ['run backup', 'persist-to', ['shop.sqlite', 'DIR']],
  ['run restore', 'persist-to', ['shop.sqlite', 'DIR']],
  ['run deploy', 'dry-run', []],
  ['run demo', 'url', []],
  ['start', 'persist-to', []],
])('an option that npm took is a usage error of npm %s: --%s', (command, option, args) => {
  const script = command.replace('run ', '');
  const message = expect.stringContaining(`npm ${command} -- … --${option}`);
  const ended = runScript(script, args, takenBy(script, option));
  expect(ended).toEqual({ stderr: message, stdout: '', status: 2 });
});

it.each([
  ['one of its own', 'import', ['shop.jsonl', '--dry-run']],
  ['one that it does not know', 'licet', ['licenses', 'free', 'KEY', '--ips']],
])('npm hands on the option that it took: %s', (_, script, args) => {
  const message = expect.stringContaining(`npm run ${script} -- … ${args.at(-1)}`);
  const ended = run('npm', ['-s', 'run', script, ...args]);
  expect(ended).toEqual({ stderr: message, stdout: '', status: 2 });
});
