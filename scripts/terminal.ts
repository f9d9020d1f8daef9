import { spawn } from 'node:child_process';
import { styleText } from 'node:util';

/** Tells a person what went wrong and what to do, and ends with status 1. */
export function fail(message: string): never {
  console.error(styleText('red', `✗ ${message}`));
  process.exit(1);
}

export const done = (message: string): void => console.log(`${styleText('green', '✓')} ${message}`);

/** How a command ended. */
export interface Ended {
  ok: boolean;
  /** All that it printed; `stdout` is the part for programs. */
  output: string;
  stdout: string;
}

/** Runs a command of the project's dependencies to its end and keeps what it prints. */
export function run(
  command: string,
  args: readonly string[],
  variables: NodeJS.ProcessEnv = {},
): Promise<Ended> {
  return new Promise((resolve) => {
    const child = spawn(command, args, {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        ...process.env,
        CI: 'true',
        NO_COLOR: '1',
        WRANGLER_SEND_METRICS: 'false',
        ...variables,
      },
    });
    let output = '';
    let stdout = '';
    child.stdout.on('data', (chunk) => {
      output += chunk;
      stdout += chunk;
    });
    child.stderr.on('data', (chunk) => (output += chunk));
    child.on('error', (error) =>
      resolve({ ok: false, output: `${output}${error.message}\n`, stdout }),
    );
    child.on('close', (code) => resolve({ ok: code === 0, output, stdout }));
  });
}

/** Runs a command in the terminal of the person, who sees what it prints and answers what it asks. */
export function runShown(
  command: string,
  args: readonly string[],
  variables: NodeJS.ProcessEnv = {},
): Promise<boolean> {
  return new Promise((resolve) => {
    const child = spawn(command, args, {
      stdio: 'inherit',
      env: { ...process.env, WRANGLER_SEND_METRICS: 'false', ...variables },
    });
    child.on('error', (error) => {
      console.error(error.message);
      resolve(false);
    });
    child.on('close', (code) => resolve(code === 0));
  });
}
