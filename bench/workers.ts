import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { convertV4MiniflareOptions, Miniflare } from 'miniflare';
import { COMPATIBILITY_DATE } from './bundle.ts';
import { newFolder } from './folders.ts';
import { heapMegabytes } from './inspector.ts';
import { ServiceLog } from './log.ts';
import { fill, type Population, populate } from './population.ts';
import { Witness } from './witness.ts';
import { workerdProcesses } from './workerd.ts';

/** The Workers under load, each in a workerd of its own, on a socket without a proxy in front of it. */

export interface RunningWorker {
  readonly url: URL;
  /** Null where it is not known. */
  readonly pid: number | null;
}

export type Database = Awaited<ReturnType<Miniflare['getD1Database']>>;

const WORKER_NAME = 'worker';

const LIMITS = {
  VALIDATION_LIMITER: { namespace_id: '8701', simple: { limit: 120, period: 60 } },
  REFUSED_LIMITER: { namespace_id: '8702', simple: { limit: 100, period: 60 } },
  FAILED_TOKEN_LIMITER: { namespace_id: '8703', simple: { limit: 60, period: 60 } },
} as const;

/** No limit that a load reaches: without a limiter the Worker would count for itself. */
const UNLIMITED = {
  VALIDATION_LIMITER: 1e9,
  REFUSED_LIMITER: 1e9,
  FAILED_TOKEN_LIMITER: 1e9,
};

interface Bindings {
  d1Databases?: Record<string, string>;
  kvNamespaces?: Record<string, string>;
  ratelimits?: Record<string, { namespace_id: string; simple: { limit: number; period: 60 } }>;
  bindings?: Record<string, string | number>;
}

interface WorkerOptions {
  script: string;
  /** The folder of its storage. */
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

/** A Worker without bindings. */
export class PlainWorker implements RunningWorker, AsyncDisposable {
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

  static async start(script: string): Promise<PlainWorker> {
    const folder = newFolder();
    const { miniflare, url, pid } = await startWorker({ script, folder });
    return new PlainWorker(miniflare, url, pid, folder);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#miniflare.dispose();
    rmSync(this.#folder, { recursive: true });
  }
}

/** The same requests, counted by their responses and by the database. */
export interface Tally {
  /** Validations that must have left a record. */
  responses: number;
  /** Records in the history, and those of known licenses among them. */
  stored: number;
  ofKnown: number;
  /** The sum of the licenses' totals. */
  counted: number;
  /** Records whose installation is missing, or is another one. */
  orphans: number;
}

export interface ServiceOptions {
  population: Population;
  /** Secrets that it has. */
  secrets?: Record<string, string>;
  /** With the rate limiters bound. */
  isLimited?: boolean;
  /** With an inspector, which reports the heap. */
  isInspected?: boolean;
  /** With an event in the log for each request. */
  isLogged?: boolean;
  /** The checkout that its script was built of; this one if none is given. */
  checkout?: string | undefined;
}

/** Fills the database that `npm start` has made in a folder. */
export async function fillFolder(folder: string, population: Population): Promise<void> {
  const miniflare = new Miniflare(
    convertV4MiniflareOptions({
      resourcePersistencePath: join(folder, 'v3'),
      modules: true,
      script: 'export default {}',
      d1Databases: { DB: 'DB' },
    }),
  );
  await fill(await miniflare.getD1Database('DB'), population);
  await miniflare.dispose();
}

/** Licet with a shop in its database. */
export class LicetService implements RunningWorker, AsyncDisposable {
  readonly #secrets: Record<string, string>;
  readonly #isLimited: boolean;
  readonly #isInspected: boolean;
  readonly #isLogged: boolean;
  readonly #folder = newFolder();
  readonly log = new ServiceLog();
  readonly witness = new Witness(async (sql) => {
    const { results } = await (await this.database())
      .prepare(sql)
      .all<{ key: string; n: number }>();
    return results;
  });
  #script: string;
  #worker: Awaited<ReturnType<typeof startWorker>> | undefined;

  private constructor(
    script: string,
    { secrets, isLimited, isInspected, isLogged }: ServiceOptions,
  ) {
    this.#script = script;
    this.#secrets = secrets ?? {};
    this.#isLimited = isLimited ?? false;
    this.#isInspected = isInspected ?? false;
    this.#isLogged = isLogged ?? false;
  }

  static async start(script: string, options: ServiceOptions): Promise<LicetService> {
    const service = new LicetService(script, options);
    await service.restart();
    await populate(await service.database(), options.population, options.checkout);
    return service;
  }

  /** Ends the Worker, if there is one, and starts it on the same storage. */
  async restart(script = this.#script): Promise<void> {
    this.#script = script;
    await this.#worker?.miniflare.dispose();
    this.#worker = await startWorker({
      script,
      folder: this.#folder,
      bindings: {
        d1Databases: { DB: 'DB' },
        kvNamespaces: { SNAPSHOTS: 'SNAPSHOTS' },
        ratelimits: this.#isLimited ? LIMITS : {},
        // Without a log of requests, as the others have: each line takes 0.1 ms here.
        bindings: {
          ...this.#secrets,
          ROOT_TOKEN: '',
          REQUIRE_HWID: 'false',
          REQUEST_RETENTION_DAYS: '0',
          ...(!this.#isLimited && UNLIMITED),
          LOG_REQUESTS: String(this.#isLogged),
        },
      },
      isInspected: this.#isInspected,
      onLog: (message) => this.log.add(message),
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

  database(): Promise<Database> {
    return this.#running.miniflare.getD1Database('DB', WORKER_NAME);
  }

  async #numberFrom(sql: string): Promise<number> {
    const row = await (await this.database()).prepare(sql).first<{ n: number }>();
    return row?.n ?? 0;
  }

  /** Runs the scheduled handler. */
  async runScheduled(): Promise<void> {
    const worker = await this.#running.miniflare.getWorker(WORKER_NAME);
    await worker.scheduled({});
  }

  async tally(): Promise<Tally> {
    return {
      responses: this.witness.due,
      stored: await this.#numberFrom('select count(*) as n from requests'),
      ofKnown: await this.#numberFrom(
        'select count(*) as n from requests where installation_id <> 0',
      ),
      counted: await this.#numberFrom(
        `select (select sum(past_requests) from licenses) + (select ifnull(sum(requests), 0) from installations)
           + count(*) as n
         from installations c join requests r on r.installation_id = c.id and r.bucket > c.aggregated_bucket`,
      ),
      orphans: await this.#numberFrom(
        `select count(*) as n from requests r left join installations c on c.id = r.installation_id
         where r.installation_id <> 0 and ifnull(c.product_id, 0) <> r.product_id`,
      ),
    };
  }

  /** The address of the inspector. */
  inspectorURL(): Promise<URL> {
    return this.#running.miniflare.getInspectorURL();
  }

  /** The heap of the Worker. */
  async heapMegabytes(): Promise<number> {
    const use = async () => (await fetch(new URL('/api/v2/healthy', this.url))).text();
    return heapMegabytes(await this.inspectorURL(), WORKER_NAME, use);
  }

  /** The number of values that are bound to licenses. */
  bindings(): Promise<number> {
    return this.#numberFrom('select count(*) as n from bindings');
  }

  /** The number of hours that have records. */
  buckets(): Promise<number> {
    return this.#numberFrom('select count(*) as n from buckets');
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
