import { isObject } from '@licet/contract/json';
import { fieldsOf } from './kinds.ts';

/** Products by their names, which licenses and entries of other shops have in the place of ids. */

const normalize = (name: string): string => name.trim().toLowerCase();

const MAX_SHOWN = 40;

export class ProductNames {
  readonly #ids = new Map<string, Set<number>>();
  readonly #load: () => AsyncIterable<unknown>;
  #isLoaded = false;

  /** @param load the products of the service, which are loaded for the first name */
  constructor(load: () => AsyncIterable<unknown>) {
    this.#load = load;
  }

  /** Adds a product. A dry run of a file with its products does not store them. */
  add(product: unknown): void {
    const { id, name } = fieldsOf(product);
    if (typeof name !== 'string' || typeof id !== 'number') return;
    const ids = this.#ids.get(normalize(name)) ?? new Set();
    this.#ids.set(normalize(name), ids.add(id));
  }

  /**
   * Puts the id of a product in the place of its name.
   *
   * @returns the reason if the name is that of no product, or of several
   */
  async resolve(item: unknown): Promise<string | undefined> {
    if (!isObject(item)) return undefined;
    const { productId } = item;
    if (typeof productId !== 'string') return undefined;
    if (!this.#isLoaded) {
      for await (const product of this.#load()) this.add(product);
      this.#isLoaded = true;
    }
    const [id, other] = this.#ids.get(normalize(productId)) ?? [];
    const name = `productId ${JSON.stringify(productId.slice(0, MAX_SHOWN))}`;
    if (id === undefined) return `${name} is the name of no product: create it, or use its id`;
    if (other !== undefined)
      return `${name} is the name of products ${id} and ${other}: use the id`;
    Object.assign(item, { productId: id });
    return undefined;
  }
}
