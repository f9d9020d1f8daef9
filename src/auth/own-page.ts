import { localConsoleName } from '@licet/contract/login-code';

/**
 * The host and the origin of a request, as a browser states them (4). A page cannot set `Sec-Fetch-Site`, `Origin`
 * or `Host` itself.
 */

/**
 * Whether sessions work under the host of a URL (4): it is one of `hosts`, or has the name of the console on this
 * machine.
 *
 * @param hosts undefined if every host counts
 */
export async function isConsoleHost(
  requestUrl: string,
  hosts: readonly string[] | undefined,
  rootToken: string | undefined,
): Promise<boolean> {
  const url = new URL(requestUrl);
  if (hosts === undefined || hosts.includes(url.host)) return true;
  return rootToken !== undefined && url.hostname === (await localConsoleName(rootToken, url));
}

/**
 * Whether sessions that a page stores itself work under the host of a URL (4): only this machine has it, and storage
 * knows ports. At Cloudflare there are none.
 */
export const isPageSessionHost = (
  requestUrl: string,
  hosts: readonly string[] | undefined,
): boolean =>
  hosts !== undefined &&
  /^(?:(?:[\w-]+\.)*localhost|127\.0\.0\.1|\[::1\])$/.test(new URL(requestUrl).hostname);

/**
 * Whether an `Origin` is this service's. A proxy that terminates TLS forwards by http, and keeps the host.
 */
export function isOwnOrigin(origin: string, requestUrl: string): boolean {
  const own = new URL(requestUrl);
  return origin === own.origin || (own.protocol === 'http:' && origin === `https://${own.host}`);
}

/** Whether a browser states that a page of this service sends the request. */
export function isFromOwnPage({ headers, url }: Request): boolean {
  const site = headers.get('Sec-Fetch-Site');
  if (site !== null) return site === 'same-origin';
  const origin = headers.get('Origin');
  return origin !== null && isOwnOrigin(origin, url);
}

/** Whether a browser states that the request does not come from a page of this service. */
export const isFromElsewhere = (request: Request): boolean =>
  (request.headers.has('Sec-Fetch-Site') || request.headers.has('Origin')) &&
  !isFromOwnPage(request);
