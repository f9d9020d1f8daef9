import { spawn } from 'node:child_process';
import { styleText } from 'node:util';

/** Tells a person what went wrong and what to do, and ends with status 1. */
export function fail(message: string): never {
  console.error(styleText('red', `✗ ${message}`));
  process.exit(1);
}

export const done = (message: string): void => console.log(`${styleText('green', '✓')} ${message}`);

/** Runs a command of the project's dependencies to its end and keeps what it prints. */
export function run(
  command: string,
  args: readonly string[],
): Promise<{ ok: boolean; output: string }> {
  return new Promise((resolve) => {
    const child = spawn(command, args, {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, CI: 'true', NO_COLOR: '1', WRANGLER_SEND_METRICS: 'false' },
    });
    let output = '';
    child.stdout.on('data', (chunk) => (output += chunk));
    child.stderr.on('data', (chunk) => (output += chunk));
    child.on('error', (error) => resolve({ ok: false, output: `${output}${error.message}\n` }));
    child.on('close', (code) => resolve({ ok: code === 0, output }));
  });
}
