import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { takenByNpm } from './npm-options.ts';
import { SECRETS_FILE } from './root-token.ts';
import { done, Failure, fail, misuse } from './terminal.ts';
import { fileSource } from './transfer/files.ts';
import { Import } from './transfer/import.ts';
import { isKind, KINDS, type Source } from './transfer/kinds.ts';
import { Report } from './transfer/report.ts';
import { checkToken, ownToken, Service, serviceSource, serviceUrl } from './transfer/service.ts';

/** `npm run import`: brings what another service has into this one. */

const HELP = `Brings products, customers, licenses and blacklist entries into a service, as they are: with their ids,
keys, bindings, dates and states. What is there already stays as it is; so it can be run again.

  npm run import -- FILE [options]
  npm run import -- --from URL [options]

  FILE           .jsonl as npm run export writes it, .json or .csv; docs/import.md has their formats
  --from URL     another service of the same interface
  --token TOKEN  its token, with ALL_READ; better given in LICET_FROM_TOKEN
  --to URL       the service to import into (http://localhost:8787). Its token, with ALL_READ_WRITE, is
                 LICET_TOKEN; for a service on this machine else ROOT_TOKEN in ${SECRETS_FILE}
  --kind KIND    what a .csv file, or a list in a .json file, has: ${KINDS.join(', ')}
  --dry-run      checks everything and changes nothing
  --report FILE  writes all that was refused, kept or stored otherwise, and why
  --partial      takes what is there of a .jsonl or .json file that is cut off
  --help         this text

Exit status: 0 all is well, 1 something was refused or failed, 2 the command is wrong.`;

const options = {
  from: { type: 'string' },
  token: { type: 'string' },
  to: { type: 'string', default: 'http://localhost:8787' },
  kind: { type: 'string' },
  'dry-run': { type: 'boolean', default: false },
  report: { type: 'string' },
  partial: { type: 'boolean', default: false },
  help: { type: 'boolean', short: 'h' },
} as const;

const AGAIN = 'What was imported until now stays. Run the same command again: it does the rest.';

function readArguments() {
  const taken = takenByNpm(Object.keys(options));
  if (taken !== undefined) throw misuse(taken);
  try {
    const { values, positionals } = parseArgs({ options, allowPositionals: true });
    return { ...values, files: positionals };
  } catch (error) {
    throw misuse(`${error instanceof Error ? error.message : error}\n\n${HELP}`);
  }
}

type Arguments = ReturnType<typeof readArguments>;

/** Files are named from where npm was called. */
const fileAt = (name: string): string => resolve(process.env.INIT_CWD ?? '.', name);

async function openSource({ files, from, token, kind, partial }: Arguments): Promise<Source> {
  const [file] = files;
  if (files.length + (from === undefined ? 0 : 1) !== 1) {
    throw misuse(`Give one FILE, or --from URL.\n\n${HELP}`);
  }
  if (kind !== undefined && !isKind(kind)) throw misuse(`--kind must be ${KINDS.join(', ')}.`);
  if (file !== undefined) {
    if (token !== undefined) throw misuse('--token is for --from. The other one is LICET_TOKEN.');
    return fileSource({ file: fileAt(file), kind, isPartial: partial });
  }
  if (kind !== undefined || partial) throw misuse('--kind and --partial are for a FILE.');
  const given = checkToken(token || process.env.LICET_FROM_TOKEN, 'LICET_FROM_TOKEN or --token');
  const service = new Service(serviceUrl(from ?? '', 'from'), given);
  await service.check();
  return serviceSource(service);
}

let hasBegun = false;

async function run(): Promise<void> {
  const args = readArguments();
  if (args.help) {
    console.log(HELP);
    return;
  }
  const url = serviceUrl(args.to, 'to');
  const target = new Service(url, ownToken(url));
  const source = await openSource(args);
  await target.check();
  const reportFile = args.report === undefined ? undefined : fileAt(args.report);
  if (reportFile !== undefined && args.files.some((name) => fileAt(name) === reportFile)) {
    throw misuse('--report would write over the FILE.');
  }
  const report = new Report(reportFile);
  hasBegun = !args['dry-run'];
  await new Import(source, target, report, args['dry-run']).run();
  hasBegun = false;
  await report.end();
  const dry = args['dry-run'] ? ' Nothing was changed: it was a dry run.' : '';
  const refused = report.refused.toLocaleString('en');
  if (report.refused > 0) throw new Failure(`${refused} refused; the reasons are above.${dry}`);
  const kept =
    report.kept > 0 ? ` ${report.kept.toLocaleString('en')} with other values, which stay.` : '';
  done(args['dry-run'] ? `All of it can be imported.${dry}${kept}` : `All of it is there.${kept}`);
}

process.on('SIGINT', () => fail(`Stopped.${hasBegun ? ` ${AGAIN}` : ''}`, 130));
try {
  await run();
} catch (error) {
  if (!(error instanceof Failure)) throw error;
  fail(hasBegun ? `${error.message} ${AGAIN}` : error.message, error.status);
}
