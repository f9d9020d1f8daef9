import { createHash, createHmac } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { CliError, fail, systemReason } from '@licet/cli/terminal';
import { makeFolder } from './folder.ts';
import { readDatabases } from './settings.ts';

/** The file of the local database, and its migrations. */

export const MIGRATIONS_FOLDER = 'drizzle';

/** The folder of miniflare's D1 databases, and the key from which it derives their file names. */
const D1_KEY = 'miniflare-D1DatabaseObject';
const folderOfDatabases = (folder: string): string => join(folder, 'v3', 'd1', D1_KEY);

const hmac = (key: Buffer, data: string | Buffer): Buffer =>
  createHmac('sha256', key).update(data).digest().subarray(0, 16);

/** The file name of a local D1 database, which workerd stores as a Durable Object. */
function fileNameOf(databaseId: string): string {
  const key = createHash('sha256').update(D1_KEY).digest();
  const name = hmac(key, databaseId);
  return `${Buffer.concat([name, hmac(key, name)]).toString('hex')}.sqlite`;
}

/**
 * The id of the service's database. Without an id in wrangler.toml, it is the name of the binding.
 *
 * @throws CliError if wrangler.toml has no database with the binding DB
 */
export function databaseId({ d1_databases: databases = [] } = readDatabases()): string {
  const database = databases.find(({ binding }) => binding === 'DB');
  if (database === undefined) {
    throw new CliError('wrangler.toml has no database with the binding DB. Add it again.');
  }
  return database.preview_database_id ?? database.database_id ?? database.binding;
}

/** The file of a service's database, which need not exist. */
export const databaseFile = (folder: string, id = databaseId()): string =>
  join(folderOfDatabases(folder), fileNameOf(id));

/** The databases in a data folder. There are several if wrangler.toml had another id before. */
function databasesIn(folder: string): string[] {
  const parent = folderOfDatabases(folder);
  if (!existsSync(parent)) return [];
  return readdirSync(parent)
    .filter((name) => name.endsWith('.sqlite') && name !== 'metadata.sqlite')
    .map((name) => join(parent, name));
}

/** The file of the database in a data folder; undefined if there is none yet. */
export function findDatabase(folder: string): string | undefined {
  const [file, ...others] = databasesIn(folder);
  if (others.length === 0) return file;
  const ofService = databaseFile(folder);
  return existsSync(ofService) ? ofService : undefined;
}

const migrations = (): string[] =>
  readdirSync(MIGRATIONS_FOLDER)
    .filter((name) => name.endsWith('.sql'))
    .toSorted();

/** The migrations that a database lacks. */
function missingIn(database: DatabaseSync): string[] {
  const applied = database.prepare('select name from d1_migrations').all();
  const names = new Set(applied.map(({ name }) => name));
  return migrations().filter((name) => !names.has(name));
}

/** The table in which wrangler notes the migrations. */
const MIGRATIONS_TABLE = `create table if not exists d1_migrations (
  id integer primary key autoincrement,
  name text unique,
  applied_at timestamp default current_timestamp not null
)`;

function applyMigrations(file: string): void {
  makeFolder(dirname(file));
  const database = new DatabaseSync(file);
  try {
    database.exec(MIGRATIONS_TABLE);
    for (const name of missingIn(database)) {
      try {
        database.exec(`begin; ${readFileSync(join(MIGRATIONS_FOLDER, name), 'utf8')}`);
        database.prepare('insert into d1_migrations (name) values (?)').run(name);
        database.exec('commit');
      } catch (error) {
        throw new Error(`${name}: ${systemReason(error)}`);
      }
    }
  } finally {
    database.close();
  }
}

/** Applies the migrations that the database lacks. wrangler would start a runtime for each of them. */
export function migrate(folder: string, id = databaseId()): void {
  const file = databaseFile(folder, id);
  try {
    applyMigrations(file);
  } catch (error) {
    fail(
      `The migrations could not be applied to the database in ${folder}; see the error below. ` +
        'If it is of an earlier checkout, run npm run export there, start with another folder, and run ' +
        'npm run import. If the database is damaged, restore a backup (docs/one-machine.md), or start ' +
        `with another folder: npm start -- --persist-to DIR\n\n${systemReason(error)}`,
    );
  }
}
