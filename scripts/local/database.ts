import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fail, run } from '../terminal.ts';

/** The local database: where it is, and its migrations. */

const MIGRATIONS_FOLDER = 'drizzle';

/** Where miniflare keeps databases. */
const databaseFolder = (folder: string): string =>
  join(folder, 'v3', 'd1', 'miniflare-D1DatabaseObject');

/** The file of the database in a folder of data; undefined where there is none yet. */
export function databaseFile(folder: string): string | undefined {
  const parent = databaseFolder(folder);
  if (!existsSync(parent)) return undefined;
  const file = readdirSync(parent).find(
    (name) => name.endsWith('.sqlite') && name !== 'metadata.sqlite',
  );
  return file && join(parent, file);
}

/** Whether the database has all migrations. wrangler would take two seconds to say so. */
function isMigrated(folder: string): boolean {
  const file = databaseFile(folder);
  if (file === undefined) return false;
  try {
    const database = new DatabaseSync(file, { readOnly: true });
    const applied = database.prepare('select name from d1_migrations').all();
    database.close();
    const names = new Set(applied.map(({ name }) => name));
    const migrations = readdirSync(MIGRATIONS_FOLDER).filter((name) => name.endsWith('.sql'));
    return migrations.every((name) => names.has(name));
  } catch {
    // wrangler finds out what is wrong.
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
