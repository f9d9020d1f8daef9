import { CliError } from '../cli-error.ts';
import { unguardFormulas } from '../csv.ts';
import { rowsIn } from './csv-rows.ts';
import { type Piece, readText } from './json-lines.ts';
import type { Kind, SourceItem } from './kinds.ts';

/** The rows of CSV files. The console uses this too, so nothing here needs Node. */

/** The cells of a row that hold something, by their headings. */
const rowToItem = (headings: readonly string[], cells: readonly string[]): object =>
  Object.fromEntries(
    headings.flatMap((name, index) => {
      const text = unguardFormulas(cells[index] ?? '').trim();
      return text === '' ? [] : [[name, text]];
    }),
  );

const MAX_HEADING_LENGTH = 60;

/** Spreadsheets also write empty columns to the right of the last heading. */
const withoutBlankEnd = (cells: readonly string[], minimum = 0): readonly string[] =>
  cells.slice(0, Math.max(minimum, cells.findLastIndex((cell) => cell.trim() !== '') + 1));

/**
 * Reads the headings of a CSV file. A column without one is named by its place.
 *
 * @throws CliError for duplicate headings, or a wrong separator
 */
function headingsOf(header: readonly string[]): string[] {
  const names = withoutBlankEnd(header).map((name, index) => name.trim() || `column ${index + 1}`);
  if (names.length === 1 && names.join().includes('\t')) {
    throw new CliError('its columns are separated by tabs. Use commas or semicolons');
  }
  const twice = names.find((name, index) => names.indexOf(name) < index);
  if (twice === undefined) return names;
  throw new CliError(`the column ${twice.slice(0, MAX_HEADING_LENGTH)} appears twice`);
}

/** Whether a row before the headings is `sep=;`, which tells a spreadsheet the separator. */
const isSeparatorLine = ([first = '']: readonly string[]): boolean => /^sep=/i.test(first);

/** The separator of the columns. Spreadsheets write semicolons where the comma is the decimal mark. */
function separatorIn(start: string): ';' | ',' {
  const [header = ''] = start.trimStart().split(/[\r\n]/, 1);
  return header.split(';').length > header.split(',').length ? ';' : ',';
}

/** The item in a row. A row of another length has a problem in its place. */
function rowItem(
  headings: readonly string[],
  cells: readonly string[],
  where: string,
  separator: string,
): SourceItem {
  const { length } = withoutBlankEnd(cells, Math.min(cells.length, headings.length));
  if (length === headings.length) return { item: rowToItem(headings, cells), where, headings };
  const advice =
    length > headings.length ? `. Put a cell with "${separator}" between quotation marks` : '';
  const problem = `${length} columns instead of ${headings.length}${advice}`;
  return { item: {}, where, headings, problem };
}

/** Reads the items of a CSV file. Leaves out blank rows, which spreadsheets leave behind. */
export async function* readCsv(
  chunks: AsyncIterable<Uint8Array>,
  kind: Kind,
): AsyncGenerator<Piece> {
  const text = readText(chunks, false);
  const { value: start = '' } = await text.next();
  async function* all(): AsyncGenerator<string> {
    yield start;
    yield* text;
  }
  for await (const item of readRows(start, all())) yield { kind, ...item };
}

/** Reads the items of a table. @param start its first text, which shows the separator */
export async function* readRows(
  start: string,
  chunks: AsyncIterable<string>,
): AsyncGenerator<SourceItem> {
  const separator = separatorIn(start);
  let headings: string[] | undefined;
  for await (const { cells, line } of rowsIn(chunks, separator)) {
    if (cells.every((cell) => cell.trim() === '')) continue;
    if (headings) yield rowItem(headings, cells, `line ${line}`, separator);
    else if (!isSeparatorLine(cells)) headings = headingsOf(cells);
  }
}
