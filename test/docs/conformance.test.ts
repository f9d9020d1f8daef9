import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

/** The table from clause to test: it leaves no section out, and the tests that it names are there. */

const FOLDER = 'test/conformance';
const NOT_BUILT_YET = '*not built yet*';

const readme = readFileSync(join(FOLDER, 'README.md'), 'utf8');
const rows = [...readme.matchAll(/^\| (.+?) \| (.+) \|$/gm)]
  .map(([, clause = '', tests = '']) => ({ clause, tests: tests.split('<br>') }))
  .filter(({ clause }) => clause !== 'Clause');

const sources = new Map<string, string>();
function sourceOf(file: string): string {
  const source = sources.get(file) ?? readFileSync(join(FOLDER, file), 'utf8');
  sources.set(file, source);
  return source;
}

const headings = (text: string): string[] =>
  [...text.matchAll(/^#{2,3} (\d[\d.]*?)\.? /gm)].map(([, number = '']) => number);

/** Whether one section is the other or a part of it. */
const belongTo = (one: string, other: string): boolean =>
  `${one}.`.startsWith(`${other}.`) || `${other}.`.startsWith(`${one}.`);

describe('the table of conformance', () => {
  const [interfaceTables = '', decisionTables = ''] = readme.split('## The decisions');
  it.each([
    // Section 6 says that there are no events.
    ['docs/interface.md', interfaceTables, ['6']],
    ['docs/decisions.md', decisionTables, []],
  ])('the table of conformance leaves out no section of %s', (document, part, exceptions) => {
    const tables = headings(part);
    const missing = headings(readFileSync(document, 'utf8')).filter(
      (section) => !tables.some((table) => belongTo(section, table)),
    );
    expect(missing).toEqual(exceptions);
  });

  it('the table of conformance names only tests that are there', () => {
    const named = rows.flatMap(({ tests }) =>
      tests.filter((test) => !test.startsWith(NOT_BUILT_YET)),
    );
    const missing = named.filter((test) => {
      const [, file, title] = /^`([^`]+)` › (.+)$/.exec(test) ?? [];
      return !(file && title && sourceOf(file).replaceAll("\\'", "'").includes(title));
    });
    expect(missing).toEqual([]);
    expect(named.length).toBeGreaterThan(250);
  });
});
