import { consoleLink } from '@licet/cli/console-link';
import { isLocal, rootTokenFault, SECRETS_FILE } from '@licet/cli/root-token';
import { CliError, note, report } from '@licet/cli/terminal';
import { MINUTE_MS } from '@licet/contract/durations';
import { publicOriginOf } from '../src/lib/public-url.ts';
import { ensureConsole } from './console/ensure.ts';
import { buildWorker } from './local/build.ts';
import { migrate } from './local/database.ts';
import { openLog } from './local/log.ts';
import { DEFAULT_PORT, dataFolder, OPTIONS_HELP, readOptions } from './local/options.ts';
import { prepare, runLocally } from './local/prepare.ts';
import type { LocalService } from './local/service.ts';
import { provideSigningKeys } from './local/signing-keys.ts';
import { checkDefaultKid } from './variables.ts';

/** `npm start`: creates missing files and runs the service on this machine. */

const HELP = `Starts Licet on this machine.

  npm start [-- options]

${OPTIONS_HELP}
  --new-signing-keys makes signing keys although programs ask for others, which are lost

The log goes to stdout: short lines on a terminal, one JSON object a line elsewhere.
The root token is in ${SECRETS_FILE}, or in the environment variable ROOT_TOKEN.
npm run dev starts Licet too, and reloads it after each change of the code.
docs/one-machine.md describes a lasting installation.`;

const WATCH_INTERVAL_MS = 1_000;

// The database and the root token are for their owner alone.
process.umask(0o077);
// With V8's own settings workerd takes twice the memory, because the garbage of requests is collected late.
// A smaller young generation hands living requests on to the old one, whose collections stop the service for 50 ms.
// The collector has no threads of its own here, which would take the cores from the validations.
process.env.MINIFLARE_WORKERD_V8_FLAGS ??=
  '--max-semi-space-size=8 --initial-heap-size=8 --heap-growing-percent=40 --single-threaded-gc';

const { log, flush: flushLog } = openLog();

async function welcome(
  address: string,
  rootToken: string,
  folder: string,
  publicOrigin: string | null,
): Promise<void> {
  const url = address.endsWith(`:${DEFAULT_PORT}`) ? '' : ` -- --url ${address}`;
  const data = folder === dataFolder(undefined) ? '' : ` --persist-to ${folder}`;
  const command = `npm run licet${url || ' --'} console`;
  // The link gives all rights, and a journal keeps each line.
  const link = process.stderr.isTTY
    ? `${await consoleLink(new URL(address), rootToken)}
                 (works once, for 5 minutes; ${command} prints another one)`
    : `${command} prints a link, which works once, for 5 minutes`;
  // Elsewhere browsers keep the cookie of a session only with https.
  const logIn = isLocal(new URL(address))
    ? link
    : 'needs https, or a browser on this machine: docs/one-machine.md, "Behind a proxy"';
  const named = publicOrigin === null ? '' : `\n  Public address ${publicOrigin}`;
  note(`
  Licet runs on ${address}
${named}
  Log in         ${logIn}
  API reference  ${address}/docs
  Root token     in ${SECRETS_FILE}, as ROOT_TOKEN: it may do everything
  Try            curl ${address}/api/v2/products -H "TOKEN: $(sed -n 's/^ROOT_TOKEN=//p' ${SECRETS_FILE})"
  A full shop    npm run demo${url || (data && ' --')}${data}
  Stop           Ctrl+C
`);
}

async function start(): Promise<void> {
  const parent = process.ppid;
  const options = readOptions('npm start', HELP);
  const { folder, address } = options;
  const { ROOT_TOKEN } = process.env;
  const fault = ROOT_TOKEN && rootTokenFault(ROOT_TOKEN);
  if (fault) throw new CliError(`ROOT_TOKEN in the environment ${fault}`);
  await prepare(options, Boolean(ROOT_TOKEN));
  // A failed build of the page does not end the start: programs do not need it.
  const page = ensureConsole(note).catch(report);
  // miniflare takes a while to load, and esbuild builds meanwhile.
  const [built, local] = await Promise.all([buildWorker(), import('./local/service.ts'), page]);
  // Only now: after an upgrade that cannot be built, the previous version still runs on its schema.
  migrate(folder);
  const variables: Record<string, string> = {
    ...provideSigningKeys(folder, options.isNewKeys),
    ...options.variables,
    ...(ROOT_TOKEN && { ROOT_TOKEN }),
  };
  checkDefaultKid({ ...built.variables, ...variables });
  note(`✓ The database is ready, in ${folder}`);
  let service: LocalService | undefined;
  let isStopping = false;
  const stop = async () => {
    if (isStopping) return;
    isStopping = true;
    const isStored = (await service?.stop()) ?? true;
    flushLog();
    process.exit(isStored ? 0 : 1);
  };
  const onSignal = () => void stop();
  service = await local.LocalService.start({ ...options, built, variables, log, onSignal });
  const textOf = (name: string): string => String(variables[name] ?? built.variables[name] ?? '');
  const settings = { PUBLIC_URL: textOf('PUBLIC_URL'), CONSOLE_HOSTS: textOf('CONSOLE_HOSTS') };
  await welcome(address, textOf('ROOT_TOKEN'), folder, publicOriginOf(settings, null));

  setInterval(() => {
    // npm was killed, so nothing else stops this service.
    if (process.ppid !== parent) void stop();
  }, WATCH_INTERVAL_MS);

  setInterval(() => service?.runScheduled(), MINUTE_MS);
  await service.runScheduled();
}

await runLocally(start);
