import { isObject } from '@licet/contract/json';
import { CliError } from '../cli-error.ts';
import type { Piece } from './json-lines.ts';
import { fieldsOf, isKind, KINDS, type Kind } from './kinds.ts';

/** The lists in a JSON file. The console uses this too, so nothing here needs Node. */

/** The kinds of the objects of JSON:API that an import takes, by their type. */
const KIND_OF_TYPE = new Map<unknown, Kind>([
  ...KINDS.map((kind) => [kind, kind] as const),
  ['users', 'customers'],
]);

/** Members of a JSON:API document beside its data. */
const BESIDE_DATA = ['included', 'errors', 'links', 'meta', 'jsonapi'];

/** The fields of an object of JSON:API, as Keygen's: its attributes, and the ids of its relationships. */
function fieldsOfResource(item: unknown): object | undefined {
  const { type, attributes, id, relationships } = fieldsOf(item);
  if (typeof type !== 'string' || !isObject(attributes)) return undefined;
  const related = Object.entries(fieldsOf(relationships)).map(([name, relationship]) => {
    const { id: relatedId } = fieldsOf(fieldsOf(relationship).data);
    return [name, relatedId ?? null];
  });
  return { id, ...Object.fromEntries(related), ...attributes };
}

/**
 * The item in a list of a file; undefined beside the lists.
 *
 * @param name of the list; undefined for a file that is one list
 * @param kind of the items, if the file does not name it
 * @returns 'kind' if neither the file nor the viewer names the kind
 */
export function pieceOfList(
  name: string | undefined,
  index: string | number | undefined,
  value: unknown,
  kind: Kind | undefined,
): Piece | 'kind' | undefined {
  const isInList = typeof index === 'number';
  const isNamed = name !== undefined && isKind(name);
  if (!isInList) {
    if (isNamed) throw new CliError(`${name} is not a list`);
    return undefined;
  }
  const resource = fieldsOfResource(value);
  const found = isNamed ? name : (kind ?? (resource && KIND_OF_TYPE.get(fieldsOf(value).type)));
  if (found !== undefined) {
    if (!isNamed && BESIDE_DATA.includes(name ?? '')) return undefined;
    return { kind: found, item: resource ?? value, where: `${name ?? found}[${index}]` };
  }
  if (name === undefined) return 'kind';
  if (BESIDE_DATA.includes(name)) return undefined;
  throw new CliError(`${name} is not one of ${KINDS.join(', ')}`);
}
