import { JSONParser } from '@streamparser/json';
import { CutOffError } from './cut-off-error.ts';

/** A value within a JSON text, and its path. */
export interface Found {
  keys: (string | number)[];
  value: unknown;
}

/**
 * Yields the values at given paths of a JSON text, such as `$.*` for the elements of an array, as they
 * arrive. Keeps nothing else of the text.
 *
 * @throws SyntaxError if the text is not JSON, CutOffError if it is incomplete
 */
export async function* findInJson(
  chunks: AsyncIterable<Uint8Array | string>,
  paths: string[],
): AsyncGenerator<Found> {
  const parser = new JSONParser({ paths, keepStack: false });
  const found: Found[] = [];
  parser.onValue = ({ value, key, stack }) => {
    const keys = [...stack.slice(1).map((parent) => parent.key), key];
    found.push({ value, keys: keys.filter((part) => part !== undefined) });
  };
  for await (const chunk of chunks) {
    try {
      parser.write(chunk);
    } catch {
      throw new SyntaxError('not valid JSON');
    }
    yield* found.splice(0);
  }
  if (!parser.isEnded) throw new CutOffError('the file is incomplete');
}
