import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { takenByNpm } from './npm-options.ts';
import { SECRETS_FILE } from './root-token.ts';
import { Failure, fail, misuse } from './terminal.ts';
import { exportToFile, exportToOutput } from './transfer/export.ts';
import { KINDS } from './transfer/kinds.ts';
import { checkToken, ownToken, Service, serviceSource, serviceUrl } from './transfer/service.ts';

/** `npm run export`: writes all that a service has into a file, of which npm run import takes it. */

const HELP = `Writes all products, customers, licenses (DELETED ones too) and blacklist entries of a service into a
file, as they are. npm run import takes it.

  npm run export -- FILE [options]

  FILE           such as shop.jsonl; - is the standard output
  --from URL     the service (http://localhost:8787)
  --token TOKEN  its token, with ALL_READ; better given in LICET_TOKEN. For a service on this machine
                 else ROOT_TOKEN in ${SECRETS_FILE}
  --help         this text

Exit status: 0 all is well, 1 it failed, 2 the command is wrong.`;

const options = {
  from: { type: 'string', default: 'http://localhost:8787' },
  token: { type: 'string' },
  help: { type: 'boolean', short: 'h' },
} as const;

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

async function run(): Promise<void> {
  const { help, files, from, token } = readArguments();
  const [file] = files;
  if (help) {
    console.log(HELP);
    return;
  }
  if (file === undefined || files.length > 1) throw misuse(`Give one FILE.\n\n${HELP}`);
  const url = serviceUrl(from, 'from');
  const service = new Service(url, token ? checkToken(token, '--token') : ownToken(url));
  await service.check();
  const source = await serviceSource(service);
  const counts =
    file === '-'
      ? await exportToOutput(source)
      : await exportToFile(source, resolve(process.env.INIT_CWD ?? '.', file));
  const counted = KINDS.map((kind) => `${(counts[kind] ?? 0).toLocaleString('en')} ${kind}`);
  // The standard output may be the export.
  console.error(`✓ ${counted.join(', ')}`);
}

process.on('SIGINT', () => fail('Stopped: nothing was exported.', 130));
try {
  await run();
} catch (error) {
  if (error instanceof Failure) fail(error.message, error.status);
  // Of the file that cannot be written.
  if (error instanceof Error && 'code' in error) fail(error.message);
  throw error;
}
