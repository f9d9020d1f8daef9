import { type CommanderError, type CommandUnknownOpts, Option } from '@commander-js/extra-typings';
import { takenByNpm } from './npm-options.ts';
import { fail, USAGE_ERROR_STATUS } from './terminal.ts';

/** What commands have in common: how they are called. */

/** The option that says which service: without it that is LICET_URL, else the one on this machine. */
export const serviceOption = <Flags extends string>(flags: Flags, description: string) =>
  new Option(flags, description).env('LICET_URL').default('http://localhost:8787');

/** A command and all below it. */
const allOf = (command: CommandUnknownOpts): CommandUnknownOpts[] => [
  command,
  ...command.commands.flatMap(allOf),
];

/** What commander says, as a sentence: `error: unknown option '--al'\n(Did you mean --all?)` */
function sentenceOf(message: string): string {
  const text = message
    .replace(/^error: /, '')
    .replace(/\n\((.*)\)$/, '. $1')
    .replaceAll(/'(--?[^']+)'/g, '$1');
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.?]$/.test(text) ? '' : '.'}`;
}

const ADVICE = 'Add --help to see what it takes.';

/** Ends a command that was called wrongly, and says in a sentence why. */
export function exitWithUsageError(message: string): never {
  return fail(`${message} ${ADVICE}`, USAGE_ERROR_STATUS);
}

function end({ exitCode, code, message }: CommanderError): never {
  if (exitCode === 0) process.exit();
  // Where a command is missing, help is shown in the place of a message.
  if (code === 'commander.help') process.exit(USAGE_ERROR_STATUS);
  return exitWithUsageError(sentenceOf(message));
}

/**
 * Reads the command line into a command, and does what it asks for; where that cannot be, or help is
 * asked for, it is all that happens.
 */
export async function readCommandLine(command: CommandUnknownOpts): Promise<void> {
  const commands = allOf(command);
  const options = commands.flatMap(({ options }) => options);
  const taken = takenByNpm(options.flatMap(({ long }) => long?.slice(2) ?? []));
  if (taken !== undefined) fail(taken, USAGE_ERROR_STATUS);
  for (const each of commands) {
    each.configureOutput({ outputError: () => undefined }).exitOverride(end);
  }
  await command.parseAsync();
}
