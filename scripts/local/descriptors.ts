import type { ChildProcess } from 'node:child_process';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import type { Log } from './service.ts';

/** The descriptors of the runtime, which ends when none is left. */

const INTERVAL_MS = 100;
/** A flood of 5,700 connections a second takes about 1,200 within the interval, and more until the stop. */
const MAX_RESERVE = 16_384;
const MAX_RESERVED_SHARE = 1 / 2;
const DESCRIPTORS_PER_CONNECTION = 2;
const WELCOME_CONNECTIONS = 1_024;

/**
 * Calls back once, before the last descriptor of a runtime is taken: then it would end at once, and lose the pending
 * records.
 */
export function watchDescriptors(runtime: ChildProcess, log: Log, onFewLeft: () => void): void {
  const limit = descriptorLimit(runtime.pid);
  if (limit === undefined) return;
  const max = limit - Math.min(MAX_RESERVE, limit * MAX_RESERVED_SHARE);
  const connections = Math.floor(max / DESCRIPTORS_PER_CONNECTION);
  if (connections < WELCOME_CONNECTIONS) {
    log('warn', `The limit of open files (ulimit -n: ${limit}) allows ${connections} connections`);
  }
  const watching = setInterval(() => {
    if (countDescriptors(runtime.pid) <= max) return;
    clearInterval(watching);
    log(
      'error',
      `More than ${connections} connections: all are closed, once the records are stored`,
    );
    onFewLeft();
  }, INTERVAL_MS);
  runtime.once('exit', () => clearInterval(watching));
}

/** The number of files that a process may open; undefined if there is no limit, or the system does not report it. */
function descriptorLimit(pid = 0): number | undefined {
  try {
    const limits = readFileSync(`/proc/${pid}/limits`, 'utf8');
    const [, limit] = /^Max open files +(\d+)/m.exec(limits) ?? [];
    return limit === undefined ? undefined : Number(limit);
  } catch {
    return undefined;
  }
}

/** The number of files that a process has open; 0 if it has ended. */
function countDescriptors(pid = 0): number {
  const folder = `/proc/${pid}/fd`;
  try {
    // Before Linux 6.2 the size is 0.
    return statSync(folder).size || readdirSync(folder).length;
  } catch {
    return 0;
  }
}
