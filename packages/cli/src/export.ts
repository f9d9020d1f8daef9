import { Command } from '@commander-js/extra-typings';
import {
  type CliCommand,
  INSECURE_OPTION,
  parseArguments,
  serviceOption,
  serviceUrl,
} from './command-line.ts';
import { exportToFile, exportToOutput } from './import/export-file.ts';
import { counted, KINDS } from './import/kinds.ts';
import { findNewFile } from './import/output-file.ts';
import { ownToken, Service, serviceSource } from './import/service.ts';
import { callOf, fileAt, nameOf } from './invocation.ts';
import { ROOT_TOKEN_HELP } from './root-token.ts';
import { usageError } from './terminal.ts';

/** `npm run export`: writes the data of a service into a file for `npm run import`. */

const newProgram = () =>
  new Command(callOf('export'))
    .usage('FILE [options]')
    .description(
      'Writes all products, customers, licenses (DELETED ones too) and blacklist entries of a service ' +
        `into a file for ${nameOf('import')}.`,
    )
    .argument('[file...]', 'a new file, such as shop.jsonl; - for the standard output')
    .addOption(
      serviceOption(`the service. Its token, with ALL_READ, is LICET_TOKEN.${ROOT_TOKEN_HELP}`),
    )
    .option(...INSECURE_OPTION)
    .addHelpText('after', '\nExit status: 0 success, 1 failed, 2 wrong arguments.');

async function run(args: readonly string[]): Promise<number> {
  const program = newProgram();
  await parseArguments(program, args);
  const [file, ...others] = program.args;
  const { url: text, insecure } = program.opts();
  if (file === undefined || others.length > 0)
    throw usageError('Give one FILE, such as shop.jsonl.');
  const url = serviceUrl(text, '--url, or LICET_URL,', insecure);
  const service = new Service(url, ownToken(url));
  const name = file === '-' ? undefined : fileAt(file);
  const output = name === undefined ? undefined : findNewFile(name);
  const fromTo = `from ${service.address} to ${name ?? 'the standard output'}`;
  // To stderr: stdout may be the export.
  console.error(`Exporting ${fromTo}`);
  await service.check();
  const source = await serviceSource(service);
  const counts =
    output === undefined ? await exportToOutput(source) : await exportToFile(source, output);
  const all = KINDS.map((kind) => counted(counts[kind] ?? 0, kind));
  console.error(`✓ ${all.join(', ')}, ${fromTo}`);
  return 0;
}

export const command: CliCommand = {
  onUnreadOutput: 'go on',
  stopMessage: () => 'Stopped: nothing was exported.',
  run,
};
