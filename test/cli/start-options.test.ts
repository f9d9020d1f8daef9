import { spawnSync } from 'node:child_process';
import { afterEach, expect, it } from 'vitest';
import { CliError } from '../../packages/cli/src/terminal.ts';
import { type LocalCommand, readOptions } from '../../scripts/local/options.ts';
import { listen, ownFolder } from '../node/own.ts';
import { freePort } from '../node/service.ts';

/** The options of npm start and npm run dev. */

const folder = ownFolder();
const { argv } = process;
afterEach(() => {
  process.argv = argv;
});

function run(script: string, ...args: string[]) {
  const all = [`scripts/${script}.ts`, '--persist-to', folder, ...args];
  return spawnSync(process.execPath, all, {
    encoding: 'utf8',
    timeout: 20_000,
    env: { ...process.env, NO_COLOR: '1' },
  });
}

it.each<[command: LocalCommand, args: string[], message: string]>([
  ['npm start', ['-p', '9000'], '-p is no option of npm start. Add --help to see what it takes.'],
  ['npm start', ['--inspector-port', '9229'], '--inspector-port is no option of npm start.'],
  ['npm start', ['--local-protocol', 'https'], '--local-protocol is no option of npm start.'],
  ['npm start', ['--port', 'eighty'], '--port must be a number from 1 to 65535'],
  ['npm start', ['--port', '70000'], '--port must be a number from 1 to 65535'],
  ['npm start', ['--persist-to'], '--persist-to needs a value'],
  ['npm start', ['9000'], '"9000" is no option'],
  ['npm start', ['--var', 'A=true'], '--var takes NAME:VALUE, not "A=true"'],
  ['npm start', ['--var', 'TRUSTED_PROXIES:10.0.0.0/33'], 'TRUSTED_PROXIES holds "10.0.0.0/33"'],
  ['npm start', ['--var', 'TRUSTED_PROXIES:a.example'], 'TRUSTED_PROXIES holds "a.example"'],
  ['npm run dev', ['--foo=1'], '--foo is no option of npm run dev. Add --help to see what it'],
  ['npm run dev', ['--inspector-port', 'x'], 'must be a number from 1 to 65535, not "x".'],
])('%s rejects the options %j', (command, args, message) => {
  process.argv = ['node', 'script', ...args];
  const usageError = expect.objectContaining({
    message: expect.stringContaining(message),
    status: 2,
  });
  expect(() => readOptions(command, '')).toThrow(CliError);
  expect(() => readOptions(command, '')).toThrow(usageError);
});

it.each([
  ['start', '--foo', '--foo is no option of npm start. Add --help to see what it takes.'],
  ['dev', '--remote', '--remote is no option of npm run dev. Add --help to see what it takes.'],
])('a wrong option is one line and status 2: %s %s', (script, option, message) => {
  const { status, stdout, stderr } = run(script, option);
  expect(stderr).toBe(`✗ ${message}\n`);
  expect(stdout).toBe('');
  expect(status).toBe(2);
});

it('a taken inspector port of npm run dev is one line with another port', async () => {
  const taken = Number(new URL(await listen(() => undefined)).port);
  const options = ['--port', String(await freePort()), '--inspector-port', String(taken)];
  const { status, stdout, stderr } = run('dev', ...options);
  expect(stderr).toBe(
    `✗ Port ${taken} is taken, so the inspector cannot listen there. ` +
      `Choose another: npm run dev -- --inspector-port ${taken + 1}\n`,
  );
  expect(stdout).toBe('');
  expect(status).toBe(1);
});
