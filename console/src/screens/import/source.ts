import { CliError } from '@licet/cli/cli-error';
import { type Piece, problemAtEnd, readJsonLines, readText } from '@licet/cli/import/json-lines';
import { type Counts, isKind, type Kind, type Source } from '@licet/cli/import/kinds';
import { readCsv } from '@licet/cli/import/rows';

/** Files as sources of an import: the formats of `npm run import`, except those that are cut off. */

/** Not all browsers can iterate a stream. */
async function* chunksOf(file: File): AsyncGenerator<Uint8Array> {
  const reader = file.stream().getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    yield value;
  }
}

/** JSON is read as a whole: the command line reads files of any size. */
async function* readJson(file: File, kind: Kind): AsyncGenerator<Piece> {
  let text = '';
  for await (const chunk of readText(chunksOf(file), false)) text += chunk;
  let all: unknown;
  try {
    all = JSON.parse(text);
  } catch {
    throw new CliError('it is not valid JSON');
  }
  const lists = Array.isArray(all) ? { [kind]: all } : all;
  if (typeof lists !== 'object' || lists === null) throw new CliError('it has no lists');
  for (const [name, items] of Object.entries(lists)) {
    if (!Array.isArray(items)) continue;
    if (!isKind(name)) throw new CliError(`${name} is not a kind of items`);
    for (const [index, item] of items.entries()) {
      yield { kind: name, item, where: `${name}[${index}]` };
    }
  }
}

const READERS: Readonly<Record<string, (file: File, kind: Kind) => AsyncGenerator<Piece>>> = {
  jsonl: (file) => readJsonLines(chunksOf(file), false),
  ndjson: (file) => readJsonLines(chunksOf(file), false),
  json: readJson,
  csv: (file, kind) => readCsv(chunksOf(file), kind),
};

/**
 * Opens a file. Reads all of it before anything is imported, so that a damaged file is rejected as a whole.
 *
 * @param kind of the items, if the file does not name it
 * @throws CliError for a file that cannot be imported
 */
export async function fileSource(file: File, kind: Kind): Promise<Source> {
  const ending = file.name.split('.').at(-1)?.toLowerCase() ?? '';
  const reader = READERS[ending];
  if (!reader) throw new CliError(`.${ending} is none of .jsonl, .json and .csv`);
  const counts: Counts = {};
  let end: Counts | undefined;
  for await (const piece of reader(file, kind)) {
    if (end) throw new CliError('lines follow its last line');
    if ('end' in piece) end = piece.end;
    else counts[piece.kind] = (counts[piece.kind] ?? 0) + 1;
  }
  if (Object.keys(counts).length === 0) throw new CliError('there is nothing to import in it');
  const problem = ending.endsWith('jsonl') || ending === 'ndjson' ? problemAtEnd(counts, end) : '';
  if (problem) throw new CliError(`it has ${problem}`);
  return {
    counts,
    async *read(wanted) {
      for await (const piece of reader(file, kind)) {
        if ('kind' in piece && piece.kind === wanted) yield piece;
      }
    },
  };
}
