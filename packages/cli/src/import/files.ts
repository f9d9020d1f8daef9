import { closeSync, createReadStream, fstatSync, openSync, readSync, statSync } from 'node:fs';
import { extname } from 'node:path';
import { pipeline, Readable } from 'node:stream';
import { CsvError, parse } from 'csv-parse';
import { CliError, note, usageError } from '../terminal.ts';
import { FIELDS, meantField } from './fields.ts';
import { CutOffError, findInJson } from './json.ts';
import {
  type Counts,
  fieldsOf,
  isKind,
  KINDS,
  type Kind,
  NAMES,
  type Source,
  type SourceItem,
} from './kinds.ts';

/** The file formats of an import: JSON Lines from an export, JSON, and CSV. */

/** A piece of a file: an item, or the counts in the last line of an export. */
type Piece = ({ kind: Kind } & SourceItem) | { end: Counts };

interface FileOptions {
  file: string;
  /** The kind of the items, for files that do not name it. */
  kind: Kind | undefined;
  /** Accepts a file that is cut off. */
  isPartial: boolean;
}

/** No item can be larger than a request. */
const MAX_PIECE_BYTES = 1024 * 1024;

const LINE_FEED = 0x0a;

/** Splits bytes into lines. Each keeps its line feed. */
function* linesIn(bytes: Buffer): Generator<Buffer> {
  for (let start = 0; start < bytes.length; ) {
    const end = bytes.indexOf(LINE_FEED, start) + 1 || bytes.length;
    yield bytes.subarray(start, end);
    start = end;
  }
}

/**
 * Yields the text of a file, without its byte order mark.
 *
 * @throws CliError if it is not UTF-8: replacement characters would be stored
 */
async function* readText(file: string, isPartial: boolean): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let number = 1;
  try {
    for await (const chunk of createReadStream(file)) {
      let text = '';
      for (const line of linesIn(chunk)) {
        // UTF-16 without a byte order mark decodes as UTF-8, but contains NUL.
        if (line.includes(0)) throw new TypeError('NUL');
        text += decoder.decode(line, { stream: true });
        if (line.at(-1) === LINE_FEED) number++;
      }
      yield text;
    }
    // In a partial file, the last character may be cut off too.
    if (!isPartial) decoder.decode();
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new CliError(`line ${number} is not UTF-8. Save it as UTF-8, in Excel as "CSV UTF-8"`);
  }
}

async function* readLines(file: string, isPartial: boolean): AsyncGenerator<string> {
  let rest = '';
  for await (const chunk of readText(file, isPartial)) {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    yield* lines;
    if (rest.length > MAX_PIECE_BYTES)
      throw new CliError('a line is larger than 1 MiB. Check that it is JSON Lines');
  }
  yield rest;
}

const KIND_OF_NAME = new Map<string, Kind>(KINDS.map((kind) => [NAMES[kind], kind]));

/** Returns undefined for text that is not JSON. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const countsOf = (end: unknown): Counts =>
  Object.fromEntries(KINDS.map((kind) => [kind, Number(fieldsOf(end)[kind] ?? 0)]));

/** Parses a line: `{"license":{…}}`, or at the end `{"end":{"licenses":128,…}}`. */
function pieceOf(text: string, where: string): Piece | undefined {
  const [[name, item] = ['', undefined], ...others] = Object.entries(fieldsOf(parseJson(text)));
  const kind = KIND_OF_NAME.get(name);
  if (others.length > 0) return undefined;
  if (name === 'end') return { end: countsOf(item) };
  return kind && { kind, item, where };
}

async function* readJsonLines({ file, isPartial }: FileOptions): AsyncGenerator<Piece> {
  let number = 0;
  let last = '';
  let problem: string | undefined;
  for await (const line of readLines(file, isPartial)) {
    const where = `line ${++number}`;
    last = line.trim();
    if (last === '') continue;
    if (problem) throw new CliError(problem);
    const piece = pieceOf(last, where);
    if (piece) yield piece;
    else problem = `${where} is not like {"license":{…}}`;
  }
  // The last line of a file that is cut off has no line feed.
  const isCutOff = last !== '' && parseJson(last) === undefined;
  if (problem && !isCutOff) throw new CliError(problem);
  if (problem && !isPartial) throw new CutOffError(problem);
}

const sayKind = (file: string): CliError =>
  usageError(`${file} does not name the kind of its items. Add --kind ${KINDS.join('|')}.`);

async function* readJson({ file, kind, isPartial }: FileOptions): AsyncGenerator<Piece> {
  let number = 1;
  async function* readCountedLines(): AsyncGenerator<string> {
    for await (const chunk of readText(file, isPartial)) {
      for (const line of chunk.split(/(?<=\n)/)) {
        yield line;
        if (line.endsWith('\n')) number++;
      }
    }
  }
  try {
    for await (const { keys, value } of findInJson(readCountedLines(), [kind ? '$.*' : '$.*.*'])) {
      const [name, index] = kind ? [kind, keys[0]] : keys;
      if (typeof name === 'number') throw sayKind(file);
      const isInList = typeof index === 'number';
      if (name === undefined || !isKind(name)) {
        if (!isInList) continue;
        throw new CliError(`${name} is not one of ${KINDS.join(', ')}`);
      }
      if (!isInList) throw new CliError(kind ? 'it is not a list' : `${name} is not a list`);
      yield { kind: name, item: value, where: `${name}[${index}]` };
    }
  } catch (error) {
    if (error instanceof CutOffError && isPartial) return;
    if (error instanceof SyntaxError) throw new CliError(`line ${number} is not valid JSON`);
    throw error;
  }
}

/** Separators in cells with several values. Hardware IDs may contain blanks. */
const LISTS = new Map([
  ['ips', /[;\s]+/],
  ['hwids', /;/],
]);

/** Converts a row to the form of GET: without blank cells, and with `customer.email` inside `customer`. */
function rowToItem(headings: readonly string[], cells: readonly string[]): object {
  const item: Record<string, unknown> = {};
  const customer: Record<string, string> = {};
  for (const [index, name] of headings.entries()) {
    const text = (cells[index] ?? '').trim();
    const [list, separator] = [LISTS.has(name), LISTS.get(name) ?? ''];
    if (text === '') continue;
    if (name.startsWith('customer.')) customer[name.slice('customer.'.length)] = text;
    else item[name] = list ? text.split(separator).filter((part) => part.trim() !== '') : text;
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
 * Reads the headings of a CSV file. An unknown one is rejected here: the items would be stored without its
 * values, and a repeated import keeps them so.
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
    throw new CliError(`the column ${twice.slice(0, MAX_HEADING_LENGTH)} is there twice`);
  }
  const wrong = names.flatMap((name, index) =>
    FIELDS[kind].includes(name) ? [] : [describeHeading(kind, name, index)],
  );
  if (wrong.length === 0) return names;
  const rest = wrong.splice(MAX_HEADINGS_SHOWN).length;
  throw new CliError(
    `unknown headings: ${wrong.join(', ')}${rest > 0 ? ` and ${rest} more` : ''}. ` +
      `Rename or remove these columns. The headings of ${kind} are ${FIELDS[kind].join(', ')}`,
  );
}

/** The separator of the columns. Spreadsheets write semicolons where the comma is the decimal mark. */
function separatorIn(start: string): ';' | ',' {
  const [header = ''] = start.trimStart().split(/[\r\n]/, 1);
  return header.split(';').length > header.split(',').length ? ';' : ',';
}

/** The parser's error in the words of this command. Its own message repeats cells, which may be keys. */
function csvProblem({ code }: CsvError, line: number): CliError {
  if (code === 'CSV_MAX_RECORD_SIZE') return new CliError(`line ${line} is larger than 1 MiB`);
  if (code === 'CSV_QUOTE_NOT_CLOSED') {
    return new CliError(`line ${line} opens a quotation mark that is never closed`);
  }
  return new CliError(
    `line ${line} has a quotation mark within a cell. Put the whole cell between quotation marks, and ` +
      'double those within it',
  );
}

async function* readCsv({ file, kind }: FileOptions): AsyncGenerator<Piece> {
  if (!kind) throw sayKind(file);
  const text = readText(file, false);
  const { value: start = '' } = await text.next();
  async function* all(): AsyncGenerator<string> {
    yield start;
    yield* text;
  }
  const separator = separatorIn(start);
  let lastLine = 0;
  const rows = parse({
    delimiter: separator,
    info: true,
    relax_column_count: true,
    skip_empty_lines: true,
    max_record_size: MAX_PIECE_BYTES,
    on_record(row, { lines }) {
      lastLine = lines;
      return row;
    },
  });
  // A failure ends the rows and is thrown by the loop below.
  pipeline(Readable.from(all()), rows, () => {});
  let headings: string[] | undefined;
  try {
    for await (const { record, info } of rows) {
      if (!headings) {
        headings = headingsOf(kind, record);
        continue;
      }
      const where = `line ${info.lines}`;
      const { length } = withoutBlankEnd(record, Math.min(record.length, headings.length));
      if (length === headings.length) {
        yield { kind, item: rowToItem(headings, record), where };
        continue;
      }
      const advice =
        length > headings.length ? `. Put a cell with "${separator}" between quotation marks` : '';
      const problem = `${length} columns instead of ${headings.length}${advice}`;
      yield { kind, item: {}, where, problem };
    }
  } catch (error) {
    throw error instanceof CsvError ? csvProblem(error, lastLine + 1) : error;
  }
}

const READERS: Readonly<Record<string, (options: FileOptions) => AsyncGenerator<Piece>>> = {
  '.jsonl': readJsonLines,
  '.ndjson': readJsonLines,
  '.json': readJson,
  '.csv': readCsv,
};

function lastByteOf(file: string): number | undefined {
  const opened = openSync(file, 'r');
  const last = Buffer.alloc(1);
  const count = readSync(opened, last, 0, 1, fstatSync(opened).size - 1);
  closeSync(opened);
  return count === 1 ? last[0] : undefined;
}

const TAKE = 'Nothing was imported. Add --partial to import the complete items.';

const reasonOf = (error: unknown): string =>
  error instanceof Error ? error.message : 'it cannot be read';

/**
 * Opens a file as a source. Reads all of it before anything is imported, so that a damaged file is rejected
 * as a whole.
 */
export async function fileSource(options: FileOptions): Promise<Source> {
  const { file, kind, isPartial } = options;
  const reader = READERS[extname(file).toLowerCase()];
  if (!reader)
    throw usageError(
      `${file} has an unknown ending. Use one of ${Object.keys(READERS).join(', ')}.`,
    );
  if (kind && reader === readJsonLines)
    throw usageError(`--kind is not for ${file}: each line names its kind. Leave the option out.`);
  if (isPartial && reader === readCsv)
    throw usageError(`--partial is not for ${file}. Make sure that the file is complete.`);
  if (!statSync(file, { throwIfNoEntry: false })?.isFile())
    throw usageError(`The file ${file} does not exist.`);

  const counts: Counts = {};
  let end: Counts | undefined;
  try {
    for await (const piece of reader(options)) {
      if (end) throw new CliError('lines follow its last line');
      if ('end' in piece) end = piece.end;
      else counts[piece.kind] = (counts[piece.kind] ?? 0) + 1;
    }
  } catch (error) {
    if (error instanceof CliError && error.status === 2) throw error;
    const advice = error instanceof CutOffError ? TAKE : 'Nothing was imported.';
    throw new CliError(`${file}: ${reasonOf(error)}. ${advice}`);
  }
  if (Object.keys(counts).length === 0 && !end) {
    throw new CliError(`${file} has nothing to import. See docs/import.md for the formats.`);
  }
  const problem = reader === readJsonLines ? problemAtEnd(counts, end) : undefined;
  if (problem && !isPartial) throw new CliError(`${file} has ${problem}. ${TAKE}`);
  if (problem) note(`${file} has ${problem}. Its complete items are imported.`);
  if (reader === readCsv && lastByteOf(file) !== LINE_FEED) {
    note(`${file} does not end with a line feed. If it was cut off, its last row is incomplete.`);
  }

  return {
    counts,
    async *read(wanted) {
      let count = 0;
      try {
        for await (const piece of reader(options)) {
          if (!('kind' in piece) || piece.kind !== wanted) continue;
          yield piece;
          count++;
        }
      } catch (error) {
        throw new CliError(
          `${file}: ${reasonOf(error)}. The file has changed since it was checked. Run the import again.`,
        );
      }
      if (count !== (counts[wanted] ?? 0)) {
        throw new CliError(
          `${file} has changed since it was checked: it now has ${count} ${wanted}. Run the import again.`,
        );
      }
    },
  };
}

/** Compares the items of an export with the counts in its last line. @returns the difference, if any */
function problemAtEnd(counts: Counts, end: Counts | undefined): string | undefined {
  if (!end) return 'no last line with counts: it is cut off, or is no export';
  const wrong = KINDS.find((kind) => (counts[kind] ?? 0) !== (end[kind] ?? 0));
  return wrong && `${counts[wrong] ?? 0} ${wrong}, but its last line says ${end[wrong] ?? 0}`;
}
