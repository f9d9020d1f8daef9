/** `Object.keys` and `Object.fromEntries` for objects whose keys are all known, with their types. */

export function keysOf<Key extends string>(object: Readonly<Record<Key, unknown>>): Key[];
export function keysOf(object: object): string[] {
  return Object.keys(object);
}

export function objectOf<Key extends string, Value>(
  keys: readonly Key[],
  value: (key: Key) => Value,
): Record<Key, Value>;
export function objectOf(keys: readonly string[], value: (key: string) => unknown): object {
  return Object.fromEntries(keys.map((key) => [key, value(key)]));
}
