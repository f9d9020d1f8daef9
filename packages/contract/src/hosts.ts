import { parseAddress } from './addresses.ts';

/** Hosts of a machine or its network, and variables that hold the address of a server. */

/** Ranges of addresses that only a machine or its network can reach. */
const OWN_RANGES: ReadonlySet<string> = new Set([
  'loopback',
  'private',
  'uniqueLocal',
  'linkLocal',
  'unspecified',
  'carrierGradeNat',
]);
/** Names that lead to this machine or its network. */
const OWN_HOST = /^[^.]*$|\.(?:localhost|local|internal|lan|home\.arpa)$/;

/** Whether the host of a URL is one of this machine or its network: others cannot open it (3.3, 8). */
export function isOwnHost(hostname: string): boolean {
  const address = parseAddress(hostname.replace(/^\[(.*)\]$/, '$1'));
  if (address) return OWN_RANGES.has(address.range());
  // The parser of URLs keeps a final dot.
  return OWN_HOST.test(hostname.replace(/\.$/, ''));
}

/**
 * The end of a sentence that begins with the name of a variable. Undefined for a scheme and a host, and for an empty value,
 * which counts as none.
 *
 * @param example an address that it may hold
 */
export function originFault(value: unknown, example: string): string | undefined {
  const text = typeof value === 'string' ? value.trim() : JSON.stringify(value);
  if (text === '') return undefined;
  if (text.includes('@')) return 'must have no user name: write the scheme and the host alone.';
  // Node 20 lacks URL.parse.
  const url = URL.canParse(text) ? new URL(text) : null;
  if (!url || !/^https?:$/.test(url.protocol)) {
    return `must be an address such as ${example}, not ${JSON.stringify(value)}.`;
  }
  if (url.pathname !== '/' || /[?#]/.test(text)) {
    return `must have no path: ${url.origin}, not ${JSON.stringify(value)}.`;
  }
  if (url.protocol === 'http:' && !isOwnHost(url.hostname)) {
    return `must be https://${url.host}, not ${JSON.stringify(value)}: http is for this machine and its network only.`;
  }
  return undefined;
}
