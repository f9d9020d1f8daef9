import type { ChildProcess } from 'node:child_process';
import { rmSync } from 'node:fs';
import { get, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as wait } from 'node:timers/promises';
import { MINUTE_MS } from '@licet/contract/durations';
import {
  CoreHeaders,
  convertV4MiniflareOptions,
  Miniflare,
  type V4MiniflareOptions,
  type WorkerdStructuredLog,
} from 'miniflare';
import type { BuiltWorker } from './build.ts';
import { watchDescriptors } from './descriptors.ts';
import { forgetRuntime, rememberRuntime } from './leftover.ts';
import { discordNetwork, mailNetwork, outboundNetwork } from './outbound-network.ts';
import { endRuntime, onRuntime, startNoRuntime, triggerSocket } from './sockets.ts';

/** The service on this machine: the built Worker in workerd, on a socket without a proxy. */

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
const WORKER_NAME = 'licet';
const FILES_NAME = 'files';
const STORED_FILES_NAME = 'stored-files';
/** A path of miniflare that runs the scheduled handler. Only the trigger socket has it. */
const TRIGGER_PATH = '/cdn-cgi/local/scheduled';
const HEALTH_PATH = '/api/v2/healthy';
/** The runtime ends at the latest after the sum of these. */
const MAX_STOPPING_MS = 9_000;
const MAX_ENDING_MS = 500;
/** After this time the runtime closes its sockets, even if the stop has not begun. */
const MAX_BEGINNING_MS = 1_000;
/** If the stop has not begun: the time until a request is accepted, and the time until records are written. */
const ACCEPTING_MS = 500;
const MAX_WRITING_MS = 2_000;
const MAX_STARTING_MS = 30_000;
const NOT_STARTED =
  'The runtime took longer than 30 seconds to start. The machine is busy: end other programs, and try again.';
/** The sum of these is less than the minute between two runs. */
const MAX_RUN_MS = 50_000;
const MAX_RESPONSE_MS = 5_000;
/** Runs to which the runtime does not respond, one after the other, before it is started again. */
const MAX_UNANSWERED_RUNS = 3;
const FIRST_PAUSE_MS = 1_000;
const MAX_PAUSE_MS = 30_000;
const FAULTS_INTERVAL_MS = MINUTE_MS;
/** The place in the runtime's code, and the reason of the system, in a line of the runtime. */
const FAULT =
  /^(?:Uncaught exception: |e = |\*\*\* Fatal uncaught kj::Exception: )?([\w./+-]+\.(?:c\+\+|h|rs):\d+: \w+(?:: \w+\(\): [A-Za-z]+(?: [A-Za-z]+)*)?)/;

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
  #startingAgain: Promise<void> | undefined;
  #settling: Promise<boolean> | undefined;
  #unansweredRuns = 0;
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
   * Runs the scheduled handler. A runtime that does not respond in several runs is started again. A run that fails, or
   * waits for a slow receiver, is no reason for that: each task logs its own failure. Never rejects.
   */
  async runScheduled(): Promise<void> {
    if (this.#isStopping || this.#restarting || this.#startingAgain) return;
    try {
      // A request that fails makes the outcome `exception`, although the Worker has caught its error.
      for (const cron of this.#options.built.crons) await this.#trigger(cron, MAX_RUN_MS);
      this.#unansweredRuns = 0;
    } catch (error) {
      await this.#onUnendedRun(String(error));
    }
  }

  async #onUnendedRun(reason: string): Promise<void> {
    const { log } = this.#options;
    const isResponding = await this.#get(HEALTH_PATH, MAX_RESPONSE_MS).then(
      () => true,
      () => false,
    );
    if (this.#isStopping || this.#restarting || this.#startingAgain) return;
    if (isResponding) {
      this.#unansweredRuns = 0;
      log('warn', `The scheduled tasks have not ended yet: ${reason}. The service responds.`);
      return;
    }
    log('error', `The scheduled tasks failed: ${reason}. The runtime does not respond.`);
    if (++this.#unansweredRuns < MAX_UNANSWERED_RUNS) return;
    this.#unansweredRuns = 0;
    log(
      'error',
      `The runtime has not responded in ${MAX_UNANSWERED_RUNS} runs of the scheduled tasks: ` +
        'it is started again, once the records are stored',
    );
    await this.#restart();
  }

  /** Runs the scheduled handler. @returns its outcome. @throws if there is none in time */
  #trigger(cron: string, maxMs: number): Promise<string> {
    return this.#get(`${TRIGGER_PATH}?cron=${encodeURIComponent(cron)}`, maxMs);
  }

  /** Sends a request to the trigger socket. @returns the response. @throws if there is none in time */
  async #get(path: string, maxMs: number): Promise<string> {
    const end = new AbortController();
    const { signal } = end;
    const send = async (): Promise<string> => {
      await this.#miniflare?.ready;
      const response = await new Promise<IncomingMessage>((resolve, reject) => {
        const options = { socketPath: triggerSocket(), path, agent: false, signal };
        get(options, resolve).on('error', reject);
      });
      return text(response);
    };
    try {
      return await within(maxMs, send());
    } finally {
      end.abort();
    }
  }

  /** Ends the runtime once its records are stored. It is started again as one that has ended by itself. */
  #restart(): Promise<void> {
    this.#restarting ??= this.#settleAndEnd().finally(() => {
      this.#restarting = undefined;
    });
    return this.#restarting;
  }

  async #settleAndEnd(): Promise<void> {
    const runtime = this.#runtime;
    if (!this.#isStopping) await this.#settle();
    // The connections that are left would keep it from ending.
    if (!this.#isStopping) runtime?.kill('SIGKILL');
  }

  /**
   * Starts the runtime with another miniflare, with a longer pause after each attempt that fails. A runtime that ends as it
   * starts is one of these attempts: another series beside this one would end the runtime that this one has started.
   */
  #startAgain(): Promise<void> {
    this.#startingAgain ??= this.#startUntilItRuns().finally(() => {
      this.#startingAgain = undefined;
    });
    return this.#startingAgain;
  }

  async #startUntilItRuns(): Promise<void> {
    // The watcher must not react to the end of this runtime.
    this.#runtime = undefined;
    for (let pauseMs = FIRST_PAUSE_MS; !this.#isStopping; pauseMs *= 2) {
      try {
        await within(MAX_ENDING_MS, Promise.resolve(this.#miniflare?.dispose())).catch(
          () => undefined,
        );
        await endRuntime();
        return await this.#start();
      } catch (error) {
        this.#options.log('error', `The runtime did not start: ${String(error)}`);
        await wait(Math.min(pauseMs, MAX_PAUSE_MS));
      }
    }
  }

  /**
   * Stops accepting requests, waits until all records are stored, and ends the runtime. miniflare's `dispose` can wait
   * for ever; its files are removed when the process exits.
   *
   * @returns whether all records are stored
   */
  async stop(): Promise<boolean> {
    this.#isStopping = true;
    startNoRuntime();
    const isStored = await this.#settle();
    await within(MAX_ENDING_MS, endRuntime()).then(
      () => forgetRuntime(this.#options.folder),
      () => undefined,
    );
    return isStored;
  }

  /** Stops accepting requests, and waits until all records are stored. @returns whether they are */
  #settle(): Promise<boolean> {
    this.#settling ??= this.#drain().finally(() => {
      this.#settling = undefined;
    });
    return this.#settling;
  }

  async #drain(): Promise<boolean> {
    const hasBegun = new Promise<void>((resolve) => {
      this.#onStopping = resolve;
    });
    const stored = this.#trigger('stop', MAX_STOPPING_MS).then((outcome) => {
      if (outcome !== 'ok') throw new Error(`It ended with ${outcome}`);
    });
    const isBegun = await within(MAX_BEGINNING_MS, Promise.race([hasBegun, stored])).then(
      () => true,
      () => false,
    );
    if (!isBegun) await this.#holdRequest();
    // The runtime closes its sockets, and waits for that last run, or for that request.
    this.#runtime?.kill('SIGTERM');
    const written = isBegun ? undefined : wait(MAX_WRITING_MS);
    try {
      await stored;
      return true;
    } catch (error) {
      await written;
      const effect = isBegun
        ? 'Not all requests were stored, and the history lacks the last ones'
        : 'The service did not respond to the stop, and the history may lack the last requests';
      this.#options.log(
        'error',
        `${effect}: ${String(error)}. ` +
          'Check that the disk works, and that no other program locks the database.',
      );
      return false;
    }
  }

  /** Sends the beginning of a request, for whose end the service waits: without one, the runtime would end at once. */
  async #holdRequest(): Promise<void> {
    const { host, port } = this.#options;
    const socket = connect(port, host).on('error', () => undefined);
    socket.write('POST /api/v1/validate HTTP/1.1\r\nHost: licet\r\nContent-Length: 1\r\n\r\n');
    await wait(ACCEPTING_MS);
  }

  async #start(): Promise<void> {
    this.#miniflare = new Miniflare(convertV4MiniflareOptions(this.#miniflareOptions()));
    // The handlers of miniflare end the process at once.
    for (const signal of SIGNALS) {
      process.removeAllListeners(signal);
      process.on(signal, this.#options.onSignal);
    }
    await within(MAX_STARTING_MS, this.#miniflare.ready, NOT_STARTED);
  }

  #miniflareOptions(): V4MiniflareOptions {
    const { built, folder, host, port, variables } = this.#options;
    const { script, filesScript, compatibilityDate, limits, assets, others } = built;
    const all = {
      ONE_MACHINE: 'true',
      TRUSTED_PROXIES: '',
      CONSOLE_HOSTS: '',
      // Limits are numbers: one process can count by itself, and the simulated limiter costs more than a
      // validation.
      ...limits,
      ...built.variables,
      ...variables,
    };
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
          bindings: all,
          // The files are another Worker's, or a router would be in front of this one.
          serviceBindings: {
            ASSETS: FILES_NAME,
            OUTBOUND: outboundNetwork(all),
            ...discordNetwork(all),
            ...mailNetwork(all),
          },
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
      rememberRuntime(this.#options.folder, child.pid, triggerSocket());
    } catch (error) {
      // The disk is full, for example. The file is only needed after this process is killed.
      this.#options.log('warn', `The process id was not written: ${String(error)}`);
    }
    watchDescriptors(child, this.#options.log, () => void this.#restart());
    child.once('exit', async (code, signal) => {
      if (this.#isStopping || this.#runtime !== child) return;
      this.#options.log('error', `The runtime ended by ${signal ?? code}, and is started again`);
      const miniflare = this.#miniflare;
      await miniflare?.ready.catch(async () => {
        if (this.#miniflare === miniflare) await this.#startAgain();
      });
    });
  }
}

/** @throws if a promise takes longer */
async function within<T>(
  milliseconds: number,
  promise: Promise<T>,
  message = `It took longer than ${milliseconds / 1000} seconds`,
): Promise<T> {
  const timer = new AbortController();
  const late = wait(milliseconds, undefined, { signal: timer.signal, ref: false }).then(() => {
    throw new Error(message);
  });
  late.catch(() => undefined);
  try {
    return await Promise.race([promise, late]);
  } finally {
    timer.abort();
  }
}
