import { Command } from '@commander-js/extra-typings';
import { LicetError } from '../../client/src/index.ts';
import { type CliCommand, parseArguments, serviceOption } from './command-line.ts';
import { addBlacklist } from './licet/blacklist.ts';
import { addHistory } from './licet/history.ts';
import { addLicenses } from './licet/licenses.ts';
import { addProducts } from './licet/products.ts';
import { explain, openSession, type Session } from './licet/session.ts';
import { addTokens } from './licet/tokens.ts';
import { CliError } from './terminal.ts';

/** `npm run licet`: what administrators do every day, without curl. */

const HELP = `
The token comes from LICET_TOKEN or --token-file, and for a service on this machine else from .dev.vars.
It is no argument: those are in the history of your shell, and for others to see.

Where a number may be an id or a key, id:50 is the id.

Results go to stdout, all else to stderr: KEY=$(npm run -s licet -- licenses create --product 1)
holds the key alone. The -s keeps npm's own lines away. A narrow terminal shows fewer columns.

Exit status: 0 done, 1 refused or failed, 2 called wrongly.

Examples:
  npm run licet -- licenses find ada@shop.example
  npm run licet -- licenses free 7K2M-9QX4-B3TD-WJ8R-5HVN --ips
  npm run licet -- history --refused --follow
  npm run -s licet -- --url https://licet.example --json tokens list`;

const newProgram = () =>
  new Command('npm run licet --')
    .description(
      'Manages a Licet service: products, licenses, tokens, the blacklist and the history.',
    )
    .addOption(serviceOption('--url <url>', 'where the service runs'))
    .option('--token-file <file>', 'a file with an API token and nothing else')
    .option('--json', 'for programs: each object is a line of JSON')
    .addHelpText('after', HELP)
    .configureHelp({ showGlobalOptions: true });

async function run(args: readonly string[]): Promise<number> {
  const program = newProgram();
  let session: Session | undefined;
  const open = (): Session => {
    session ??= openSession(program.opts());
    return session;
  };
  for (const add of [addProducts, addLicenses, addTokens, addBlacklist, addHistory]) {
    add(program, open);
  }
  try {
    await parseArguments(program, args);
    return 0;
  } catch (error) {
    if (error instanceof LicetError && session) throw new CliError(explain(error, session));
    throw error;
  }
}

export const command: CliCommand = { onUnreadOutput: 'end', run };
