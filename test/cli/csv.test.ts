import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { csvLine } from '@licet/cli/csv';
import { entitlementsIn, entitlementsText } from '@licet/cli/entitlements';
import { rowsIn } from '@licet/cli/import/csv-rows';
import { fileSource } from '@licet/cli/import/files';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
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

it('a CSV file is imported with the values that were written', async () => {
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
      expect(read).toEqual(items);
    }),
    RUNS,
  );
});

describe('the parser of CSV files', () => {
  const rowsOf = async (text: string, sizes = text.length) => {
    async function* chunks() {
      for (let start = 0; start < text.length; start += sizes) {
        yield text.slice(start, start + sizes);
      }
    }
    const rows: { cells: string[]; line: number }[] = [];
    for await (const row of rowsIn(chunks(), ',')) rows.push(row);
    return rows;
  };

  it.each([1, 2, 1000])('the parser of CSV files reads chunks of %i', async (size) => {
    const text = 'a,b\r\n\r\n"1,""x""\r\ny",\n\n,"" \n'.replace(' ', '');
    expect(await rowsOf(text, size)).toEqual([
      { cells: ['a', 'b'], line: 1 },
      { cells: [''], line: 2 },
      { cells: ['1,"x"\r\ny', ''], line: 4 },
      { cells: [''], line: 5 },
      { cells: ['', ''], line: 6 },
    ]);
  });

  it('the parser of CSV files reads a last row without a line end', async () => {
    expect(await rowsOf('a\n""')).toEqual([
      { cells: ['a'], line: 1 },
      { cells: [''], line: 2 },
    ]);
  });

  it.each([
    ['a\nb"c', 'line 2 has a quotation mark within a cell'],
    ['"a"b', 'line 1 has a quotation mark within a cell'],
    ['a\n"b\nc', 'line 2 opens a quotation mark that is never closed'],
  ])('the parser of CSV files rejects %j', async (text, message) => {
    await expect(rowsOf(text)).rejects.toThrow(message);
  });
});

const entitlement = fc.oneof(
  fc.constantFrom(true, null, 'true', '7', '007', '-1', '1e3'),
  fc.integer(),
  fc.stringMatching(/^[A-Za-z0-9_.:+-]{1,40}$/),
);

it('each entitlement is the same after it was a cell of a CSV file', () => {
  const names = fc.stringMatching(/^[a-z][a-z0-9_.-]{0,39}$/);
  fc.assert(
    fc.property(fc.dictionary(names, entitlement, { noNullPrototype: true }), (values) => {
      expect(entitlementsIn(entitlementsText(values))).toEqual(values);
    }),
    RUNS,
  );
});
