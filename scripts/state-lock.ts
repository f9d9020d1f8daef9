import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { CliError, systemReason } from '@licet/cli/terminal';
import { isBusy } from './local/copy.ts';
import { makeFolder } from './local/folder.ts';

/** The locks of this process. A lock of SQLite ends with its process, also if that is killed. */
const held: DatabaseSync[] = [];

/**
 * Locks a data folder, because two services on one database conflict.
 *
 * @returns false if another process has the lock
 * @throws CliError if the folder cannot be used
 */
export function lockState(folder: string): boolean {
  try {
    makeFolder(folder);
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
