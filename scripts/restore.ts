import { existsSync, linkSync, renameSync, rmSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Command } from '@commander-js/extra-typings';
import { readCommandLine } from '@licet/cli/command-line';
import { SECRETS_FILE } from '@licet/cli/root-token';
import { CliError, done, fail, guardOutput, onStopSignal, usageError } from '@licet/cli/terminal';
import { copyDatabase, findMisfit, isBusy } from './local/copy.ts';
import { databaseFile } from './local/database.ts';
import { endLeftover } from './local/leftover.ts';
import { DEFAULT_FOLDER, dataFolder } from './local/options.ts';
import { reportMissingKeys } from './local/signing-keys.ts';
import { lockState } from './state-lock.ts';

/** `npm run restore`: replaces the database of a service on this machine by a backup. */

const program = new Command('npm run restore --')
  .usage('FILE [options]')
  .description(
    'Replaces the data of a service on this machine by a file of npm run backup. The service must be ' +
      'stopped. Everything is then as it was at the backup: licenses, bindings, history. Tokens that were ' +
      'revoked since then are valid again. The previous database is kept.',
  )
  .argument('[file...]', 'a file that npm run backup has written; it stays as it is')
  .option('--persist-to <dir>', `the data folder, which may be new (${DEFAULT_FOLDER})`)
  .addHelpText(
    'after',
    `
A restore does not change the root token (in ${SECRETS_FILE}, or in the variable ROOT_TOKEN), the signing keys
(signing-keys.env in the data folder) and the settings in wrangler.toml.

Exit status: 0 all is well, 1 it failed, 2 the command is wrong.`,
  );

/** Moves the changes in the write-ahead log of a database into its file, unless it is damaged. */
function checkpoint(file: string): void {
  try {
    const database = new DatabaseSync(file);
    try {
      database.exec('pragma journal_mode = delete');
    } finally {
      database.close();
    }
  } catch (error) {
    if (!isBusy(error)) return;
    throw new CliError(
      `${file} is in use by another program, such as npm run backup. Wait until it ends, and try again.`,
    );
  }
}

/** Replaces a database with a copy, and renames the previous one. One of the two is at the path at any time. */
function replace(copy: string, database: string, kept: string): void {
  if (existsSync(database)) {
    checkpoint(database);
    linkSync(database, kept);
    // A database that is damaged keeps its log.
    if (existsSync(`${database}-wal`)) renameSync(`${database}-wal`, `${kept}-wal`);
  }
  // SQLite would apply the log of the previous database to the restored one.
  for (const suffix of ['-wal', '-shm']) rmSync(database + suffix, { force: true });
  renameSync(copy, database);
}

let unchanged = '';

async function run(): Promise<void> {
  await readCommandLine(program);
  const [name, ...others] = program.args;
  if (name === undefined || others.length > 0) {
    throw usageError('Give one FILE, which npm run backup has written.');
  }
  const { persistTo } = program.opts();
  const folder = dataFolder(persistTo);
  const file = resolve(process.env.INIT_CWD ?? '.', name);
  if (!statSync(file, { throwIfNoEntry: false })?.isFile()) {
    throw usageError(`There is no file ${file}.`);
  }
  unchanged = ` The data in ${folder} is unchanged.`;
  const misfit = findMisfit(file);
  if (misfit !== undefined) {
    throw new CliError(
      `${file} cannot be restored: ${misfit}. Give a file that npm run backup of this version, or of an ` +
        'earlier one, has written.',
    );
  }
  if (!lockState(folder)) {
    throw new CliError(`A service runs on ${folder}. Stop it, and try again.`);
  }
  await endLeftover(folder);
  const database = databaseFile(folder);
  const kept = join(
    folder,
    `before-restore-${new Date().toISOString().replaceAll(':', '-')}.sqlite`,
  );
  await copyDatabase(file, database, (copy) => {
    // KV has snapshots of the previous data.
    rmSync(join(folder, 'v3/kv'), { recursive: true, force: true });
    replace(copy, database, kept);
  });
  done(`The data of ${file} is in ${folder}.`);
  if (existsSync(kept)) {
    console.log(`  The previous database is ${kept}. Delete it when you do not need it.`);
  }
  reportMissingKeys(folder);
  console.log(
    `  Start the service: npm start${persistTo === undefined ? '' : ` -- --persist-to ${folder}`}`,
  );
}

// Only its owner may read the database.
process.umask(0o077);
guardOutput('go on');
onStopSignal(() => `Stopped.${unchanged}`);
try {
  await run();
} catch (error) {
  if (!(error instanceof CliError)) throw error;
  fail(error.message + unchanged, error.status);
}
