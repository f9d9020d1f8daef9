import { Incoming } from '../../src/channels/markets/incoming.ts';
import type {
  Accepted,
  Adapter,
  MarketSettings,
  Rejection,
} from '../../src/channels/markets/notice.ts';

/** The requests of markets, for the tests of the adapters. */

/** The values of the test vectors. */
export const SECRET = 'whsec_dGVzdHNlY3JldHRlc3RzZWNyZXR0ZXN0';
export const OTHER_SECRET = 'another-secret';
export const NOW = 1_790_000_000_000;

/** A request as the route hands it to an adapter. */
export function incoming(
  body: string | Uint8Array,
  headers: Record<string, string> = {},
  now = NOW,
): Incoming {
  const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : body;
  return new Incoming(bytes, new Headers(headers), now);
}

/** The reading of a request that comes from the market, else why it does not. */
export const readBy = async (
  adapter: Adapter,
  incoming: Incoming,
  settings: MarketSettings,
): Promise<Accepted | Rejection> =>
  (await adapter.authenticate(incoming, settings)) ?? adapter.read(incoming, settings);

export const settingsOf = (
  kind: MarketSettings['kind'],
  secrets: readonly string[] = [SECRET],
): MarketSettings => ({ kind, secrets, settings: null });

/** The hexadecimal or base64 HMAC-SHA256 of a text. */
export async function hmac(
  text: string,
  secret = SECRET,
  encoding: 'hex' | 'base64' = 'hex',
): Promise<string> {
  const encoder = new TextEncoder();
  const algorithm = { name: 'HMAC', hash: 'SHA-256' };
  const key = await crypto.subtle.importKey('raw', encoder.encode(secret), algorithm, false, [
    'sign',
  ]);
  const bytes = new Uint8Array(await crypto.subtle.sign('HMAC', key, encoder.encode(text)));
  return encoding === 'hex' ? bytes.toHex() : bytes.toBase64();
}

/** The accepted reading of a request. @throws Error with the reason of a rejection */
export function accepted(read: Accepted | Rejection): Accepted {
  if ('why' in read) throw new Error(read.why);
  return read;
}
