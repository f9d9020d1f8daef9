import { isOwnHost } from '@licet/contract/hosts';
import { parseJson } from '@licet/contract/json';
import * as z from 'zod';
import { ApiError } from '../http/errors.ts';
import { toBase64url } from '../lib/base64url.ts';
import type { Outbound } from '../lib/outbound.ts';
import { sha256 } from '../lib/sha256.ts';

/**
 * The clients of OAuth (12.7). No table lists them: a document on the client's own host describes one, or the id of a
 * registered one holds its registration. A flood of registrations stores nothing.
 */

const MAX_DOCUMENT_BYTES = 16 * 1024;
const MAX_ID_LENGTH = 3_000;
const MAX_NAME_LENGTH = 60;
const ID_PREFIX = 'licet.';

/** Schemes of programs that a person starts. Others must be names of a domain, such as `com.example.app` (RFC 8252). */
const PROGRAM_SCHEMES: ReadonlySet<string> = new Set([
  'cursor:',
  'vscode:',
  'vscode-insiders:',
  'windsurf:',
]);

const isLoopback = ({ protocol, hostname }: URL): boolean =>
  protocol === 'http:' && /^(?:localhost|127\.0\.0\.1|\[::1\])$/.test(hostname);

/** Whether a response may go to an address: https, a program on the person's computer, never `javascript:` or `data:`. */
function isRedirectUri(text: string): boolean {
  const url = URL.parse(text);
  if (!url || text.includes('#') || url.username !== '' || url.password !== '') return false;
  const { protocol } = url;
  return (
    protocol === 'https:' ||
    isLoopback(url) ||
    PROGRAM_SCHEMES.has(protocol) ||
    /^[a-z][a-z0-9-]*(?:\.[a-z0-9-]+)+:$/.test(protocol)
  );
}

const redirectUri = z.string().max(500).refine(isRedirectUri);

const metadata = z.object({
  client_name: z.string().default(''),
  redirect_uris: z.array(redirectUri).min(1).max(10),
});
type Metadata = z.infer<typeof metadata>;

/**
 * A document may list addresses that are not allowed here: they are not used. It must not ask for a secret, which its client
 * could not keep.
 */
const document = z.object({
  ...metadata.shape,
  redirect_uris: z.array(z.string()).max(50),
  client_id: z.string(),
  token_endpoint_auth_method: z.literal('none').default('none'),
});

export interface OAuthClient {
  id: string;
  /** Chosen by the client, in one line without characters that change how it reads. */
  name: string;
  /** The host of its document; null for a registered client. */
  host: string | null;
  redirectUris: readonly string[];
}

const bad = (message: string): ApiError => new ApiError(400, message);

const shownName = (name: string): string =>
  name
    .replace(/[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\u2800]+/gu, ' ')
    .trim()
    .slice(0, MAX_NAME_LENGTH)
    .toWellFormed();

const clientOf = (id: string, host: string | null, found: Metadata): OAuthClient => ({
  id,
  name: shownName(found.client_name),
  host,
  redirectUris: found.redirect_uris,
});

/** Signs a registration, so that no id counts that this service did not give. */
const signatureOf = (payload: string, secret: string): Promise<Uint8Array> =>
  sha256(JSON.stringify([secret, 'oauth client', payload]));

/**
 * Registers a client (RFC 7591).
 *
 * @param secret ROOT_TOKEN
 * @returns its id and its metadata; the name of the faulty field for metadata that no client can have
 */
export async function registerClient(
  body: unknown,
  secret: string,
): Promise<{ id: string; metadata: Metadata } | { fault: string }> {
  const { data, error } = metadata.safeParse(body);
  if (data === undefined) return { fault: String(error.issues[0]?.path[0] ?? 'body') };
  const { client_name: name, redirect_uris: uris } = data;
  const payload = toBase64url(new TextEncoder().encode(JSON.stringify([shownName(name), ...uris])));
  const id = `${ID_PREFIX}${payload}.${toBase64url(await signatureOf(payload, secret))}`;
  if (id.length > MAX_ID_LENGTH) return { fault: 'redirect_uris' };
  return { id, metadata: { client_name: shownName(name), redirect_uris: uris } };
}

const registration = z.tuple([z.string()], z.string());

const fromBase64url = (text: string): Uint8Array<ArrayBuffer> | null => {
  try {
    return Uint8Array.fromBase64(text, { alphabet: 'base64url' });
  } catch {
    return null;
  }
};

async function registeredClient(id: string, secret: string): Promise<OAuthClient | null> {
  const [payload = '', signature = ''] = id.slice(ID_PREFIX.length).split('.');
  const [sent, right] = [fromBase64url(signature), await signatureOf(payload, secret)];
  if (sent?.length !== right.length || !crypto.subtle.timingSafeEqual(sent, right)) return null;
  const bytes = fromBase64url(payload);
  const parsed = registration.safeParse(bytes && parseJson(new TextDecoder().decode(bytes)));
  if (!parsed.data) return null;
  const [name, ...uris] = parsed.data;
  return clientOf(id, null, { client_name: name, redirect_uris: uris });
}

/**
 * Reads the document at a client's id. The address is the word of a stranger: private ones, and the service's own, are
 * refused (8.4).
 */
async function publishedClient(
  id: string,
  outbound: Outbound,
  ownHosts: readonly string[],
): Promise<OAuthClient> {
  const url = new URL(id);
  if (url.pathname === '/' || url.href !== id) {
    throw bad('client_id must be the address of a document, as a browser writes it');
  }
  const fault = outbound.faultOf(id, ownHosts);
  if (fault !== undefined) throw bad(`client_id ${fault}`);
  const response = await outbound.send(id, {
    method: 'GET',
    headers: { Accept: 'application/json' },
    maxBytes: MAX_DOCUMENT_BYTES,
  });
  if ('error' in response)
    throw bad(`The document of the assistant at ${url.host} could not be read. ${response.error}`);
  const { data } = document.safeParse(response.status === 200 ? parseJson(response.body) : null);
  if (data?.client_id !== id) {
    throw bad(
      `The document of the assistant at ${url.host} must be JSON, have its own address as client_id, and ask for no secret`,
    );
  }
  return clientOf(id, url.host, data);
}

/**
 * The client with an id.
 *
 * @param ownHosts the hosts of this service, with their ports
 * @param secret ROOT_TOKEN
 * @throws ApiError for an unknown one
 */
export async function findClient(
  id: string,
  outbound: Outbound,
  ownHosts: readonly string[],
  secret: string,
): Promise<OAuthClient> {
  if (id.length <= MAX_ID_LENGTH && /^https?:/.test(id) && URL.canParse(id)) {
    return publishedClient(id, outbound, ownHosts);
  }
  const isOwn = id.length <= MAX_ID_LENGTH && id.startsWith(ID_PREFIX);
  const client = isOwn ? await registeredClient(id, secret) : null;
  if (!client)
    throw bad(
      'This service does not know the assistant. Remove its connection in the assistant, and add it again',
    );
  return client;
}

/** Whether a client named an address. The port of a program on the person's computer changes (RFC 8252). */
export function isOwnRedirect({ redirectUris }: OAuthClient, uri: string): boolean {
  const url = isRedirectUri(uri) ? URL.parse(uri) : null;
  if (!url) return false;
  return redirectUris.some((one) => {
    if (one === uri) return true;
    const own = URL.parse(one);
    if (!own || !isLoopback(own) || !isLoopback(url)) return false;
    const withoutPort = ({ hostname, pathname, search }: URL) => hostname + pathname + search;
    return withoutPort(own) === withoutPort(url);
  });
}

/** The receiver of a response, as people see it: its host, or the scheme of a program. */
export function receiverOf(uri: string): { host: string; isLocal: boolean } {
  const url = new URL(uri);
  if (url.protocol === 'https:') return { host: url.host, isLocal: isOwnHost(url.hostname) };
  return { host: isLoopback(url) ? url.hostname : url.protocol, isLocal: true };
}
