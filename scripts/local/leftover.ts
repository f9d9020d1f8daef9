import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';

const STOP_TIMEOUT_MS = 5_000;
const POLL_MS = 20;

/** The file with the process id of the runtime. */
export const pidFile = (folder: string): string => join(folder, 'workerd.pid');
/** The file with the path of the runtime's socket, which is alone in its folder. */
const socketFile = (folder: string): string => join(folder, 'workerd.socket');

/**
 * Keeps what is left of a runtime when this process is killed.
 *
 * @throws if the files cannot be written
 */
export function rememberRuntime(folder: string, pid: number | undefined, socket: string): void {
  writeFileSync(socketFile(folder), socket);
  writeFileSync(pidFile(folder), String(pid));
}

export function forgetRuntime(folder: string): void {
  for (const file of [pidFile(folder), socketFile(folder)]) rmSync(file, { force: true });
}

/** The name of a process's program; empty for none. */
function programOf(pid: number): string {
  const file = `/proc/${pid}/comm`;
  if (existsSync('/proc/self/comm')) return existsSync(file) ? readFileSync(file, 'utf8') : '';
  return spawnSync('ps', ['-p', String(pid), '-o', 'comm='], { encoding: 'utf8' }).stdout ?? '';
}

/**
 * Ends the runtime of a service that was killed, because it still runs and holds the port. The caller must have
 * the lock of the folder.
 */
export async function endLeftover(folder: string): Promise<void> {
  const file = pidFile(folder);
  if (!existsSync(file)) return;
  const pid = Number(readFileSync(file, 'utf8'));
  const isRunning = (): boolean => pid > 0 && programOf(pid).includes('workerd');
  const deadline = Date.now() + STOP_TIMEOUT_MS;
  if (isRunning()) process.kill(pid, 'SIGTERM');
  while (isRunning()) {
    if (Date.now() > deadline) process.kill(pid, 'SIGKILL');
    await wait(POLL_MS);
  }
  removeSocket(folder);
  forgetRuntime(folder);
}

function removeSocket(folder: string): void {
  try {
    const socket = readFileSync(socketFile(folder), 'utf8');
    rmSync(socket, { force: true });
    rmdirSync(dirname(socket));
  } catch {
    // Removed with the other temporary files.
  }
}
