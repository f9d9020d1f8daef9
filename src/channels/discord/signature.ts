/** The signatures of Discord's interactions (10): Ed25519 over the timestamp and the raw body. */

const MAX_SKEW_MS = 5 * 60_000;
const SIGNATURE = /^[0-9a-f]{128}$/i;
const TIMESTAMP = /^\d{1,13}$/;

const encoder = new TextEncoder();

/**
 * Whether headers can belong to an interaction of now. It needs no key, and is asked before anything else.
 *
 * @param now milliseconds since 1970
 */
export const isPlausible = (signature: string, timestamp: string, now: number): boolean =>
  SIGNATURE.test(signature) &&
  TIMESTAMP.test(timestamp) &&
  Math.abs(Number(timestamp) * 1000 - now) <= MAX_SKEW_MS;

/** Whether the application with a public key (hexadecimal) has signed a body. */
export async function isSignedBy(
  publicKey: string,
  signature: string,
  timestamp: string,
  body: Uint8Array,
): Promise<boolean> {
  const key = await crypto.subtle.importKey(
    'raw',
    Uint8Array.fromHex(publicKey),
    'Ed25519',
    false,
    ['verify'],
  );
  const start = encoder.encode(timestamp);
  const message = new Uint8Array(start.length + body.length);
  message.set(start);
  message.set(body, start.length);
  return crypto.subtle.verify('Ed25519', key, Uint8Array.fromHex(signature), message);
}
