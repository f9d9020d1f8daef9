import { type ChildProcess, spawn } from 'node:child_process';
import { getSystemErrorMap, styleText } from 'node:util';
import { stripControlCharactersInLines } from './text.ts';

/** The status with which every command ends that was called wrongly. */
export const USAGE_ERROR_STATUS = 2;

/** Prints an error, unless it has no message. */
export function report({ message }: Error): void {
  if (message === '') return;
  const line = `✗ ${stripControlCharactersInLines(message)}`;
  console.error(styleText('red', line, { stream: process.stderr }));
}

/** Prints an error and exits, with status 1 unless given. */
export function fail(message: string, status = 1): never {
  report(new Error(message));
  process.exit(status);
}

/** The status of a process that a signal has ended. */
const STOPPED = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const;

/** Ends with a sentence when somebody stops the command: with Ctrl-C, by closing the terminal, by a time limit. */
export function onStopSignal(message: () => string): void {
  for (const [signal, status] of Object.entries(STOPPED)) {
    process.on(signal, () => fail(message(), status));
  }
}

/** What a person is to be told, and the status with which the command ends then. */
export class CliError extends Error {
  readonly status: number;

  constructor(message: string, status = 1) {
    super(message);
    this.status = status;
  }
}

/** A mistake in the command itself. */
export const usageError = (message: string): CliError => new CliError(message, USAGE_ERROR_STATUS);

export const done = (message: string): void => console.log(`${styleText('green', '✓')} ${message}`);

/** What the system says of a failure, without the call and the name that failed. */
export function systemReason(error: unknown): string {
  const errno = error instanceof Error && 'errno' in error ? Number(error.errno) : undefined;
  const [, reason] = (errno !== undefined && getSystemErrorMap().get(errno)) || [];
  return reason ?? (error instanceof Error ? error.message : String(error));
}

const isUnread = (error: Error): boolean => 'code' in error && error.code === 'EPIPE';

/**
 * Sees to output that cannot be written: a command that loses its results does not end with status 0.
 * Where only nobody reads any more, as behind `| head`, nothing is lost.
 *
 * @param then what becomes of the command: one that changes things, or whose status is a result, goes on
 */
export function guardOutput(then: 'end' | 'go on'): void {
  const streams = [process.stdout, process.stderr];
  let isTold = false;
  const tell = (error: Error) => {
    if (!isTold && !isUnread(error)) {
      isTold = true;
      console.error(
        styleText('red', `✗ The output cannot be written: ${systemReason(error)}.`, {
          stream: process.stderr,
        }),
      );
    }
  };
  for (const stream of streams) {
    stream.on('error', (error) => {
      // What is written there by a pipeline is told by who waits for its end.
      if (stream.listenerCount('error') > 1) return;
      tell(error);
      if (then === 'end') process.exit();
    });
  }
  process.on('exit', (status) => {
    // What failed last has had no time to be an event.
    for (const { errored } of streams) if (errored) tell(errored);
    if (isTold) process.exitCode = status || 1;
  });
}

/** Tells something beside the results, over what shows how far it is. */
export function note(message: string): void {
  if (process.stderr.isTTY) process.stderr.write('\r\x1b[K');
  console.error(message);
}

/** How a command ended. */
export interface Ended {
  ok: boolean;
  /** All that it printed; `stdout` is the part for programs. */
  output: string;
  stdout: string;
}

/** Ends a command with this process: a signal may have come to this one alone. */
function endTogether(child: ChildProcess): void {
  const kill = (): boolean => child.kill();
  process.on('exit', kill);
  child.on('close', () => process.off('exit', kill));
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
    endTogether(child);
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
    endTogether(child);
    child.on('error', (error) => {
      console.error(error.message);
      resolve(false);
    });
    child.on('close', (code) => resolve(code === 0));
  });
}

const REDRAW_MS = 100;
const LINE_MS = 5_000;
const BAR_LENGTH = 24;

/** How far something is: a bar that moves on a terminal, elsewhere a line every few seconds. */
export class Progress {
  readonly #what: string;
  readonly #total: number | undefined;
  readonly #startedAt = performance.now();
  #count = 0;
  #shownAt = performance.now();

  /** @param total how many there are, where that is known */
  constructor(what: string, total: number | undefined) {
    this.#what = what;
    this.#total = total;
  }

  add(count: number): void {
    this.#count += count;
    const intervalMs = process.stderr.isTTY ? REDRAW_MS : LINE_MS;
    if (performance.now() - this.#shownAt < intervalMs) return;
    this.#shownAt = performance.now();
    process.stderr.write(
      process.stderr.isTTY ? `\r\x1b[K  ${this.#line()}` : `  ${this.#line()}\n`,
    );
  }

  /** Leaves the terminal for what is told next. */
  end(): void {
    if (process.stderr.isTTY) process.stderr.write('\r\x1b[K');
  }

  #line(): string {
    const seconds = Math.max(0.1, (performance.now() - this.#startedAt) / 1000);
    const rate = `${Math.round(this.#count / seconds).toLocaleString('en')}/s`;
    const count = this.#count.toLocaleString('en');
    if (!this.#total) return `${this.#what}  ${count}  ${rate}`;
    const share = Math.min(1, this.#count / this.#total);
    const bar = '█'.repeat(Math.round(share * BAR_LENGTH)).padEnd(BAR_LENGTH, '░');
    return `${this.#what}  ${bar}  ${count} of ${this.#total.toLocaleString('en')}  ${rate}`;
  }
}
