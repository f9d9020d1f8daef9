import { afterAll, inject } from 'vitest';
import { checkAnswer } from '../support/openapi.ts';
import { startedServices } from './service.ts';

/** Holds what the service answers over HTTP against the OpenAPI document, in every test that fetches it. */

const fetchUnchecked = globalThis.fetch;

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

globalThis.fetch = async (input, init) => {
  const response = await fetchUnchecked(input, init);
  const url = new URL(input instanceof Request ? input.url : input);
  const isService = startedServices.has(url.origin) || inject('sharedService') === url.origin;
  if (isService && url.pathname.includes('/api/')) {
    const { status, headers } = response;
    const text = await response.clone().text();
    const method = (input instanceof Request ? input.method : init?.method) ?? 'GET';
    checkAnswer({ method, url: url.href }, { status, headers, text, json: parse(text) });
  }
  return response;
};

// The set-up of the next file in this process replaces it again.
afterAll(() => {
  globalThis.fetch = fetchUnchecked;
});
