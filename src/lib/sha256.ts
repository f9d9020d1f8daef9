export const sha256 = async (text: string): Promise<Uint8Array> =>
  new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text)));

export const sha256Hex = async (text: string): Promise<string> => (await sha256(text)).toHex();
