import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { migrate } from './local/database.ts';
import { absoluteFolder, OPTIONS_HELP, readOptions } from './local/options.ts';
import { prepare, runLocally } from './local/prepare.ts';

/** `npm run dev`: `wrangler dev` with reload, on the data of `npm start`. */

const HELP = `Starts Licet with wrangler dev, which reloads it when its code changes. npm start is many times faster.

  npm run dev [-- options]

${OPTIONS_HELP}
  --inspector-port PORT   where debuggers connect (any free port)

The scheduled tasks do not run by themselves: open /cdn-cgi/handler/scheduled to run them once.`;

process.umask(0o077);
// By default wrangler records every request with keys and SQL, also in a log in the home folder that grows
// without bound. It lets any client on the port run SQL, and asks the network for this machine's location.
Object.assign(process.env, {
  X_LOCAL_OBSERVABILITY: 'false',
  X_LOCAL_EXPLORER: 'false',
  CLOUDFLARE_CF_FETCH_ENABLED: 'false',
  WRANGLER_SEND_METRICS: 'false',
  WRANGLER_WRITE_LOGS: 'false',
});

/** The options for wrangler, with the folder relative to the directory in which npm was called. */
const forWrangler = (args: readonly string[]): string[] =>
  args.map((arg, index) => {
    const [, folder] = /^--persist-to=(.*)$/.exec(arg) ?? [];
    if (folder !== undefined) return `--persist-to=${absoluteFolder(folder)}`;
    return args[index - 1] === '--persist-to' ? absoluteFolder(arg) : arg;
  });

async function dev(): Promise<void> {
  const options = readOptions('npm run dev', HELP);
  const { folder, port } = options;
  await prepare(options, false);
  migrate(folder);
  const args = process.argv.slice(2);
  const has = (name: string) => args.some((arg) => arg === name || arg.startsWith(`${name}=`));
  const defaults = {
    '--port': String(port),
    '--persist-to': folder,
    // wrangler's default is one fixed port, which only one of two services can have.
    '--inspector-port': '0',
  };
  const missing = Object.entries(defaults).filter(([name]) => !has(name));
  // As with npm start: sessions of the console work under its own name, not under localhost.
  const hosts = ['--var', 'CONSOLE_HOSTS:'];
  const server = spawn('wrangler', ['dev', ...hosts, ...missing.flat(), ...forWrangler(args)], {
    stdio: 'inherit',
    // Another environment of wrangler.toml could have another database than the one that was migrated.
    env: { ...process.env, CLOUDFLARE_ENV: '' },
  });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => server.kill('SIGTERM'));
  }
  const [code] = await once(server, 'exit');
  process.exit(code ?? 0);
}

await runLocally(dev);
