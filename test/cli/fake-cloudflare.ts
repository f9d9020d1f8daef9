import { createHash, randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { DatabaseSync } from 'node:sqlite';
import { unstable_splitSqlQuery } from 'wrangler';
import { listen } from '../node/own.ts';

/**
 * The part of Cloudflare's interface that deploying needs, so that the real wrangler can be run against it
 * (CLOUDFLARE_API_BASE_URL). D1 is SQLite, which runs what it is sent.
 */
export interface FakeCloudflare {
  url: string;
  /** Changes, in order. */
  changes: string[];
  databases: Map<string, { id: string; sqlite: DatabaseSync }>;
  namespaces: Map<string, string>;
  /** The bindings of the latest upload; undefined before the first one. */
  worker: { bindings: Binding[] } | undefined;
}

export interface Binding {
  name: string;
  type: string;
  text?: string;
  id?: string;
  namespace_id?: string;
}

export const ACCOUNT = { id: 'a'.repeat(32), name: 'Shop' };

/** A response that is an error of Cloudflare's: its status and its code. */
class Refusal extends Error {
  readonly status: number;
  readonly code: number;

  constructor(status: number, code: number, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

async function read(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks);
}

export async function startFakeCloudflare(): Promise<FakeCloudflare> {
  const fake: Omit<FakeCloudflare, 'url'> = {
    changes: [],
    databases: new Map(),
    namespaces: new Map(),
    worker: undefined,
  };

  const databaseOf = (idOrName = '') => {
    for (const [name, database] of fake.databases) {
      if (name === idOrName || database.id === idOrName) return { name, ...database };
    }
    throw new Refusal(404, 7404, 'The database could not be found');
  };
  const result = (results: unknown[]) => ({
    results,
    success: true,
    meta: { duration: 1, rows_read: 0, rows_written: 0, size_after: 0 },
  });

  /** Runs SQL as D1 does: statement by statement, in one transaction. */
  function query(sqlite: DatabaseSync, sql: string) {
    // The reader of SQL of the real one cuts triggers at their semicolons.
    if (/create trigger/i.test(sql)) throw new Refusal(400, 7500, 'incomplete input: SQLITE_ERROR');
    sqlite.exec('begin');
    try {
      const results = unstable_splitSqlQuery(sql).map((statement) =>
        sqlite.prepare(statement).all(),
      );
      sqlite.exec('commit');
      return results.map(result);
    } catch (error) {
      sqlite.exec('rollback');
      throw new Refusal(400, 7500, `${error}: SQLITE_ERROR`);
    }
  }

  /** The metadata of an upload says what the Worker is bound to. */
  async function takeUpload(request: IncomingMessage, body: Buffer): Promise<void> {
    const form = await new Response(Uint8Array.from(body), {
      headers: { 'Content-Type': request.headers['content-type'] ?? '' },
    }).formData();
    const { bindings }: { bindings: Binding[] } = JSON.parse(String(form.get('metadata')));
    const before = fake.worker?.bindings ?? [];
    const after = bindings.map((binding) => {
      if (binding.type !== 'inherit') return binding;
      const inherited = before.find(({ name }) => name === binding.name);
      if (inherited) return inherited;
      throw new Refusal(400, 10_057, `inherit binding '${binding.name}' is invalid`);
    });
    // Secrets stay, whether an upload names them or not.
    const kept = before.filter(
      ({ name, type }) => type === 'secret_text' && !after.some((each) => each.name === name),
    );
    fake.worker = { bindings: [...after, ...kept] };
  }

  async function resultOf(request: IncomingMessage, body: Buffer, address: URL): Promise<unknown> {
    if (address.pathname.startsWith('/zones/')) return [];
    const path = address.pathname.replace(`/accounts/${ACCOUNT.id}`, '');
    const route = `${request.method} ${path}`;
    const json = (): Record<string, string> => JSON.parse(body.toString() || '{}');
    const [, , kind, , action] = path.split('/');
    if (request.method !== 'GET') fake.changes.push(route);

    if (path === '/user') return { email: 'ada@shop.example' };
    if (path === '/user/tokens/verify') return {};
    if (path === '/accounts') return [ACCOUNT];
    if (path === '/memberships') return [{ account: ACCOUNT }];
    if (route === 'GET /d1/database') {
      return [...fake.databases].map(([name, { id }]) => ({ name, uuid: id }));
    }
    if (route === 'POST /d1/database') {
      const name = json().name ?? '';
      const database = { id: randomUUID(), sqlite: new DatabaseSync(':memory:') };
      fake.databases.set(name, database);
      return { name, uuid: database.id };
    }
    if (path.startsWith('/d1/database/')) {
      const { id, name, sqlite } = databaseOf(path.split('/')[3]);
      return path.endsWith('/query') ? query(sqlite, json().sql ?? '') : { uuid: id, name };
    }
    if (route === 'GET /storage/kv/namespaces') {
      if (Number(address.searchParams.get('page') ?? 1) > 1) return [];
      return [...fake.namespaces].map(([title, id]) => ({ title, id }));
    }
    if (route === 'POST /storage/kv/namespaces') {
      const title = json().title ?? '';
      const id = createHash('md5').update(title).digest('hex');
      fake.namespaces.set(title, id);
      return { title, id };
    }
    if (route === 'GET /workers/subdomain') return { subdomain: 'shop' };
    if (kind === 'workers') return { subdomain: { enabled: true, previews_enabled: true } };
    if (kind === 'scripts' && action === 'assets-upload-session')
      return { jwt: 'jwt', buckets: [] };
    if (route.startsWith('PUT /workers/scripts/') && action === undefined) {
      await takeUpload(request, body);
      return { id: 'licet', deployment_id: randomUUID().replaceAll('-', ''), startup_time_ms: 1 };
    }
    if (kind === 'scripts' || kind === 'services') {
      const { worker } = fake;
      if (worker === undefined) throw new Refusal(404, 10_007, 'This Worker does not exist');
      if (kind === 'services') {
        return { default_environment: { script: { tag: 't', last_deployed_from: 'wrangler' } } };
      }
      if (action === 'secrets') {
        return worker.bindings.flatMap(({ name, type }) =>
          type === 'secret_text' ? { name, type } : [],
        );
      }
      if (action === 'settings') return worker;
      if (action === 'versions') {
        await takeUpload(request, body);
        return { id: randomUUID(), resources: { script: { etag: 'e' } }, startup_time_ms: 1 };
      }
      if (action === 'deployments') return { deployments: [] };
      if (action === 'subdomain') return { enabled: true, previews_enabled: true };
      return {};
    }
    throw new Refusal(404, 7003, `The fake does not know ${route}`);
  }

  const url = await listen(async (request, response) => {
    const body = await read(request);
    const address = new URL(request.url ?? '', 'http://fake');
    const send = (status: number, fields: object) =>
      response
        .writeHead(status, { 'Content-Type': 'application/json' })
        .end(JSON.stringify({ errors: [], messages: [], ...fields }));
    try {
      send(200, { success: true, result: await resultOf(request, body, address) });
    } catch (error) {
      const {
        status = 500,
        code = 1,
        message = String(error),
      } = error instanceof Refusal ? error : {};
      send(status, { success: false, result: null, errors: [{ code, message }] });
    }
  });
  return Object.assign(fake, { url });
}
