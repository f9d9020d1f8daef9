import { isOwnHost, originFault } from '@licet/contract/hosts';

/** The address of the service for others (3.3). */

/** The variables that set it. */
export interface AddressSettings {
  PUBLIC_URL?: string | undefined;
  CONSOLE_HOSTS?: string | undefined;
}

export interface PublicUrl {
  origin: string;
  /** False if only the machine or the network of the service can open it. */
  isPublic: boolean;
}

/** The end of a sentence that begins with PUBLIC_URL; undefined for a right value, and for an empty one. */
export const publicUrlFault = (value: unknown): string | undefined =>
  originFault(value, 'https://license.example.com');

/** PUBLIC_URL; null if it is not set, or wrong. */
const publicUrlIn = ({ PUBLIC_URL = '' }: AddressSettings): URL | null =>
  publicUrlFault(PUBLIC_URL) === undefined ? URL.parse(PUBLIC_URL.trim()) : null;

const hostsIn = ({ CONSOLE_HOSTS = '' }: AddressSettings): string[] =>
  CONSOLE_HOSTS.toLowerCase()
    .split(/[\s,]+/)
    .filter(Boolean);

/**
 * The hosts under which people log in to the console behind a proxy (4). That of PUBLIC_URL is one, unless it is http:
 * every server of a machine shares its cookies. Undefined without CONSOLE_HOSTS: each host counts.
 */
export function consoleHostsIn(settings: AddressSettings): readonly string[] | undefined {
  if (settings.CONSOLE_HOSTS === undefined) return undefined;
  const url = publicUrlIn(settings);
  return [...hostsIn(settings), ...(url?.protocol === 'https:' ? [url.host] : [])];
}

/** The address of a request, as others open it: a proxy that ends TLS forwards the request by http. */
function requested(requestUrl: string): URL {
  const url = new URL(requestUrl);
  if (!isOwnHost(url.hostname)) url.protocol = 'https:';
  // The console's own name on this machine is a secret (4), and only browsers resolve it.
  else if (url.hostname.endsWith('.localhost')) url.hostname = 'localhost';
  return url;
}

/**
 * The address of the service for others (3.3): PUBLIC_URL, else the first of CONSOLE_HOSTS, else that of the request. No
 * header counts, because any client can send one.
 */
export function publicUrlOf(settings: AddressSettings, requestUrl: string): PublicUrl {
  const [consoleHost = ''] = hostsIn(settings);
  const url = publicUrlIn(settings) ?? URL.parse(`https://${consoleHost}`) ?? requested(requestUrl);
  return { origin: url.origin, isPublic: !isOwnHost(url.hostname) };
}

/** The hosts of the service, with their ports: to these it sends no request that a stranger asks for (8). */
export const ownHostsOf = (settings: AddressSettings, requestUrl: string): string[] => [
  new URL(requestUrl).host,
  new URL(publicUrlOf(settings, requestUrl).origin).host,
  ...hostsIn(settings),
];

/**
 * The same for links in messages, which can be sent without a request; null if others cannot open it.
 *
 * @param knownUrl an address by which the service was reached; null for none
 */
export function publicOriginOf(settings: AddressSettings, knownUrl: string | null): string | null {
  const { origin, isPublic } = publicUrlOf(settings, knownUrl ?? 'http://localhost');
  return isPublic ? origin : null;
}
