import { JSONParser } from '@streamparser/json';

/** A value within a JSON text, and the keys that lead to it. */
export interface Found {
  keys: (string | number)[];
  value: unknown;
}

/** What has come is right, but it is not all. */
export class CutOffError extends Error {}

/**
 * The values at some paths of a JSON text, such as `$.*` for the elements of an array, as soon as each
 * has arrived: nothing else of the text is kept.
 *
 * @throws SyntaxError where it is no JSON, CutOffError where it ends too early
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
      throw new SyntaxError('it is no JSON');
    }
    yield* found.splice(0);
  }
  if (!parser.isEnded) throw new CutOffError('it ends too early');
}
