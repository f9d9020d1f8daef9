import { type CommandUnknownOpts, Option } from '@commander-js/extra-typings';
import { takenByNpm } from './npm-options.ts';
import { fail, WRONG_USAGE } from './terminal.ts';

/** What commands have in common: how they are called. */

/** The option that says which service: without it that is LICET_URL, else the one on this machine. */
export const serviceOption = <Flags extends string>(flags: Flags, description: string) =>
  new Option(flags, description).env('LICET_URL').default('http://localhost:8787');

/** The names of the options of a command and of those below it, without the dashes. */
export const optionsOf = (command: CommandUnknownOpts): string[] => [
  ...command.options.flatMap(({ long }) => long?.slice(2) ?? []),
  ...command.commands.flatMap(optionsOf),
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
export function endMisused(message: string): never {
  return fail(`${message} ${ADVICE}`, WRONG_USAGE);
}

/** Reads the command line into a command; where that cannot be, or help is asked for, it is all that happens. */
export function readCommandLine(command: CommandUnknownOpts): void {
  const taken = takenByNpm(optionsOf(command));
  if (taken !== undefined) fail(taken, WRONG_USAGE);
  command
    .configureOutput({ outputError: () => undefined })
    .exitOverride(({ exitCode, message }) =>
      exitCode === 0 ? process.exit() : endMisused(sentenceOf(message)),
    )
    .parse();
}
