import { env } from 'cloudflare:workers';
import { afterEach, describe, expect, it } from 'vitest';
import { routes } from '../../src/app';
import { normalizeLicenseKey } from '../../src/resources/licenses/key';
import { callWith, newIsolate, settled } from '../support/app';
import {
  type Blacklist,
  call,
  createBlacklist,
  createLicense,
  createProduct,
  createToken,
  type License,
  updateLicense,
  validate,
} from '../support/client';
import { beforeFirstWrite } from '../support/faults';
import { kvKeyOfToken } from '../support/published';
import {
  blacklists,
  customers,
  type Fields,
  licenses,
  products,
  tokens,
} from '../support/resources';

/**
 * The change log: each write adds a row for every snapshot that it changes, in its own transaction, and none
 * for anything else (docs/cache.md). Over every route that writes.
 */

afterEach(settled);

interface Row {
  seq: number;
  subject: string;
  revision: number;
  is_published: number;
}

const rowsAfter = async (seq: number): Promise<Row[]> => {
  const select = env.DB.prepare(
    'select seq, subject, revision, is_published from changes where seq > ? order by seq',
  );
  return (await select.bind(seq).all<Row>()).results;
};

const newestSeq = async (): Promise<number> =>
  (await env.DB.prepare('select max(seq) n from changes').first<number>('n')) ?? 0;

const subjectOf = ({ licenseKey }: Pick<License, 'licenseKey'>) =>
  `license:${normalizeLicenseKey(licenseKey)}`;
/** KV has a token under the same name. */
const subjectOfToken = (token: string) => kvKeyOfToken(token);

/** The revisions of everything that has a snapshot, by the subject that the log gives it. */
async function readRevisions(): Promise<Map<string, number>> {
  const { results } = await env.DB.prepare(
    `select 'license:' || license_key_normalized as subject, revision from licenses
     union all select 'token:' || token_hash, revision from tokens
     union all select 'blacklist', value from counters where name = 'blacklist_revision'`,
  ).all<{ subject: string; revision: number }>();
  return new Map(results.map(({ subject, revision }) => [subject, revision]));
}

interface Logged {
  rows: Row[];
  status: number;
}

/** Sends a request, and finds what it adds to the log. */
async function logOf(method: string, path: string, body?: unknown): Promise<Logged> {
  const before = await newestSeq();
  const { status } = await call(method, path, { body });
  return { status, rows: await rowsAfter(before) };
}

interface Case {
  what: string;
  /** Prepares everything, and says what is to be sent and which subjects it changes. */
  prepare: () => Promise<{ path: string; body?: unknown; subjects: readonly string[] }>;
  status: number;
}

const pathOf = (resource: { path: string }, { id }: { id: number }) => `${resource.path}/${id}`;
const newLicense = async (fields: Fields = {}): Promise<License> =>
  createLicense({ productId: (await createProduct()).id, ...fields });
const newEntry = (): Promise<Blacklist> => createBlacklist({ data: nextAddress() });

let addresses = 0;
const nextAddress = () => `198.51.100.${++addresses}`;

const importOf = (kind: string, items: readonly unknown[], more: object = {}) => ({
  path: '/api/v2/import',
  body: { kind, items, ...more },
});

/** An item of an import that nothing has. */
const itemOf = (productId: number) => ({
  licenseKey: crypto.randomUUID(),
  productId,
  licenseType: 'PERMANENT',
});

const CASES: Readonly<Record<string, readonly Case[]>> = {
  'POST /api/v2/products': [
    {
      what: 'a product',
      prepare: async () => ({ ...products, body: await products.fullBody(), subjects: [] }),
      status: 201,
    },
  ],
  'PUT /api/v2/products/:id': [
    {
      what: 'a product with licenses',
      prepare: async () => {
        const { productId } = await newLicense();
        const path = pathOf(products, { id: productId });
        return { path, body: products.changes(), subjects: [] };
      },
      status: 200,
    },
  ],
  'DELETE /api/v2/products/:id': [
    {
      what: 'a product without licenses',
      prepare: async () => ({ path: pathOf(products, await createProduct()), subjects: [] }),
      status: 204,
    },
    {
      what: 'a product with deleted licenses and an entry of its own',
      prepare: async () => {
        const first = await newLicense({ licenseStatus: 'DELETED' });
        const { productId } = first;
        const second = await createLicense({ productId, licenseStatus: 'DELETED' });
        await createBlacklist({ data: nextAddress(), isForAllProducts: false, productId });
        return {
          path: pathOf(products, { id: productId }),
          subjects: [subjectOf(first), subjectOf(second), 'blacklist'],
        };
      },
      status: 204,
    },
    {
      what: 'a product that is in use',
      prepare: async () => {
        const { productId } = await newLicense();
        await createLicense({ productId, licenseStatus: 'DELETED' });
        await createBlacklist({ data: nextAddress(), isForAllProducts: false, productId });
        return { path: pathOf(products, { id: productId }), subjects: [] };
      },
      status: 409,
    },
  ],
  'POST /api/v2/licenses': [
    {
      what: 'a license for no product',
      prepare: async () => ({
        ...licenses,
        body: { ...(await licenses.fullBody()), productId: 999_999 },
        subjects: [],
      }),
      status: 400,
    },
  ],
  'PUT /api/v2/licenses/:id': [
    {
      what: 'every field of a license',
      prepare: async () => {
        const license = await newLicense({ licenseType: 'TEMPORARY', expiryDate: '2099-01-01' });
        const path = pathOf(licenses, license);
        return { path, body: licenses.changes(), subjects: [subjectOf(license)] };
      },
      status: 200,
    },
    {
      what: 'a license with a limit that makes no sense',
      prepare: async () => ({
        path: pathOf(licenses, await newLicense()),
        body: { maxIPs: -2 },
        subjects: [],
      }),
      status: 400,
    },
  ],
  'DELETE /api/v2/licenses/:id': [
    {
      what: 'a license',
      prepare: async () => {
        const license = await newLicense();
        return { path: pathOf(licenses, license), subjects: [subjectOf(license)] };
      },
      status: 204,
    },
    {
      what: 'a license that is DELETED already',
      prepare: async () => ({
        path: pathOf(licenses, await newLicense({ licenseStatus: 'DELETED' })),
        subjects: [],
      }),
      status: 204,
    },
  ],
  'POST /api/v2/blacklists': [
    {
      what: 'an entry',
      prepare: async () => ({
        ...blacklists,
        body: await blacklists.fullBody(),
        subjects: ['blacklist'],
      }),
      status: 201,
    },
    {
      what: 'an entry that is there already',
      prepare: async () => {
        const { licenseDataType, data, isForAllProducts, reason } = await newEntry();
        const body = { licenseDataType, data, isForAllProducts, reason };
        return { ...blacklists, body, subjects: [] };
      },
      status: 409,
    },
  ],
  'PUT /api/v2/blacklists/:id': [
    {
      what: 'an entry',
      prepare: async () => ({
        path: pathOf(blacklists, await newEntry()),
        body: { reason: 'Changed' },
        subjects: ['blacklist'],
      }),
      status: 200,
    },
  ],
  'DELETE /api/v2/blacklists/:id': [
    {
      what: 'an entry',
      prepare: async () => ({
        path: pathOf(blacklists, await newEntry()),
        subjects: ['blacklist'],
      }),
      status: 204,
    },
    {
      what: 'an entry that does not exist',
      prepare: async () => ({ path: pathOf(blacklists, { id: 999_999 }), subjects: [] }),
      status: 404,
    },
  ],
  'PUT /api/v2/customers/:id': [
    {
      what: 'a customer with licenses',
      prepare: async () => ({
        path: pathOf(customers, await customers.create()),
        body: customers.changes(),
        subjects: [],
      }),
      status: 200,
    },
  ],
  'POST /api/v2/tokens': [],
  'PUT /api/v2/tokens/:id': [
    {
      what: 'a token',
      prepare: async () => {
        const { id, token } = await createToken(['ALL_READ']);
        return {
          path: pathOf(tokens, { id }),
          body: { intents: ['PRODUCTS_READ'] },
          subjects: [await subjectOfToken(token)],
        };
      },
      status: 200,
    },
  ],
  'DELETE /api/v2/tokens/:id': [
    {
      what: 'a token',
      prepare: async () => {
        const { id, token } = await createToken(['ALL_READ']);
        return { path: pathOf(tokens, { id }), subjects: [await subjectOfToken(token)] };
      },
      status: 204,
    },
    {
      what: 'a token that is revoked already',
      prepare: async () => {
        const { id } = await createToken(['ALL_READ']);
        await call('DELETE', pathOf(tokens, { id }));
        return { path: pathOf(tokens, { id }), subjects: [] };
      },
      status: 404,
    },
  ],
  'POST /api/v2/import': [
    {
      what: 'products',
      prepare: async () => {
        const id = (await createProduct()).id + 1_000;
        const items = [{ id, name: 'Imported', productType: 'OTHER' }];
        return { ...importOf('products', items), subjects: [] };
      },
      status: 200,
    },
    {
      what: 'customers',
      prepare: async () => ({
        ...importOf('customers', [{ email: `${crypto.randomUUID()}@shop.example` }]),
        subjects: [],
      }),
      status: 200,
    },
    {
      what: 'many new licenses',
      prepare: async () => {
        const { id } = await createProduct();
        const items = Array.from({ length: 20 }, () => ({ ...itemOf(id), ips: ['192.0.2.1'] }));
        return { ...importOf('licenses', items), subjects: ['licenses'] };
      },
      status: 200,
    },
    {
      what: 'licenses that are there',
      prepare: async () => {
        const { id } = await createProduct();
        const sent = importOf('licenses', [itemOf(id)]);
        expect((await call('POST', sent.path, sent)).status).toBe(200);
        return { ...sent, subjects: [] };
      },
      status: 200,
    },
    {
      what: 'many entries',
      prepare: async () => {
        const items = Array.from({ length: 20 }, () => ({
          licenseDataType: 'IP',
          data: nextAddress(),
        }));
        return { ...importOf('blacklists', items), subjects: ['blacklist'] };
      },
      status: 200,
    },
    {
      what: 'licenses in a dry run',
      prepare: async () => {
        const { id } = await createProduct();
        return { ...importOf('licenses', [itemOf(id)], { dryRun: true }), subjects: [] };
      },
      status: 200,
    },
  ],
};

it('every route of management that writes is tried', () => {
  const writing = routes
    .filter(
      ({ method, path }) => /^(POST|PUT|PATCH|DELETE)$/.test(method) && path.startsWith('/api/v2'),
    )
    .map(({ method, path }) => `${method} ${path}`)
    .filter((route) => route !== 'POST /api/v2/validate');
  expect(new Set(writing)).toEqual(new Set(Object.keys(CASES)));
});

/** The rows that a change of these subjects must have added. */
async function expectLogged(
  { rows }: Pick<Logged, 'rows'>,
  subjects: readonly string[],
  from: { seq: number; revisions: ReadonlyMap<string, number> },
): Promise<void> {
  expect(rows.map(({ subject }) => subject).toSorted()).toEqual(subjects.toSorted());
  // Without a gap: a reader would take one for changes that it has missed.
  expect(rows.map(({ seq }) => seq)).toEqual(rows.map((_, index) => from.seq + 1 + index));
  const now = await readRevisions();
  for (const { subject, revision, is_published } of rows) {
    // A row that is gone has no revision any more, and a greater one is logged.
    const stored = now.get(subject) ?? revision;
    if (subject !== 'licenses') expect(revision, subject).toBe(stored);
    expect(revision, subject).toBeGreaterThan(from.revisions.get(subject) ?? 0);
    if (subject === 'licenses') expect(is_published).toBe(1);
  }
  const isChanged = (subject: string) => now.get(subject) !== from.revisions.get(subject);
  const known = [...new Set([...now.keys(), ...from.revisions.keys()])];
  const isNewLicense = (subject: string) =>
    subject.startsWith('license:') && subjects.includes('licenses') && !from.revisions.has(subject);
  const changed = known.filter((subject) => isChanged(subject) && !isNewLicense(subject));
  expect(changed.toSorted()).toEqual(subjects.filter((one) => one !== 'licenses').toSorted());
}

const ALL = Object.entries(CASES).flatMap(([route, cases]) =>
  cases.map((one) => ({ route, ...one })),
);

it.each(ALL)('$route of $what logs exactly the snapshots that it changes', async (one) => {
  const { path, body, subjects } = await one.prepare();
  const from = { seq: await newestSeq(), revisions: await readRevisions() };
  const logged = await logOf(one.route.split(' ', 1).join(), path, body);
  expect(logged.status).toBe(one.status);
  await expectLogged(logged, subjects, from);
});

describe('a new secret is in the log as soon as it is in its table', () => {
  it('POST of a license logs its key', async () => {
    const body = { ...(await licenses.fullBody()) };
    const from = { seq: await newestSeq(), revisions: await readRevisions() };
    const license: License = JSON.parse((await call('POST', licenses.path, { body })).text);
    await expectLogged({ rows: await rowsAfter(from.seq) }, [subjectOf(license)], from);
  });

  it('POST of a token logs its hash', async () => {
    const from = { seq: await newestSeq(), revisions: await readRevisions() };
    const { token } = await createToken(['ALL_READ']);
    const subject = await subjectOfToken(token);
    await expectLogged({ rows: await rowsAfter(from.seq) }, [subject], from);
  });
});

describe('nothing is logged', () => {
  it('for a first binding, though the revision moves', async () => {
    const license = await newLicense({ maxIPs: 1, maxHWIDs: -1 });
    const { licenseKey, productId } = license;
    const seq = await newestSeq();
    const before = await readRevisions();
    const ask = { licenseKey, productId, ip: '192.0.2.1' };
    const answer = await newIsolate().validate(ask);
    await answer.recorded;
    expect(answer.status).toBe(200);
    expect(await rowsAfter(seq)).toEqual([]);
    const subject = subjectOf(license);
    expect((await readRevisions()).get(subject)).toBeGreaterThan(before.get(subject) ?? 0);
  });

  it('for a validation and for the use of a token', async () => {
    const { licenseKey, productId } = await newLicense();
    const { id, token } = await createToken(['ALL_READ_WRITE']);
    await validate({ licenseKey, productId });
    const seq = await newestSeq();
    await newIsolate().call('GET', '/api/v2/ping', { token });
    await (await newIsolate().validate({ licenseKey, productId })).recorded;
    const used = env.DB.prepare('select last_used_at from tokens where id = ?').bind(id);
    expect(await used.first('last_used_at')).not.toBeNull();
    expect(await rowsAfter(seq)).toEqual([]);
  });

  it.each(['PUT', 'DELETE'])('for a %s with an If-Match that no longer fits', async (method) => {
    const license = await newLicense();
    const path = pathOf(licenses, license);
    const etag = (await call('GET', path)).headers.get('ETag') ?? '';
    await updateLicense(license.id, { notes: 'Changed' });
    const seq = await newestSeq();
    const options = { headers: { 'If-Match': etag }, ...(method === 'PUT' && { body: {} }) };
    expect((await call(method, path, options)).status).toBe(412);
    expect(await rowsAfter(seq)).toEqual([]);
  });
});

it('a PUT that another PUT overtakes is logged once, with the revision that it stores', async () => {
  const license = await newLicense();
  const from = { seq: await newestSeq(), revisions: await readRevisions() };
  const DB = beforeFirstWrite(env.DB, () => updateLicense(license.id, { notes: 'First' }));
  const body = { ownerChatUsername: 'second' };
  const answer = await callWith({ DB }, 'PUT', pathOf(licenses, license), { body });
  expect(answer.status).toBe(200);
  const rows = await rowsAfter(from.seq);
  const subject = subjectOf(license);
  expect(rows.map((row) => row.subject)).toEqual([subject, subject]);
  expect(rows[1]?.revision).toBeGreaterThan(rows[0]?.revision ?? 0);
  expect((await readRevisions()).get(subject)).toBe(rows[1]?.revision);
});

it('a license that is created again under an old key is newer than the old one', async () => {
  const { id: productId } = await createProduct();
  const item = itemOf(productId);
  const subject = `license:${normalizeLicenseKey(item.licenseKey)}`;
  const sent = importOf('licenses', [item]);
  await call('POST', sent.path, sent);
  const first = (await readRevisions()).get(subject) ?? 0;
  await env.DB.prepare(`update licenses set state = 'DELETED' where product_id = ?`)
    .bind(productId)
    .run();
  expect((await call('DELETE', pathOf(products, { id: productId }))).status).toBe(204);
  const again = importOf('licenses', [{ ...item, productId: (await createProduct()).id }]);
  await call('POST', again.path, again);
  expect((await readRevisions()).get(subject)).toBeGreaterThan(first);
});
