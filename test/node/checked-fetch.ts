import { afterAll, afterEach, inject, vi } from 'vitest';
import { checkResponse } from '../support/openapi.ts';
import { endOwn } from './own.ts';
import { startedServices } from './service.ts';

/**
 * The set-up of each file. Holds what the service returns over HTTP against the OpenAPI document, in every test
 * that fetches it, and undoes what tests leave: the files of a process share its globals and its modules.
 */

const fetchUnchecked = globalThis.fetch;

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

globalThis.fetch = async (input, init) => {
  const url = new URL(input instanceof Request ? input.url : input);
  const isService = startedServices.has(url.origin) || inject('sharedService') === url.origin;
  const request = new Request(input, init);
  // The service closes idle connections, and a request that takes one at that moment fails.
  if (isService) request.headers.set('Connection', 'close');
  const response = await fetchUnchecked(request);
  if (isService && url.pathname.includes('/api/')) {
    const { status, headers } = response;
    const text = await response.clone().text();
    const method = (input instanceof Request ? input.method : init?.method) ?? 'GET';
    checkResponse({ method, url: url.href }, { status, headers, text, json: parse(text) });
  }
  return response;
};

afterEach(() => {
  // Spies first: one on a fake timer would put that timer back.
  vi.restoreAllMocks();
  vi.useRealTimers();
  vi.unstubAllEnvs();
  // This leaves the fetch above, which is no stub.
  vi.unstubAllGlobals();
});

afterAll(() => {
  endOwn();
  // The set-up of the next file in this process replaces it again.
  globalThis.fetch = fetchUnchecked;
});
