import { type CommanderError, type CommandUnknownOpts, Option } from '@commander-js/extra-typings';
import { takenByNpm } from './npm-options.ts';
import { isLocal } from './root-token.ts';
import { CliError, report, usageError } from './terminal.ts';

/** The arguments of all commands: options in common, parsing, errors. */

/** The option for the service's address. Defaults to LICET_URL, then to the service on this machine. */
export const serviceOption = (description: string) =>
  new Option('--url <url>', description).env('LICET_URL').default('http://localhost:8787');

/** The arguments of `option()` for an address of another machine without TLS. */
export const INSECURE_OPTION = [
  '--insecure',
  'send the token over http to another machine, where everybody on the way can read it',
] as const;

/** `URL.parse()`, which Node 20 lacks. */
const parseUrl = (text: string): URL | null => (URL.canParse(text) ? new URL(text) : null);

/**
 * Parses the address of a service that gets a token. The scheme can be left out for this machine.
 *
 * @param option its name, for messages
 * @throws CliError if it is no address, or would show the token on the way
 */
export function serviceUrl(text: string, option: string, isInsecure = false): URL {
  const asLocal = text.includes('://') ? null : parseUrl(`http://${text}`);
  const url = asLocal && isLocal(asLocal) ? asLocal : parseUrl(text);
  const isPlain = url && !(url.username || url.password || url.search || url.hash);
  if (!isPlain || !/^https?:$/.test(url.protocol)) {
    throw usageError(
      `${option} is "${text}". Give an address such as https://license.example.com.`,
    );
  }
  if (url.protocol === 'http:' && !isLocal(url) && !isInsecure) {
    throw usageError(
      `${option} is "${text}". Over http everybody on the way can read the token. Use https, or add --insecure.`,
    );
  }
  cutPage(url);
  return url;
}

/** Cuts the path of a page of the service off its address: a person copies the address of a page. */
export function cutPage(url: URL): void {
  url.pathname = url.pathname.replace(/\/(docs|console|api\/v[12])(\/.*)?$/, '');
}

/** A command and all its subcommands. */
const allOf = (command: CommandUnknownOpts): CommandUnknownOpts[] => [
  command,
  ...command.commands.flatMap(allOf),
];

/** Turns commander's message into a sentence: `error: unknown option '--al'\n(Did you mean --all?)` */
function sentenceOf(message: string): string {
  const text = message
    .replace(/^error: /, '')
    .replace(/\n\((.*)\)$/, '. $1')
    // A command says what it takes for a value that is empty.
    .replace(/^command-argument value '' is invalid for argument '[^']*'\. /, '')
    .replace(/^command-argument value ('.*') is invalid for argument '([^']*)'/s, '$2 is $1')
    .replaceAll(/'(--?[^']+)'/g, '$1');
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.?]$/.test(text) ? '' : '.'}`;
}

/** An error for arguments that commander accepts and the command does not. */
export const argumentError = (message: string): CliError =>
  usageError(`${message} Add --help to see what it takes.`);

function toCliError({ exitCode, code, message }: CommanderError): CliError {
  if (exitCode === 0) return new CliError('', 0);
  // Without a subcommand, commander shows the help.
  if (code === 'commander.help') return usageError('');
  return argumentError(sentenceOf(message));
}

/**
 * Parses arguments and runs the action of the command that they name, if it has one.
 *
 * @throws CliError for wrong arguments; after `--help` one with status 0 and no message
 */
export async function parseArguments(
  command: CommandUnknownOpts,
  args: readonly string[],
): Promise<void> {
  const commands = allOf(command);
  const options = commands.flatMap(({ options }) => options);
  const taken = takenByNpm(options.flatMap(({ long }) => long?.slice(2) ?? []));
  if (taken !== undefined) throw usageError(taken);
  for (const each of commands) {
    each.configureOutput({ outputError: () => undefined }).exitOverride((error) => {
      throw toCliError(error);
    });
  }
  await command.parseAsync(args, { from: 'user' });
}

/** Parses the arguments of this process. Exits after wrong arguments and after `--help`. */
export async function readCommandLine(command: CommandUnknownOpts): Promise<void> {
  try {
    await parseArguments(command, process.argv.slice(2));
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    report(error);
    process.exit(error.status);
  }
}

/** A command of `main.ts`. */
export interface CliCommand {
  /** Whether the command goes on after its output was closed. */
  onUnreadOutput: 'end' | 'go on';
  /** The message when a signal stops the command. */
  stopMessage?: () => string;
  /**
   * @returns the exit status
   * @throws CliError
   */
  run: (args: readonly string[]) => Promise<number>;
}

/** Runs a command and prints its error. @returns the exit status */
export async function runCommand(command: CliCommand, args: readonly string[]): Promise<number> {
  try {
    return await command.run(args);
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    report(error);
    return error.status;
  }
}
