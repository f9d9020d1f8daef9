import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { D1Database } from '@cloudflare/workers-types';

/** The shop in the database: its licenses with two bound servers each, its blacklist, and a token. */

export interface Population {
  licenses: number;
  /** The limit of servers of a license. Two are bound. */
  maxServers: number;
  /** A tenth are ranges. No request comes from any of them. */
  blacklistEntries: number;
}

/** A token that may validate under v2, and read the history. */
export const TOKEN = 'licet_benchmark-benchmark-benchmark-benchmark00';

const MIGRATIONS = 'drizzle';
const MAX_ROWS_PER_STATEMENT = 10_000;

// The SQL below computes the same as these three.

export const licenseKeyOf = (id: number): string => `BENCH-KEY-${String(id).padStart(9, '0')}`;

/** The address of one of a license's servers. */
export const addressOf = (id: number, slot: number): string =>
  `11.${slot * 2 + (id >> 16)}.${(id >> 8) & 255}.${id & 255}`;

/** The hardware ID of one of a license's servers. */
export const hardwareIdOf = (id: number, slot: number): string =>
  `${id.toString(16).padStart(8, '0')}-5d1c-4b7e-9f3a-${String(slot).padStart(12, '0')}`;

/** Licenses spread evenly over all: neighbours share a page of the database. */
export const spreadIds = (count: number, licenses: number): number[] => {
  const step = Math.max(1, Math.floor(licenses / count));
  return Array.from({ length: Math.min(count, licenses) }, (_, index) => index * step + 1);
};

async function migrate(db: D1Database, checkout: string): Promise<void> {
  const folder = join(checkout, MIGRATIONS);
  const files = readdirSync(folder).filter((name) => name.endsWith('.sql'));
  for (const file of files.sort()) {
    const text = readFileSync(join(folder, file), 'utf8');
    const statements = text.split('--> statement-breakpoint');
    await db.batch(statements.map((statement) => db.prepare(statement)));
  }
}

/** Runs a statement over the numbers `i` from 1 on, in portions. */
export async function insertSeries(db: D1Database, rows: number, insert: string): Promise<void> {
  for (let from = 1; from <= rows; from += MAX_ROWS_PER_STATEMENT) {
    const to = Math.min(rows, from + MAX_ROWS_PER_STATEMENT - 1);
    await db
      .prepare(
        `with recursive n(i) as (select ${from} union all select i + 1 from n where i < ${to})
         ${insert}`,
      )
      .run();
  }
}

async function insertLicenses(db: D1Database, population: Population): Promise<void> {
  const { licenses, maxServers } = population;
  await insertSeries(
    db,
    licenses,
    `insert into licenses (id, license_key, license_key_normalized, product_id, license_type, max_ips,
       max_hwids, created_at, updated_at, revision)
     select i, printf('BENCH-KEY-%09d', i), printf('BENCH-KEY-%09d', i), 1, 'PERMANENT',
       ${maxServers}, ${maxServers}, 0, 0, 1 from n`,
  );
  await insertSeries(
    db,
    licenses,
    `insert into bindings (license_id, type, value, position)
     select i, 'IP', printf('11.%d.%d.%d', slot * 2 + (i >> 16), (i >> 8) & 255, i & 255), slot
     from n, (select 1 as slot union select 2)
     union all
     select i, 'HWID', printf('%08x-5d1c-4b7e-9f3a-%012d', i, slot), slot
     from n, (select 1 as slot union select 2)`,
  );
}

async function insertBlacklist(db: D1Database, entries: number): Promise<void> {
  const insert = `insert into blacklists
    (license_data_type, data, product_id, reason, created_at, updated_at)`;
  const forEach = (share: number, kind: string, data: string) =>
    insertSeries(
      db,
      Math.round(entries * share),
      // Every other entry is for one product.
      `${insert} select '${kind}', ${data}, nullif(i % 2, 0), 'Leaked keys', 0, 0 from n`,
    );
  await forEach(0.45, 'HWID', `printf('%08x-0bad-4bad-8bad-000000000000', i)`);
  await forEach(0.45, 'IP', `printf('203.%d.%d.1', i >> 8, i & 255)`);
  await forEach(0.05, 'IP', `printf('172.%d.%d.0/24', i >> 8, i & 255)`);
  await forEach(0.05, 'IP', `printf('2001:db8:%x::/48', i)`);
}

/** Creates the tables of a checkout, and fills them. */
export async function populate(
  db: D1Database,
  population: Population,
  checkout = '.',
): Promise<void> {
  await migrate(db, checkout);
  await fill(db, population);
}

/** Fills an empty database, like that of a service in which nothing has changed for a while. */
export async function fill(db: D1Database, population: Population): Promise<void> {
  const tokenHash = createHash('sha256').update(TOKEN).digest('hex');
  await db.batch([
    db.prepare(`insert into products (name, product_type, default_max_ips, default_max_hwids,
      created_at, updated_at) values ('Bench', 'OTHER', 5, 5, 0, 0)`),
    db
      .prepare(`insert into tokens (name, token_hash, intents, created_at, updated_at)
        values ('Bench', ?1, '["LICENSE_VALIDATE", "ALL_READ"]', 0, 0)`)
      .bind(tokenHash),
  ]);
  await insertLicenses(db, population);
  await insertBlacklist(db, population.blacklistEntries);
}
