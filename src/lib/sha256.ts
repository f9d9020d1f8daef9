export const sha256Bytes = async (bytes: Uint8Array): Promise<Uint8Array> =>
  new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));

export const sha256 = (text: string): Promise<Uint8Array> =>
  sha256Bytes(new TextEncoder().encode(text));

export const sha256Hex = async (text: string): Promise<string> => (await sha256(text)).toHex();
