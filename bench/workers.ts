import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { convertV4MiniflareOptions, Miniflare } from 'miniflare';
import { COMPATIBILITY_DATE } from './bundle.ts';
import { newFolder } from './folders.ts';
import { heapMegabytes } from './inspector.ts';
import { type Population, populate } from './population.ts';
import { workerdProcesses } from './workerd.ts';

/** The Workers under load, each in a workerd of its own, on a socket that no proxy stands before. */

export interface RunningWorker {
  readonly url: URL;
  /** Null where it cannot be told. */
  readonly pid: number | null;
}

type Database = Awaited<ReturnType<Miniflare['getD1Database']>>;

const WORKER_NAME = 'worker';

const LIMITS = {
  VALIDATION_LIMITER: { namespace_id: '8701', simple: { limit: 60, period: 60 } },
  FAILED_LOOKUP_LIMITER: { namespace_id: '8702', simple: { limit: 100, period: 60 } },
  FAILED_TOKEN_LIMITER: { namespace_id: '8703', simple: { limit: 60, period: 60 } },
} as const;

/** How long records may take until they are stored. They should within two seconds. */
const STORING_PATIENCE_MS = 30_000;
const POLL_MS = 10;

/** Of each binding, where it leads to. */
interface Bindings {
  d1Databases?: Record<string, string>;
  kvNamespaces?: Record<string, string>;
  ratelimits?: Record<string, { namespace_id: string; simple: { limit: number; period: 60 } }>;
  bindings?: Record<string, string>;
}

interface WorkerOptions {
  script: string;
  /** Where what it stores is kept. */
  folder: string;
  bindings?: Bindings;
  onLog?: (message: string) => void;
  isInspected?: boolean;
}

async function startWorker({
  script,
  folder,
  bindings = {},
  onLog = () => undefined,
  isInspected = false,
}: WorkerOptions): Promise<{ miniflare: Miniflare; url: URL; pid: number | null }> {
  const others = workerdProcesses();
  const miniflare = new Miniflare(
    convertV4MiniflareOptions({
      resourcePersistencePath: folder,
      handleStructuredLogs: ({ message }) => onLog(message),
      ...(isInspected && { inspectorPort: 0 }),
      workers: [
        {
          name: WORKER_NAME,
          modules: true,
          script,
          compatibilityDate: COMPATIBILITY_DATE,
          unsafeDirectSockets: [{}],
          ...bindings,
        },
      ],
    }),
  );
  const url = await miniflare.unsafeGetDirectURL(WORKER_NAME);
  const pid = workerdProcesses().find((process) => !others.includes(process)) ?? null;
  return { miniflare, url, pid };
}

/** The Worker to compare with. */
export class BareWorker implements RunningWorker, AsyncDisposable {
  readonly url: URL;
  readonly pid: number | null;
  readonly #miniflare: Miniflare;
  readonly #folder: string;

  private constructor(miniflare: Miniflare, url: URL, pid: number | null, folder: string) {
    this.url = url;
    this.pid = pid;
    this.#miniflare = miniflare;
    this.#folder = folder;
  }

  static async start(script: string): Promise<BareWorker> {
    const folder = newFolder();
    const { miniflare, url, pid } = await startWorker({ script, folder });
    return new BareWorker(miniflare, url, pid, folder);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#miniflare.dispose();
    rmSync(this.#folder, { recursive: true });
  }
}

/** What the database and the answers say of the same requests. */
export interface Tally {
  /** Validations that were answered, and of these the ones of licenses that there are. */
  answered: number;
  answeredKnown: number;
  /** Records in the history. */
  stored: number;
  /** The sum of the licenses' totals. */
  totals: number;
  /** Licenses whose total is not the number of their records. */
  miscounted: number;
}

export interface ServiceOptions {
  population: Population;
  /** With the rate limiters bound. */
  isLimited?: boolean;
  /** With an inspector, which tells the heap. */
  isInspected?: boolean;
}

/** Licet with a shop in its database. */
export class LicetService implements RunningWorker, AsyncDisposable {
  readonly #script: string;
  readonly #isLimited: boolean;
  readonly #isInspected: boolean;
  readonly #folder = newFolder();
  readonly #logs = new Map<string, number>();
  #answered = { known: 0, unknown: 0 };
  /** Records that were awaited so far. */
  #stored = 0;
  #worker: Awaited<ReturnType<typeof startWorker>> | undefined;

  private constructor(script: string, { isLimited, isInspected }: ServiceOptions) {
    this.#script = script;
    this.#isLimited = isLimited ?? false;
    this.#isInspected = isInspected ?? false;
  }

  static async start(script: string, options: ServiceOptions): Promise<LicetService> {
    const service = new LicetService(script, options);
    await service.restart();
    await populate(await service.#database(), options.population);
    return service;
  }

  /** Ends the Worker, if there is one, and starts it anew on what is stored. */
  async restart(): Promise<void> {
    await this.#worker?.miniflare.dispose();
    this.#worker = await startWorker({
      script: this.#script,
      folder: this.#folder,
      bindings: {
        d1Databases: { DB: 'DB' },
        kvNamespaces: { SNAPSHOTS: 'SNAPSHOTS' },
        ratelimits: this.#isLimited ? LIMITS : {},
        // No log of requests: here each line of it is printed before the next request, for 0.1 ms.
        bindings: { ROOT_TOKEN: '', REQUIRE_HWID: 'false', REQUEST_RETENTION_DAYS: '0' },
      },
      isInspected: this.#isInspected,
      onLog: (message) => this.#logs.set(message, (this.#logs.get(message) ?? 0) + 1),
    });
  }

  get url(): URL {
    return this.#running.url;
  }

  get pid(): number | null {
    return this.#running.pid;
  }

  get #running() {
    if (!this.#worker) throw new Error('The service does not run');
    return this.#worker;
  }

  #database(): Promise<Database> {
    return this.#running.miniflare.getD1Database('DB', WORKER_NAME);
  }

  async #numberFrom(sql: string): Promise<number> {
    const row = await (await this.#database()).prepare(sql).first<{ n: number }>();
    return row?.n ?? 0;
  }

  /** Runs what the platform runs every minute. */
  async runScheduled(): Promise<void> {
    const worker = await this.#running.miniflare.getWorker(WORKER_NAME);
    await worker.scheduled({});
  }

  /**
   * Waits for the records of requests that were just answered.
   *
   * @returns how long that took, in milliseconds
   */
  async awaitRecords(count: number, areKnown: boolean): Promise<number> {
    this.#answered[areKnown ? 'known' : 'unknown'] += count;
    const start = performance.now();
    const patience = start + STORING_PATIENCE_MS;
    const total = this.#stored + count;
    let stored = await this.#countRecords();
    while (stored < total && performance.now() < patience) {
      await wait(POLL_MS);
      stored = await this.#countRecords();
    }
    this.#stored = stored;
    return performance.now() - start;
  }

  #countRecords(): Promise<number> {
    return this.#numberFrom('select count(*) as n from requests');
  }

  async tally(): Promise<Tally> {
    const { known, unknown } = this.#answered;
    return {
      answered: known + unknown,
      answeredKnown: known,
      stored: await this.#countRecords(),
      totals: await this.#numberFrom(
        `select count(*) as n from requests r join callers c on c.id = r.caller_id
         join licenses l on l.id = c.license_id and l.license_key_normalized = c.license_key_normalized`,
      ),
      miscounted: await this.#numberFrom(
        'select count(*) as n from requests r where caller_id not in (0, (select id from callers c where c.id = r.caller_id))',
      ),
    };
  }

  /** What it has logged, and how often: in a benchmark there is nothing to complain about. */
  logs(): string[] {
    return [...this.#logs].map(([message, times]) => `logged ${times} times: ${message}`);
  }

  /** How much the Worker's own objects take. */
  async heapMegabytes(): Promise<number> {
    const { miniflare, url } = this.#running;
    const use = () => fetch(new URL('/api/v2/healthy', url)).then((answer) => answer.text());
    return heapMegabytes(await miniflare.getInspectorURL(), WORKER_NAME, use);
  }

  /** How many values are bound to licenses. */
  bindings(): Promise<number> {
    return this.#numberFrom('select count(*) as n from bindings');
  }

  /** Names for the values in KV; each write gives its value a new one. */
  kvValues(): Set<string> {
    try {
      return new Set(readdirSync(join(this.#folder, 'kv', 'SNAPSHOTS', 'blobs')));
    } catch {
      // Nothing was ever written.
      return new Set();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#worker?.miniflare.dispose();
    rmSync(this.#folder, { recursive: true });
  }
}
