import { retryAfterMs } from '../../../lib/retry-after.ts';
import type { Format } from './format.ts';

/** Standard Webhooks: signed by HMAC-SHA256, with a secret that is base64 after a prefix. */

const PREFIX = 'whsec_';
const SECRET_BYTES = 32;

/** A new random secret, as receivers take it. */
export const newSecret = (): string =>
  PREFIX + crypto.getRandomValues(new Uint8Array(SECRET_BYTES)).toBase64();

/** Whether a text is such a secret. */
export function isSigningSecret(text: string): boolean {
  const encoded = text.startsWith(PREFIX) ? text.slice(PREFIX.length) : '';
  return encoded !== '' && /^[A-Za-z0-9+/]+={0,2}$/.test(encoded) && encoded.length % 4 === 0;
}

async function sign(secret: string, text: string): Promise<string> {
  const bytes = Uint8Array.fromBase64(secret.slice(PREFIX.length));
  const algorithm = { name: 'HMAC', hash: 'SHA-256' };
  const key = await crypto.subtle.importKey('raw', bytes, algorithm, false, ['sign']);
  const signature = await crypto.subtle.sign('HMAC', key, new TextEncoder().encode(text));
  return `v1,${new Uint8Array(signature).toBase64()}`;
}

interface Message {
  /** `webhook-id`. */
  id: string;
  body: string;
}

/**
 * The headers of a signed message.
 *
 * @param secrets each signs: during a rotation, receivers have one or the other
 * @param now the time of the attempt, in milliseconds since 1970
 */
export async function signatureHeaders(
  { id, body }: Message,
  secrets: readonly string[],
  now: number,
): Promise<Record<string, string>> {
  const timestamp = Math.floor(now / 1000);
  const signatures = await Promise.all(
    secrets.map((secret) => sign(secret, `${id}.${timestamp}.${body}`)),
  );
  return {
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': signatures.join(' '),
  };
}

export const standard: Format = {
  isFor: () => true,
  atOnce: 8,
  hasNames: false,
  message: ({ event, timestamp }) => JSON.stringify({ type: event.type, timestamp, data: event }),
  ping: (webhookId, timestamp) => JSON.stringify({ type: 'ping', timestamp, data: { webhookId } }),
  async request({ url, secret, previousSecret, previousSecretUntil }, { id, body }, now) {
    const isRotating = previousSecret !== null && (previousSecretUntil ?? 0) > now;
    const secrets = isRotating ? [secret, ...previousSecret.split(' ')] : [secret];
    const signed = await signatureHeaders({ id: `msg_${id}`, body }, secrets, now);
    return { url, headers: { 'User-Agent': 'Licet-Webhooks/1', ...signed } };
  },
  limit: ({ headers }, now) => ({
    pauseMs: retryAfterMs(headers, now),
    closedMs: 0,
    isLimited: false,
  }),
  isGone: (status) =>
    status === 410 ? 'The receiver returned 410: it wants no more events' : null,
  isFinal: () => false,
};
