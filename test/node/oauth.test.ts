import { Licet } from '@licet/client';
import { CONSENT_REQUEST_PATH } from '@licet/contract/consent';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { beginToConnect, Provider, startAssistant } from './assistant-client.ts';
import { rootToken } from './console/console.ts';
import { ownFolder } from './own.ts';
import { type RunningService, startService } from './service.ts';

/** Assistants that connect by OAuth (12.7), with the SDK's own client, to the service as `npm start` runs it. */

describe.each(['document', 'registration'])('an assistant with a %s', (kind) => {
  const folder = ownFolder();
  let service: RunningService;
  let assistant: Awaited<ReturnType<typeof startAssistant>>;
  let licet: Licet;
  beforeAll(async () => {
    // The document of this assistant is on this machine.
    service = await startService(folder, ['--var', 'OUTBOUND_PRIVATE:true']);
    assistant = await startAssistant('Ada');
    licet = new Licet({ url: service.address, token: rootToken() });
  });
  afterAll(() => service?.stop());

  it('an assistant finds the service, gets consent, works, refreshes its tokens, and stops when it is revoked [12.7.1, 12.7.2, 12.7.3, 12.7.10]', async () => {
    const document = kind === 'document' ? assistant.documentUrl : undefined;
    const provider = new Provider('Ada', assistant.callback, document);
    const { authorizationUrl, finish, connect } = await beginToConnect(service.address, provider);
    expect(authorizationUrl.pathname).toBe('/console/consent');
    expect(authorizationUrl.searchParams.get('resource')).toBe(`${service.address}/mcp`);
    const isRegistered = authorizationUrl.searchParams.get('client_id') !== document;
    expect(isRegistered).toBe(kind === 'registration');

    // As the page does it; consent.test.ts has the page itself.
    const response = await fetch(service.address + CONSENT_REQUEST_PATH, {
      method: 'POST',
      headers: { TOKEN: rootToken(), 'Content-Type': 'application/json' },
      body: JSON.stringify({
        query: authorizationUrl.search,
        intents: ['LICENSES_READ', 'PRODUCTS_READ'],
      }),
    });
    expect(response.status).toBe(200);
    const { url } = Object(await response.json());
    await fetch(url);
    const [returned] = assistant.returns;
    if (!returned) throw new Error('The person did not return');
    expect(returned.searchParams.get('state')).toBe('state of the assistant');

    const client = await finish(returned);
    const names = (await client.listTools()).tools.map(({ name }) => name);
    expect(names).toContain('find');
    expect(names).not.toContain('free_slots');
    await client.close();

    // The client meets 401, and gets other tokens by itself.
    const earlier = provider.tokens();
    if (!earlier) throw new Error('The assistant has no tokens');
    provider.saveTokens({ ...earlier, access_token: 'expired' });
    const again = await connect();
    expect((await again.listTools()).tools.length).toBe(names.length);
    expect(provider.tokens()?.refresh_token).not.toBe(earlier.refresh_token);
    await again.close();

    const granted = (await licet.tokens.list()).find(({ client: host }) => host !== null);
    if (!granted) throw new Error('The grant is not listed');
    expect(granted.name).toBe('Ada');
    await licet.tokens.delete(granted.id);
    await expect(connect()).rejects.toThrow();
  });
});
