import { resolve } from 'node:path';
import { Command, Option } from '@commander-js/extra-typings';
import { type CliCommand, parseArguments, serviceOption } from './command-line.ts';
import { fileSource } from './import/files.ts';
import { Import } from './import/importer.ts';
import { KINDS, type Source } from './import/kinds.ts';
import { isSameFile } from './import/output-file.ts';
import { Report } from './import/report.ts';
import {
  checkToken,
  Interruption,
  ownToken,
  Service,
  serviceSource,
  serviceUrl,
} from './import/service.ts';
import { SECRETS_FILE } from './root-token.ts';
import { CliError, done, usageError } from './terminal.ts';

/** `npm run import`: brings what another service has into this one. */

const newProgram = () =>
  new Command('npm run import --')
    .usage('FILE [options]\n       npm run import -- --from URL [options]')
    .description(
      'Brings products, customers, licenses and blacklist entries into a service, as they are: with their ' +
        'ids, keys, bindings, dates and states. What is there already stays as it is; so it can be run again.',
    )
    .argument(
      '[file...]',
      '.jsonl as npm run export writes it, .json or .csv; docs/import.md has their formats',
    )
    .option('--from <url>', 'another service of the same interface')
    .option('--token <token>', 'its token, with ALL_READ; better given in LICET_FROM_TOKEN')
    .addOption(
      serviceOption(
        '--to <url>',
        'the service to import into. Its token, with ALL_READ_WRITE, is LICET_TOKEN; for a service on this ' +
          `machine else ROOT_TOKEN in ${SECRETS_FILE}`,
      ),
    )
    .addOption(
      new Option('--kind <kind>', 'what a .csv file, or a list in a .json file, has').choices(
        KINDS,
      ),
    )
    .option('--dry-run', 'checks everything and changes nothing')
    .option(
      '--report <file>',
      'writes all that was refused, kept, stored otherwise or not taken, and why; behind what FILE has, where ' +
        'it is there',
    )
    .option('--partial', 'takes what is there of a .jsonl or .json file that is cut off')
    .addHelpText(
      'after',
      '\nExit status: 0 all is well, 1 something was refused or failed, 2 the command is wrong.',
    );

const STAYS = 'What was imported until now stays.';
const AGAIN = `${STAYS} Run the same command again: it does the rest.`;

/** Files are named from where npm was called. */
const fileAt = (name: string): string => resolve(process.env.INIT_CWD ?? '.', name);

/** What is imported: where it is, and how it is read. */
interface Origin {
  address: string;
  open: () => Promise<Source>;
}

function findOrigin(program: ReturnType<typeof newProgram>): Origin {
  const { from, token, kind, partial = false } = program.opts();
  const [file] = program.args;
  if (program.args.length + (from === undefined ? 0 : 1) !== 1) {
    throw usageError('Give one FILE, or --from URL.');
  }
  if (file !== undefined) {
    if (token !== undefined)
      throw usageError('--token is for --from. The other one is LICET_TOKEN.');
    const address = fileAt(file);
    return { address, open: () => fileSource({ file: address, kind, isPartial: partial }) };
  }
  if (kind !== undefined || partial) throw usageError('--kind and --partial are for a FILE.');
  const given = checkToken(token || process.env.LICET_FROM_TOKEN, 'LICET_FROM_TOKEN or --token');
  const service = new Service(serviceUrl(from ?? '', '--from'), given);
  return {
    address: service.address,
    async open() {
      await service.check();
      return serviceSource(service);
    },
  };
}

let hasBegun = false;

async function importAll(args: readonly string[]): Promise<void> {
  const program = newProgram();
  await parseArguments(program, args);
  const { to, report: reportName, dryRun = false, partial } = program.opts();
  const url = serviceUrl(to, '--to, or LICET_URL,');
  const target = new Service(url, ownToken(url));
  const origin = findOrigin(program);
  const reportFile = reportName === undefined ? undefined : fileAt(reportName);
  if (reportFile !== undefined && isSameFile(reportFile, origin.address)) {
    throw usageError('--report would write over the FILE.');
  }
  const dry = dryRun ? ' Nothing was changed: it was a dry run.' : '';
  console.error(
    `${dryRun ? 'Trying an import' : 'Importing'} from ${origin.address} into ${target.address}`,
  );
  const source = await origin.open();
  await target.check();
  const report = new Report(reportFile, dryRun);
  hasBegun = !dryRun;
  await new Import(source, target, report, dryRun).run();
  hasBegun = false;
  report.end();
  const refused = report.refused.toLocaleString('en');
  if (report.refused > 0) {
    throw new CliError(`${refused} refused for ${target.address}; the reasons are above.${dry}`);
  }
  const kept =
    report.kept > 0 ? ` ${report.kept.toLocaleString('en')} with other values, which stay.` : '';
  const all = partial ? 'What FILE has of it' : 'All of it';
  const is = dryRun ? 'can be imported into' : 'is there, in';
  done(`${all} ${is} ${target.address}.${dry}${kept}`);
}

async function run(args: readonly string[]): Promise<number> {
  try {
    await importAll(args);
    return 0;
  } catch (error) {
    if (!hasBegun || !(error instanceof CliError)) throw error;
    const advice = error instanceof Interruption ? AGAIN : STAYS;
    throw new CliError(`${error.message} ${advice}`, error.status);
  } finally {
    hasBegun = false;
  }
}

export const command: CliCommand = {
  onUnreadOutput: 'go on',
  stopMessage: () => `Stopped.${hasBegun ? ` ${AGAIN}` : ''}`,
  run,
};
