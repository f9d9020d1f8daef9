import { hash } from 'node:crypto';
import { fieldsOf, type Kind, type SourceItem } from './kinds.ts';

/** Finds duplicates in an import: licenses with the same key, products with the same id. */

const HASH_DIGITS = 13;

/** The value that is unique among items of a kind, and its name. */
function identityOf(kind: Kind, item: unknown): readonly [name: string, value: string] | undefined {
  const { id, licenseKey } = fieldsOf(item);
  if (kind === 'products') return ['id', String(id)];
  if (kind !== 'licenses' || typeof licenseKey !== 'string') return undefined;
  return ['key', licenseKey.trim().toUpperCase()];
}

export class Duplicates {
  /** The line, index or id of each first item, by a hash of its identity: a number takes little memory. */
  readonly #firsts = new Map<number, number>();

  /** @returns for example "line 3 has the same key"; undefined for the first item with a key */
  find(kind: Kind, { item, where }: SourceItem): string | undefined {
    const identity = identityOf(kind, item);
    const [number] = /\d+/.exec(where) ?? [];
    if (identity === undefined || number === undefined) return undefined;
    const [name, value] = identity;
    const key = Number.parseInt(hash('sha1', `${kind} ${value}`).slice(0, HASH_DIGITS), 16);
    const first = this.#firsts.get(key);
    if (first === undefined) this.#firsts.set(key, Number(number));
    return first === undefined
      ? undefined
      : `${where.replace(number, String(first))} has the same ${name}`;
  }
}
