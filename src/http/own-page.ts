/**
 * The origin of a request, as a browser states it (4). A page cannot set `Sec-Fetch-Site` or `Origin` itself.
 */

/**
 * Whether an `Origin` is this service's. A proxy that terminates TLS forwards by http, and keeps the host.
 */
function isOwnOrigin(origin: string, requestUrl: string): boolean {
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
