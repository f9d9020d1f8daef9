import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { backup, DatabaseSync } from 'node:sqlite';
import { setImmediate } from 'node:timers/promises';
import { CliError, Progress, systemReason } from '@licet/cli/terminal';
import { MIGRATIONS_FOLDER } from './database.ts';
import { makeFolder } from './folder.ts';

/** Copies and checks databases. */

/** workerd locks the database for a moment when it opens it and when it closes it. */
const BUSY_TIMEOUT_MS = 5_000;

const SQLITE_BUSY = 5;
const SQLITE_CORRUPT = 11;
const SQLITE_FULL = 13;
const SQLITE_NOTADB = 26;

/** The primary result code of SQLite; undefined for other errors. */
function sqliteCode(error: unknown): number | undefined {
  const isSqlite = error instanceof Error && 'errcode' in error;
  return isSqlite ? Number(error.errcode) & 0xff : undefined;
}

/** Whether SQLite failed because another process has a lock. */
export const isBusy = (error: unknown): boolean => sqliteCode(error) === SQLITE_BUSY;

/** The reason of an error, for the end of a sentence. */
function reasonOf(error: unknown): string {
  const code = sqliteCode(error);
  if (code === SQLITE_NOTADB) return 'it is not an SQLite database';
  if (code === SQLITE_CORRUPT) return 'it is damaged';
  return code === SQLITE_FULL ? 'no space is left on the device' : systemReason(error);
}

const namesIn = (database: DatabaseSync, sql: string): string[] =>
  database
    .prepare(sql)
    .all()
    .map(({ name }) => String(name));

const tablesIn = (database: DatabaseSync): string[] =>
  namesIn(database, "select name from sqlite_schema where type = 'table'");

/** The tables after migrations. */
export function tablesOf(migrations: readonly string[]): string[] {
  const database = new DatabaseSync(':memory:');
  try {
    for (const name of migrations) {
      database.exec(readFileSync(join(MIGRATIONS_FOLDER, name), 'utf8'));
    }
    return tablesIn(database).filter((name) => !name.startsWith('sqlite_'));
  } finally {
    database.close();
  }
}

function misfitOf(database: DatabaseSync): string | undefined {
  const tables = new Set(tablesIn(database));
  const applied = tables.has('d1_migrations')
    ? namesIn(database, 'select name from d1_migrations order by id')
    : [];
  if (applied.length === 0) return 'it has no tables of Licet';
  const known = new Set(readdirSync(MIGRATIONS_FOLDER));
  const unknown = applied.find((name) => !known.has(name));
  if (unknown !== undefined) return `its migration ${unknown} is not one of this version`;
  const missing = tablesOf(applied).find((name) => !tables.has(name));
  return missing && `its table ${missing} is missing`;
}

function damageOf(database: DatabaseSync): string | undefined {
  const { quick_check: found } = database.prepare('pragma quick_check(1)').get() ?? {};
  // The first line names the database, which is always main.
  return found === 'ok' ? undefined : `it is damaged: ${String(found).split('\n').at(-1)}`;
}

/** Finds a fault in a database, without changing it. */
function inspect(
  file: string,
  faultOf: (database: DatabaseSync) => string | undefined,
): string | undefined {
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(file, { readOnly: true, timeout: BUSY_TIMEOUT_MS });
    return faultOf(database);
  } catch (error) {
    return reasonOf(error);
  } finally {
    database?.close();
  }
}

/**
 * The reason why this version of Licet cannot serve a database, for the end of a sentence; undefined for none.
 * Missing migrations are no reason, because `npm start` applies them. Does not check for damage.
 */
export const findMisfit = (file: string): string | undefined => inspect(file, misfitOf);

const PAGES_PER_STEP = 1_000;

/** Copies the state of a database at one moment. Other processes can write to it meanwhile. */
async function copyPages(from: string, to: string): Promise<void> {
  const source = new DatabaseSync(from, { readOnly: true, timeout: BUSY_TIMEOUT_MS });
  let progress: Progress | undefined;
  let copied = 0;
  try {
    // One read transaction around all steps: without it each write of the service restarts the copy.
    source.exec('begin; select count(*) from sqlite_schema');
    await backup(source, to, {
      rate: PAGES_PER_STEP,
      progress({ totalPages, remainingPages }) {
        progress ??= new Progress('pages', totalPages);
        progress.add(totalPages - remainingPages - copied);
        copied = totalPages - remainingPages;
      },
    });
  } finally {
    progress?.end();
    source.close();
  }
}

/** Copies what a database holds, without its free pages: those hold data that was erased. */
function copyContent(from: string, to: string): void {
  const source = new DatabaseSync(from);
  try {
    source.prepare('vacuum into ?').run(to);
  } finally {
    source.close();
  }
}

/**
 * Copies a database into a temporary folder beside a path, checks the copy, and then moves it to the path. The
 * folder is always removed.
 *
 * @param from a database that may be in use
 * @param place moves the copy to its path
 * @throws CliError if it cannot be copied
 */
export async function copyDatabase(
  from: string,
  path: string,
  place: (copy: string) => void,
): Promise<void> {
  let folder: string | undefined;
  const remove = () => folder && rmSync(folder, { recursive: true, force: true });
  process.on('exit', remove);
  let fault: string | undefined;
  try {
    makeFolder(dirname(path));
    // A folder, because SQLite creates further files beside the copy.
    folder = mkdtempSync(`${path}.part-`);
    const pages = join(folder, 'pages');
    // Two steps, because SQLite cannot be stopped while it copies the content.
    await copyPages(from, pages);
    const copy = join(folder, 'copy');
    copyContent(pages, copy);
    fault = inspect(copy, (database) => misfitOf(database) ?? damageOf(database));
    // A signal that came meanwhile stops it here.
    await setImmediate();
    if (fault === undefined) place(copy);
  } catch (error) {
    if (error instanceof CliError) throw error;
    fault = reasonOf(error);
  } finally {
    remove();
    process.off('exit', remove);
  }
  if (fault !== undefined) throw new CliError(`${from} could not be copied to ${path}: ${fault}.`);
}
