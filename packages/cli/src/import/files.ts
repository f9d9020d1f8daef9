import { closeSync, createReadStream, fstatSync, openSync, readSync, statSync } from 'node:fs';
import { extname } from 'node:path';
import { pipeline, Readable } from 'node:stream';
import { parse } from 'csv-parse';
import { CliError, note, usageError } from '../terminal.ts';
import { CutOffError, findInJson } from './json.ts';
import { type Counts, fieldsOf, isKind, KINDS, type Kind, NAMES, type Source } from './kinds.ts';

/** Files of which one can import: JSON Lines, as an export writes them, JSON, and CSV. */

/** A piece of a file: one of a kind, or what the last line of an export says that it has. */
type Piece = { kind: Kind; item: unknown; where: string } | { end: Counts };

interface FileOptions {
  file: string;
  /** What the file has, where it does not say so itself. */
  kind: Kind | undefined;
  /** Takes what is there of a file that is cut off. */
  isPartial: boolean;
}

/** Nothing that is imported is longer than a request may be. */
const MAX_PIECE_BYTES = 1024 * 1024;

const LINE_FEED = 0x0a;

/** A piece of text with the line feed at its end, where it has one. */
function* linesIn(bytes: Buffer): Generator<Buffer> {
  for (let start = 0; start < bytes.length; ) {
    const end = bytes.indexOf(LINE_FEED, start) + 1 || bytes.length;
    yield bytes.subarray(start, end);
    start = end;
  }
}

/**
 * The text of a file, without its byte order mark.
 *
 * @throws where it is not UTF-8: replacement characters would be stored for good
 */
async function* readText(file: string, isPartial: boolean): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let number = 1;
  try {
    for await (const chunk of createReadStream(file)) {
      let text = '';
      for (const line of linesIn(chunk)) {
        // UTF-16 without its mark can be taken for it, and has these.
        if (line.includes(0)) throw new TypeError('NUL');
        text += decoder.decode(line, { stream: true });
        if (line.at(-1) === LINE_FEED) number++;
      }
      yield text;
    }
    // The last character may be cut off, too.
    if (!isPartial) decoder.decode();
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new CliError(`line ${number} is not UTF-8: save it as UTF-8, in Excel as "CSV UTF-8"`);
  }
}

async function* readLines(file: string, isPartial: boolean): AsyncGenerator<string> {
  let rest = '';
  for await (const chunk of readText(file, isPartial)) {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    yield* lines;
    if (rest.length > MAX_PIECE_BYTES)
      throw new CliError('a line is over 1 MiB: is it JSON Lines?');
  }
  yield rest;
}

const KIND_OF_NAME = new Map<string, Kind>(KINDS.map((kind) => [NAMES[kind], kind]));

/** Undefined for what is no JSON. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const countsOf = (end: unknown): Counts =>
  Object.fromEntries(KINDS.map((kind) => [kind, Number(fieldsOf(end)[kind] ?? 0)]));

/** What a line says: `{"license":{…}}`, or at the end `{"end":{"licenses":128,…}}`. */
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
  // Nothing comes behind it, not even a line feed.
  const isCutOff = last !== '' && parseJson(last) === undefined;
  if (problem && !isCutOff) throw new CliError(problem);
  if (problem && !isPartial) throw new CutOffError(problem);
}

const sayKind = (file: string): CliError =>
  usageError(`${file} does not say what it has: say it with --kind ${KINDS.join('|')}`);

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
        throw new CliError(`${name} is none of ${KINDS.join(', ')}`);
      }
      if (!isInList) throw new CliError(kind ? 'it is no list' : `${name} is no list`);
      yield { kind: name, item: value, where: `${name}[${index}]` };
    }
  } catch (error) {
    if (error instanceof CutOffError && isPartial) return;
    if (error instanceof SyntaxError) throw new CliError(`line ${number} is no JSON`);
    throw error;
  }
}

/** A cell that holds several values, and what is between them. Hardware IDs may hold blanks. */
const LISTS = new Map([
  ['ips', /[;\s]+/],
  ['hwids', /;/],
]);

/** A row as GET would show it: without what is blank, and `customer.email` as a field of `customer`. */
function rowToItem(row: Readonly<Record<string, string>>): object {
  const item: Record<string, unknown> = {};
  const customer: Record<string, string> = {};
  for (const [name, cell] of Object.entries(row)) {
    const text = cell.trim();
    const [list, separator] = [LISTS.has(name), LISTS.get(name) ?? ''];
    if (text === '') continue;
    if (name.startsWith('customer.')) customer[name.slice('customer.'.length)] = text;
    else item[name] = list ? text.split(separator).filter((part) => part.trim() !== '') : text;
  }
  return Object.keys(customer).length > 0 ? { ...item, customer } : item;
}

/** @throws where a column would hide another one, or all are one */
function columnsOf(header: readonly string[]): string[] {
  const names = header.map((name) => name.trim());
  const twice = names.find((name, index) => names.indexOf(name) < index);
  if (twice !== undefined) throw new CliError(`it has the column ${twice} twice`);
  if (names.length === 1 && /[;\t]/.test(names.join())) {
    throw new CliError('its columns are not separated by commas');
  }
  return names;
}

async function* readCsv({ file, kind }: FileOptions): AsyncGenerator<Piece> {
  if (!kind) throw sayKind(file);
  const rows = parse({
    columns: columnsOf,
    info: true,
    skip_empty_lines: true,
    max_record_size: MAX_PIECE_BYTES,
  });
  // What fails ends the rows, and so is thrown below.
  pipeline(Readable.from(readText(file, false)), rows, () => {});
  for await (const { record, info } of rows) {
    yield { kind, item: rowToItem(record), where: `line ${info.lines}` };
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

const TAKE = 'Nothing was imported. --partial takes what is there.';

const reasonOf = (error: unknown): string =>
  error instanceof Error ? error.message : 'it cannot be read';

/**
 * What a file has. All of it is read once before anything is imported: what is cut off or damaged is
 * refused as a whole.
 */
export async function fileSource(options: FileOptions): Promise<Source> {
  const { file, kind, isPartial } = options;
  const reader = READERS[extname(file).toLowerCase()];
  if (!reader) throw usageError(`${file} must end with ${Object.keys(READERS).join(', ')}`);
  if (kind && reader === readJsonLines)
    throw usageError(`--kind is not for ${file}: its lines say it`);
  if (isPartial && reader === readCsv)
    throw usageError(`--partial is not for ${file}: see that it is whole`);
  if (!statSync(file, { throwIfNoEntry: false })?.isFile())
    throw usageError(`There is no file ${file}`);

  const counts: Counts = {};
  let end: Counts | undefined;
  try {
    for await (const piece of reader(options)) {
      if (end) throw new CliError('something comes behind its last line');
      if ('end' in piece) end = piece.end;
      else counts[piece.kind] = (counts[piece.kind] ?? 0) + 1;
    }
  } catch (error) {
    if (error instanceof CliError && error.status === 2) throw error;
    const advice = error instanceof CutOffError ? TAKE : 'Nothing was imported.';
    throw new CliError(`${file}: ${reasonOf(error)}. ${advice}`);
  }
  if (Object.keys(counts).length === 0 && !end) {
    throw new CliError(
      `${file} has nothing to import: see docs/import.md for what it may look like.`,
    );
  }
  const problem = reader === readJsonLines ? problemAtEnd(counts, end) : undefined;
  if (problem && !isPartial) throw new CliError(`${file} has ${problem}. ${TAKE}`);
  if (problem) note(`${file} has ${problem}. What is there is taken.`);
  if (reader === readCsv && lastByteOf(file) !== LINE_FEED) {
    note(`${file} does not end with a line end: if it was cut off, its last row is not whole.`);
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
        throw new CliError(`${file}: ${reasonOf(error)}. It was not so when it was checked.`);
      }
      if (count !== (counts[wanted] ?? 0)) {
        throw new CliError(
          `${file} has changed since it was checked: it has ${count} ${wanted} now.`,
        );
      }
    },
  };
}

/** What is wrong with the number of lines of an export; undefined where nothing is. */
function problemAtEnd(counts: Counts, end: Counts | undefined): string | undefined {
  if (!end) return 'no last line that counts: it is cut off, or no export';
  const wrong = KINDS.find((kind) => (counts[kind] ?? 0) !== (end[kind] ?? 0));
  return wrong && `${counts[wrong] ?? 0} ${wrong}, and its last line says ${end[wrong] ?? 0}`;
}
