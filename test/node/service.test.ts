import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, it } from 'vitest';
import { ownFolder } from './own.ts';
import { watch } from './service.ts';

/** Processes that tests start end with the tests, also when these are interrupted. */

const folder = ownFolder();

/** In place of tests: starts a command that leaves a file when it is told to end. */
const PROGRAM = `
import { spawnGroup } from '${pathToFileURL('test/node/service.ts')}';
const script = 'trap "touch $0; exit" TERM; echo runs; sleep 100 & wait';
spawnGroup('sh', ['-c', script, process.argv[1]]).stdout.pipe(process.stdout);
process.on('message', () => process.exit());
setTimeout(() => {}, 100_000);
`;

it.each(['SIGINT', 'SIGTERM', 'SIGHUP', 'exit', 'disconnect'] as const)(
  'a service ends when its tests do by %s',
  async (end) => {
    const file = join(folder, end);
    const program = spawn(process.execPath, ['--input-type=module', '--eval', PROGRAM, file], {
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    await watch(program).printed('runs');
    expect(existsSync(file)).toBe(false);
    if (end === 'exit') program.send(end);
    else if (end === 'disconnect') program.disconnect();
    else program.kill(end);
    await expect.poll(() => existsSync(file)).toBe(true);
    program.kill('SIGKILL');
  },
);
