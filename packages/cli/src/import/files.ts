import { closeSync, createReadStream, fstatSync, openSync, readSync, statSync } from 'node:fs';
import { extname } from 'node:path';
import { documentOf } from '../invocation.ts';
import { CliError, note, usageError } from '../terminal.ts';
import { CutOffError } from './cut-off-error.ts';
import { findInJson } from './json.ts';
import { LINE_FEED, type Piece, problemAtEnd, readJsonLines, readText } from './json-lines.ts';
import { type Counts, counted, isKind, KINDS, type Kind, type Source } from './kinds.ts';
import { readCsv } from './rows.ts';

/** The file formats of an import: JSON Lines from an export, JSON, and CSV. */

interface FileOptions {
  file: string;
  /** The kind of the items, for files that do not name it. */
  kind: Kind | undefined;
  /** Accepts a file that is cut off. */
  isPartial: boolean;
}

const readLinesOf = ({ file, isPartial }: FileOptions): AsyncGenerator<Piece> =>
  readJsonLines(createReadStream(file), isPartial);

const sayKind = (file: string): CliError =>
  usageError(`${file} does not name the kind of its items. Add --kind ${KINDS.join('|')}.`);

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
          `${file} has changed since it was checked: it now has ${counted(count, wanted)}. Run the import again.`,
        );
      }
    },
  };
}
