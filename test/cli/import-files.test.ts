import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileSource } from '@licet/cli/import/files';
import type { Kind } from '@licet/cli/import/kinds';
import { describe, expect, it } from 'vitest';
import { ownFolder } from '../node/own.ts';
import { lines, productOf } from './items.ts';

/** The files that an import reads, checked before it changes anything. */

const folder = ownFolder();

/** Writes a file, unless it shall not exist, and checks it. */
function check(name: string, data: string | Buffer | undefined, kind?: Kind, isPartial = false) {
  const file = join(folder, name);
  if (data !== undefined) writeFileSync(file, data);
  return fileSource({ file, kind, isPartial });
}

const product = JSON.stringify(productOf(9_500));
const good = lines([{ product: productOf(9_500) }]);

const CSV = 'licenseKey,productId\n';

it.each<[problem: string, file: string, data: string | undefined, kind?: Kind]>([
  ['no last line', 'cut.jsonl', good],
  ['has 1 product, but its last line says 2', 'count.jsonl', `${good}{"end":{"products":2}}\n`],
  ['lines follow its last line', 'behind.jsonl', `{"end":{}}\n${good}`],
  ['line 2 is not like', 'half.jsonl', `${good}{"licen`],
  ['Nothing was imported. Add --partial', 'half.jsonl', `${good}{"licen`],
  ['line 1 is not like', 'other.jsonl', `${product}\n{"end":{}}\n`],
  ['larger than 1 MiB', 'long.jsonl', `{"product":"${'x'.repeat(2_000_000)}"}`],
  ['Nothing was imported. Add --partial', 'cut.json', `{"products":[${product}`],
  ['line 3 is not valid JSON', 'broken.json', `{"products":[\n${product},\noops,${product}]}`],
  ['nothing to import', 'none.json', '{"shop":[]}'],
  [
    'licences is not one of products,',
    'misspelt.json',
    `{"products":[${product}],"licences":[{}]}`,
  ],
  ['licenseKey appears twice', 'twice.csv', 'licenseKey,licenseKey\na,b\n', 'licenses'],
  ['separated by tabs. Use commas', 'tab.csv', 'licenseKey\tproductId\na\t1\n', 'licenses'],
  ['unknown headings: Price, column 3. Ren', 'gap.csv', 'id;Price;;name\n1;2;x;a\n', 'products'],
  [
    'unknown headings: Sold by, Nname (did you mean name?). Rename or remove these columns, or add ' +
      '--map "Sold by=" --map "Nname=name" (nothing after = leaves one out). The headings of products are id, name,',
    'headings.csv',
    'id,Sold by,Nname\n1,A,3\n',
    'products',
  ],
  ['Add --kind', 'list.json', `[${product}]`],
  ['Add --kind', 'none.csv', `${CSV}a,1\n`],
  ['--kind is not for', 'kind.jsonl', good, 'products'],
  ['products is not a list', 'object.json', `{"products":${product}}`],
  ['products is not a list', 'object.json', `{"products":${product}}`, 'products'],
  ['line 3 opens a quotation mark that is never', 'open.csv', `${CSV}a,1\n"b,1\n\n`, 'licenses'],
  ['line 3 has a quotation mark within a cell', 'quote.csv', `${CSV}a,1\nb"c,1\n`, 'licenses'],
  ['line 3 has a quotation mark within a cell', 'quote.csv', `${CSV}a,1\n"b"c,1\n`, 'licenses'],
  ['line 2 is larger than 1 MiB', 'row.csv', `${CSV}${'x'.repeat(2_000_000)},1\n`, 'licenses'],
  ['Use one of .jsonl, .ndjson, .json, .csv', 'shop.xml', '<shop/>'],
  ['nowhere.jsonl does not exist', 'nowhere.jsonl', undefined],
])('a file is rejected where %s: %s', async (problem, name, data, kind) => {
  await expect(check(name, data, kind)).rejects.toThrow(problem);
});

it.each([
  ['semicolons', 'id;name\r\n1;a, b\r\n2;"c; d"\r\n', ['a, b', 'c; d']],
  ['commas', 'id,name\n1,a; b\n2,"c, d"\n', ['a; b', 'c, d']],
  ['a line with the separator', 'sep=;\r\nid;name\r\n1;a, b\r\n', ['a, b']],
  ['a quoted line with the separator', '"sep=,"\nid,name\n1,a; b; c\n', ['a; b; c']],
  ['quoted headings', '"id";"name"\n"1";"a, b"\n', ['a, b']],
  ['empty columns at the right', 'id;name;;\n1;a;;\n2;;;\n', ['a', undefined]],
  ['blank rows', ',,\n  \nid,name,\n1,a,\n,,\n\n2,b,\n" ",,\n', ['a', 'b']],
  ['several line ends', 'sep=;\r\nid;name\n1;a\r2;"b\nc"\r\n3;d\n', ['a', 'b\nc', 'd']],
])('a CSV file may have %s', async (_, text, names) => {
  const source = await check('separated.csv', `\ufeff${text}`, 'products');
  const items = await Array.fromAsync(source.read('products'), ({ item }) => item);
  expect(items).toEqual(
    names.map((name, index) => ({ id: `${index + 1}`, ...(name && { name }) })),
  );
});

it('a CSV file that names its separator counts that line', async () => {
  const source = await check('counted.csv', 'sep=;\nid;name\n1;a;b\n', 'products');
  const [first] = await Array.fromAsync(source.read('products'));
  expect(first).toMatchObject({ where: 'line 3', problem: expect.stringContaining('3 columns') });
});

it.each<[problem: string, file: string, data: string, kind?: Kind]>([
  ['line 2 is not like', 'middle.jsonl', `${good}{"licen\n${good}{"end":{"products":2}}\n`],
  ['line 2 is not like', 'last.jsonl', `${good}{"licen\n`],
  ['line 2 is not like', 'misnamed.jsonl', `${good}{"licence":{}}`],
  ['line 3 is not valid JSON', 'broken.json', `{"products":[\n${product},\noops,${product}]}`],
  ['--partial is not for', 'bad.csv', `${CSV}a,1\nb\n`, 'licenses'],
])('--partial accepts only a file that is cut off: %s, %s', async (problem, name, data, kind) => {
  await expect(check(name, data, kind, true)).rejects.toThrow(problem);
});

it.each([`{"products":[${product},${product}]}`, `{"products":[${product}`])(
  'a file that changes during the import ends it: %s',
  async (changed) => {
    const source = await check('changing.json', `{"products":[${product}]}`);
    writeFileSync(join(folder, 'changing.json'), changed);
    const reading = Array.fromAsync(source.read('products'));
    await expect(reading).rejects.toThrow('has changed since it was checked');
  },
);

describe('the encoding of a file', () => {
  const bytes = (text: string) => Buffer.from(text, 'latin1');

  it.each<[line: number, file: string, data: Buffer]>([
    [2, 'latin.csv', bytes(`${CSV}L1-M\xfc,1\n`)],
    [3, 'end.csv', bytes(`${CSV}a,1\nL1-M\xe9`)],
    [3, 'later.csv', bytes(`${CSV}${'x'.repeat(70_000)},1\nL1-M\xe9\n`)],
    [1, 'utf-16.csv', Buffer.from(`\ufeff${CSV}a,1\n`, 'utf16le')],
    [1, 'unmarked.csv', Buffer.from(`${CSV}a,1\n`, 'utf16le')],
    [2, 'latin.jsonl', bytes(`${good}{"license":{"notes":"M\xfcller"}}\n{"end":{}}\n`)],
    [2, 'latin.json', bytes(`{"products":[${product},\n{"name":"M\xfc"}]}`)],
  ])('a file must be UTF-8, or line %i is rejected: %s', async (line, name, data) => {
    const isCsv = name.endsWith('.csv');
    const checking = check(name, data, isCsv ? 'licenses' : undefined, !isCsv);
    await expect(checking).rejects.toThrow(`line ${line} is not UTF-8. Save it as UTF-8`);
  });

  it('a file may begin with a byte order mark', async () => {
    const source = await check('marked.csv', '\ufeffid,name\n1,Müller\n', 'products');
    const items = await Array.fromAsync(source.read('products'), ({ item }) => item);
    expect(items).toEqual([{ id: '1', name: 'Müller' }]);
  });

  it.each([
    ['cut-character.jsonl', `${good}{"x":"M\xc3`],
    ['cut-character.json', `{"products":[${product},{"x":"M\xc3`],
  ])('a file may end within a character with --partial: %s', async (name, text) => {
    const { counts } = await check(name, bytes(text), undefined, true);
    expect(counts).toEqual({ products: 1 });
  });
});
