import { env } from 'cloudflare:workers';
import { beforeAll, expect, it } from 'vitest';

/** The tables reject what a faulty program could store. */

type Row = Record<string, string | number | null>;

const PRODUCT: Row = {
  name: 'Plugin',
  product_type: 'GAME_JAVA_PLUGIN',
  default_max_ips: 5,
  default_max_hwids: 5,
  created_at: 0,
  updated_at: 0,
};
const LICENSE: Row = {
  license_key: 'AAAA',
  license_key_normalized: 'AAAA',
  product_id: 1,
  license_type: 'PERMANENT',
  max_ips: 5,
  max_hwids: 5,
  created_at: 0,
  updated_at: 0,
  revision: 1,
};
const BINDING: Row = { license_id: 1, type: 'IP', value: '192.0.2.1', position: 1 };
const BLACKLIST: Row = {
  license_data_type: 'IP',
  data: '192.0.2.1',
  product_id: null,
  created_at: 0,
  updated_at: 0,
};
const CUSTOMER: Row = { email_normalized: 'ada@shop.test', chat_id: '1', created_at: 0 };
const INSTALLATION: Row = {
  license_key_normalized: 'AAAA',
  fingerprint: 'a',
  license_id: 1,
  license_key: 'aaaa',
  first_seen_at: 0,
  last_seen_at: 0,
  aggregated_bucket: 0,
};
const REQUEST: Row = {
  bucket: 1,
  product_id: 1,
  installation_id: 1,
  id: 1,
  nonce: 1,
  type: 1,
  outcome: 1,
};
const ROLLUP: Row = { bucket: 1, product_id: 1, outcome: 1, requests: 1 };
const CHANGE: Row = { subject: 'license:AAAA', revision: 1 };
const COUNTER: Row = { name: 'counter', value: 1 };
const DELETED_ID: Row = { type: 'products', id: 1, created_at: 0 };
const TOKEN: Row = {
  name: 'Dashboard',
  token_hash: 'a',
  intents: '["ALL_READ"]',
  created_at: 0,
  updated_at: 0,
};

function insert(table: string, row: Row): Promise<D1Result> {
  const columns = Object.keys(row);
  const sql = `insert into ${table} (${columns}) values (${columns.map(() => '?')})`;
  return env.DB.prepare(sql)
    .bind(...Object.values(row))
    .run();
}

const count = async (table: string): Promise<number | null> =>
  env.DB.prepare(`select count(*) as rows from ${table}`).first('rows');

beforeAll(async () => {
  await insert('products', PRODUCT);
  await insert('customers', CUSTOMER);
  await insert('licenses', { ...LICENSE, customer_id: 1 });
  await insert('bindings', BINDING);
  await insert('blacklists', BLACKLIST);
  await insert('blacklists', { ...BLACKLIST, product_id: 1 });
  await insert('tokens', TOKEN);
  await insert('installations', INSTALLATION);
  await insert('buckets', { bucket: 1 });
  await insert('requests', REQUEST);
  await insert('rollups', ROLLUP);
  await insert('outbox', CHANGE);
  await insert('counters', COUNTER);
  await insert('deleted_ids', DELETED_ID);
});

const UNIQUE = 'UNIQUE constraint failed';
const CHECK = 'CHECK constraint failed';
const FOREIGN = 'FOREIGN KEY constraint failed';
const NOT_NULL = 'NOT NULL constraint failed';

/** Rows that differ from a row that can be stored, by table. Effects on the interface have tests of their own. */
const REFUSED: Record<string, [name: string, row: Row, error: string][]> = {
  products: [
    ['an unknown type', { product_type: 'TOY' }, CHECK],
    ['a limit of addresses below -1', { default_max_ips: -2 }, CHECK],
    ['a limit of hardware IDs below -1', { default_max_hwids: -2 }, CHECK],
    ['no limit', { default_max_hwids: null }, NOT_NULL],
    ['no name', { name: null }, NOT_NULL],
  ],
  licenses: [
    ['a key twice', { license_key_normalized: 'AAAA' }, UNIQUE],
    ['no product', { product_id: null }, NOT_NULL],
    ['an unknown product', { product_id: 9 }, FOREIGN],
    ['an unknown customer', { customer_id: 9 }, FOREIGN],
    ['an unknown type', { license_type: 'LEASE' }, CHECK],
    ['an unknown platform', { license_platform: 'PLATFORM_D' }, CHECK],
    ['the state EXPIRED', { state: 'EXPIRED' }, CHECK],
    ['no state', { state: null }, NOT_NULL],
    ['TEMPORARY without expiry', { license_type: 'TEMPORARY' }, CHECK],
    ['PERMANENT with expiry', { expires_at: 1 }, CHECK],
    ['a limit of addresses below -1', { max_ips: -2 }, CHECK],
    ['a limit of hardware IDs below -1', { max_hwids: -2 }, CHECK],
    ['a negative total', { past_requests: -1 }, CHECK],
    ['no revision', { revision: null }, NOT_NULL],
  ],
  bindings: [
    ['a value twice', {}, UNIQUE],
    ['an unknown license', { license_id: 9 }, FOREIGN],
    ['no license', { license_id: null }, NOT_NULL],
    ['no position', { type: 'HWID', position: null }, NOT_NULL],
    ['an unknown type', { type: 'MAC' }, CHECK],
  ],
  blacklists: [
    ['an unknown type', { license_data_type: 'MAC' }, CHECK],
    ['an unknown product', { data: '192.0.2.9', product_id: 9 }, FOREIGN],
  ],
  installations: [
    ['an installation twice', {}, UNIQUE],
    ['no license', { fingerprint: 'b', license_id: null }, NOT_NULL],
  ],
  buckets: [['a bucket twice', {}, UNIQUE]],
  requests: [
    ['a record twice', { outcome: 2 }, UNIQUE],
    // A record of an installation that is gone must fail its batch.
    ['no installation', { installation_id: null }, NOT_NULL],
  ],
  rollups: [['an hour twice', { requests: 2 }, UNIQUE]],
  outbox: [
    ['a subject twice', {}, UNIQUE],
    ['no revision', { subject: 'license:BBBB', revision: null }, NOT_NULL],
  ],
  counters: [['a name twice', {}, UNIQUE]],
  deleted_ids: [['an id twice', {}, UNIQUE]],
  tokens: [
    ['a hash twice', {}, UNIQUE],
    ['intents that are no JSON', { token_hash: 'b', intents: 'ALL_READ' }, CHECK],
  ],
};
const CASES = Object.entries(REFUSED).flatMap(([table, rows]) =>
  rows.map(([name, row, error]) => ({ table, name, row, error })),
);

const STORABLE: Record<string, Row> = {
  products: PRODUCT,
  licenses: { ...LICENSE, license_key: 'BBBB', license_key_normalized: 'BBBB' },
  bindings: BINDING,
  blacklists: BLACKLIST,
  customers: CUSTOMER,
  tokens: TOKEN,
  installations: INSTALLATION,
  buckets: { bucket: 1 },
  requests: REQUEST,
  rollups: ROLLUP,
  outbox: CHANGE,
  counters: COUNTER,
  deleted_ids: DELETED_ID,
};
/** The tables whose ids the interface hands out. */
const WITH_IDS = ['products', 'licenses', 'blacklists', 'customers', 'tokens'];

it.each(CASES)('the table $table rejects $name', async ({ table, row, error }) => {
  const before = await count(table);
  await expect(insert(table, { ...STORABLE[table], ...row })).rejects.toThrow(error);
  expect(await count(table)).toBe(before);
});

it.each([
  ['a product with licenses', 'products'],
  ['a license with bindings', 'licenses'],
  ['a customer with licenses', 'customers'],
])('%s cannot be deleted from its table', async (_name, table) => {
  const deletion = env.DB.prepare(`delete from ${table} where id = 1`).run();
  await expect(deletion).rejects.toThrow(FOREIGN);
});

it('no table gives an id again', async () => {
  for (const table of WITH_IDS) {
    const fresh = {
      ...STORABLE[table],
      ...(table === 'licenses' && { license_key_normalized: 'CCCC' }),
      ...(table === 'blacklists' && { data: '192.0.2.77' }),
      ...(table === 'customers' && { email_normalized: 'eve@shop.test', chat_id: '77' }),
      ...(table === 'tokens' && { token_hash: 'c' }),
    };
    const first = await insert(table, fresh);
    await env.DB.prepare(`delete from ${table} where id = ?`).bind(first.meta.last_row_id).run();
    const second = await insert(table, fresh);
    expect(second.meta.last_row_id, table).toBeGreaterThan(first.meta.last_row_id);
  }
});

it('the database enforces foreign keys', async () => {
  expect(await env.DB.prepare('pragma foreign_keys').first('foreign_keys')).toBe(1);
});
