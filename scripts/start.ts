import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { takenByNpm } from './npm-options.ts';
import { ensureRootToken, SECRETS_FILE } from './root-token.ts';
import { lockState } from './state-lock.ts';
import { done, fail, guardOutput, run, WRONG_USAGE } from './terminal.ts';

/** `npm start`: makes what is missing and runs the service on this machine. */

const DEFAULT_PORT = '8787';
const DEFAULT_FOLDER = '.wrangler/state';

const HELP = `Starts Licet on this machine.

  npm start [-- options]

  --port PORT        where to listen (${DEFAULT_PORT})
  --ip ADDRESS       on which address (localhost; 0.0.0.0 lets other machines in)
  --persist-to DIR   where the database is kept (${DEFAULT_FOLDER})
  --var NAME:VALUE   sets a variable of wrangler.toml
  --help             this text

Any other option goes to wrangler dev.`;

const READY_TIMEOUT_MS = 60_000;
const WATCH_INTERVAL_MS = 2_000;
/** A slow query may take a while, and stops all others: that is no reason to stop. */
const MAX_SILENCE_MS = 60_000;
const MAX_STOPPING_MS = 10_000;
const MINUTE_MS = 60_000;

// The database and the root token are for their owner alone.
process.umask(0o077);
// wrangler would record every request, with keys and SQL, and let anyone on the port run SQL; and it
// would ask the network for a description of this machine's place. Each request would be in a file in the
// home folder too, which grows without end.
Object.assign(process.env, {
  X_LOCAL_OBSERVABILITY: 'false',
  X_LOCAL_EXPLORER: 'false',
  CLOUDFLARE_CF_FETCH_ENABLED: 'false',
  WRANGLER_SEND_METRICS: 'false',
  WRANGLER_WRITE_LOGS: 'false',
});

const parent = process.ppid;
const args = process.argv.slice(2);
const knownOptions = {
  port: { type: 'string' },
  ip: { type: 'string' },
  'persist-to': { type: 'string' },
  var: { type: 'string', multiple: true },
  help: { type: 'boolean', short: 'h' },
} as const;
const { values } = parseArgs({ args, strict: false, options: knownOptions });

/** The options for wrangler: as they came, with a folder named from where npm was called. */
function withAbsoluteFolder(): string[] {
  const absolute = (folder: string) => resolve(process.env.INIT_CWD ?? '.', folder);
  return args.map((arg, index) => {
    const [, folder] = /^--persist-to=(.*)$/.exec(arg) ?? [];
    if (folder !== undefined) return `--persist-to=${absolute(folder)}`;
    return args[index - 1] === '--persist-to' ? absolute(arg) : arg;
  });
}

function isFree(port: number, host: string): Promise<boolean> {
  return new Promise((answer) => {
    const server = createServer();
    server.on('error', (error: NodeJS.ErrnoException) => answer(error.code !== 'EADDRINUSE'));
    server.listen(port, host, () => server.close(() => answer(true)));
  });
}

async function checkPort(text: string, ip: string | undefined): Promise<number> {
  const port = Number(text);
  if (!/^\d+$/.test(text) || port < 1 || port > 65_535) {
    fail(`--port must be a number from 1 to 65535, not "${text}".`, WRONG_USAGE);
  }
  const hosts = ip === undefined ? ['127.0.0.1', '::1'] : [ip];
  const free = await Promise.all(hosts.map((host) => isFree(port, host)));
  if (free.includes(false)) {
    fail(
      `Port ${port} is taken: is Licet running already? ` +
        `Stop what listens there, or choose another: npm start -- --port ${port + 1}`,
    );
  }
  return port;
}

async function migrate(folder: string): Promise<void> {
  const apply = ['d1', 'migrations', 'apply', 'DB', '--local', '--persist-to', folder];
  const { ok, output } = await run('wrangler', apply);
  if (ok) return;
  fail(
    `The migrations could not be applied to the database in ${folder}; see the error below. ` +
      'If the database is damaged, restore a backup (docs/deploy.md), or start with another folder: ' +
      `npm start -- --persist-to DIR\n\n${output.trim()}`,
  );
}

const answers = (url: string): Promise<boolean> =>
  fetch(url, { signal: AbortSignal.timeout(WATCH_INTERVAL_MS) }).then(
    (answer) => answer.ok,
    () => false,
  );

const pause = (milliseconds: number) => new Promise((done) => setTimeout(done, milliseconds));

function welcome(address: string): void {
  console.log(`
  Licet runs on ${address}

  Interface    ${address}/docs shows it, and lets you try it out
  Root token   in ${SECRETS_FILE}, as ROOT_TOKEN: it may do everything
  Try          curl ${address}/api/v2/products -H "TOKEN: $(sed -n 's/^ROOT_TOKEN=//p' ${SECRETS_FILE})"
  A full shop  npm run demo${address.endsWith(`:${DEFAULT_PORT}`) ? '' : ` -- --url ${address}`}
  Stop         Ctrl+C
`);
}

guardOutput('go on');
if (values.help === true) {
  console.log(HELP);
  process.exit(0);
}
const taken = takenByNpm(Object.keys(knownOptions));
if (taken !== undefined) fail(taken, WRONG_USAGE);
for (const name of ['port', 'ip', 'persist-to'] as const) {
  if (values[name] === true || values[name] === '') fail(`--${name} needs a value.`, WRONG_USAGE);
}
if (values['local-protocol'] !== undefined) {
  fail(
    '--local-protocol is not for npm start: put a proxy that speaks https before it.',
    WRONG_USAGE,
  );
}
if (args[0] !== undefined && !args[0].startsWith('-')) {
  fail(
    `"${args[0]}" is no option. Options go behind two dashes: npm start -- --port 9000`,
    WRONG_USAGE,
  );
}
const options = withAbsoluteFolder();
const folder = resolve(
  process.env.INIT_CWD ?? '.',
  typeof values['persist-to'] === 'string' ? values['persist-to'] : resolve(DEFAULT_FOLDER),
);
const ip = typeof values.ip === 'string' ? values.ip : undefined;
const port = await checkPort(typeof values.port === 'string' ? values.port : DEFAULT_PORT, ip);
const isEverywhere = ip === undefined || ['0.0.0.0', '::', '*', 'localhost'].includes(ip);
const host = isEverywhere ? 'localhost' : ip.includes(':') ? `[${ip}]` : ip;
const address = `http://${host}:${port}`;

try {
  if (!lockState(folder)) {
    fail(
      `The data in ${folder} is in use by another Licet. ` +
        'Stop it, or start with another folder: npm start -- --persist-to DIR',
    );
  }
  if (ensureRootToken()) done(`A root token was made, in ${SECRETS_FILE}`);
} catch (error) {
  fail(error instanceof Error ? error.message : String(error));
}
await migrate(folder);
done(`The database is ready, in ${folder}`);

const server = spawn(
  'wrangler',
  [
    'dev',
    '--show-interactive-dev-session=false',
    // Its default is one port, over which two services that start together would fight.
    ...(values['inspector-port'] === undefined ? ['--inspector-port', '0'] : []),
    ...(values['log-level'] === undefined ? ['--log-level=error'] : []),
    ...(values.port === undefined ? ['--port', String(port)] : []),
    ...(values['persist-to'] === undefined ? ['--persist-to', folder] : []),
    ...options,
  ],
  { stdio: ['ignore', 'inherit', 'inherit'] },
);
let hasEnded = false;
/** Undefined while nobody has asked it to stop: then wrangler's own status is the one. */
let status: number | undefined;
server.on('error', (error) => fail(`wrangler could not be started: ${error.message}`));
server.on('exit', (code) => {
  hasEnded = true;
  process.exit(status ?? code ?? 1);
});

function stop(withStatus: number, message?: string): void {
  if (status !== undefined) return;
  status = withStatus;
  if (message !== undefined) console.error(message);
  server.kill('SIGTERM');
  setTimeout(() => server.kill('SIGKILL'), MAX_STOPPING_MS);
}
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stop(0));

const deadline = Date.now() + READY_TIMEOUT_MS;
while (!(await answers(`${address}/api/v2/healthy`)) && !hasEnded) {
  if (Date.now() > deadline) {
    stop(1, `The service did not answer on ${address}: stopped.`);
    await once(server, 'exit');
  }
  await pause(100);
}
welcome(address);

// wrangler dev runs no cron, does not notice when the runtime dies under it, and outlives npm.
let answeredAt = Date.now();
let ranScheduledAt = 0;
while (!hasEnded) {
  if (Date.now() - ranScheduledAt > MINUTE_MS) {
    ranScheduledAt = Date.now();
    await answers(`${address}/cdn-cgi/handler/scheduled`);
  }
  await pause(WATCH_INTERVAL_MS);
  if (await answers(`${address}/api/v2/healthy`)) answeredAt = Date.now();
  if (Date.now() - answeredAt > MAX_SILENCE_MS) {
    stop(1, `The service no longer answers on ${address}: stopped.`);
  }
  if (process.ppid !== parent) stop(0);
}
