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

// On D1 foreign keys cannot be switched off: a rebuilt table or a cascade loses rows. Triggers are cut at
// their semicolons by `wrangler d1 migrations apply --remote` (cloudflare/workers-sdk issue 4998).
it.each(files)('%s rebuilds no table, deletes nothing by cascade and has no trigger', (name) => {
  expect(read(name)).not.toMatch(
    /__new_|on (delete|update) (cascade|set)|drop table|foreign_keys|create (temp\w* )?trigger/i,
  );
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
