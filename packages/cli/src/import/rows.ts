import { CliError } from '../cli-error.ts';
import { unguardFormulas, valuesIn } from '../csv.ts';
import { rowsIn } from './csv-rows.ts';
import { FIELDS } from './fields.ts';
import { type Piece, readText } from './json-lines.ts';
import type { Kind, SourceItem } from './kinds.ts';
import { meantField } from './suggestion.ts';

/** The rows of CSV files. The console uses this too, so nothing here needs Node. */

/** Separators in cells with several values. Hardware IDs may contain blanks and commas. */
const LISTS = new Map([
  ['ips', /[;,\s]+/],
  ['hwids', /;/],
]);

/** Converts a row to the form of GET: without blank cells, and with `customer.email` inside `customer`. */
function rowToItem(headings: readonly string[], cells: readonly string[]): object {
  const item: Record<string, unknown> = {};
  const customer: Record<string, string> = {};
  for (const [index, name] of headings.entries()) {
    const text = unguardFormulas(cells[index] ?? '').trim();
    const separator = LISTS.get(name);
    if (text === '') continue;
    if (name.startsWith('customer.')) customer[name.slice('customer.'.length)] = text;
    else item[name] = separator ? valuesIn(text, separator) : text;
  }
  return Object.keys(customer).length > 0 ? { ...item, customer } : item;
}

const MAX_HEADING_LENGTH = 60;
const MAX_HEADINGS_SHOWN = 20;

/** Spreadsheets also write empty columns to the right of the last heading. */
const withoutBlankEnd = (cells: readonly string[], minimum = 0): readonly string[] =>
  cells.slice(0, Math.max(minimum, cells.findLastIndex((cell) => cell.trim() !== '') + 1));

function describeHeading(kind: Kind, name: string, index: number): string {
  if (name === '') return `column ${index + 1} has none`;
  const meant = meantField(kind, name);
  return `${name.slice(0, MAX_HEADING_LENGTH)}${meant === undefined ? '' : ` (did you mean ${meant}?)`}`;
}

/**
 * Reads the headings of a CSV file. An unknown one is rejected here: the items would be stored without its values,
 * and a repeated import would not add them.
 *
 * @throws CliError for duplicate or unknown headings, or a wrong separator
 */
function headingsOf(kind: Kind, header: readonly string[]): string[] {
  const names = withoutBlankEnd(header).map((name) => name.trim());
  if (names.length === 1 && names.join().includes('\t')) {
    throw new CliError('its columns are separated by tabs. Use commas or semicolons');
  }
  const twice = names.find((name, index) => name !== '' && names.indexOf(name) < index);
  if (twice !== undefined) {
    throw new CliError(`the column ${twice.slice(0, MAX_HEADING_LENGTH)} appears twice`);
  }
  const wrong = names.flatMap((name, index) =>
    FIELDS[kind].includes(name) ? [] : [describeHeading(kind, name, index)],
  );
  if (wrong.length === 0) return names;
  const rest = wrong.splice(MAX_HEADINGS_SHOWN).length;
  const isClear = names.every((name) => meantField(kind, name) !== undefined);
  throw new CliError(
    `unknown headings: ${wrong.join(', ')}${rest > 0 ? ` and ${rest} more` : ''}. ` +
      `Rename or remove these columns${isClear ? '' : `. The headings of ${kind} are ${FIELDS[kind].join(', ')}`}`,
  );
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
  if (length === headings.length) return { item: rowToItem(headings, cells), where };
  const advice =
    length > headings.length ? `. Put a cell with "${separator}" between quotation marks` : '';
  return { item: {}, where, problem: `${length} columns instead of ${headings.length}${advice}` };
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
  const separator = separatorIn(start);
  let headings: string[] | undefined;
  for await (const { cells, line } of rowsIn(all(), separator)) {
    if (cells.every((cell) => cell.trim() === '')) continue;
    if (headings) yield { kind, ...rowItem(headings, cells, `line ${line}`, separator) };
    else if (!isSeparatorLine(cells)) headings = headingsOf(kind, cells);
  }
}
