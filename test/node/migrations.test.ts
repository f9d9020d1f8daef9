import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import { databaseFile, migrate } from '../../scripts/local/database.ts';
import { ownFolder } from './own.ts';

const data = ownFolder();
const MIGRATIONS = 'drizzle';
const files = readdirSync(MIGRATIONS).filter((name) => name.endsWith('.sql'));
const read = (name: string): string => readFileSync(join(MIGRATIONS, name), 'utf8');

it('there are migrations, in the order of their numbers', () => {
  expect(files.map((name) => Number(name.slice(0, 4)))).toEqual(files.map((_, index) => index));
  expect(files).not.toEqual([]);
});

/** No table refers to the one that this replaces. */
const REPLACING = '0018_markets_of_any_kind.sql';

// On D1 foreign keys cannot be switched off: a rebuilt table or a cascade loses rows. Triggers are cut at
// their semicolons by `wrangler d1 migrations apply --remote` (cloudflare/workers-sdk issue 4998).
it.each(files)('%s rebuilds no table, deletes nothing by cascade and has no trigger', (name) => {
  const text = name === REPLACING ? read(name).replace('DROP TABLE `markets`;', '') : read(name);
  expect(text).not.toMatch(
    /__new_|on (delete|update) (cascade|set)|drop table|foreign_keys|create (temp\w* )?trigger/i,
  );
  expect(text).not.toMatch(/references\W+markets\b/i);
});

describe('the table of markets that takes any kind', () => {
  const COLUMNS = [
    ...['id', 'name', 'is_enabled', 'path', 'products', 'on_refund', 'on_dispute', 'settings'],
    ...[
      'secrets',
      'api_token',
      'reconciled_at',
      'failing_at',
      'created_at',
      'updated_at',
      'revision',
    ],
    ...['comparison_due_at', 'mails_key'],
  ];

  /** A market with a value of its own in each column. */
  const insert = (database: DatabaseSync, id: number | null, kind: string) =>
    database
      .prepare(
        `insert into markets (kind, ${COLUMNS.join(', ')}) values (?, ${COLUMNS.map(() => '?').join(', ')})`,
      )
      .run(kind, id, ...COLUMNS.slice(1).map((_, index) => `[${10 * (id ?? 99) + index}]`));
  const all = (database: DatabaseSync) =>
    database
      .prepare(`select kind, ${COLUMNS.join(', ')} from markets`)
      .all()
      .map((row) => ({ ...row }));

  function upgraded(before: (database: DatabaseSync) => void) {
    const database = new DatabaseSync(':memory:');
    for (const name of files.slice(0, files.indexOf(REPLACING))) database.exec(read(name));
    before(database);
    const rows = all(database);
    database.exec(read(REPLACING));
    return { database, rows };
  }

  it('keeps all values, and uses no id of a deleted market', () => {
    const { database, rows } = upgraded((old) => {
      for (const id of [4, 7, 9]) insert(old, id, 'tebex');
      old.exec('delete from markets where id = 9');
    });
    expect(rows).toHaveLength(2);
    expect(all(database)).toEqual(rows);
    expect(insert(database, null, 'seventh').lastInsertRowid).toBe(10);
    expect(() => insert(database, 4, 'tebex')).toThrow('UNIQUE');
    expect(() => database.exec("update markets set path = '[71]'")).toThrow('markets.path');
  });

  it('uses no id of a deleted market where all are deleted', () => {
    const { database } = upgraded((old) => {
      insert(old, 5, 'stripe');
      old.exec('delete from markets');
    });
    expect(insert(database, null, 'stripe').lastInsertRowid).toBe(6);
  });
});

it('a local database with a new id is migrated, although that of the old id has all migrations', () => {
  for (const id of ['old', 'new']) {
    migrate(data, id);
    const database = new DatabaseSync(databaseFile(data, id));
    const applied = database.prepare('select name from d1_migrations order by id').all();
    database.close();
    expect(applied.map(({ name }) => name)).toEqual(files);
  }
});
