import { Command, Option } from '@commander-js/extra-typings';
import {
  type CliCommand,
  INSECURE_OPTION,
  parseArguments,
  serviceOption,
  serviceUrl,
} from './command-line.ts';
import { fileSource } from './import/files.ts';
import { Import } from './import/importer.ts';
import { KINDS, type Source } from './import/kinds.ts';
import { collect, MAP_HELP, SET_HELP, wantedOf } from './import/options.ts';
import { isSameFile } from './import/output-file.ts';
import { Report } from './import/report.ts';
import { checkToken, Interruption, ownToken, Service, serviceSource } from './import/service.ts';
import { callOf, documentOf, fileAt, nameOf } from './invocation.ts';
import { ROOT_TOKEN_HELP } from './root-token.ts';
import { CliError, done, Progress, usageError } from './terminal.ts';

/** `npm run import`: imports the data of another service or of a file. */

const newProgram = () =>
  new Command(callOf('import'))
    .usage(`FILE [options]\n       ${callOf('import')} --from URL [options]`)
    .description(
      'Imports products, customers, licenses and blacklist entries into a service, with their ids, ' +
        'keys, bindings, dates and states. Existing items stay as they are, so the import can be repeated.',
    )
    .argument(
      '[file...]',
      `.jsonl from ${nameOf('export')}, .json or .csv; see ${documentOf('import')} for the formats`,
    )
    .option(
      '--from <url>',
      'another service of the same interface. Its token, with ALL_READ, is LICET_FROM_TOKEN',
    )
    .addOption(
      serviceOption(
        `the service to import into. Its token, with ALL_READ_WRITE, is LICET_TOKEN.${ROOT_TOKEN_HELP}`,
      ),
    )
    .option(...INSECURE_OPTION)
    .addOption(
      new Option(
        '--kind <kind>',
        'the kind of items in a .csv file, or in a .json file that is one list',
      ).choices(KINDS),
    )
    .option('--map <heading=field>', MAP_HELP, collect)
    .option('--set <field=value>', SET_HELP, collect)
    .option('--dry-run', 'check everything and change nothing')
    .option(
      '--report <file>',
      'append to FILE each item that was rejected, kept or stored with other values, and each ' +
        'ignored field, with the reason',
    )
    .option('--partial', 'import the complete items of a .jsonl or .json file that is cut off')
    .addHelpText(
      'after',
      '\nExit status: 0 success, 1 rejected items or failed, 2 wrong arguments.',
    );

const STAYS = 'The items imported before the failure stay.';
const AGAIN = `${STAYS} Run the same command again to import the rest.`;

/** The origin of an import. */
interface Origin {
  address: string;
  open: () => Promise<Source>;
}

function findOrigin(program: ReturnType<typeof newProgram>): Origin {
  const { from, insecure, kind, partial = false, map, set } = program.opts();
  const wanted = wantedOf(map, set);
  const [file] = program.args;
  if (program.args.length + (from === undefined ? 0 : 1) !== 1) {
    throw usageError('Give one FILE, or --from URL.');
  }
  if (file !== undefined) {
    const address = fileAt(file);
    return { address, open: () => fileSource({ file: address, kind, isPartial: partial, wanted }) };
  }
  if (kind !== undefined || partial || map || set) {
    throw usageError('--kind, --map, --set and --partial are for a FILE.');
  }
  const url = serviceUrl(from ?? '', '--from', insecure);
  const service = new Service(url, checkToken(process.env.LICET_FROM_TOKEN, 'LICET_FROM_TOKEN'));
  return {
    address: service.address,
    async open() {
      await service.check();
      return serviceSource(service);
    },
  };
}

let hasBegun = false;
let running: Import | undefined;

async function importAll(args: readonly string[]): Promise<void> {
  const program = newProgram();
  await parseArguments(program, args);
  const { url: text, insecure, report: reportName, dryRun = false, partial } = program.opts();
  const url = serviceUrl(text, '--url, or LICET_URL,', insecure);
  const target = new Service(url, ownToken(url));
  const origin = findOrigin(program);
  const reportFile = reportName === undefined ? undefined : fileAt(reportName);
  if (reportFile !== undefined && isSameFile(reportFile, origin.address)) {
    throw usageError('--report names the FILE that is imported. Choose another file.');
  }
  const dry = dryRun ? ' This was a dry run: nothing was changed.' : '';
  console.error(
    `${dryRun ? 'Checking an import' : 'Importing'} from ${origin.address} into ${target.address}`,
  );
  const source = await origin.open();
  await target.check();
  const report = new Report(reportFile, dryRun);
  hasBegun = !dryRun;
  const begin = (kind: string, total: number | undefined) => new Progress(kind, total);
  running = new Import(source, target, report, dryRun, begin);
  await running.run();
  hasBegun = false;
  report.end();
  if (report.refused > 0) {
    const items = `${report.refused.toLocaleString('en')} item${report.refused === 1 ? '' : 's'}`;
    throw new CliError(`${target.address} rejected ${items}; see the reasons above.${dry}`);
  }
  const kept =
    report.kept > 0 ? ` ${report.kept.toLocaleString('en')} keep their other values.` : '';
  const all = partial ? 'All complete items' : 'All items';
  const are = dryRun ? 'can be imported into' : 'are now in';
  done(`${all} ${are} ${target.address}.${dry}${kept}`);
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
  stopMessage() {
    running?.recordArrived();
    return `Stopped.${hasBegun ? ` ${AGAIN}` : ''}`;
  },
  run,
};
