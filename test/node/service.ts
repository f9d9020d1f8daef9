import { type ChildProcess, spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { mkdtempSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

/** The service as `npm start` runs it, on a free port and with a database in a folder of its own. */
export interface RunningService {
  port: number;
  address: string;
  /** The text that it has printed until now. */
  output: () => string;
  /** The part of it that went to stdout. */
  log: () => string;
  /** Ends all of it. */
  stop: () => Promise<void>;
  /** Kills npm alone; resolves when nothing that it started can print any more. */
  killNpm: () => Promise<void>;
}

const isFree = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });

/**
 * A port for a service that starts in a moment. None that the system gives out: another connection might
 * get it meanwhile.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(10_000, 32_768);
    if (await isFree(port)) return port;
  }
}

export const newFolder = (): string => mkdtempSync(join(tmpdir(), 'licet-'));

const groups = new Set<number>();

function endGroups(): void {
  for (const group of groups) {
    groups.delete(group);
    try {
      process.kill(-group, 'SIGTERM');
    } catch {
      // It has just ended.
    }
  }
}

// However the tests end, nothing that they started goes on.
process.on('exit', endGroups);
process.on('disconnect', endGroups);
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.once(signal, () => {
    endGroups();
    process.kill(process.pid, signal);
  });
}

/**
 * Starts a command in a process group of its own, so that a signal to the group ends it and all that it
 * started; it gets one when the tests end.
 */
export function spawnGroup(
  command: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv = process.env,
  cwd?: string,
): ChildProcess {
  const child = spawn(command, args, { stdio: 'pipe', detached: true, env, cwd });
  const { pid } = child;
  if (pid !== undefined) {
    groups.add(pid);
    child.on('close', () => groups.delete(pid));
  }
  return child;
}

const { scripts } = JSON.parse(readFileSync('package.json', 'utf8'));

/** The arguments with which node runs an npm script, such as `import`, without npm. */
export function argsOfScript(name: string): string[] {
  const [, flag, file, args] = /(--single-threaded) (\S+\.ts)(.*)/.exec(scripts[name]) ?? [];
  if (flag === undefined || file === undefined || args === undefined) {
    throw new Error(`The npm script ${name} runs no file, or can hang at its end`);
  }
  return [flag, resolve(file), ...args.split(' ').filter(Boolean)];
}

/** The arguments with which node runs `npm start`, with what is built once for all services of a run. */
export const startArgs = (): string[] => [
  '--import',
  pathToFileURL(resolve('test/node/start-hooks.ts')).href,
  ...argsOfScript('start'),
];

/** The output and the end of a process. */
export interface Watched {
  /** The text that it has printed until now. */
  output: () => string;
  /** The part of it that went to stdout. */
  log: () => string;
  /** Resolves when it has printed a text; rejects if it ends before. */
  printed: (text: string) => Promise<void>;
  /** Its exit status and its whole output. */
  ended: Promise<{ code: number | null; output: string }>;
}

export function watch(child: ChildProcess): Watched {
  let output = '';
  const onOutput = (listener: (chunk: Buffer) => void): void => {
    child.stdout?.on('data', listener);
    child.stderr?.on('data', listener);
  };
  onOutput((chunk) => (output += chunk));
  let log = '';
  child.stdout?.on('data', (chunk) => (log += chunk));
  return {
    output: () => output,
    log: () => log,
    printed: (text) =>
      new Promise((resolve, reject) => {
        onOutput(() => output.includes(text) && resolve());
        child.on('close', () => reject(new Error(`It ended without "${text}":\n${output}`)));
      }),
    ended: new Promise((resolve) => child.on('close', (code) => resolve({ code, output }))),
  };
}

/** Where services have been started. */
export const startedServices = new Set<string>();

/**
 * Starts the service, and waits until it says that it runs. It starts without npm and its options for less memory,
 * which take half a second.
 *
 * @param port a free one unless given
 */
export const startService = (
  folder: string,
  options: readonly string[] = [],
  port?: number,
): Promise<RunningService> =>
  startScript([process.execPath, ...startArgs()], 'Licet runs on', folder, options, port);

/** Starts the service by `npm start`. */
export const npmStart = (
  folder: string,
  options: readonly string[] = [],
): Promise<RunningService> =>
  startScript(['npm', 'run', 'start', '--'], 'Licet runs on', folder, options);

/** The same by `npm run dev`. */
export const npmRunDev = (folder: string): Promise<RunningService> =>
  startScript(['npm', 'run', 'dev', '--'], 'Ready on', folder);

async function startScript(
  [command = '', ...args]: readonly string[],
  ready: string,
  folder: string,
  options: readonly string[] = [],
  givenPort?: number,
): Promise<RunningService> {
  const port = givenPort ?? (await freePort());
  const place = ['--port', String(port), '--persist-to', folder];
  const child = spawnGroup(command, [...args, ...place, ...options]);
  const { output, log, printed, ended } = watch(child);
  let hasEnded = false;
  void ended.then(() => (hasEnded = true));
  await printed(ready);
  const address = `http://localhost:${port}`;
  startedServices.add(address);
  return {
    port,
    address,
    output,
    log,
    stop: async () => {
      if (child.pid !== undefined && !hasEnded) process.kill(-child.pid, 'SIGTERM');
      await ended;
    },
    killNpm: async () => {
      child.kill('SIGKILL');
      await ended;
    },
  };
}
