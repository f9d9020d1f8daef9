import { parseJson } from '@licet/contract/json';
import { CliError } from '../cli-error.ts';
import { CutOffError } from './cut-off-error.ts';
import {
  type Counts,
  counted,
  fieldsOf,
  KINDS,
  type Kind,
  NAMES,
  type SourceItem,
} from './kinds.ts';

/** Reads text and JSON Lines. The console uses this too, so nothing here needs Node. */

/** A piece of a file: an item, or the counts in the last line of an export. */
export type Piece = ({ kind: Kind } & SourceItem) | { end: Counts };

/** No item can be larger than a request. */
export const MAX_PIECE_BYTES = 1024 * 1024;

export const LINE_FEED = 0x0a;

/** Splits bytes into lines. Each keeps its line feed. */
function* linesIn(bytes: Uint8Array): Generator<Uint8Array> {
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
export async function* readText(
  chunks: AsyncIterable<Uint8Array>,
  isPartial: boolean,
): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let number = 1;
  try {
    for await (const chunk of chunks) {
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

async function* readLines(
  chunks: AsyncIterable<Uint8Array>,
  isPartial: boolean,
): AsyncGenerator<string> {
  let rest = '';
  for await (const chunk of readText(chunks, isPartial)) {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    yield* lines;
    if (rest.length > MAX_PIECE_BYTES)
      throw new CliError('a line is larger than 1 MiB. Check that it is JSON Lines');
  }
  yield rest;
}

const KIND_OF_NAME = new Map<string, Kind>(KINDS.map((kind) => [NAMES[kind], kind]));

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

export async function* readJsonLines(
  chunks: AsyncIterable<Uint8Array>,
  isPartial: boolean,
): AsyncGenerator<Piece> {
  let number = 0;
  let last = '';
  let problem: string | undefined;
  for await (const line of readLines(chunks, isPartial)) {
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

/** Compares the items of an export with the counts in its last line. @returns the difference, if any */
export function problemAtEnd(counts: Counts, end: Counts | undefined): string | undefined {
  if (!end) return 'no last line with counts: it is cut off, or is no export';
  const wrong = KINDS.find((kind) => (counts[kind] ?? 0) !== (end[kind] ?? 0));
  return (
    wrong && `${counted(counts[wrong] ?? 0, wrong)}, but its last line says ${end[wrong] ?? 0}`
  );
}
