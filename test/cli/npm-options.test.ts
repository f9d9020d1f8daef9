import { spawnSync } from 'node:child_process';
import { expect, it } from 'vitest';

/** npm takes an option without two dashes before it. The command must not run without the option. */

const env = {
  ...process.env,
  NO_COLOR: '1',
  LICET_TOKEN: 'licet_nobody',
  LICET_URL: 'http://127.0.0.1:9',
};

it.each([
  ['run import', 'dry-run', ['shop.jsonl']],
  ['run export', 'url', ['shop.jsonl']],
  ['run backup', 'persist-to', ['shop.sqlite', 'DIR']],
  ['run restore', 'persist-to', ['shop.sqlite', 'DIR']],
  ['run licet', 'ips', ['licenses', 'free', 'KEY']],
  ['run deploy', 'dry-run', []],
  ['run doctor', 'timeout', ['http://127.0.0.1:9']],
  ['run demo', 'url', []],
  ['start', 'persist-to', []],
])('an option that npm took is a usage error of npm %s: --%s', (command, option, args) => {
  const all = ['-s', ...command.split(' '), ...args, `--${option}`];
  const { status, stdout, stderr } = spawnSync('npm', all, { env, encoding: 'utf8' });
  expect(stderr).toContain(`npm ${command} -- … --${option}`);
  expect(stdout).toBe('');
  expect(status).toBe(2);
});
