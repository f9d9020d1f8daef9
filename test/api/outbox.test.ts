import { env } from 'cloudflare:workers';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { normalizeLicenseKey } from '../../src/resources/licenses/rules.ts';
import { newIsolate, settled } from '../support/app.ts';
import { call, create, type License, validate } from '../support/client.ts';
import { customers, markets, products, tokens, webhooks } from '../support/resources.ts';
import { expectEveryWritingRoute, WRITES, type Write } from '../support/writes.ts';

/**
 * The outbox: each write puts every snapshot there that it changes, in its own transaction, and nothing else
 * (docs/cache.md). Over every route that writes.
 */

afterEach(settled);

interface Row {
  seq: number;
  subject: string;
  revision: number;
}

// A row leaves the outbox as soon as KV has it.
beforeAll(async () => {
  const insert = 'begin insert into puts select null, new.subject, new.revision; end';
  await env.DB.batch([
    env.DB.prepare('create table puts (seq integer primary key, subject text, revision integer)'),
    env.DB.prepare(`create trigger puts_insert after insert on outbox ${insert}`),
    env.DB.prepare(`create trigger puts_update after update on outbox ${insert}`),
  ]);
});

afterAll(async () => {
  await env.DB.batch(
    ['trigger puts_insert', 'trigger puts_update', 'table puts'].map((what) =>
      env.DB.prepare(`drop ${what}`),
    ),
  );
});

const rowsAfter = async (seq: number): Promise<Row[]> =>
  (await env.DB.prepare('select * from puts where seq > ? order by seq').bind(seq).all<Row>())
    .results;

const newestSeq = async (): Promise<number> =>
  (await env.DB.prepare('select max(seq) n from puts').first<number>('n')) ?? 0;

const subjectOf = ({ licenseKey }: Pick<License, 'licenseKey'>) =>
  `license:${normalizeLicenseKey(licenseKey)}`;

/** The revisions of everything that has a snapshot, by its subject in the outbox. */
async function readRevisions(): Promise<Map<string, number>> {
  const { results } = await env.DB.prepare(
    `select 'license:' || license_key_normalized as subject, revision from licenses
     union all select 'token:' || token_hash, revision from tokens
     union all select 'policy', value from counters where name = 'policy_revision'`,
  ).all<{ subject: string; revision: number }>();
  return new Map(results.map(({ subject, revision }) => [subject, revision]));
}

const pathOf = (resource: { path: string }, { id }: { id: number }) => `${resource.path}/${id}`;

let addresses = 0;
const nextAddress = () => `198.51.100.${++addresses}`;

/** A product with two DELETED licenses, and a blacklist entry. */
async function newUsedProduct(): Promise<Write> {
  const { productId } = await create.license({ licenseStatus: 'DELETED' });
  await create.license({ productId, licenseStatus: 'DELETED' });
  await create.blacklist({ data: nextAddress(), isForAllProducts: false, productId });
  return { path: pathOf(products, { id: productId }) };
}

const importOf = (kind: string, items: readonly unknown[], more: object = {}): Write => ({
  path: '/api/v2/import',
  body: { kind, items, ...more },
});

/** Items of an import that nothing has. */
const newItems = async (count: number) => {
  const { id: productId } = await create.product();
  return Array.from({ length: count }, () => ({
    ...{ licenseKey: crypto.randomUUID(), productId, licenseType: 'PERMANENT' },
    ips: ['192.0.2.1'],
  }));
};

interface Case {
  method: string;
  what: string;
  status: number;
  /** The number of snapshots that change and are put into the outbox. */
  puts: number;
  prepare: () => Promise<Write>;
}

/**
 * The routes that change snapshots. Customers have none, but a forgotten customer has a license, whose owner fields
 * are erased. The offline days of products, also of imported ones, are in the policy.
 */
const CHANGES_SNAPSHOT =
  /licenses|blacklists|tokens|^DELETE .*customers|^(POST|PUT) .*products|import/;
const STATUSES: Record<string, number> = { POST: 201, PUT: 200, DELETE: 204 };
/** The snapshots under the old and the new key change. */
const isNewKey = (route: string): boolean => /\/(rotate|transfer)$/.test(route);

const CASES: Case[] = [
  ...Object.entries(WRITES).map(([route, prepare]): Case => {
    const [method = '', path = ''] = route.split(' ');
    const isChange = /\/(import|rotate-secret|grant|ignore)$/.test(path) || isNewKey(route);
    const status = isChange ? 200 : (STATUSES[method] ?? 0);
    const puts = isNewKey(route) ? 2 : CHANGES_SNAPSHOT.test(route) ? 1 : 0;
    return { method, what: path, status, puts, prepare };
  }),
  {
    ...{ method: 'POST', what: 'a product with the default settings', status: 201, puts: 0 },
    prepare: async () => ({
      path: products.path,
      body: {
        ...(await products.fullBody()),
        ...{ offlineDays: 0, checkAfterHours: 24, entitlements: {} },
      },
    }),
  },
  {
    ...{ method: 'PUT', what: 'a product that keeps its settings', status: 200, puts: 0 },
    prepare: async () => {
      const product = await create.product({ offlineDays: 7 });
      return { path: pathOf(products, product), body: { ...product, name: 'Renamed' } };
    },
  },
  {
    ...{ method: 'DELETE', what: 'a product with deleted licenses and an entry', status: 204 },
    puts: 3,
    prepare: newUsedProduct,
  },
  {
    ...{ method: 'POST', what: 'an import of many licenses', status: 200, puts: 0 },
    prepare: async () => importOf('licenses', await newItems(20)),
  },
  {
    ...{ method: 'POST', what: 'an import of stored licenses', status: 200, puts: 0 },
    prepare: async () => {
      const sent = importOf('licenses', await newItems(1));
      await call('POST', sent.path, sent);
      return sent;
    },
  },
  {
    ...{ method: 'POST', what: 'an import of many entries', status: 200, puts: 1 },
    prepare: async () =>
      importOf(
        'blacklists',
        Array.from({ length: 20 }, () => ({
          ...{ licenseDataType: 'IP', data: nextAddress(), isForAllProducts: true },
        })),
      ),
  },
  {
    ...{ method: 'POST', what: 'a dry run of an import', status: 200, puts: 0 },
    prepare: async () => importOf('licenses', await newItems(1), { dryRun: true }),
  },
];

it('every route of management that writes is in the table of the outbox', () => {
  expectEveryWritingRoute(Object.keys(WRITES));
});

it.each(CASES)(
  '$method of $what puts exactly the snapshots that it changes into the outbox [1.5.9, 1.5.10, 6.16, 7.3.3]',
  async (one) => {
    const { path, body } = await one.prepare();
    const seq = await newestSeq();
    const before = await readRevisions();
    const { status, text } = await call(one.method, path, { body });
    expect(status, text).toBe(one.status);
    const rows = await rowsAfter(seq);
    const subjects = rows.map(({ subject }) => subject).toSorted();
    expect(subjects).toHaveLength(one.puts);
    const after = await readRevisions();
    const changed = [...new Set([...before.keys(), ...after.keys()])].filter(
      (subject) => before.get(subject) !== after.get(subject),
    );
    // New licenses of an import, and of a batch all but the first, are published when they are asked for.
    expect(changed).toEqual(expect.arrayContaining(subjects));
    const published = changed.filter(
      (subject) => before.has(subject) || !subject.startsWith('license:'),
    );
    expect(subjects).toEqual(expect.arrayContaining(published));
    for (const { subject, revision } of rows) {
      // A removed row has no revision any more, and a greater one is put.
      expect(revision, subject).toBe(after.get(subject) ?? revision);
      expect(revision, subject).toBeGreaterThan(before.get(subject) ?? 0);
    }
  },
);

const CREATES = Object.entries(WRITES).filter(([route]) =>
  /^POST .*(?<!import|rotate-secret|grant|ignore|portal-links)$/.test(route),
);

it.each(CREATES)(
  '%s puts the same snapshots into the outbox with an Idempotency-Key, and nothing with a repetition [3.63]',
  async (route, prepare) => {
    const { path, body } = await prepare();
    const status = isNewKey(route) ? 200 : 201;
    const isCached = ![customers.path, webhooks.path, markets.path, '/api/v2/purchases'].includes(
      path,
    );
    const puts = isNewKey(route) ? 2 : isCached ? 1 : 0;
    const headers = { 'Idempotency-Key': crypto.randomUUID() };
    const seq = await newestSeq();
    const first = await call('POST', path, { body, headers });
    expect(first.status, first.text).toBe(status);
    expect(await rowsAfter(seq)).toHaveLength(puts);
    const last = await newestSeq();
    const again = await call('POST', path, { body, headers });
    expect(again.status).toBe(
      [tokens.path, webhooks.path, markets.path].includes(path) ? 409 : status,
    );
    expect(await rowsAfter(last)).toEqual([]);
  },
);

it('a first binding moves the revision of its license, and puts nothing into the outbox [1.5.10]', async () => {
  const license = await create.license({ maxIPs: 1, maxHWIDs: -1 });
  const { licenseKey, productId } = license;
  const seq = await newestSeq();
  const before = (await readRevisions()).get(subjectOf(license)) ?? 0;
  const response = await newIsolate().validate({ licenseKey, productId, ip: '192.0.2.1' });
  await response.recorded;
  expect(response.status).toBe(200);
  expect(await rowsAfter(seq)).toEqual([]);
  expect((await readRevisions()).get(subjectOf(license))).toBeGreaterThan(before);
});

it('validations and uses of a token put nothing into the outbox', async () => {
  const { licenseKey, productId } = await create.license();
  const { id, token } = await create.token(['ALL_READ_WRITE']);
  await validate({ licenseKey, productId });
  const seq = await newestSeq();
  await newIsolate().call('GET', '/api/v2/ping', { token });
  await (await newIsolate().validate({ licenseKey, productId })).recorded;
  const used = env.DB.prepare('select last_used_at from tokens where id = ?').bind(id);
  expect(await used.first('last_used_at')).not.toBeNull();
  expect(await rowsAfter(seq)).toEqual([]);
});

it('a license that is created again under an old key is newer than the old one', async () => {
  const [item] = await newItems(1);
  const subject = `license:${normalizeLicenseKey(item?.licenseKey ?? '')}`;
  const sent = importOf('licenses', [item]);
  await call('POST', sent.path, sent);
  const first = (await readRevisions()).get(subject) ?? 0;
  await env.DB.prepare(`update licenses set state = 'DELETED' where product_id = ?`)
    .bind(item?.productId)
    .run();
  const product = { id: item?.productId ?? 0 };
  expect((await call('DELETE', pathOf(products, product))).status).toBe(204);
  const again = importOf('licenses', [{ ...item, productId: (await create.product()).id }]);
  await call('POST', again.path, again);
  expect((await readRevisions()).get(subject)).toBeGreaterThan(first);
});
