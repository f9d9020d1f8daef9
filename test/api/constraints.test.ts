import { env } from 'cloudflare:workers';
import { beforeAll, describe, expect, it } from 'vitest';

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
const CALLER: Row = {
  license_key_normalized: 'AAAA',
  fingerprint: 'a',
  license_id: 1,
  license_key: 'aaaa',
  first_seen_at: 0,
  last_seen_at: 0,
  folded_bucket: 0,
};
const REQUEST: Row = {
  bucket: 1,
  product_id: 1,
  caller_id: 1,
  id: 1,
  nonce: 1,
  type: 1,
  outcome: 1,
};
const ROLLUP: Row = { bucket: 1, product_id: 1, outcome: 1, requests: 1 };
const CHANGE: Row = { seq: 1_000, subject: 'license:AAAA', revision: 1, changed_at: 0 };
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
  await insert('callers', CALLER);
  await insert('buckets', { bucket: 1 });
  await insert('requests', REQUEST);
  await insert('rollups', ROLLUP);
  await insert('changes', CHANGE);
  await insert('counters', COUNTER);
  await insert('deleted_ids', DELETED_ID);
});

const UNIQUE = 'UNIQUE constraint failed';
const CHECK = 'CHECK constraint failed';
const FOREIGN = 'FOREIGN KEY constraint failed';
const NOT_NULL = 'NOT NULL constraint failed';

/** Another license, which would be stored. */
const OTHER = { ...LICENSE, license_key: 'BBBB', license_key_normalized: 'BBBB' };
const ACCOUNTS = ['chat', 'platform_a', 'platform_b', 'platform_c', 'market_a', 'market_b'].map(
  (account) => `${account}_id`,
);

const REFUSED: { name: string; table: string; row: Row; error: string }[] = [
  { name: 'an unknown type', table: 'products', row: { product_type: 'TOY' }, error: CHECK },
  { name: 'a limit below -1', table: 'products', row: { default_max_ips: -2 }, error: CHECK },
  { name: 'a limit below -1', table: 'products', row: { default_max_hwids: -2 }, error: CHECK },
  { name: 'no limit', table: 'products', row: { default_max_hwids: null }, error: NOT_NULL },
  { name: 'no name', table: 'products', row: { name: null }, error: NOT_NULL },

  {
    name: 'a key twice',
    table: 'licenses',
    row: { license_key_normalized: 'AAAA' },
    error: UNIQUE,
  },
  { name: 'no product', table: 'licenses', row: { product_id: null }, error: NOT_NULL },
  { name: 'an unknown product', table: 'licenses', row: { product_id: 9 }, error: FOREIGN },
  { name: 'an unknown customer', table: 'licenses', row: { customer_id: 9 }, error: FOREIGN },
  { name: 'an unknown type', table: 'licenses', row: { license_type: 'LEASE' }, error: CHECK },
  {
    name: 'an unknown platform',
    table: 'licenses',
    row: { license_platform: 'PLATFORM_D' },
    error: CHECK,
  },
  { name: 'the state EXPIRED', table: 'licenses', row: { state: 'EXPIRED' }, error: CHECK },
  { name: 'no state', table: 'licenses', row: { state: null }, error: NOT_NULL },
  {
    name: 'TEMPORARY without expiry',
    table: 'licenses',
    row: { license_type: 'TEMPORARY' },
    error: CHECK,
  },
  { name: 'PERMANENT with expiry', table: 'licenses', row: { expires_at: 1 }, error: CHECK },
  { name: 'a limit below -1', table: 'licenses', row: { max_ips: -2 }, error: CHECK },
  { name: 'a limit below -1', table: 'licenses', row: { max_hwids: -2 }, error: CHECK },
  { name: 'a negative total', table: 'licenses', row: { past_requests: -1 }, error: CHECK },
  { name: 'no revision', table: 'licenses', row: { revision: null }, error: NOT_NULL },

  { name: 'a value twice', table: 'bindings', row: {}, error: UNIQUE },
  { name: 'an unknown license', table: 'bindings', row: { license_id: 9 }, error: FOREIGN },
  { name: 'no license', table: 'bindings', row: { license_id: null }, error: NOT_NULL },
  {
    name: 'no position',
    table: 'bindings',
    row: { type: 'HWID', position: null },
    error: NOT_NULL,
  },
  { name: 'an unknown type', table: 'bindings', row: { type: 'MAC' }, error: CHECK },

  { name: 'an entry for all products twice', table: 'blacklists', row: {}, error: UNIQUE },
  { name: 'an entry for one twice', table: 'blacklists', row: { product_id: 1 }, error: UNIQUE },
  {
    name: 'an unknown type',
    table: 'blacklists',
    row: { license_data_type: 'MAC' },
    error: CHECK,
  },
  {
    name: 'an unknown product',
    table: 'blacklists',
    row: { data: '192.0.2.9', product_id: 9 },
    error: FOREIGN,
  },

  { name: 'an e-mail twice', table: 'customers', row: { chat_id: null }, error: UNIQUE },

  { name: 'a caller twice', table: 'callers', row: {}, error: UNIQUE },
  {
    name: 'no license',
    table: 'callers',
    row: { fingerprint: 'b', license_id: null },
    error: NOT_NULL,
  },
  { name: 'a bucket twice', table: 'buckets', row: {}, error: UNIQUE },
  { name: 'a record twice', table: 'requests', row: { outcome: 2 }, error: UNIQUE },
  // A record of a caller that is gone must fail its batch.
  { name: 'no caller', table: 'requests', row: { caller_id: null }, error: NOT_NULL },
  { name: 'an hour twice', table: 'rollups', row: { requests: 2 }, error: UNIQUE },

  { name: 'a place twice', table: 'changes', row: {}, error: UNIQUE },
  { name: 'no revision', table: 'changes', row: { seq: 1_001, revision: null }, error: NOT_NULL },
  { name: 'a name twice', table: 'counters', row: {}, error: UNIQUE },
  { name: 'an id twice', table: 'deleted_ids', row: {}, error: UNIQUE },

  { name: 'a hash twice', table: 'tokens', row: {}, error: UNIQUE },
  {
    name: 'intents that are no JSON',
    table: 'tokens',
    row: { token_hash: 'b', intents: 'ALL_READ' },
    error: CHECK,
  },
];

const STORABLE: Record<string, Row> = {
  products: PRODUCT,
  licenses: OTHER,
  bindings: BINDING,
  blacklists: BLACKLIST,
  customers: CUSTOMER,
  tokens: TOKEN,
  callers: CALLER,
  buckets: { bucket: 1 },
  requests: REQUEST,
  rollups: ROLLUP,
  changes: CHANGE,
  counters: COUNTER,
  deleted_ids: DELETED_ID,
};
/** The tables whose ids the interface hands out. */
const WITH_IDS = ['products', 'licenses', 'blacklists', 'customers', 'tokens'];

describe('the tables reject', () => {
  it.each(REFUSED)('$table: $name', async ({ table, row, error }) => {
    const before = await count(table);
    await expect(insert(table, { ...STORABLE[table], ...row })).rejects.toThrow(error);
    expect(await count(table)).toBe(before);
  });

  it.each([...ACCOUNTS, 'other_account_id'])('customers: the same %s twice', async (account) => {
    const row = { created_at: 0, [account]: `of ${account}` };
    await insert('customers', row);
    await expect(insert('customers', row)).rejects.toThrow(UNIQUE);
  });

  it.each([
    ['a product with licenses', 'products'],
    ['a license with bindings', 'licenses'],
    ['a customer with licenses', 'customers'],
  ])('to delete %s', async (_name, table) => {
    const deletion = env.DB.prepare(`delete from ${table} where id = 1`).run();
    await expect(deletion).rejects.toThrow(FOREIGN);
  });
});

describe('the tables take', () => {
  it('a license that differs in its key alone', async () => {
    await insert('licenses', OTHER);
  });

  it.each([-1, 0])('a limit of %i', async (limit) => {
    const key = `LIMIT ${limit}`;
    const row = { ...OTHER, license_key_normalized: key, max_ips: limit, max_hwids: limit };
    await insert('licenses', row);
  });

  it('one value for two licenses, and as an address and a hardware ID', async () => {
    await insert('bindings', { ...BINDING, license_id: 2 });
    await insert('bindings', { ...BINDING, type: 'HWID' });
  });

  it('customers without e-mail and accounts', async () => {
    await insert('customers', { created_at: 0 });
    await insert('customers', { created_at: 0 });
  });

  it('history of what is gone', async () => {
    await insert('callers', { ...CALLER, fingerprint: 'c', license_id: 99, product_id: 99 });
    await insert('requests', { ...REQUEST, product_id: 99, caller_id: 99 });
  });

  it.each(['product_id', 'caller_id', 'nonce'])(
    'records that differ in %s alone',
    async (column) => {
      await insert('requests', { ...REQUEST, [column]: 77 });
    },
  );
});

it('never gives an id again', async () => {
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

it('enforces foreign keys', async () => {
  expect(await env.DB.prepare('pragma foreign_keys').first('foreign_keys')).toBe(1);
});
