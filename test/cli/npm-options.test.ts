import { spawnSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { argsOfScript } from '../node/service.ts';
import { type CommandName, runHere } from './run-command.ts';

/** npm takes an option without two dashes before it. The command must not run without the option. */

const env = { NO_COLOR: '1', LICET_TOKEN: 'licet_nobody', LICET_URL: 'http://127.0.0.1:9' };

/** The variables by which npm hands on an option that it took. */
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
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [...argsOfScript(script), ...args],
    {
      env: { ...process.env, ...env, ...takenBy(script, option) },
      encoding: 'utf8',
    },
  );
  expect(stderr).toContain(`npm ${command} -- … --${option}`);
  expect(stdout).toBe('');
  expect(status).toBe(2);
});

it.each([
  ['one of its own', 'import', ['shop.jsonl', '--dry-run']],
  ['one that it does not know', 'licet', ['licenses', 'free', 'KEY', '--ips']],
])('npm hands on the option that it took: %s', (_, script, args) => {
  const { status, stdout, stderr } = spawnSync('npm', ['-s', 'run', script, ...args], {
    env: { ...process.env, ...env },
    encoding: 'utf8',
  });
  expect(stderr).toContain(`npm run ${script} -- … ${args.at(-1)}`);
  expect(stdout).toBe('');
  expect(status).toBe(2);
});
