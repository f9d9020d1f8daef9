import { toBase64url } from '../../lib/base64url.ts';
import { normalizeEmail } from '../../resources/customers/row.ts';

/** Values that only this service can make, from ROOT_TOKEN (13). */

const MARK_LENGTH = 8;

/** @param purpose keeps the values of one use apart from those of another */
async function hmac(secret: string, purpose: string, text: string): Promise<string> {
  const encoder = new TextEncoder();
  const algorithm = { name: 'HMAC', hash: 'SHA-256' };
  // An empty key cannot be imported.
  const bytes = encoder.encode(`licet mail ${secret}`);
  const key = await crypto.subtle.importKey('raw', bytes, algorithm, false, ['sign']);
  const signed = await crypto.subtle.sign('HMAC', key, encoder.encode(`${purpose}:${text}`));
  return toBase64url(new Uint8Array(signed));
}

/** Names an e-mail without containing it. */
export const hashOfAddress = (secret: string, email: string): Promise<string> =>
  hmac(secret, 'address', normalizeEmail(email));

/** Names the network from which a link was asked for. */
export const hashOfClient = (secret: string, client: string): Promise<string> =>
  hmac(secret, 'client', client);

/** Tells the mails of this service from those of others with the same ids, wherever the service is reached. */
export const markOf = async (
  secret: string,
  { id, createdAt }: { id: number; createdAt: number },
): Promise<string> => (await hmac(secret, 'mark', `${id}:${createdAt}`)).slice(0, MARK_LENGTH);

/** The code of the link in a mail, the same at each attempt: a repetition has the same text. */
export const linkCodeOf = (
  secret: string,
  { id, createdAt }: { id: number; createdAt: number },
): Promise<string> => hmac(secret, 'link', `${id}:${createdAt}`);

/** The end of the address at which a customer stops reminders. It allows nothing else, and does not end. */
export const unsubscribeTokenOf = async (secret: string, customerId: number): Promise<string> =>
  `${customerId}.${await hmac(secret, 'unsubscribe', String(customerId))}`;

/** The customer of an unsubscribe token; null for a wrong one. */
export async function customerOfToken(secret: string, token: string): Promise<number | null> {
  const customerId = Number(/^(\d{1,15})\./.exec(token)?.[1] ?? 0);
  const encoder = new TextEncoder();
  const [sent, right] = [token, await unsubscribeTokenOf(secret, customerId)].map((one) =>
    encoder.encode(one),
  );
  const isRight =
    sent?.length === right?.length &&
    sent !== undefined &&
    right !== undefined &&
    crypto.subtle.timingSafeEqual(sent, right);
  return isRight && customerId > 0 ? customerId : null;
}
