/** A map with a maximum size. Setting one key too many removes the key that was set longest ago. */
export class BoundedMap<Key, Value> extends Map<Key, Value> {
  readonly #maxSize: number;

  constructor(maxSize: number) {
    super();
    this.#maxSize = maxSize;
  }

  override set(key: Key, value: Value): this {
    if (!this.delete(key) && this.size >= this.#maxSize) {
      // A map keeps the order of insertion: the first key is the oldest.
      const [oldest] = this.keys();
      if (oldest !== undefined) this.delete(oldest);
    }
    return super.set(key, value);
  }
}
