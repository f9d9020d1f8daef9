import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/**
 * Keeps a second service from a folder of data: two on one SQLite file get in each other's way. A
 * lock that its process left behind is taken over.
 *
 * @returns the id of the process that has the folder; undefined where it is now ours
 */
export function lockState(folder: string): number | undefined {
  const file = join(folder, 'licet.pid');
  mkdirSync(folder, { recursive: true });
  try {
    const owner = Number(readFileSync(file, 'utf8'));
    if (owner > 0 && isRunning(owner)) return owner;
  } catch {
    // Nobody has locked it.
  }
  writeFileSync(file, `${process.pid}\n`);
  process.on('exit', () => rmSync(file, { force: true }));
  return undefined;
}
