import { createExecutionContext, waitOnExecutionContext } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { beforeAll, beforeEach, expect, it } from 'vitest';
import document from '../../docs/cost.md?raw';
import { openDatabase } from '../../src/db/client.ts';
import { removeExpiredKeys } from '../../src/db/expired-keys.ts';
import { app } from '../../src/routes/app.ts';
import type { Bindings } from '../../src/services.ts';
import { newIsolate as newServiceIsolate } from '../support/app.ts';
import { create, type Product, readResponse } from '../support/client.ts';
import { spyOnDatabase, sumRows } from '../support/d1-spy.ts';
import { emptyHistory, HOUR_MS, runScheduled, setNow } from '../support/history.ts';
import { spyOnKv } from '../support/kv-spy.ts';
import { emptyOutbox, isAllPublished } from '../support/published.ts';
import { customers, licenses } from '../support/resources.ts';
import { WRITES } from '../support/writes.ts';

/** The operations of a validation and of a change, counted, and the table of docs/cost.md. */

/** The columns of the table that are counted. */
const COUNTED = ['requests', 'kvReads', 'kvWrites', 'rowsRead', 'rowsWritten'] as const;

type Counts = Record<(typeof COUNTED)[number], number>;
type Asked = Counts & { status: number };

let product: Product;

beforeAll(async () => {
  product = await create.product();
  // The policy is in KV.
  await runScheduled(Date.now());
});

beforeEach(async () => {
  // The first record of an hour also writes its bucket. The counted requests come later in their hour.
  setNow(Math.floor(Date.now() / HOUR_MS) * HOUR_MS + HOUR_MS / 2);
  // The outbox is empty, so that the counted requests have none of its rows to publish.
  await emptyOutbox();
  // In a history that ends in another year, these records would be late.
  await emptyHistory();
  // The service makes events from its first run on.
  await runScheduled(Date.now());
  // The hour has a record.
  await newIsolate()({ licenseKey: crypto.randomUUID() });
});

/** An isolate of which all operations are counted. */
function newIsolate() {
  const { spy: DB, roundTrips } = spyOnDatabase(env.DB);
  const { spy: SNAPSHOTS, operations } = spyOnKv(env.SNAPSHOTS);
  const bindings: Bindings = { ...env, DB, SNAPSHOTS };

  /** One validation, to the end of all that it leaves to be done. */
  return async function ask(body: object): Promise<Asked> {
    roundTrips.length = 0;
    operations.length = 0;
    const context = createExecutionContext();
    const request = new Request('http://licet.test/api/v1/validate', {
      method: 'POST',
      body: JSON.stringify({ productId: product.id, ...body }),
    });
    const { status } = await readResponse(request, await app.fetch(request, bindings, context));
    await waitOnExecutionContext(context);
    const rows = await sumRows(roundTrips.flat());
    const kvReads = operations.filter(({ name }) => name === 'get').length;
    return {
      status,
      requests: 1,
      kvReads,
      kvWrites: operations.length - kvReads,
      // Rounded up, because it costs next to nothing.
      rowsRead: Math.ceil(rows.read / 10) * 10,
      rowsWritten: rows.written,
    };
  };
}

/** The fields that a server sends. */
const SERVER = {
  ip: '192.0.2.1',
  hwid: '0e8a5d1c-4b7e-9f3a-5f0c-2b1d9e77a001',
  productVersion: '1.4.2',
  operatingSystem: 'Linux',
  osVersion: '6.1.0-18-amd64',
  osArchitecture: 'amd64',
  javaVersion: '17.0.10',
};

/** A license in KV, and what a server sends that is not bound yet. */
async function newLicense(fields: object = {}): Promise<{ licenseKey: string }> {
  const { licenseKey } = await create.license({ productId: product.id, ...fields });
  await isAllPublished();
  await emptyOutbox();
  return { licenseKey, ...SERVER };
}

/** A license whose server was validated before, elsewhere. */
async function newKnownServer(): Promise<{ licenseKey: string }> {
  const server = await newLicense();
  await newIsolate()(server);
  return server;
}

/** An isolate that knows the policy, and the installations of none of these licenses. */
async function newWarmIsolate(): Promise<ReturnType<typeof newIsolate>> {
  const ask = newIsolate();
  await ask({ licenseKey: crypto.randomUUID() });
  return ask;
}

/** Each kind of validation in the table, which is valid unless the kind is refused. */
const KINDS: Record<string, () => Promise<Asked>> = {
  'hot: the license is in memory': async () => {
    const server = await newKnownServer();
    const ask = newIsolate();
    await ask(server);
    return ask(server);
  },
  'cold: it is in KV': async () => {
    const server = await newKnownServer();
    return (await newWarmIsolate())(server);
  },
  'the isolate is new, or has slept': async () => newIsolate()(await newKnownServer()),
  'a new version of the program': async () => {
    const server = await newKnownServer();
    const ask = newIsolate();
    await ask(server);
    return ask({ ...server, productVersion: '1.4.3' });
  },
  'first use, with the binding of an address': async () => {
    const { licenseKey } = await newLicense();
    return (await newWarmIsolate())({ licenseKey, ip: SERVER.ip });
  },
  'first use, with the binding of an address and a hardware ID': async () => {
    const server = await newLicense();
    return (await newWarmIsolate())(server);
  },
  'refused: all slots are taken': async () => {
    const server = await newLicense({ ips: ['192.0.2.1', '192.0.2.2'], maxIPs: 2 });
    const ask = newIsolate();
    const other = { ...server, ip: '192.0.2.99' };
    await ask(other);
    // Within a second it is not asked for a slot again.
    setNow(Date.now() + 1_000);
    return ask(other);
  },
  'unknown key': async () =>
    (await newWarmIsolate())({ licenseKey: crypto.randomUUID(), ...SERVER }),
};

/** The counts that docs/cost.md states for a kind. */
function statedCounts(kind: string): number[] {
  const line = document.split('\n').find((row) => row.startsWith(`| ${kind} | `)) ?? '';
  return line.split(' | ').slice(1, -1).map(Number);
}

it.each(Object.entries(KINDS))(
  'a validation costs what docs/cost.md states: %s',
  async (kind, count) => {
    const counts = await count();
    expect(counts.status).toBe(/^(refused|unknown)/.test(kind) ? 400 : 200);
    const stated = statedCounts(kind);
    // The rows read vary with the rest of the database.
    const expected = COUNTED.map((name) =>
      name === 'rowsRead' ? expect.toBeOneOf([counts[name], counts[name] + 10]) : counts[name],
    );
    expect(stated).toEqual(expected);
  },
);

it('a change of a license or token is one write of KV and at most 12 written rows', async () => {
  const { id } = await create.license({ productId: product.id });
  const token = await create.token(['ALL_READ']);
  const changes = [
    ['POST', '/licenses', { productId: product.id, licenseType: 'PERMANENT' }],
    ['PUT', `/licenses/${id}`, { notes: 'Changed' }],
    ['DELETE', `/licenses/${id}`, undefined],
    ['POST', '/tokens', { name: 'Shop', intents: ['LICENSES_READ_WRITE'] }],
    ['DELETE', `/tokens/${token.id}`, undefined],
  ] as const;
  await isAllPublished();
  const { spy: DB, roundTrips } = spyOnDatabase(env.DB);
  const { spy: SNAPSHOTS, operations } = spyOnKv(env.SNAPSHOTS);
  for (const [method, path, body] of changes) {
    await emptyOutbox();
    roundTrips.length = 0;
    operations.length = 0;
    await newServiceIsolate({ DB, SNAPSHOTS }).call(method, `/api/v2${path}`, { body });
    expect(operations.map(({ name }) => name)).toEqual(['put']);
    expect((await sumRows(roundTrips.flat())).written).toBeLessThanOrEqual(12);
  }
});

it.each(Object.entries(WRITES).filter(([route]) => route.startsWith('PUT ')))(
  '%s is three round trips to D1: the token, the object, and the change',
  async (_, prepare) => {
    const { path, body } = await prepare();
    const { token } = await create.token(['ALL_READ_WRITE']);
    const { id: customerId } = await customers.create();
    const { spy: DB, roundTrips } = spyOnDatabase(env.DB);
    // Publishing comes after the response.
    const isolate = newServiceIsolate({ DB, SNAPSHOTS: undefined });
    await isolate.call('GET', '/api/v2/ping', { token });
    const owners = path.startsWith(licenses.path)
      ? [{ customerId }, { customerEmail: 'new@example.com' }, { ownerChatId: 'new' }]
      : [];
    for (const changes of [{}, body, ...owners]) {
      roundTrips.length = 0;
      const response = await isolate.call('PUT', path, { body: changes, token });
      expect(response.status, response.text).toBe(200);
      expect(roundTrips).toHaveLength(3);
    }
  },
);

it('an Idempotency-Key is two written rows more, and one for its removal', async () => {
  const { spy: DB, roundTrips } = spyOnDatabase(env.DB);
  const body = { productId: product.id, licenseType: 'PERMANENT' };
  const written = async (send: () => Promise<unknown>): Promise<number> => {
    await isAllPublished();
    await emptyOutbox();
    roundTrips.length = 0;
    await send();
    return (await sumRows(roundTrips.flat())).written;
  };
  const create = (headers: Record<string, string>) => () =>
    newServiceIsolate({ DB }).call('POST', '/api/v2/licenses', { body, headers });
  const plain = await written(create({}));
  expect((await written(create({ 'Idempotency-Key': 'order-1' }))) - plain).toBe(2);
  expect(await written(create({ 'Idempotency-Key': 'order-1' }))).toBe(0);
  const tomorrow = Date.now() + 25 * HOUR_MS;
  expect(await written(() => removeExpiredKeys(openDatabase(DB), tomorrow))).toBe(1);
});
