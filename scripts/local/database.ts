import { createHash, createHmac } from 'node:crypto';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { CliError, fail, run } from '../../packages/cli/src/terminal.ts';

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
 * The file of a service's database, which need not exist. Loads wrangler for the id of the database, which takes
 * 200 MB of memory.
 *
 * @param folder of the data
 */
export async function databaseFile(folder: string): Promise<string> {
  // wrangler would report on the standard output that it reads the secrets.
  process.env.WRANGLER_LOG ??= 'error';
  const { unstable_getMiniflareWorkerOptions } = await import('wrangler');
  const { d1Databases } = unstable_getMiniflareWorkerOptions('wrangler.toml').workerOptions;
  const [, database] = Object.entries(d1Databases ?? {}).find(([name]) => name === 'DB') ?? [];
  if (database === undefined) {
    throw new CliError('wrangler.toml has no database with the binding DB. Add it again.');
  }
  const id = typeof database === 'string' ? database : database.id;
  return join(folderOfDatabases(folder), fileNameOf(id));
}

/** The databases in a data folder. There are several if wrangler.toml had another id before. */
function databasesIn(folder: string): string[] {
  const parent = folderOfDatabases(folder);
  if (!existsSync(parent)) return [];
  return readdirSync(parent)
    .filter((name) => name.endsWith('.sqlite') && name !== 'metadata.sqlite')
    .map((name) => join(parent, name));
}

/** The file of the database in a data folder; undefined if there is none yet. */
export async function findDatabase(folder: string): Promise<string | undefined> {
  const [file, ...others] = databasesIn(folder);
  if (others.length === 0) return file;
  const ofService = await databaseFile(folder);
  return existsSync(ofService) ? ofService : undefined;
}

/** Whether the database has all migrations. wrangler would take two seconds to check it. */
function isMigrated(folder: string): boolean {
  const [file, ...others] = databasesIn(folder);
  if (file === undefined || others.length > 0) return false;
  try {
    const database = new DatabaseSync(file, { readOnly: true });
    const applied = database.prepare('select name from d1_migrations').all();
    database.close();
    const names = new Set(applied.map(({ name }) => name));
    const migrations = readdirSync(MIGRATIONS_FOLDER).filter((name) => name.endsWith('.sql'));
    return migrations.every((name) => names.has(name));
  } catch {
    // wrangler reports the error when it applies the migrations.
    return false;
  }
}

/** Applies the migrations that the database lacks. */
export async function migrate(folder: string): Promise<void> {
  if (isMigrated(folder)) return;
  const apply = ['d1', 'migrations', 'apply', 'DB', '--local', '--persist-to', folder];
  const { ok, output } = await run('wrangler', apply);
  if (ok) return;
  fail(
    `The migrations could not be applied to the database in ${folder}; see the error below. ` +
      'If the database is damaged, restore a backup (docs/one-machine.md), or start with another ' +
      `folder: npm start -- --persist-to DIR\n\n${output.trim()}`,
  );
}
