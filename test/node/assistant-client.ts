import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  Client,
  type OAuthClientProvider,
  type OAuthDiscoveryState,
  type StoredOAuthClientInformation,
  type StoredOAuthTokens,
  StreamableHTTPClientTransport,
  UnauthorizedError,
} from '@modelcontextprotocol/client';

/** An assistant that connects by OAuth, with the client of the protocol's own SDK. */

/** A server of the assistant on this machine, which publishes its document and waits for the person to return. */
export async function startAssistant(name: string) {
  const returns: URL[] = [];
  const server = createServer(({ url = '/', headers }, response) => {
    const requested = new URL(url, `http://${headers.host}`);
    if (requested.pathname === '/client.json') {
      response.setHeader('Content-Type', 'application/json');
      response.end(
        JSON.stringify({
          client_id: requested.href,
          client_name: name,
          redirect_uris: [callback],
          token_endpoint_auth_method: 'none',
        }),
      );
      return;
    }
    if (requested.pathname === '/callback') returns.push(requested);
    response.end('You may close this page.');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const origin = `http://127.0.0.1:${port}`;
  const callback = `${origin}/callback`;
  return {
    callback,
    documentUrl: `${origin}/client.json`,
    /** The addresses by which the person returned. */
    returns,
    stop: () => new Promise((resolve) => server.close(resolve)),
  };
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
