import { Incoming } from '../../src/channels/markets/incoming.ts';
import type {
  Accepted,
  Adapter,
  MarketSettings,
  Rejection,
} from '../../src/channels/markets/notice.ts';
import { sha256Hex } from '../../src/lib/sha256.ts';

import { SECRET as SERVICE_SECRET } from '../support/shop-market.ts';

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

/** A request, as a market sends it. */
interface SignedRequest {
  body: string;
  headers: Record<string, string>;
}

/** An event of Stripe. */
export async function asStripe(type: string, object: object): Promise<SignedRequest> {
  const created = Math.floor(Date.now() / 1000);
  const event = { id: `evt_${crypto.randomUUID()}`, type, created, livemode: true };
  const body = JSON.stringify({ ...event, data: { object } });
  const signature = await hmac(`${created}.${body}`, SERVICE_SECRET);
  return { body, headers: { 'Stripe-Signature': `t=${created},v1=${signature}` } };
}

export async function asPaynow(event_type: string, sent: object): Promise<SignedRequest> {
  const body = JSON.stringify({ event_type, event_id: crypto.randomUUID(), body: sent });
  const time = String(Date.now());
  const signature = await hmac(`${time}.${body}`, SERVICE_SECRET, 'base64');
  return { body, headers: { 'PayNow-Timestamp': time, 'PayNow-Signature': signature } };
}

export async function asTebex(type: string, subject: object): Promise<SignedRequest> {
  const date = new Date().toISOString();
  const body = JSON.stringify({ id: crypto.randomUUID(), type, date, subject });
  const signature = await hmac(await sha256Hex(body), SERVICE_SECRET);
  return { body, headers: { 'X-Signature': signature } };
}
