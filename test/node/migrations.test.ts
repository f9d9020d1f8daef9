import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { expect, it } from 'vitest';

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

it('the migrations make what src/db/schema.ts describes', () => {
  const out = mkdtempSync(join(tmpdir(), 'licet-migrations-'));
  try {
    cpSync(MIGRATIONS, out, { recursive: true });
    const output = execFileSync(
      process.execPath,
      [
        join('node_modules', 'drizzle-kit', 'bin.cjs'),
        'generate',
        '--dialect=sqlite',
        '--schema=./src/db/schema.ts',
        // A path that begins with a slash is not found, and not an error either.
        `--out=${relative('.', out)}`,
      ],
      { encoding: 'utf8', stdio: 'pipe' },
    );
    expect(output, 'Run npm run migration').toContain('No schema changes');
    const made = readdirSync(out).filter((name) => name.endsWith('.sql'));
    expect(made).toEqual(files);
  } finally {
    rmSync(out, { recursive: true });
  }
});
