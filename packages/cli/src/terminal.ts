import { type ChildProcess, spawn } from 'node:child_process';
import { fstatSync } from 'node:fs';
import { getSystemErrorMap, styleText } from 'node:util';
import { stripControlCharactersInLines } from './text.ts';

export { CliError, USAGE_ERROR_STATUS, usageError } from './cli-error.ts';

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

/** Exit statuses after signals. */
const STOPPED = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const;

/** Prints a message and exits when a signal stops the command. */
export function onStopSignal(message: () => string): void {
  for (const [signal, status] of Object.entries(STOPPED)) {
    process.on(signal, () => fail(message(), status));
  }
}

export const done = (message: string): void => console.log(`${styleText('green', '✓')} ${message}`);

/** The system's description of an error, without the name of the call. */
export function systemReason(error: unknown): string {
  const errno = error instanceof Error && 'errno' in error ? Number(error.errno) : undefined;
  const [, reason] = (errno !== undefined && getSystemErrorMap().get(errno)) || [];
  return reason ?? (error instanceof Error ? error.message : String(error));
}

const isUnread = (error: Error): boolean => 'code' in error && error.code === 'EPIPE';

/**
 * Handles output that cannot be written: a command that loses its results must not exit with status 0. A
 * closed reader, as with `| head`, is no error.
 *
 * @param then whether the command goes on: one that changes data, or whose status is a result, does
 */
export function guardOutput(then: 'end' | 'go on'): void {
  const streams = [process.stdout, process.stderr];
  let isReported = false;
  const reportOnce = (error: Error) => {
    if (!isReported && !isUnread(error)) {
      isReported = true;
      console.error(
        styleText('red', `✗ The output cannot be written: ${systemReason(error)}.`, {
          stream: process.stderr,
        }),
      );
    }
  };
  for (const stream of streams) {
    stream.on('error', (error) => {
      // A pipeline that writes to the stream reports its error itself.
      if (stream.listenerCount('error') > 1) return;
      reportOnce(error);
      if (then === 'end') process.exit();
    });
  }
  process.on('exit', (status) => {
    // The last failure may not have become an event yet.
    for (const { errored } of streams) if (errored) reportOnce(errored);
    if (isReported) process.exitCode = status || 1;
  });
}

/** Prints a note to stderr, over the progress bar. */
export function note(message: string): void {
  if (process.stderr.isTTY) process.stderr.write('\r\x1b[K');
  console.error(message);
}

/** The end of a child process. */
export interface Ended {
  ok: boolean;
  /** stdout and stderr together. */
  output: string;
  stdout: string;
}

/** Ends a child with this process: a signal may have reached this one only. */
function endTogether(child: ChildProcess): void {
  const kill = (): boolean => child.kill();
  process.on('exit', kill);
  child.on('close', () => process.off('exit', kill));
}

/**
 * Calls back when the reader of a pipe on the standard output ends, as with `| head`. A command that waits writes
 * nothing, and would not notice. Node.js cannot poll a pipe, but GNU tail can. Without it, the next write fails.
 */
export function onReaderEnd(callback: () => void): void {
  if (!fstatSync(process.stdout.fd).isFIFO()) return;
  const tail = spawn('tail', ['-f', '/dev/null'], { stdio: ['ignore', 'inherit', 'ignore'] });
  endTogether(tail);
  tail.unref();
  tail.on('error', () => undefined);
  tail.on('exit', (_status, signal) => {
    if (signal === 'SIGPIPE') callback();
  });
}

/** Runs a command of the project's dependencies and collects its output. */
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

/** Runs a command in the user's terminal, where it can ask questions. */
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

const FIRST_MS = 1_000;
const REDRAW_MS = 100;
const LINE_MS = 5_000;
const BAR_LENGTH = 24;

/** Progress, after the first second: a bar on a terminal, elsewhere a line every few seconds. */
export class Progress {
  readonly #what: string;
  readonly #total: number | undefined;
  readonly #startedAt = performance.now();
  #count = 0;
  #shownAt: number | undefined;

  /** @param total the number of items, if known */
  constructor(what: string, total: number | undefined) {
    this.#what = what;
    this.#total = total;
  }

  add(count: number): void {
    this.#count += count;
    const intervalMs = process.stderr.isTTY ? REDRAW_MS : LINE_MS;
    const dueAt =
      this.#shownAt === undefined ? this.#startedAt + FIRST_MS : this.#shownAt + intervalMs;
    if (performance.now() < dueAt) return;
    this.#shownAt = performance.now();
    process.stderr.write(
      process.stderr.isTTY ? `\r\x1b[K  ${this.#line()}` : `  ${this.#line()}\n`,
    );
  }

  /** Removes the bar. */
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
