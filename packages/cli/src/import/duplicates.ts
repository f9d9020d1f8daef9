import { hash } from 'node:crypto';
import { fieldsOf, type Kind, type SourceItem } from './kinds.ts';

/** Finds what comes twice in an import: of licenses the same key, of products the same id. */

const HASH_DIGITS = 13;

/** What no two of a kind may share, and what it is called. */
function identityOf(kind: Kind, item: unknown): readonly [name: string, value: string] | undefined {
  const { id, licenseKey } = fieldsOf(item);
  if (kind === 'products') return ['id', String(id)];
  if (kind !== 'licenses' || typeof licenseKey !== 'string') return undefined;
  return ['key', licenseKey.trim().toUpperCase()];
}

export class Duplicates {
  /** The number of the line, index or id of the first one, by a hash: of a large shop little is kept. */
  readonly #firsts = new Map<number, number>();

  /** @returns such as "line 3 has the same key"; undefined for the first one that has it */
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
