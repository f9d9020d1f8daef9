import { env } from 'cloudflare:workers';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { newIsolate, settled } from '../support/app.ts';
import { call, create, expectError, type ReadResponse, type Token } from '../support/client.ts';
import { interceptDatabase } from '../support/d1-intercept.ts';
import { ENDPOINTS } from '../support/endpoints.ts';
import { type Fields, tokens } from '../support/resources.ts';
import { WRITES } from '../support/writes.ts';

/**
 * A token counts as it is when a change is written (3.2), however long ago the headers were accepted, and
 * a body has ten seconds. The object of a change counts likewise. Over every route that writes.
 */

afterEach(settled);

const ALL = Object.entries(WRITES).map(([route, prepare]) => ({ route, prepare }));
const WITH_BODY = ALL.filter(({ route }) => !route.startsWith('DELETE'));

const UNAUTHORIZED = 'Token is missing, unknown, expired or revoked';

/** Changes of a token after which it may not do what it was sent for. */
const CHANGES = [
  {
    change: 'is revoked',
    apply: ({ id }: Token) => call('DELETE', `${tokens.path}/${id}`),
    status: 401,
    message: UNAUTHORIZED,
  },
  {
    change: 'expires',
    apply: ({ id }: Token) =>
      call('PUT', `${tokens.path}/${id}`, { body: { expiresAt: '2020-01-01' } }),
    status: 401,
    message: UNAUTHORIZED,
  },
  {
    change: 'loses its intents',
    apply: ({ id }: Token) =>
      call('PUT', `${tokens.path}/${id}`, { body: { intents: ['LICENSE_VALIDATE'] } }),
    status: 403,
    message: 'Token lacks a required intent',
  },
  {
    change: 'is deleted from the database',
    apply: ({ id }: Token) => env.DB.prepare('delete from tokens where id = ?').bind(id).run(),
    status: 401,
    message: UNAUTHORIZED,
  },
];

const TABLES = {
  products: '*',
  licenses: '*',
  bindings: '*',
  replaced_keys: '*',
  customers: '*',
  blacklists: '*',
  // The last use of a token is written after the response.
  tokens: 'id, name, intents, expires_at, revoked_at, revision',
  counters: '*',
  deleted_ids: '*',
  events: '*',
  idempotency_keys: '*',
  violations: '*, 1',
  // Publishing removes rows after the response.
  outbox: '*',
};

type Rows = Record<string, unknown[]>;

/** All that a change could write. */
async function readTables(): Promise<Rows> {
  const tables = Object.entries(TABLES);
  const results = await env.DB.batch(
    tables.map(([table, columns]) =>
      env.DB.prepare(`select ${columns} from ${table} order by 1, 2`),
    ),
  );
  return Object.fromEntries(tables.map(([table], index) => [table, results[index]?.results ?? []]));
}

/** Expects that nothing was written since, but for rows that left the outbox. */
async function expectUnchanged(before: Rows): Promise<void> {
  const { outbox = [], ...after } = await readTables();
  expect({ ...after, outbox: before.outbox }).toEqual(before);
  expect(before.outbox).toEqual(expect.arrayContaining(outbox));
}

/** A body that is held back until it is released. */
function heldBody(body: Fields): {
  stream: ReadableStream;
  asked: Promise<void>;
  release: () => void;
} {
  const asked = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  const stream = new ReadableStream(
    {
      type: 'bytes',
      async pull(controller) {
        asked.resolve();
        await released.promise;
        controller.enqueue(new TextEncoder().encode(JSON.stringify(body)));
        controller.close();
      },
    },
    // Nothing is asked for before somebody reads.
    { highWaterMark: 0 },
  );
  return { stream, asked: asked.promise, release: released.resolve };
}

const isWrite = (statements: readonly { sql: string }[]): boolean =>
  statements.some(({ sql }) => /^(insert|update|delete) /.test(sql));

/** Each route with a revoked token, and one with every change of a token. */
const RACES = [
  ...ALL.flatMap((write) => CHANGES.slice(0, 1).map((change) => ({ ...write, ...change }))),
  ...ALL.slice(1, 2).flatMap((write) =>
    CHANGES.slice(1).map((change) => ({ ...write, ...change })),
  ),
];

/** The database, in which something happens just before each write of a request, which is a batch. */
const beforeWrites = (happen: () => Promise<unknown>): D1Database =>
  interceptDatabase(env.DB, async (statements, send) => {
    if (statements.length > 1 && isWrite(statements)) await happen();
    return send();
  });

it.each(RACES)(
  '$route writes nothing when its token $change just before the write [1.5.11, 3.2.4, 5.1, 6.16]',
  async ({ route, prepare, apply, status, message }) => {
    const { path, body } = await prepare();
    const token = await create.token(['ALL_READ_WRITE']);
    let before: Rows | undefined;
    const DB = beforeWrites(async () => {
      if (before) return;
      await apply(token);
      before = await readTables();
    });
    const method = route.split(' ', 1).join();
    const headers = { 'Idempotency-Key': crypto.randomUUID() };
    const response = await newIsolate({ DB }).call(method, path, {
      token: token.token,
      body,
      headers,
    });
    expectError(response, status, message, ENDPOINTS[route]);
    if (!before) throw new Error('Nothing was to be written');
    await expectUnchanged(before);
  },
);

it.each(ALL.filter(({ route }) => route.includes('/:id')))(
  '$route writes nothing when another request has changed the object just before the write, and then all of it [5.1]',
  async ({ route, prepare }) => {
    const { path, body } = await prepare();
    const [, table, id] = /(\w+)\/(\d+)(?:\/[\w-]+)?$/.exec(path) ?? [];
    const overtaken = env.DB.prepare(`update ${table} set revision = revision + 1 where id = ?`);
    let before: Rows | undefined;
    let writes = 0;
    const DB = beforeWrites(async () => {
      writes++;
      if (before) return expectUnchanged(before);
      await overtaken.bind(Number(id)).run();
      before = await readTables();
    });
    const method = route.split(' ', 1).join();
    const response = await newIsolate({ DB, SNAPSHOTS: undefined }).call(method, path, { body });
    expect(response.status, response.text).toBe(method === 'DELETE' ? 204 : 200);
    expect(writes).toBe(2);
  },
);

describe.each(
  WITH_BODY.map((write, index) => ({
    ...write,
    announced: index === 0 ? 'with its length announced' : 'of unknown length',
  })),
)('$route $announced', ({ route, prepare, announced }) => {
  const method = route.split(' ', 1).join();

  /** Sends a request whose body is held back, and lets some time pass. */
  async function sendLate(heldMs: number) {
    const { path, body = {} } = await prepare();
    const { stream, asked, release } = heldBody(body);
    const length = { 'Content-Length': String(JSON.stringify(body).length) };
    const headers = announced === 'of unknown length' ? {} : length;
    const before = await readTables();
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const responses: ReadResponse[] = [];
    const sending = newIsolate()
      .send(method, path, { body: stream, headers })
      .then((response) => responses.push(response));
    await asked;
    await vi.advanceTimersByTimeAsync(heldMs);
    vi.useRealTimers();
    return { before, responses, sending, release };
  }

  it('a write gets 408 when its body does not arrive within 10 seconds, and changes nothing [3.2.2]', async () => {
    const { before, responses } = await sendLate(10_000);
    await vi.waitFor(() => expect(responses).toHaveLength(1));
    for (const response of responses) {
      expectError(response, 408, 'Body must arrive within 10 seconds', ENDPOINTS[route]);
    }
    await expectUnchanged(before);
  });

  it('a write is carried out when its body arrives after 9.9 seconds [3.2.2]', async () => {
    const { responses, sending, release } = await sendLate(9_900);
    expect(responses).toEqual([]);
    release();
    await sending;
    expect([200, 201]).toContain(responses[0]?.status);
  });
});
