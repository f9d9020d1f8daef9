import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';

/** Figures that Linux has of the processes that run the Workers. Other systems have none. */

/** The kernel counts a process's CPU time in ticks. */
const TICKS_PER_SECOND = 100;

const readOrNull = (file: string): string | null => {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return null;
  }
};

/** The workerd processes that this one has started. */
export function workerdProcesses(): number[] {
  const tasks = readOrNull('/proc/self/stat') === null ? [] : readdirSync('/proc/self/task');
  return tasks
    .flatMap((task) => (readOrNull(`/proc/self/task/${task}/children`) ?? '').trim().split(' '))
    .filter((pid) => pid !== '' && readOrNull(`/proc/${pid}/comm`)?.startsWith('workerd'))
    .map(Number);
}

/** The CPU time of a process, of all its threads. */
export function cpuSecondsOf(pid: number | null): number | null {
  // The name, in brackets, may hold blanks. After it come the state and 10 more fields, then the times.
  const fields = readOrNull(`/proc/${pid}/stat`)?.split(') ').at(-1)?.split(' ');
  if (!fields) return null;
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

/** The CPU time of the threads that a process has now, which the scheduler counts in nanoseconds. */
export function cpuMillisecondsOf(pid: number | null): number | null {
  if (readOrNull(`/proc/${pid}/schedstat`) === null) return null;
  return readdirSync(`/proc/${pid}/task`).reduce((sum, task) => {
    const [nanoseconds = 0] = (readOrNull(`/proc/${pid}/task/${task}/schedstat`) ?? '0').split(' ');
    return sum + Number(nanoseconds) / 1_000_000;
  }, 0);
}

const IDLE_MS = 60;
const IDLE_TIMEOUT_MS = 20_000;

/** Waits until a process has nothing to do: for a moment it uses a tick of CPU time at most. */
export async function idle(pid: number | null): Promise<void> {
  const end = performance.now() + IDLE_TIMEOUT_MS;
  for (let before = cpuSecondsOf(pid); before !== null && performance.now() < end; ) {
    await wait(IDLE_MS);
    const after = cpuSecondsOf(pid);
    if (after === null || after - before < 1.5 / TICKS_PER_SECOND) return;
    before = after;
  }
}

/** The memory that a process holds. */
export function residentMegabytesOf(pid: number | null): number | null {
  const kibibytes = /^VmRSS:\s*(\d+) kB$/m.exec(readOrNull(`/proc/${pid}/status`) ?? '')?.[1];
  return kibibytes === undefined ? null : Number(kibibytes) / 1024;
}
