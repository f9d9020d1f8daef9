/** Joins parts of bytes. */
export function joinBytes(parts: readonly Uint8Array[]): Uint8Array {
  const joined = new Uint8Array(parts.reduce((size, { length }) => size + length, 0));
  let offset = 0;
  for (const part of parts) {
    joined.set(part, offset);
    offset += part.length;
  }
  return joined;
}

/** The size of a value as JSON. */
export const jsonBytesOf = (value: object): number =>
  new TextEncoder().encode(JSON.stringify(value)).length;

/** The first bytes of a text, without a character that is cut. */
export const beginningOf = (text: string, maxBytes: number): string =>
  new TextDecoder().decode(new TextEncoder().encode(text).subarray(0, maxBytes), { stream: true });
