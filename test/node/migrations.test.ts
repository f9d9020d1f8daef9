import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, it } from 'vitest';
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

// On D1 foreign keys cannot be switched off: another table in the place of one, or a cascade, loses the rows that refer
// to it. Triggers are cut at their semicolons by `wrangler d1 migrations apply --remote` (cloudflare/workers-sdk issue
// 4998).
it.each(files)(
  '%s replaces no table with references, and has no cascade and no trigger',
  (name) => {
    const text = read(name);
    expect(text).not.toMatch(
      /__new_|on (delete|update) (cascade|set)|foreign_keys|create (temp\w* )?trigger/i,
    );
    for (const [, table = ''] of text.matchAll(/drop table `?(\w+)/gi)) {
      for (const other of files) {
        expect(read(other).toLowerCase()).not.toContain(`references \`${table.toLowerCase()}\``);
      }
    }
  },
);

it('markets keep their ids, also those of deleted ones, and may be of a new kind', () => {
  const database = new DatabaseSync(':memory:');
  const run = (from: number, to: number) => {
    for (const name of files.slice(from, to)) database.exec(read(name));
  };
  const last = files.findIndex((name) => name.includes('markets_of_any_kind'));
  const insert = (kind: string) =>
    database
      .prepare(
        `insert into markets (kind, name, is_enabled, path, products, on_refund, on_dispute, secrets, created_at, updated_at)
         values (?, '', 1, hex(randomblob(8)), '[]', 'DEACTIVATE', 'DEACTIVATE', '[]', 1, 1)`,
      )
      .run(kind).lastInsertRowid;
  run(0, last);
  expect([insert('tebex'), insert('stripe')]).toEqual([1, 2]);
  database.exec('delete from markets where id = 2');
  run(last, last + 1);
  expect(insert('seventh')).toBe(3);
  expect(
    database
      .prepare('select id, kind from markets')
      .all()
      .map((row) => ({ ...row })),
  ).toEqual([
    { id: 1, kind: 'tebex' },
    { id: 3, kind: 'seventh' },
  ]);
  database.close();
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
