import { CliError } from '@licet/cli/cli-error';
import { toItem, type Wanted } from '@licet/cli/import/columns';
import { type Piece, problemAtEnd, readJsonLines, readText } from '@licet/cli/import/json-lines';
import type { Kind, Source } from '@licet/cli/import/kinds';
import { pieceOfList } from '@licet/cli/import/lists';
import { readCsv } from '@licet/cli/import/rows';
import { Survey } from '@licet/cli/import/survey';
import { parseJson } from '@licet/contract/json';

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
  const all = parseJson(text);
  if (all === undefined) throw new CliError('it is not valid JSON');
  if (typeof all !== 'object' || all === null) throw new CliError('it has no lists');
  const lists = Array.isArray(all) ? [[undefined, all] as const] : Object.entries(all);
  for (const [name, items] of lists) {
    if (!Array.isArray(items)) continue;
    for (const [index, item] of items.entries()) {
      const piece = pieceOfList(name, index, item, kind);
      if (piece && piece !== 'kind') yield piece;
    }
  }
}

const READERS: Readonly<Record<string, (file: File, kind: Kind) => AsyncGenerator<Piece>>> = {
  jsonl: (file) => readJsonLines(chunksOf(file), false),
  ndjson: (file) => readJsonLines(chunksOf(file), false),
  json: readJson,
  csv: (file, kind) => readCsv(chunksOf(file), kind),
};

/** A file that was read as a whole, and can be imported. */
export interface OpenedFile {
  survey: Survey;
  /** @param wanted the columns that the viewer has chosen */
  sourceOf: (wanted: Wanted) => Source;
}

/**
 * Opens a file. Reads all of it before anything is imported, so that a damaged file is rejected as a whole.
 *
 * @param kind of the items, if the file does not name it
 * @throws CliError for a file that cannot be imported
 */
export async function openFile(file: File, kind: Kind): Promise<OpenedFile> {
  const ending = file.name.split('.').at(-1)?.toLowerCase() ?? '';
  const reader = READERS[ending];
  if (!reader) throw new CliError(`.${ending} is none of .jsonl, .json and .csv`);
  const survey = new Survey();
  for await (const piece of reader(file, kind)) survey.add(piece);
  const { counts, end } = survey;
  if (Object.keys(counts).length === 0) throw new CliError('there is nothing to import in it');
  const problem = ending.endsWith('jsonl') || ending === 'ndjson' ? problemAtEnd(counts, end) : '';
  if (problem) throw new CliError(`it has ${problem}`);
  return {
    survey,
    sourceOf: (wanted) => ({
      counts,
      async *read(wantedKind) {
        const columns = survey.columnsOf(wantedKind, wanted);
        for await (const piece of reader(file, kind)) {
          if (!('kind' in piece) || piece.kind !== wantedKind) continue;
          yield { ...piece, item: toItem(piece.item, columns) };
        }
      },
    }),
  };
}
