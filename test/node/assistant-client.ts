import {
  Client,
  type OAuthClientProvider,
  type OAuthDiscoveryState,
  type StoredOAuthClientInformation,
  type StoredOAuthTokens,
  StreamableHTTPClientTransport,
  UnauthorizedError,
} from '@modelcontextprotocol/client';
import { listen } from './own.ts';

/** An assistant that connects by OAuth, with the client of the protocol's own SDK. */

/** A server of the assistant on this machine, which publishes its document and waits for the person to return. */
export async function startAssistant(name: string) {
  const returns: URL[] = [];
  const origin: string = await listen(({ url = '/' }, response) => {
    const requested = new URL(url, origin);
    if (requested.pathname === '/callback') returns.push(requested);
    if (requested.pathname !== '/client.json') return response.end('You may close this page.');
    response.setHeader('Content-Type', 'application/json');
    return response.end(
      JSON.stringify({
        client_id: documentUrl,
        client_name: name,
        redirect_uris: [callback],
        token_endpoint_auth_method: 'none',
      }),
    );
  });
  const callback = `${origin}/callback`;
  const documentUrl = `${origin}/client.json`;
  /** `returns`: the addresses by which the person returned. */
  return { callback, documentUrl, returns };
}

/** The memory of the assistant between the steps. */
export class Provider implements OAuthClientProvider {
  readonly redirectUrl: string;
  readonly #name: string;
  #client: StoredOAuthClientInformation | undefined;
  #tokens: StoredOAuthTokens | undefined;
  #discovery: OAuthDiscoveryState | undefined;
  #verifier = '';
  /** The address of the consent page to which the SDK sends the person. */
  authorizationUrl: URL | undefined;

  /**
   * @param documentUrl undefined for an assistant that registers. The SDK itself takes https alone, which no server of this
   *   machine has; so the assistant names its document as if it had registered.
   */
  constructor(name: string, redirectUrl: string, documentUrl?: string) {
    this.#name = name;
    this.redirectUrl = redirectUrl;
    if (documentUrl !== undefined) this.#client = { client_id: documentUrl };
  }

  get clientMetadata() {
    return { client_name: this.#name, redirect_uris: [this.redirectUrl] };
  }
  state(): string {
    return 'state of the assistant';
  }
  clientInformation(): StoredOAuthClientInformation | undefined {
    return this.#client;
  }
  saveClientInformation(client: StoredOAuthClientInformation): void {
    this.#client = client;
  }
  tokens(): StoredOAuthTokens | undefined {
    return this.#tokens;
  }
  saveTokens(tokens: StoredOAuthTokens): void {
    this.#tokens = tokens;
  }
  discoveryState(): OAuthDiscoveryState | undefined {
    return this.#discovery;
  }
  saveDiscoveryState(state: OAuthDiscoveryState): void {
    this.#discovery = state;
  }
  invalidateCredentials(scope: string): void {
    if (scope === 'tokens' || scope === 'all') this.#tokens = undefined;
  }
  redirectToAuthorization(url: URL): void {
    this.authorizationUrl = url;
  }
  saveCodeVerifier(verifier: string): void {
    this.#verifier = verifier;
  }
  codeVerifier(): string {
    return this.#verifier;
  }
}

const newClient = () =>
  new Client({ name: 'assistant', version: '1' }, { versionNegotiation: { mode: 'auto' } });

/**
 * Connects without tokens.
 *
 * @returns the address of the consent page, and the rest of the way, with the parameters of the return
 */
export async function beginToConnect(address: string, authProvider: Provider) {
  const url = new URL(`${address}/mcp`);
  const first = new StreamableHTTPClientTransport(url, { authProvider });
  await newClient()
    .connect(first)
    .catch((error) => {
      if (!(error instanceof UnauthorizedError)) throw error;
    });
  const { authorizationUrl } = authProvider;
  if (!authorizationUrl) throw new Error('The client did not ask for consent');
  const connect = async (): Promise<Client> => {
    const client = newClient();
    await client.connect(new StreamableHTTPClientTransport(url, { authProvider }));
    return client;
  };
  return {
    authorizationUrl,
    async finish(returned: URL): Promise<Client> {
      await first.finishAuth(returned.searchParams);
      return connect();
    },
    /** Connects again, with the tokens that the assistant has. */
    connect,
  };
}
