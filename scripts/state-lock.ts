import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { CliError, systemReason } from '../packages/cli/src/terminal.ts';
import { isBusy } from './local/copy.ts';

/** Kept for as long as the process runs: SQLite's lock is the one that ends with it, however it ends. */
const held: DatabaseSync[] = [];

/**
 * Keeps a second service from a folder of data: two on one database get in each other's way.
 *
 * @returns whether the folder is now ours; false where another process has it
 * @throws CliError where nobody could have it
 */
export function lockState(folder: string): boolean {
  try {
    mkdirSync(folder, { recursive: true });
    const lock = new DatabaseSync(join(folder, 'licet.lock'), { timeout: 0 });
    lock.exec('begin exclusive');
    held.push(lock);
    return true;
  } catch (error) {
    if (isBusy(error)) return false;
    throw new CliError(
      `The folder ${folder} cannot be used: ${systemReason(error)}. ` +
        'Choose another with --persist-to DIR.',
    );
  }
}
