import { createServer } from 'node:net';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { takenByNpm } from '@licet/cli/npm-options';
import { CliError, usageError } from '@licet/cli/terminal';
import { nearestName } from '../../src/lib/nearest-name.ts';
import { checkVariables } from '../variables.ts';

/** The options of `npm start` and `npm run dev`. Another program would reject an unknown one with its whole help. */

export const DEFAULT_PORT = '8787';
export const DEFAULT_FOLDER = '.wrangler/state';

export const OPTIONS_HELP = `\
  --port PORT        where to listen (${DEFAULT_PORT})
  --ip ADDRESS       on which address (localhost; 0.0.0.0 lets other machines in)
  --persist-to DIR   where the database is kept (${DEFAULT_FOLDER})
  --var NAME:VALUE   sets a variable of wrangler.toml
  --help             this text`;

const OPTIONS = {
  port: { type: 'string' },
  ip: { type: 'string' },
  'persist-to': { type: 'string' },
  var: { type: 'string', multiple: true },
  help: { type: 'boolean', short: 'h' },
} as const;

const START_OPTIONS = { ...OPTIONS, 'new-signing-keys': { type: 'boolean' } } as const;
const DEV_OPTIONS = { ...OPTIONS, 'inspector-port': { type: 'string' } } as const;

const MAX_PORT = 65_535;
/** Where wrangler's inspector listens. */
const INSPECTOR_HOST = '127.0.0.1';

export type LocalCommand = 'npm start' | 'npm run dev';

export interface LocalOptions {
  /** The command, for messages. */
  command: LocalCommand;
  port: number;
  host: string;
  /** The URL to show. */
  address: string;
  /** The data folder, as an absolute path. */
  folder: string;
  variables: Record<string, string>;
  /** The port of the inspector; undefined unless asked for. */
  inspectorPort: number | undefined;
  /** Whether signing keys are made although programs ask for others. */
  isNewKeys: boolean;
}

/** A folder relative to the directory in which npm was called, as an absolute path. */
export const absoluteFolder = (folder: string): string =>
  resolve(process.env.INIT_CWD ?? '.', folder);

/** The data folder: that of `--persist-to`, else that of the project. */
export const dataFolder = (given: string | undefined): string =>
  given === undefined ? resolve(DEFAULT_FOLDER) : absoluteFolder(given);

/**
 * The options of the command. For `--help`, prints the help and exits.
 *
 * @throws CliError for an unknown or invalid option
 */
export function readOptions(command: LocalCommand, help: string): LocalOptions {
  const options = command === 'npm run dev' ? DEV_OPTIONS : START_OPTIONS;
  const { values, positionals, tokens } = parseArgs({
    options: { ...START_OPTIONS, ...DEV_OPTIONS },
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  if (values.help !== undefined) {
    console.log(help);
    process.exit(0);
  }
  const taken = takenByNpm(Object.keys(options));
  if (taken !== undefined) throw usageError(taken);
  const unknown = tokens.find((token) => token.kind === 'option' && !(token.name in options));
  if (unknown?.kind === 'option') {
    const meant = nearestName(unknown.name, Object.keys(options));
    throw usageError(
      `${unknown.rawName} is no option of ${command}. ` +
        (meant ? `Did you mean --${meant}?` : 'Add --help to see what it takes.'),
    );
  }
  // The next option was taken as the value.
  const empty = tokens.find(
    (token) => token.kind === 'option' && !token.inlineValue && token.value?.startsWith('--'),
  );
  if (empty?.kind === 'option') throw usageError(`${empty.rawName} needs a value.`);
  const [stray] = positionals;
  if (stray !== undefined) {
    throw usageError(
      `"${stray}" is no option. Put options after two dashes: ${command} -- --port 9000`,
    );
  }
  const textOf = (name: 'port' | 'ip' | 'persist-to' | 'inspector-port'): string | undefined => {
    const value = values[name];
    if (value === true || value === '') throw usageError(`--${name} needs a value.`);
    return typeof value === 'string' ? value : undefined;
  };
  const portOf = (name: 'port' | 'inspector-port'): number | undefined => {
    const text = textOf(name);
    return text === undefined ? undefined : readPort(name, text);
  };
  const ip = textOf('ip');
  const port = portOf('port') ?? Number(DEFAULT_PORT);
  const folder = textOf('persist-to');
  const variables = Object.fromEntries((values.var ?? []).map(readVariable));
  checkVariables(variables);
  const isEverywhere = ip === undefined || ['0.0.0.0', '::', '*', 'localhost'].includes(ip);
  const shown = isEverywhere ? 'localhost' : ip.includes(':') ? `[${ip}]` : ip;
  return {
    command,
    port,
    inspectorPort: portOf('inspector-port'),
    // The runtime takes the first address of a name.
    host: ip === undefined || ip === 'localhost' ? '127.0.0.1' : ip,
    address: `http://${shown}:${port}`,
    folder: dataFolder(folder),
    variables,
    isNewKeys: values['new-signing-keys'] === true,
  };
}

function readPort(name: string, text: string): number {
  const port = Number(text);
  if (/^\d+$/.test(text) && port >= 1 && port <= MAX_PORT) return port;
  throw usageError(`--${name} must be a number from 1 to ${MAX_PORT}, not "${text}".`);
}

function readVariable(text: string | boolean): [string, string] {
  const [, name, value] = /^([A-Za-z_]\w*):(.*)$/s.exec(String(text)) ?? [];
  if (name !== undefined && value !== undefined) return [name, value];
  throw usageError(`--var takes NAME:VALUE, not "${text}".`);
}

/** @throws CliError if a port is taken, or the address is not of this machine */
export async function checkPorts(options: LocalOptions): Promise<void> {
  const { command, port, host, folder, inspectorPort } = options;
  const data = folder === dataFolder(undefined) ? '' : ` --persist-to ${folder}`;
  const code = await tryToListen(port, host);
  if (code === 'EADDRINUSE') {
    throw new CliError(
      `Port ${port} is taken: is Licet running already? ` +
        `Stop what listens there, or choose another: ${command} -- --port ${port + 1}${data}`,
    );
  }
  if (code === 'EACCES') throw new CliError(`You may not listen on port ${port}. Choose another.`);
  if (code !== undefined) throw usageError(`--ip ${host} is no address of this machine (${code}).`);
  if (inspectorPort === undefined) return;
  const inspectorCode = await tryToListen(inspectorPort, INSPECTOR_HOST);
  if (inspectorPort === port || inspectorCode === 'EADDRINUSE') {
    throw new CliError(
      `Port ${inspectorPort} is taken, so the inspector cannot listen there. ` +
        `Choose another: ${command} -- --inspector-port ${inspectorPort + 1}${data}`,
    );
  }
}

/** @returns the code of the error, if there is one */
function tryToListen(port: number, host: string): Promise<string | undefined> {
  return new Promise((settle) => {
    const server = createServer();
    server.on('error', ({ code }: NodeJS.ErrnoException) => settle(code));
    // The runtime takes * for all addresses.
    const address = host === '*' ? undefined : host;
    server.listen(port, address, () => server.close(() => settle(undefined)));
  });
}
