import { fieldsOf, type Kind, type SourceItem } from './kinds.ts';

/** Finds duplicates in an import: licenses with the same key, products with the same id. */

const MASK_21_BITS = 0x1fffff;

/** A hash of 53 bits, all that a number holds: two mixes as of MurmurHash3. It also runs in a browser. */
function hash(text: string): number {
  let high = 0xdeadbeef;
  let low = 0x41c6ce57;
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    high = Math.imul(high ^ unit, 0x9e3779b1);
    low = Math.imul(low ^ unit, 0x5f356495);
  }
  high = Math.imul(high ^ (high >>> 16), 0x85ebca6b) ^ Math.imul(low ^ (low >>> 13), 0xc2b2ae35);
  low = Math.imul(low ^ (low >>> 16), 0x85ebca6b) ^ Math.imul(high ^ (high >>> 13), 0xc2b2ae35);
  return (high & MASK_21_BITS) * 2 ** 32 + (low >>> 0);
}

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
    const key = hash(`${kind} ${value}`);
    const first = this.#firsts.get(key);
    if (first === undefined) this.#firsts.set(key, Number(number));
    return first === undefined
      ? undefined
      : `${where.replace(number, String(first))} has the same ${name}`;
  }
}
