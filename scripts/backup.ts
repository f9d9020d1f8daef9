import { existsSync, renameSync } from 'node:fs';
import { resolve } from 'node:path';
import { Command } from '@commander-js/extra-typings';
import { readCommandLine } from '@licet/cli/command-line';
import { findOutputFile } from '@licet/cli/import/output-file';
import { SECRETS_FILE } from '@licet/cli/root-token';
import { CliError, done, fail, guardOutput, onStopSignal, usageError } from '@licet/cli/terminal';
import { copyDatabase } from './local/copy.ts';
import { findDatabase } from './local/database.ts';
import { DEFAULT_FOLDER, dataFolder } from './local/options.ts';

/** `npm run backup`: copies the database of a service on this machine into a file. */

const program = new Command('npm run backup --')
  .usage('FILE [options]')
  .description(
    'Copies all data of a service on this machine into one file, also while it runs. The copy is as of one ' +
      'moment, is checked, and is readable by its owner alone: it holds license keys, addresses, and the secrets of markets, webhooks and Discord. ' +
      'npm run restore puts it back.',
  )
  .argument('[file...]', 'a new file, such as licet-2026-11-20.sqlite')
  .option('--persist-to <dir>', `the data folder of the service (${DEFAULT_FOLDER})`)
  .addHelpText(
    'after',
    `
Not in the file: the root token (in ${SECRETS_FILE}, or in the variable ROOT_TOKEN), the signing keys
(signing-keys.env in the data folder), the settings in wrangler.toml, and requests of the last two seconds,
which the history does not have yet.

Exit status: 0 all is well, 1 it failed, 2 the command is wrong.`,
  );

async function run(): Promise<void> {
  await readCommandLine(program);
  const [name, ...others] = program.args;
  if (name === undefined || others.length > 0) {
    throw usageError('Give one FILE, such as licet-2026-11-20.sqlite.');
  }
  const { persistTo } = program.opts();
  const folder = dataFolder(persistTo);
  const { path } = findOutputFile(resolve(process.env.INIT_CWD ?? '.', name));
  if (existsSync(path)) {
    throw new CliError(
      `${path} exists, and no backup is overwritten. Give the name of a new file.`,
    );
  }
  const source = findDatabase(folder);
  if (source === undefined) {
    throw new CliError(
      `There is no database in ${folder}. Name the data folder of the service: --persist-to DIR`,
    );
  }
  const data = persistTo === undefined ? '' : ` --persist-to ${folder}`;
  await copyDatabase(source, path, (copy) => renameSync(copy, path));
  done(`The data of ${folder} is in ${path}, and was checked.`);
  console.log(
    `  The root token is not in it: keep ${SECRETS_FILE} as well, and the signing keys (signing-keys.env).\n` +
      `  To restore it: npm run restore -- ${path}${data}`,
  );
}

// Only their owner may read the backup and SQLite's temporary files beside it.
process.umask(0o077);
guardOutput('go on');
onStopSignal(() => 'Stopped: no backup was written.');
try {
  await run();
} catch (error) {
  if (!(error instanceof CliError)) throw error;
  fail(error.message, error.status);
}
