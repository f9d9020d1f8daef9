import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { csvLine } from '@licet/cli/csv';
import { fileSource } from '@licet/cli/import/files';
import { rowItem } from '@licet/cli/import/rows';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { rowsIn } from '../../console/src/screens/import/csv-rows.ts';
import { ownFolder } from '../node/own.ts';

/** The CSV files of the console and of the command line. */

const folder = ownFolder();

const RUNS = { seed: 602 };

/** Texts of characters that begin formulas, begin cells or are quoted. */
const text = fc.string({
  unit: fc.constantFrom('=', '+', '-', '@', '\t', '\r', '\n', ';', ',', '"', "'", ' ', 'a', '1'),
  maxLength: 12,
});

it.each([
  ['=1+1', "'=1+1"],
  ['+44 20', "'+44 20"],
  ['a;=cmd|x', '"a;\'=cmd|x"'],
  ['a;"@SUM(1)"', '"a;""\'@SUM(1)"""'],
  ['a\r\n-1', '"a\r\n\'-1"'],
  ['a\t=1', '"a\t\'=1"'],
  ["'=1", "''=1"],
  ['a = b; c - d', '"a = b; c - d"'],
  [-1, '-1'],
  [null, ''],
])('the value %j is the cell %j of a CSV file', (value, cell) => {
  expect(csvLine([value])).toBe(cell);
});

it('no cell begins a formula, whichever separator a spreadsheet takes', () => {
  fc.assert(
    fc.property(fc.array(text, { minLength: 1, maxLength: 3 }), (cells) => {
      // Other separators than a comma end a cell also between quotation marks.
      for (const piece of csvLine(['id', ...cells]).split(/[;\t\r\n]/)) {
        expect(piece).not.toMatch(/^"*[=+\-@]/);
      }
      for (const cell of cells) expect(csvLine([cell])).not.toMatch(/^"?[=+\-@\t\r]/);
    }),
    RUNS,
  );
});

it('a CSV file is imported with the values that were written, by the console and by the command line', async () => {
  const headings = ['id', 'name', 'description'];
  const file = join(folder, 'products.csv');
  const values = fc.array(fc.tuple(text, text), { minLength: 1, maxLength: 5 });
  await fc.assert(
    fc.asyncProperty(values, async (pairs) => {
      const rows = pairs.map(([name, notes], index) => [index + 1, `${name}.`, `,${notes}.`]);
      const csv = [headings, ...rows].map((row) => `${csvLine(row)}\r\n`).join('');
      // An import trims its cells.
      const items = rows.map((row) => {
        const [id, name, description] = row.map((value) => String(value).trim());
        return { id, name, description };
      });

      writeFileSync(file, csv);
      const source = await fileSource({ file, kind: 'products', isPartial: false });
      const read = await Array.fromAsync(source.read('products'), ({ item }) => item);
      const parsed = await Array.fromAsync(rowsIn(chunksOf(csv), ','), ({ cells }) => cells);
      const seen = parsed.slice(1).map((cells) => rowItem(headings, cells, '', ',').item);
      expect(read).toEqual(items);
      expect(seen).toEqual(items);
    }),
    RUNS,
  );
});

async function* chunksOf(csv: string): AsyncGenerator<string> {
  yield csv;
}
