import type { PortalData } from '@licet/contract/portal-page';
import { expect } from 'vitest';
import type { Isolate } from './app.ts';
import { type CallOptions, call, type ReadResponse } from './client.ts';

/** The requests of the customer's own page [decision 10]. */

export const OWN_PAGE = { 'Sec-Fetch-Site': 'same-origin', 'Content-Type': 'application/json' };
let addresses = 0;

/** A request of the page. Each has an address of its own, so that no limit counts them together. */
export function ask(
  method: string,
  path: string,
  { cookie = '', headers, ...options }: CallOptions & { cookie?: string } = {},
  isolate: Pick<Isolate, 'call'> = { call },
): Promise<ReadResponse> {
  const address = `198.51.${addresses >> 8}.${addresses++ & 255}`;
  return isolate.call(method, `/my${path}`, {
    token: null,
    ...options,
    headers: {
      'CF-Connecting-IP': address,
      ...OWN_PAGE,
      ...(cookie && { Cookie: cookie }),
      ...headers,
    },
  });
}

export const codeIn = (url: string): string => new URL(url).hash.slice('#code='.length);

/** The code of a new link, by which the page opens. */
export async function codeFor(body: object): Promise<string> {
  const { status, json, text } = await call('POST', '/api/v2/portal-links', { body });
  expect(status, text).toBe(201);
  const { url }: { url: string } = Object(json);
  return codeIn(url);
}

export const redeem = (code: string, headers = {}): Promise<ReadResponse> =>
  ask('POST', '/session', { body: { code }, headers });

export const cookieIn = ({ headers }: ReadResponse): string =>
  headers.get('Set-Cookie')?.split(';')[0] ?? '';

/** The cookie of a new session of a customer. */
export const sessionOf = async (customerId: number): Promise<string> =>
  cookieIn(await redeem(await codeFor({ customerId })));

/** The data that the page shows. */
export async function licensesOf(cookie: string): Promise<PortalData> {
  const { status, json, text } = await ask('GET', '/licenses', { cookie });
  expect(status, text).toBe(200);
  const data: PortalData = Object(json);
  return data;
}
