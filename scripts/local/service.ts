import type { ChildProcess } from 'node:child_process';
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { get, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as wait } from 'node:timers/promises';
import {
  CoreHeaders,
  convertV4MiniflareOptions,
  Miniflare,
  type V4MiniflareOptions,
  type WorkerdStructuredLog,
} from 'miniflare';
import type { BuiltWorker } from './build.ts';
import { pidFile } from './leftover.ts';
import { onRuntime, triggerSocket } from './sockets.ts';

/** The service on this machine: the built Worker in workerd, on a socket without a proxy. */

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
const WORKER_NAME = 'licet';
const FILES_NAME = 'files';
const STORED_FILES_NAME = 'stored-files';
/** A path of miniflare that runs the scheduled handler. Only the trigger socket has it. */
const TRIGGER_PATH = '/cdn-cgi/local/scheduled';
/** The runtime ends at the latest after the sum of these. */
const MAX_BEGINNING_MS = 1_000;
const MAX_STOPPING_MS = 8_000;
const MAX_STARTING_MS = 30_000;
const MAX_RUN_MS = 55_000;
const FIRST_PAUSE_MS = 1_000;
const MAX_PAUSE_MS = 30_000;
const FAULTS_INTERVAL_MS = 60_000;
/** The place in the runtime's code, and the reason of the system, in a line of the runtime. */
const FAULT =
  /^(?:Uncaught exception: |e = |\*\*\* Fatal uncaught kj::Exception: )?([\w./+-]+\.(?:c\+\+|h|rs):\d+: \w+(?:: \w+\(\): [A-Za-z]+(?: [A-Za-z]+)*)?)/;
const DESCRIPTORS_INTERVAL_MS = 100;
/** Above this share of its descriptors the runtime is started again, because it ends when none is left. */
const MAX_DESCRIPTORS_SHARE = 1 / 2;
const DESCRIPTORS_PER_CONNECTION = 2;
const WELCOME_CONNECTIONS = 1_024;

// With this header a client could claim any address. Without it the runtime gives the Worker the address
// of the connection (`request.cf.clientIp`).
Object.assign(CoreHeaders, { CF_BLOB: undefined });

export interface ServiceOptions {
  built: BuiltWorker;
  /** The data folder. */
  folder: string;
  host: string;
  port: number;
  /** Variables and secrets, beyond those of wrangler.toml. */
  variables: Record<string, string>;
  log: Log;
  /** Called for a signal that ends the process. */
  onSignal: () => void;
}

/** One line of the log. */
export type Log = (level: string, message: string, timeMs?: number) => void;

export class LocalService {
  readonly #options: ServiceOptions;
  #miniflare: Miniflare | undefined;
  #runtime: ChildProcess | undefined;
  #isStopping = false;
  #restarting: Promise<void> | undefined;
  #onStopping: () => void = () => undefined;
  /** Lines of the runtime within this minute, by their kind. */
  readonly #faults = new Map<string, number>();

  private constructor(options: ServiceOptions) {
    this.#options = options;
    onRuntime((child) => this.#watch(child));
  }

  /** @throws if the runtime does not start */
  static async start(options: ServiceOptions): Promise<LocalService> {
    // Snapshots of `npm run dev`, which this service does not keep up to date.
    rmSync(join(options.folder, 'v3', 'kv'), { recursive: true, force: true });
    const service = new LocalService(options);
    await service.#start();
    return service;
  }

  /**
   * Runs the scheduled handler.
   *
   * @throws if it fails or takes too long
   */
  async runScheduled(cron: string): Promise<void> {
    const path = `${TRIGGER_PATH}?cron=${encodeURIComponent(cron)}`;
    const run = async (): Promise<string> => {
      await this.#miniflare?.ready;
      const response = await new Promise<IncomingMessage>((resolve, reject) => {
        get({ socketPath: triggerSocket(), path, agent: false }, resolve).on('error', reject);
      });
      return text(response);
    };
    const outcome = await within(MAX_RUN_MS, run());
    if (outcome !== 'ok') throw new Error(`It ended with ${outcome}`);
  }

  /** Starts the runtime again, with a longer pause after each attempt that fails. */
  restart(): Promise<void> {
    this.#restarting ??= this.#restart().finally(() => {
      this.#restarting = undefined;
    });
    return this.#restarting;
  }

  async #restart(): Promise<void> {
    // The watcher must not react to the end of this runtime.
    this.#runtime = undefined;
    for (let pauseMs = FIRST_PAUSE_MS; !this.#isStopping; pauseMs *= 2) {
      try {
        await this.#miniflare?.dispose().catch(() => undefined);
        return await this.#start();
      } catch (error) {
        this.#options.log('error', `The runtime did not start: ${String(error)}`);
        await wait(Math.min(pauseMs, MAX_PAUSE_MS));
      }
    }
  }

  /** Stops accepting requests, waits until all records are stored, and ends the runtime. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.#settle();
    await this.#miniflare?.dispose();
    rmSync(pidFile(this.#options.folder), { force: true });
  }

  /** Stops accepting requests, and waits until all records are stored. */
  async #settle(): Promise<void> {
    const hasBegun = new Promise<void>((resolve) => {
      this.#onStopping = resolve;
    });
    const stored = this.runScheduled('stop').catch(() => undefined);
    await within(MAX_BEGINNING_MS, Promise.race([hasBegun, stored])).catch(() => undefined);
    // The runtime closes its sockets, and waits for that last run.
    this.#runtime?.kill('SIGTERM');
    await within(MAX_STOPPING_MS, stored).catch(() => undefined);
  }

  async #start(): Promise<void> {
    this.#miniflare = new Miniflare(convertV4MiniflareOptions(this.#miniflareOptions()));
    // The handlers of miniflare end the process at once.
    for (const signal of SIGNALS) {
      process.removeAllListeners(signal);
      process.on(signal, this.#options.onSignal);
    }
    await within(MAX_STARTING_MS, this.#miniflare.ready);
  }

  #miniflareOptions(): V4MiniflareOptions {
    const { built, folder, host, port, variables } = this.#options;
    const { script, filesScript, compatibilityDate, limits, assets, others } = built;
    return {
      resourcePersistencePath: join(folder, 'v3'),
      cf: false,
      unsafeTriggerHandlers: true,
      handleStructuredLogs: (log: WorkerdStructuredLog) => this.#log(log),
      workers: [
        {
          ...others,
          name: WORKER_NAME,
          compatibilityDate,
          modules: true,
          script,
          // Limits are numbers: one process can count by itself, and the simulated limiter costs more than a
          // validation.
          bindings: {
            TRUSTED_PROXIES: '',
            CONSOLE_HOSTS: '',
            ...limits,
            ...built.variables,
            ...variables,
          },
          // The files are another Worker's, or a router would be in front of this one.
          serviceBindings: { ASSETS: FILES_NAME },
          unsafeDirectSockets: [{ host, port }],
        },
        {
          name: FILES_NAME,
          compatibilityDate,
          modules: true,
          script: filesScript,
          serviceBindings: { FILES: STORED_FILES_NAME },
        },
        {
          name: STORED_FILES_NAME,
          compatibilityDate,
          modules: true,
          script: 'export default {}',
          assets: {
            directory: assets.directory,
            ...(assets.assetConfig && { assetConfig: assets.assetConfig }),
            routerConfig: { has_user_worker: false },
          },
        },
      ],
    };
  }

  #log({ level: givenLevel, message, timestamp }: WorkerdStructuredLog): void {
    const level = givenLevel === 'log' ? 'info' : givenLevel;
    if (message.includes('"event":"stop"')) this.#onStopping();
    // The Worker writes JSON, the runtime text.
    if (message.startsWith('{"')) this.#options.log(level, message, timestamp);
    else this.#logFault(level, message);
  }

  /**
   * Logs a line of the runtime without its text, which can be a client's: paths with license keys. Each kind is logged
   * once a minute, and counted, because any client can cause thousands a second.
   */
  #logFault(level: string, line: string): void {
    const fault = `The runtime reported ${FAULT.exec(line)?.[1] ?? 'something'}`;
    const count = this.#faults.get(fault) ?? 0;
    this.#faults.set(fault, count + 1);
    if (count > 0) return;
    this.#options.log(level, fault);
    setTimeout(() => {
      const more = (this.#faults.get(fault) ?? 0) - 1;
      this.#faults.delete(fault);
      if (more > 0) this.#options.log(level, `${fault} (${more} more within a minute)`);
    }, FAULTS_INTERVAL_MS).unref();
  }

  /** Starts a runtime again that has ended, if miniflare's one attempt fails. */
  #watch(child: ChildProcess): void {
    this.#runtime = child;
    try {
      writeFileSync(pidFile(this.#options.folder), String(child.pid));
    } catch (error) {
      // The disk is full, for example. The file is only needed after this process is killed.
      this.#options.log('warn', `The process id was not written: ${String(error)}`);
    }
    const watching = this.#watchDescriptors(child);
    child.once('exit', async (code, signal) => {
      clearInterval(watching);
      if (this.#isStopping || this.#runtime !== child) return;
      this.#options.log('error', `The runtime ended by ${signal ?? code}, and is started again`);
      const miniflare = this.#miniflare;
      await miniflare?.ready.catch(async () => {
        if (this.#miniflare === miniflare) await this.restart();
      });
    });
  }

  /** Ends a runtime before its last descriptor is taken: then it would end at once, and lose the pending records. */
  #watchDescriptors(runtime: ChildProcess): NodeJS.Timeout | undefined {
    const { log } = this.#options;
    const limit = descriptorLimit(runtime.pid);
    if (limit === undefined) return;
    const max = limit * MAX_DESCRIPTORS_SHARE;
    const connections = Math.floor(max / DESCRIPTORS_PER_CONNECTION);
    if (connections < WELCOME_CONNECTIONS) {
      log(
        'warn',
        `The limit of open files (ulimit -n: ${limit}) allows ${connections} connections`,
      );
    }
    const watching = setInterval(async () => {
      if (this.#isStopping || countDescriptors(runtime.pid) <= max) return;
      clearInterval(watching);
      log(
        'error',
        `More than ${connections} connections: all are closed, once the records are stored`,
      );
      await this.#settle();
      // The connections that are left would keep it from ending.
      runtime.kill('SIGKILL');
    }, DESCRIPTORS_INTERVAL_MS);
    return watching;
  }
}

/** The number of files that a process may open; undefined where the system does not report it. */
function descriptorLimit(pid = 0): number | undefined {
  try {
    const limits = readFileSync(`/proc/${pid}/limits`, 'utf8');
    return Number(/^Max open files +(\d+)/m.exec(limits)?.[1]);
  } catch {
    return undefined;
  }
}

/** The number of files that a process has open; 0 if it has ended. */
function countDescriptors(pid = 0): number {
  const folder = `/proc/${pid}/fd`;
  try {
    // Before Linux 6.2 the size is 0.
    return statSync(folder).size || readdirSync(folder).length;
  } catch {
    return 0;
  }
}

/** @throws if a promise takes longer */
async function within<T>(milliseconds: number, promise: Promise<T>): Promise<T> {
  const timer = new AbortController();
  const late = wait(milliseconds, undefined, { signal: timer.signal, ref: false }).then(() => {
    throw new Error(`It took longer than ${milliseconds / 1000} seconds`);
  });
  late.catch(() => undefined);
  try {
    return await Promise.race([promise, late]);
  } finally {
    timer.abort();
  }
}
