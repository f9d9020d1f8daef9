import { closeSync, createReadStream, fstatSync, openSync, readSync, statSync } from 'node:fs';
import { extname } from 'node:path';
import { documentOf } from '../invocation.ts';
import { CliError, note, usageError } from '../terminal.ts';
import { stripControlCharacters } from '../text.ts';
import { type Columns, NOTHING_WANTED, toItem, type Wanted } from './columns.ts';
import { CutOffError } from './cut-off-error.ts';
import { findInJson } from './json.ts';
import { LINE_FEED, type Piece, problemAtEnd, readJsonLines, readText } from './json-lines.ts';
import { counted, KINDS, type Kind, type Source } from './kinds.ts';
import { pieceOfList } from './lists.ts';
import { readCsv } from './rows.ts';
import { checkedField, problemOfColumns, Survey } from './survey.ts';

/** The file formats of an import: JSON Lines from an export, JSON, and CSV. */

interface FileOptions {
  file: string;
  /** The kind of the items, for files that do not name it. */
  kind: Kind | undefined;
  /** Accepts a file that is cut off. */
  isPartial: boolean;
  /** The fields of columns, and the values of fields, that the user chooses. */
  wanted?: Wanted;
}

const readLinesOf = ({ file, isPartial }: FileOptions): AsyncGenerator<Piece> =>
  readJsonLines(createReadStream(file), isPartial);

const sayKind = (file: string): CliError =>
  usageError(`${file} does not name the kind of its items. Add --kind ${KINDS.join('|')}.`);

/** Whether a JSON file is one list; its first character says so. */
function isOneList(file: string): boolean {
  const opened = openSync(file, 'r');
  const start = Buffer.alloc(1_024);
  const count = readSync(opened, start, 0, start.length, 0);
  closeSync(opened);
  return start.toString('utf8', 0, count).trimStart().startsWith('[');
}

async function* readJson({ file, kind, isPartial }: FileOptions): AsyncGenerator<Piece> {
  let number = 1;
  async function* readCountedLines(): AsyncGenerator<string> {
    for await (const chunk of readText(createReadStream(file), isPartial)) {
      for (const line of chunk.split(/(?<=\n)/)) {
        yield line;
        if (line.endsWith('\n')) number++;
      }
    }
  }
  const isList = isOneList(file);
  try {
    for await (const { keys, value } of findInJson(readCountedLines(), [
      isList ? '$.*' : '$.*.*',
    ])) {
      const [name, index] = isList ? [undefined, keys[0]] : keys;
      const piece = pieceOfList(name === undefined ? name : String(name), index, value, kind);
      if (piece === 'kind') throw sayKind(file);
      if (piece) yield piece;
    }
  } catch (error) {
    if (error instanceof CutOffError && isPartial) return;
    if (error instanceof SyntaxError) throw new CliError(`line ${number} is not valid JSON`);
    throw error;
  }
}

function readTable({ file, kind }: FileOptions): AsyncGenerator<Piece> {
  if (!kind) throw sayKind(file);
  return readCsv(createReadStream(file), kind);
}

const READERS: Readonly<Record<string, (options: FileOptions) => AsyncGenerator<Piece>>> = {
  '.jsonl': readLinesOf,
  '.ndjson': readLinesOf,
  '.json': readJson,
  '.csv': readTable,
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

/** The columns of each kind in a file. @throws CliError for a name that the user must choose a field for */
function columnsIn(file: string, survey: Survey, wanted = NOTHING_WANTED): Map<Kind, Columns> {
  const { kinds } = survey;
  const names = kinds.flatMap((kind) => survey.namesOf(kind));
  const unknown = [...wanted.map.keys()].find((name) => !names.includes(name));
  if (unknown !== undefined) {
    throw usageError(`--map: ${file} has no ${unknown}. It has ${names.slice(0, 50).join(', ')}.`);
  }
  const checked: Wanted = {
    map: new Map(
      [...wanted.map].map(([name, field]) => [name, field && checkedField(kinds, field, '--map')]),
    ),
    set: new Map(
      [...wanted.set].map(([field, value]) => [checkedField(kinds, field, '--set'), value]),
    ),
  };
  const columns = new Map<Kind, Columns>();
  for (const kind of kinds) {
    const own = survey.columnsOf(kind, checked);
    const problem = problemOfColumns(kind, own, survey.isTable(kind));
    if (problem !== undefined) throw new CliError(`${file}: ${problem}. Nothing was imported.`);
    if (own.preset) noteColumns(file, own, own.preset.title);
    columns.set(kind, own);
  }
  return columns;
}

/** Says which columns of a usual file are read, and which are not. */
function noteColumns(file: string, { fields, constants }: Columns, title: string): void {
  const read = [...fields].filter(([, field]) => field !== '').map((pair) => pair.join(' → '));
  const set = [...constants].map((pair) => pair.join(' = '));
  const leftOut = [...fields].filter(([, field]) => field === '').map(([name]) => name);
  note(
    stripControlCharacters(
      `${file} is read as a file of ${title}: ${[...read, ...set].join(', ')}` +
        `${leftOut.length > 0 ? `; left out: ${leftOut.join(', ')}` : ''}. Change it with --map and --set.`,
    ),
  );
}

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
  if (kind && reader === readLinesOf)
    throw usageError(`--kind is not for ${file}: each line names its kind. Leave the option out.`);
  if (isPartial && reader === readTable)
    throw usageError(`--partial is not for ${file}. Make sure that the file is complete.`);
  if (!statSync(file, { throwIfNoEntry: false })?.isFile())
    throw usageError(`The file ${file} does not exist.`);

  const survey = new Survey();
  try {
    for await (const piece of reader(options)) survey.add(piece);
  } catch (error) {
    if (error instanceof CliError && error.status === 2) throw error;
    const advice = error instanceof CutOffError ? TAKE : 'Nothing was imported.';
    throw new CliError(`${file}: ${reasonOf(error)}. ${advice}`);
  }
  const { counts, end } = survey;
  if (Object.keys(counts).length === 0 && !end) {
    throw new CliError(
      `${file} has nothing to import. See ${documentOf('import')} for the formats.`,
    );
  }
  const problem = reader === readLinesOf ? problemAtEnd(counts, end) : undefined;
  if (problem && !isPartial) throw new CliError(`${file} has ${problem}. ${TAKE}`);
  if (problem) note(`${file} has ${problem}. Its complete items are imported.`);
  if (reader === readTable && lastByteOf(file) !== LINE_FEED) {
    note(`${file} does not end with a line feed. If it was cut off, its last row is incomplete.`);
  }

  const columns = columnsIn(file, survey, options.wanted);
  return {
    counts,
    async *read(wanted) {
      let count = 0;
      const own = columns.get(wanted);
      try {
        for await (const piece of reader(options)) {
          if (!('kind' in piece) || piece.kind !== wanted) continue;
          yield own ? { ...piece, item: toItem(piece.item, own) } : piece;
          count++;
        }
      } catch (error) {
        throw new CliError(
          `${file}: ${reasonOf(error)}. The file has changed since it was checked. Run the import again.`,
        );
      }
      if (count !== (counts[wanted] ?? 0)) {
        throw new CliError(
          `${file} has changed since it was checked: it now has ${counted(count, wanted)}. Run the import again.`,
        );
      }
    },
  };
}
