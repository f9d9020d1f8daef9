import { joinBytes } from '../../lib/bytes.ts';
import { sha256 } from '../../lib/sha256.ts';

/** Secrets and signatures of markets, compared in constant time. */

export const WRONG_SECRET = 'The secret is wrong: store the secret of the market in Licet again';
export const WRONG_SIGNATURE =
  'The signature is wrong: store the secret of the market in Licet again';

const encoder = new TextEncoder();

const join = (parts: readonly (string | Uint8Array)[]): Uint8Array =>
  joinBytes(parts.map((part) => (typeof part === 'string' ? encoder.encode(part) : part)));

/** The bytes of a signature; undefined for text in another form. */
function decode(signature: string, encoding: 'hex' | 'base64'): Uint8Array | undefined {
  try {
    return encoding === 'hex' ? Uint8Array.fromHex(signature) : Uint8Array.fromBase64(signature);
  } catch {
    return undefined;
  }
}

/**
 * Whether one of the signatures is the HMAC-SHA256 of a message by one of the secrets. A secret is used as UTF-8.
 *
 * @param signatures as they were sent: any text
 * @param parts the message, joined
 */
export async function isSigned(
  secrets: readonly string[],
  signatures: readonly string[],
  encoding: 'hex' | 'base64',
  parts: readonly (string | Uint8Array)[],
): Promise<boolean> {
  const message = join(parts);
  const sent = signatures.flatMap((signature) => decode(signature, encoding) ?? []);
  const algorithm = { name: 'HMAC', hash: 'SHA-256' };
  let isKnown = false;
  for (const secret of secrets) {
    const key = await crypto.subtle.importKey('raw', encoder.encode(secret), algorithm, false, [
      'sign',
    ]);
    const expected = new Uint8Array(await crypto.subtle.sign('HMAC', key, message));
    for (const bytes of sent) {
      const isEqual =
        bytes.length === expected.length && crypto.subtle.timingSafeEqual(bytes, expected);
      isKnown = isEqual || isKnown;
    }
  }
  return isKnown;
}

/** Whether a text is one of the secrets. */
export async function isSecret(secrets: readonly string[], sent: string): Promise<boolean> {
  const hash = await sha256(sent);
  let isKnown = false;
  for (const secret of secrets) {
    isKnown = crypto.subtle.timingSafeEqual(hash, await sha256(secret)) || isKnown;
  }
  return isKnown;
}

const TOLERANCE_MS = 5 * 60 * 1000;

/** Whether a time of signing is no more than five minutes off. @param seconds as it was sent: any text */
export function isRecent(seconds: string | null, now: number): boolean {
  return (
    seconds !== null &&
    /^\d{1,12}$/.test(seconds) &&
    Math.abs(Number(seconds) * 1000 - now) <= TOLERANCE_MS
  );
}
