import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as wait } from 'node:timers/promises';
import { databaseFile } from '../scripts/local/database.ts';
import { pidFile } from '../scripts/local/leftover.ts';
import { ROOT_TOKEN } from '../test/support/root-token.ts';
import { newFolder } from './folders.ts';
import { ServiceLog } from './log.ts';
import type { Population } from './population.ts';
import { Witness } from './witness.ts';
import { residentMegabytesOf } from './workerd.ts';
import { fillFolder, type RunningWorker } from './workers.ts';

/** The service by `npm start` or `npm run dev`, in processes of its own, with its log read. */

const POLL_INTERVAL_MS = 10;
const STARTING_TIMEOUT_MS = 60_000;

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  return typeof address === 'object' && address ? address.port : 0;
}

const responds = (url: URL): Promise<boolean> =>
  fetch(new URL('/api/v2/healthy', url)).then(
    ({ ok }) => ok,
    () => false,
  );

interface LocalServiceOptions {
  /** Options of the command. */
  options?: readonly string[];
  /** The folder of its code; this one by default. */
  checkout?: string | undefined;
}

export class LocalServiceProcess implements RunningWorker, AsyncDisposable {
  readonly url: URL;
  readonly #script: 'start' | 'dev';
  readonly #checkout: string;
  readonly #folder: string;
  readonly #options: readonly string[];
  #npm: ChildProcess | undefined;
  readonly log = new ServiceLog();
  readonly witness = new Witness(async (sql) => this.#readCounts(sql));
  /** The database's file. */
  #file: string | undefined;

  private constructor(
    script: 'start' | 'dev',
    url: URL,
    { options, checkout }: LocalServiceOptions,
  ) {
    this.#script = script;
    this.url = url;
    this.#folder = newFolder();
    this.#options = options ?? [];
    this.#checkout = checkout ?? '.';
  }

  static async start(
    script: 'start' | 'dev',
    population: Population,
    options: LocalServiceOptions = {},
  ): Promise<LocalServiceProcess> {
    const url = new URL(`http://127.0.0.1:${await freePort()}`);
    const service = new LocalServiceProcess(script, url, options);
    await service.restart();
    await service.#stop();
    await fillFolder(service.#folder, population);
    await service.restart();
    return service;
  }

  /** Ends it, if it runs, and starts it again. @returns seconds until its first response */
  async restart(): Promise<number> {
    await this.#stop();
    const startedAt = performance.now();
    const args = ['--port', this.url.port, '--persist-to', this.#folder, '--ip', '127.0.0.1'];
    this.#npm = spawn('npm', ['run', this.#script, '--', ...args, ...this.#options], {
      cwd: this.#checkout,
      stdio: ['ignore', 'pipe', 'ignore'],
      env: { ...process.env, ROOT_TOKEN },
      detached: true,
    });
    // A run that a signal ends must not leave it behind.
    process.once('exit', this.#end);
    let rest = '';
    this.#npm.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
      const lines = `${rest}${chunk}`.split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) this.log.add(line);
    });
    while (!(await responds(this.url))) {
      if (performance.now() - startedAt > STARTING_TIMEOUT_MS || this.#npm.exitCode !== null) {
        throw new Error(`npm run ${this.#script} did not start`);
      }
      await wait(POLL_INTERVAL_MS);
    }
    return (performance.now() - startedAt) / 1000;
  }

  /** workerd; null for `npm run dev`, which has several. */
  get pid(): number | null {
    if (this.#script === 'dev') return null;
    return Number(readFileSync(pidFile(this.#folder), 'utf8'));
  }

  /** The memory of the process that watches over workerd, and of workerd. npm is not counted. */
  residentMegabytes(): { node: number | null; workerd: number | null } {
    const status = readFileSync(`/proc/${this.pid}/status`, 'utf8');
    const parent = Number(/^PPid:\s*(\d+)$/m.exec(status)?.[1]);
    return { node: residentMegabytesOf(parent), workerd: residentMegabytesOf(this.pid) };
  }

  #readCounts(sql: string): { key: string; n: number }[] {
    this.#file ??= databaseFile(this.#folder);
    const database = new DatabaseSync(this.#file, { readOnly: true, timeout: 5_000 });
    const rows = database.prepare(sql).all();
    database.close();
    return rows.map(({ key, n }) => ({ key: String(key), n: Number(n) }));
  }

  readonly #end = (): void => {
    const { pid, exitCode = null } = this.#npm ?? {};
    if (pid !== undefined && exitCode === null) process.kill(-pid, 'SIGTERM');
  };

  async #stop(): Promise<void> {
    const npm = this.#npm;
    this.#npm = undefined;
    if (!npm?.pid || npm.exitCode !== null) return;
    process.off('exit', this.#end);
    process.kill(-npm.pid, 'SIGTERM');
    await once(npm, 'close');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stop();
  }
}
