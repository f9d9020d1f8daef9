import { spawnSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { listen, ownFolder } from '../node/own.ts';
import { freePort } from '../node/service.ts';

/** The options of npm start and npm run dev. test/node/start.test.ts has the values of those of npm start. */

const folder = ownFolder();

function run(script: string, ...args: string[]) {
  const all = [`scripts/${script}.ts`, '--persist-to', folder, ...args];
  return spawnSync(process.execPath, all, {
    encoding: 'utf8',
    timeout: 20_000,
    env: { ...process.env, NO_COLOR: '1' },
  });
}

it.each([
  ['start', ['--foo'], '--foo is no option of npm start. Add --help to see what it takes.'],
  ['start', ['-p', '9000'], '-p is no option of npm start. Add --help to see what it takes.'],
  ['start', ['--inspector-port', '9229'], '--inspector-port is no option of npm start. Add --help'],
  ['dev', ['--foo=1'], '--foo is no option of npm run dev. Add --help to see what it takes.'],
  ['dev', ['--remote'], '--remote is no option of npm run dev. Add --help to see what it takes.'],
  ['dev', ['--inspector-port', 'x'], '--inspector-port must be a number from 1 to 65535, not "x".'],
])('a wrong option is one line and status 2: %s %j', (script, args, message) => {
  const { status, stdout, stderr } = run(script, ...args);
  expect(stderr).toContain(`✗ ${message}`);
  expect(stderr).toMatch(/^.+\n$/);
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
