import { usageError } from '../terminal.ts';
import type { Wanted } from './columns.ts';

/** The options that choose the columns of a file. */

export const MAP_HELP =
  'the field of a column, or of a name in the objects of a list; nothing after = leaves it out';
export const SET_HELP = 'the value of a field in all items, also if the FILE has a column for it';

/** Collects the values of an option that is repeated. */
export const collect = (value: string, earlier: string[] = []): string[] => [...earlier, value];

/** The two parts of a text around a `=`. A heading may contain one, a field does not. */
function partsOf(option: string, text: string, index: number): readonly [string, string] {
  if (index < 1) throw usageError(`${option} is ${text}. Put = between its two parts.`);
  return [text.slice(0, index).trim(), text.slice(index + 1).trim()];
}

export const wantedOf = (map: readonly string[] = [], set: readonly string[] = []): Wanted => ({
  map: new Map(map.map((text) => partsOf('--map', text, text.lastIndexOf('=')))),
  set: new Map(set.map((text) => partsOf('--set', text, text.indexOf('=')))),
});
