import { parseAddress } from '@licet/contract/addresses';
import { atDiscord, discordUrlFault } from '@licet/contract/discord-url';
import { isOwnHost } from '@licet/contract/hosts';
import { MAX_WEB_ADDRESS_LENGTH } from '@licet/contract/limits';
import { parseBoolean } from './settings.ts';

const TIMEOUT_MS = 10_000;
const MAX_RESPONSE_BYTES = 4 * 1024;

/** A response, or the reason for none. A reason names no address, because that could reveal the network. */
export type OutboundResult = { durationMs: number } & (
  | { status: number; headers: Headers; body: string }
  | { error: string }
);

interface OutboundRequest {
  /** POST unless set. */
  method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  headers: Record<string, string>;
  body?: string;
  /** 4 KB unless set. */
  maxBytes?: number;
}

interface OutboundBindings {
  /** The network of `npm start`, which connects to public addresses only, whatever a name resolves to. */
  OUTBOUND?: Pick<Fetcher, 'fetch'>;
  /** `true` allows http and private addresses, if there is such a network: a deployment ignores it. */
  OUTBOUND_PRIVATE?: string;
  /** Another Discord, which gets all requests to Discord. */
  DISCORD_URL?: string;
  /** The network of `npm start` to that Discord, which may be on the same machine: the operator has chosen it. */
  DISCORD_NETWORK?: Pick<Fetcher, 'fetch'>;
}

/**
 * Requests to addresses that a person has entered (8). At Cloudflare and with `npm start`, the runtime connects to public
 * addresses only. A check of the name could not know to which address it resolves later.
 */
export class Outbound {
  readonly #network: Pick<Fetcher, 'fetch'>;
  readonly #isPrivateAllowed: boolean;
  readonly #discordUrl: string;
  readonly #discordNetwork: Pick<Fetcher, 'fetch'>;
  /** The end of a sentence that begins with DISCORD_URL; undefined unless no request may go there. */
  readonly discordFault: string | undefined;

  constructor({ OUTBOUND, OUTBOUND_PRIVATE, DISCORD_URL = '', DISCORD_NETWORK }: OutboundBindings) {
    // A method of the binding, which must not be detached from it.
    this.#network = OUTBOUND ?? globalThis;
    this.#isPrivateAllowed = OUTBOUND !== undefined && parseBoolean(OUTBOUND_PRIVATE) === true;
    this.#discordUrl = DISCORD_URL.trim();
    this.#discordNetwork = DISCORD_NETWORK ?? this.#network;
    const isOpen = this.#discordUrl === '' || DISCORD_NETWORK !== undefined;
    this.discordFault =
      discordUrlFault(DISCORD_URL) ?? (isOpen ? undefined : this.faultOf(this.#discordUrl));
  }

  /**
   * The end of a sentence that begins with the name of a field; undefined for an address that takes requests.
   *
   * @param ownHosts the hosts of this service, with their ports
   */
  faultOf(text: string, ownHosts: readonly string[] = []): string | undefined {
    if (text.length > MAX_WEB_ADDRESS_LENGTH) return 'is too long';
    const url = URL.parse(text);
    const isAllowed =
      url?.protocol === 'https:' || (url?.protocol === 'http:' && this.#isPrivateAllowed);
    if (!url || !isAllowed) return 'must begin with https://';
    if (url.username !== '' || url.password !== '')
      return 'must have no user name: remove what stands before the @';
    if (url.hash !== '' || text.includes('#'))
      return 'must have no fragment: remove the # and what follows';
    // The parser keeps a final dot, and has put the host into lower case.
    if (ownHosts.includes(url.host.replace(/\.(?=:|$)/, ''))) {
      return 'must be an address of another service, not of this one';
    }
    return this.#isPrivateAllowed ? undefined : faultOfHost(url.hostname);
  }

  /** Sends a request. Redirects are not followed, and only the first bytes of the response are read. */
  async send(
    url: string,
    { method = 'POST', headers, body, maxBytes = MAX_RESPONSE_BYTES }: OutboundRequest,
  ): Promise<OutboundResult> {
    const fault = this.faultOf(url);
    if (fault !== undefined) return { error: `The address ${fault}`, durationMs: 0 };
    const elsewhere = atDiscord(url, this.#discordUrl);
    if (elsewhere !== undefined && this.discordFault !== undefined) {
      return { error: `DISCORD_URL ${this.discordFault}`, durationMs: 0 };
    }
    const network = elsewhere === undefined ? this.#network : this.#discordNetwork;
    const startedAt = Date.now();
    const init = {
      method,
      headers,
      ...(body !== undefined && { body }),
      redirect: 'manual',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    } as const;
    const result = await exchange(network, elsewhere ?? url, init, maxBytes).catch((error) => ({
      error: describe(error),
    }));
    return { ...result, durationMs: Date.now() - startedAt };
  }
}

async function exchange(
  network: Pick<Fetcher, 'fetch'>,
  url: string,
  init: RequestInit<RequestInitCfProperties>,
  maxBytes: number,
) {
  const response = await network.fetch(url, init);
  const { status, headers } = response;
  return { status, headers, body: await readBeginning(response.body, maxBytes) };
}

function faultOfHost(hostname: string): string | undefined {
  // The parser writes every form of an address in this way.
  if (hostname.startsWith('[') || parseAddress(hostname))
    return 'must have a name, not an IP address';
  if (hostname.endsWith('.')) return 'must not end in a dot: remove it';
  return isOwnHost(hostname) ? 'must be a public name, such as shop.example' : undefined;
}

/** The runtime names no reason but this one: a name without an address and a bad certificate are "internal error". */
const LOST = 'Network connection lost.';

function describe(error: unknown): string {
  const { name, message } = error instanceof Error ? error : new Error();
  if (name === 'TimeoutError') {
    return `The receiver did not respond within ${TIMEOUT_MS / 1000} seconds`;
  }
  return message === LOST
    ? 'The receiver could not be reached: it refused or closed the connection'
    : 'The receiver could not be reached: its name leads to no public address, or it has no valid certificate';
}

/** The first bytes of a body as text. What comes later, and the end of a body that breaks off, does not count. */
async function readBeginning(
  body: ReadableStream<Uint8Array> | null,
  maxBytes: number,
): Promise<string> {
  if (body === null) return '';
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let text = '';
  let left = maxBytes;
  try {
    while (left > 0) {
      const { done, value } = await reader.read();
      if (done) break;
      text += decoder.decode(value.subarray(0, left), { stream: true });
      left -= value.length;
    }
  } catch {
    // The status says whether the receiver has taken the message.
  }
  await reader.cancel().catch(() => undefined);
  return text;
}
