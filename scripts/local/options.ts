import { createServer } from 'node:net';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { takenByNpm } from '../../packages/cli/src/npm-options.ts';
import { CliError, usageError } from '../../packages/cli/src/terminal.ts';

/** The options of `npm start`, which `npm run dev` takes as well. */

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

export interface LocalOptions {
  port: number;
  host: string;
  /** For people, and for the commands that they copy. */
  address: string;
  /** Of the data. Absolute. */
  folder: string;
  variables: Record<string, string>;
}

/** A folder as it was named where npm was called. */
export const absoluteFolder = (folder: string): string =>
  resolve(process.env.INIT_CWD ?? '.', folder);

/** The folder of the data that `--persist-to` names; without it that of the project. */
export const dataFolder = (given: string | undefined): string =>
  given === undefined ? resolve(DEFAULT_FOLDER) : absoluteFolder(given);

/**
 * The options of the command. With --help it prints that, and ends.
 *
 * @param takesOthers whether there may be more, for another program
 * @throws CliError for options that make no sense
 */
export function readOptions(command: string, help: string, takesOthers: boolean): LocalOptions {
  const { values, positionals, tokens } = parseArgs({
    options: OPTIONS,
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  if (values.help === true) {
    console.log(help);
    process.exit(0);
  }
  const taken = takenByNpm(Object.keys(OPTIONS));
  if (taken !== undefined) throw usageError(taken);
  const unknown = tokens.find((token) => token.kind === 'option' && !(token.name in OPTIONS));
  if (unknown?.kind === 'option' && !takesOthers) {
    throw usageError(
      `${unknown.rawName} is no option of ${command}. Add --help to see what it takes.`,
    );
  }
  const [stray] = positionals;
  if (stray !== undefined && (!takesOthers || process.argv[2] === stray)) {
    throw usageError(
      `"${stray}" is no option. Options go behind two dashes: ${command} -- --port 9000`,
    );
  }
  const textOf = (name: 'port' | 'ip' | 'persist-to'): string | undefined => {
    const value = values[name];
    if (value === true || value === '') throw usageError(`--${name} needs a value.`);
    return typeof value === 'string' ? value : undefined;
  };
  const ip = textOf('ip');
  const port = readPort(textOf('port') ?? DEFAULT_PORT);
  const folder = textOf('persist-to');
  const isEverywhere = ip === undefined || ['0.0.0.0', '::', '*', 'localhost'].includes(ip);
  const shown = isEverywhere ? 'localhost' : ip.includes(':') ? `[${ip}]` : ip;
  return {
    port,
    // The runtime takes the first address of a name.
    host: ip === undefined || ip === 'localhost' ? '127.0.0.1' : ip,
    address: `http://${shown}:${port}`,
    folder: dataFolder(folder),
    variables: Object.fromEntries((values.var ?? []).map(readVariable)),
  };
}

function readPort(text: string): number {
  const port = Number(text);
  if (/^\d+$/.test(text) && port >= 1 && port <= 65_535) return port;
  throw usageError(`--port must be a number from 1 to 65535, not "${text}".`);
}

function readVariable(text: string | boolean): [string, string] {
  const [, name, value] = /^([A-Za-z_]\w*):(.*)$/s.exec(String(text)) ?? [];
  if (name !== undefined && value !== undefined) return [name, value];
  throw usageError(`--var takes NAME:VALUE, not "${text}".`);
}

/** @throws CliError where something else listens there */
export async function checkPort({ port, host }: LocalOptions): Promise<void> {
  if (await isFree(port, host)) return;
  throw new CliError(
    `Port ${port} is taken: is Licet running already? ` +
      `Stop what listens there, or choose another: npm start -- --port ${port + 1}`,
  );
}

function isFree(port: number, host: string): Promise<boolean> {
  return new Promise((answer) => {
    const server = createServer();
    server.on('error', (error: NodeJS.ErrnoException) => answer(error.code !== 'EADDRINUSE'));
    server.listen(port, host, () => server.close(() => answer(true)));
  });
}
