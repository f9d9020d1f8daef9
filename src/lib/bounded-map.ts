/** A map with a maximum size. Setting one key too many removes the key that was set longest ago. */
export class BoundedMap<Key, Value> extends Map<Key, Value> {
  readonly #maxSize: number;

  constructor(maxSize: number) {
    super();
    this.#maxSize = maxSize;
  }

  override set(key: Key, value: Value): this {
    // A map keeps the order of insertion: the first key is the oldest.
    this.delete(key);
    const [oldest] = this.keys();
    if (this.size >= this.#maxSize && oldest !== undefined) this.delete(oldest);
    return super.set(key, value);
  }
}
