import { type CommandUnknownOpts, Option } from '@commander-js/extra-typings';
import { takenByNpm } from './npm-options.ts';
import { misuse } from './terminal.ts';

/** What the commands that work with a service have in common. */

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

/**
 * Reads the command line into a command; where help is asked for, it is all that happens.
 *
 * @throws Failure that says in a sentence what is wrong
 */
export function readCommandLine(command: CommandUnknownOpts): void {
  const taken = takenByNpm(optionsOf(command));
  if (taken !== undefined) throw misuse(taken);
  command
    .configureOutput({ outputError: () => undefined })
    .exitOverride(({ exitCode, message }) => {
      if (exitCode === 0) process.exit();
      throw misuse(`${sentenceOf(message)} Add --help to see what it takes.`);
    })
    .parse();
}
