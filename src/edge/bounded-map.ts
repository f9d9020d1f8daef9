/** A map of at most so many entries: one too many, and the one that was set longest ago goes. */
export class BoundedMap<Key, Value> extends Map<Key, Value> {
  readonly #maxSize: number;

  constructor(maxSize: number) {
    super();
    this.#maxSize = maxSize;
  }

  override set(key: Key, value: Value): this {
    // A map keeps the order in which its keys came: the first is the oldest.
    this.delete(key);
    const [oldest] = this.keys();
    if (this.size >= this.#maxSize && oldest !== undefined) this.delete(oldest);
    return super.set(key, value);
  }
}
