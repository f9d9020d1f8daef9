import { spawn } from 'node:child_process';
import { createServer } from 'node:net';
import { parseArgs } from 'node:util';
import { ensureRootToken, SECRETS_FILE } from './root-token.ts';
import { done, fail, run } from './terminal.ts';

/** `npm start`: makes what is missing and runs the service on this machine. */

const HELP = `Starts Licet on this machine.

  npm start [-- options]

  --port PORT        where to listen (8787)
  --persist-to DIR   where the database is kept (.wrangler/state)
  --help             this text

Any other option goes to wrangler dev.`;

const DEFAULT_PORT = '8787';
const READY_TIMEOUT_MS = 60_000;

const args = process.argv.slice(2);
const { values } = parseArgs({
  args,
  strict: false,
  options: {
    port: { type: 'string' },
    'persist-to': { type: 'string' },
    help: { type: 'boolean', short: 'h' },
  },
});

function isFree(port: number, host: string): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.on('error', (error: NodeJS.ErrnoException) => resolve(error.code !== 'EADDRINUSE'));
    server.listen(port, host, () => server.close(() => resolve(true)));
  });
}

async function checkPort(text: string): Promise<number> {
  const port = Number(text);
  if (!/^\d+$/.test(text) || port < 1 || port > 65_535) {
    fail(`--port must be a number from 1 to 65535, not "${text}".`);
  }
  const free = await Promise.all(['127.0.0.1', '::1'].map((host) => isFree(port, host)));
  if (free.includes(false)) {
    fail(
      `Port ${port} is taken: is Licet running already? ` +
        `Stop what listens there, or choose another: npm start -- --port ${port + 1}`,
    );
  }
  return port;
}

async function migrate(persistTo: string | undefined): Promise<void> {
  const where = persistTo === undefined ? [] : ['--persist-to', persistTo];
  const { ok, output } = await run('wrangler', [
    ...['d1', 'migrations', 'apply', 'DB', '--local'],
    ...where,
  ]);
  if (!ok) fail(`The database could not be prepared:\n${output}`);
}

async function waitUntilReady(address: string, hasEnded: () => boolean): Promise<boolean> {
  const deadline = Date.now() + READY_TIMEOUT_MS;
  while (Date.now() < deadline && !hasEnded()) {
    const answer = await fetch(`${address}/api/v2/healthy`).catch(() => undefined);
    if (answer?.ok) return true;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  return false;
}

function welcome(address: string): void {
  console.log(`
  Licet runs on ${address}

  Root token   in ${SECRETS_FILE}, as ROOT_TOKEN: it may do everything
  Try          curl ${address}/api/v2/products -H "TOKEN: $(sed -n 's/^ROOT_TOKEN=//p' ${SECRETS_FILE})"
  A full shop  npm run demo${address.endsWith(`:${DEFAULT_PORT}`) ? '' : ` -- --url ${address}`}
  Stop         Ctrl+C
`);
}

if (values.help === true) {
  console.log(HELP);
  process.exit(0);
}
for (const name of ['port', 'persist-to'] as const) {
  if (values[name] === true || values[name] === '') fail(`--${name} needs a value.`);
}
const persistTo = typeof values['persist-to'] === 'string' ? values['persist-to'] : undefined;
const port = await checkPort(typeof values.port === 'string' ? values.port : DEFAULT_PORT);

try {
  if (ensureRootToken()) done(`A root token was made, in ${SECRETS_FILE}`);
} catch (error) {
  fail(error instanceof Error ? error.message : String(error));
}
await migrate(persistTo);
done(`The database is ready, in ${persistTo ?? '.wrangler/state'}`);

const ownArgs = [
  '--show-interactive-dev-session=false',
  // Its default is one port, over which two services that start together would fight.
  ...(values['inspector-port'] === undefined ? ['--inspector-port', '0'] : []),
  ...(values.port === undefined ? ['--port', String(port)] : []),
  ...(values['log-level'] === undefined ? ['--log-level=error'] : []),
];
const server = spawn('wrangler', ['dev', ...ownArgs, ...args], {
  stdio: ['ignore', 'inherit', 'inherit'],
  // Without the first, wrangler asks the network for a description of this machine's place.
  env: { ...process.env, CLOUDFLARE_CF_FETCH_ENABLED: 'false', WRANGLER_SEND_METRICS: 'false' },
});
let ended = false;
server.on('exit', (code) => {
  ended = true;
  process.exit(code ?? 0);
});
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => server.kill(signal));
}

const address = `http://localhost:${port}`;
if (await waitUntilReady(address, () => ended)) welcome(address);
else if (!ended) {
  server.kill('SIGTERM');
  fail(`The service did not answer on ${address} within ${READY_TIMEOUT_MS / 1000} seconds.`);
}
