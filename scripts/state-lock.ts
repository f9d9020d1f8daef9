import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

/** Kept for as long as the process runs: SQLite's lock is the one that ends with it, however it ends. */
const held: DatabaseSync[] = [];

/**
 * Keeps a second service from a folder of data: two on one database get in each other's way.
 *
 * @returns whether the folder is now ours; false where another process has it
 */
export function lockState(folder: string): boolean {
  mkdirSync(folder, { recursive: true });
  const lock = new DatabaseSync(join(folder, 'licet.lock'), { timeout: 0 });
  try {
    lock.exec('begin exclusive');
    held.push(lock);
    return true;
  } catch {
    lock.close();
    return false;
  }
}
