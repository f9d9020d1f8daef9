import { readFileSync } from 'node:fs';
import { Command, type CommandUnknownOpts, Help } from '@commander-js/extra-typings';
import { LicetError } from '@licet/client';
import { type CliCommand, INSECURE_OPTION, parseArguments, serviceOption } from './command-line.ts';
import { callOf, isInstalled, QUIET_CALL } from './invocation.ts';
import { addBlacklist } from './licet/blacklist.ts';
import { addCompletion } from './licet/completion.ts';
import { addConsole } from './licet/console.ts';
import { addCustomers } from './licet/customers.ts';
import { addDiscord } from './licet/discord.ts';
import { addEvents } from './licet/events.ts';
import { addHistory } from './licet/history.ts';
import { addKeys } from './licet/keys.ts';
import { addLicenses } from './licet/licenses.ts';
import { addMails } from './licet/mails.ts';
import { addMarkets } from './licet/markets.ts';
import { addMcp } from './licet/mcp.ts';
import { examples } from './licet/output.ts';
import { addProducts } from './licet/products.ts';
import { addPurchases } from './licet/purchases.ts';
import { explain, type GlobalOptions, openSession, type Session } from './licet/session.ts';
import { addStats } from './licet/stats.ts';
import { addTokens } from './licet/tokens.ts';
import { addWebhooks } from './licet/webhooks.ts';
import { CliError, usageError } from './terminal.ts';

/** `npm run licet`: the daily tasks of administrators. */

const TOKEN_HELP = isInstalled
  ? 'The token comes from --token-file, else LICET_TOKEN.'
  : 'The token comes from --token-file, else LICET_TOKEN, else .dev.vars for a service on this machine.';

const QUIET_HELP = isInstalled ? '' : " -s suppresses npm's own lines.";

const HELP = `
${TOKEN_HELP}
There is no option for the token itself: arguments are visible to others and stay in the shell's history.

A number may be an id or a key. id:50 is always the id. A product is given by its id or its name.

Results go to stdout, everything else to stderr: KEY=$(${QUIET_CALL} licenses create --product 1)
is the key only.${QUIET_HELP} A narrow terminal shows fewer columns.

Exit status: 0 success, 1 rejected or failed, 2 wrong arguments.

Examples:
  ${callOf('licet')} licenses find ada@shop.example
  ${callOf('licet')} licenses free 7K2M-9QX4-B3TD-WJ8R-5HVN --ips
  ${callOf('licet')} history --refused --follow
  ${callOf('licet')} console
  ${QUIET_CALL} --url https://licet.example --json tokens list`;

/** All packages have the version of the service. */
const versionOfLicet = (): string =>
  JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')).version;

/** The other commands of the installed program, for its help: each is loaded alone. */
const OTHERS = {
  import: 'import the data of another service or of a file',
  export: 'write the data of a service into a file',
  doctor: 'send the requests of shipped programs to a service, and report those that fail',
};

/** Lists the other commands. `main.ts` runs them, unless options come before their names. */
function addOthers(program: CommandUnknownOpts): void {
  for (const [name, description] of Object.entries(OTHERS)) {
    program
      .command(name)
      .description(description)
      .argument('[arguments...]')
      .allowUnknownOption()
      .helpOption(false)
      .action(() => {
        throw usageError(`Give options after the name of the command: ${callOf(name)} …`);
      });
  }
}

/** Finds a command by its names. @throws CliError for unknown ones */
function findCommand(program: CommandUnknownOpts, names: readonly string[]): CommandUnknownOpts {
  let command = program;
  for (const name of names) {
    const next = command.commands.find((each) => each.name() === name);
    if (!next) {
      throw usageError(
        `Unknown command "${names.join(' ')}". Run ${callOf('licet')} help to see all commands.`,
      );
    }
    command = next;
  }
  return command;
}

/**
 * Declares all commands.
 *
 * @param open opens the session of a command that needs the service
 */
export function newProgram(open: (options: GlobalOptions) => Session) {
  const program = new Command(callOf('licet'))
    .description(
      'Manages a Licet service: products, licenses, customers, tokens, webhooks, markets, mails, the blacklist, the history and the events.',
    )
    .version(versionOfLicet(), '--version', 'print the version')
    .addOption(serviceOption('the address of the service'))
    .option(...INSECURE_OPTION)
    .option('--token-file <file>', 'a file that contains an API token and nothing else')
    .option('--json', 'print each object as a line of JSON, for programs')
    .addHelpText('after', HELP)
    .configureHelp({
      showGlobalOptions: true,
      optionDescription: (option) =>
        `${new Help().optionDescription(option)}${option.mandatory ? ' (required)' : ''}`,
    })
    // Commander's own takes one name only.
    .helpCommand(false);
  for (const add of [
    addProducts,
    addLicenses,
    addCustomers,
    addTokens,
    addWebhooks,
    addMarkets,
    addDiscord,
    addPurchases,
    addMails,
    addBlacklist,
    addHistory,
    addEvents,
    addConsole,
    addMcp,
    addStats,
    addKeys,
  ]) {
    add(program, () => open(program.opts()));
  }
  if (isInstalled) addOthers(program);
  addCompletion(program, Object.keys(OTHERS));
  program
    .command('help')
    .description('show the help of a command')
    .argument('[command...]', 'such as licenses create')
    .addHelpText('after', examples('help licenses create'))
    .action((names) => findCommand(program, names).help());
  return program;
}

async function run(args: readonly string[]): Promise<number> {
  let session: Session | undefined;
  const program = newProgram((options) => {
    session ??= openSession(options);
    return session;
  });
  try {
    await parseArguments(program, args);
    return 0;
  } catch (error) {
    if (error instanceof LicetError && session) throw new CliError(explain(error, session));
    throw error;
  }
}

export const command: CliCommand = { onUnreadOutput: 'end', run };
