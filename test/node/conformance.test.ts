import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

/** The table from clause to test names tests that are there. */

const FOLDER = 'test/conformance';
const readme = readFileSync(join(FOLDER, 'README.md'), 'utf8');
const rows = [...readme.matchAll(/^\| (.+?) \| (.+) \|$/gm)]
  .map(([, clause = '', tests = '']) => ({ clause, tests: tests.split('<br>') }))
  .filter(({ clause }) => clause !== 'Clause' && !clause.startsWith('---'));

const sources = new Map<string, string>();
function sourceOf(file: string): string {
  const source = sources.get(file) ?? readFileSync(join(FOLDER, file), 'utf8');
  sources.set(file, source);
  return source;
}

describe('the table of conformance', () => {
  it('has the clauses of the interface and of the decisions', () => {
    expect(rows.length).toBeGreaterThan(150);
  });

  it.each(rows)('$clause: its tests are there', ({ tests }) => {
    for (const test of tests) {
      const [, file = '', title = ''] = /^`([^`]+)` › (.+)$/.exec(test.trim()) ?? [];
      expect(title, test).not.toBe('');
      // A title stands in quotes of any kind; in the source some characters are escaped.
      const source = sourceOf(file).replaceAll("\\'", "'");
      expect(source.includes(title), `${file} has no test "${title}"`).toBe(true);
    }
  });
});
