import ipaddr from 'ipaddr.js';

/** IP addresses and CIDR ranges, and their canonical forms. */

type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** Four decimal parts. Octal, hexadecimal and short forms would give an address several forms. */
const isIPv4 = (text: string): boolean =>
  /^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?!$)|$)){4}$/.test(text);

/** IPv6 without a zone, and IPv4. */
function parse(text: string): Address | null {
  // The library throws, catches and tries again, which is a hundred times slower for IPv4.
  if (!text.includes(':')) return isIPv4(text) ? ipaddr.IPv4.parse(text) : null;
  const groups = writeEmbeddedIPv4AsGroups(text);
  if (/[.%]/.test(groups) || !ipaddr.IPv6.isValid(groups)) return null;
  const address = ipaddr.IPv6.parse(groups);
  return address.isIPv4MappedAddress() ? address.toIPv4Address() : address;
}

/**
 * IPv6 may end in the four parts of an IPv4 address. The library accepts octal and hexadecimal there, and
 * reads `::1.2.3.4` as `::ffff:1.2.3.4`, which is another address.
 */
function writeEmbeddedIPv4AsGroups(text: string): string {
  const start = text.lastIndexOf(':') + 1;
  const tail = text.slice(start);
  if (!isIPv4(tail)) return text;
  const groups = ipaddr.IPv4.parse(tail).toIPv4MappedAddress().parts.slice(-2);
  return text.slice(0, start) + groups.map((group) => group.toString(16)).join(':');
}

const format = (address: Address): string =>
  address instanceof ipaddr.IPv6 ? address.toRFC5952String() : address.toString();

/** Clears all bits of an address behind the first `prefixBits`. */
function networkOf(address: Address, prefixBits: number): Address {
  const bytes = address.toByteArray().map((byte, index) => {
    const bits = Math.min(8, Math.max(0, prefixBits - index * 8));
    return byte & (0xff << (8 - bits)) & 0xff;
  });
  return ipaddr.fromByteArray(bytes);
}

const lengthBits = (address: Address): number => address.toByteArray().length * 8;

/** The canonical form of an IP address: RFC 5952, and `1.2.3.4` for `::ffff:1.2.3.4`. Null for other text. */
export function canonicalAddress(text: string): string | null {
  const trimmed = text.trim();
  if (isIPv4(trimmed)) return trimmed;
  const address = parse(trimmed);
  return address && format(address);
}

/** Ranges whose addresses are not unique on the Internet, so they identify no machine. */
const OWN_NAMES: ReadonlySet<string> = new Set([
  'loopback',
  'private',
  'uniqueLocal',
  'linkLocal',
  'unspecified',
]);

/** The canonical form of an address of the public network; null for other text, and for other addresses (1.2). */
export function publicAddress(text: string): string | null {
  const address = parse(text.trim());
  return address && !OWN_NAMES.has(address.range()) ? format(address) : null;
}

/**
 * The canonical form of an address or a CIDR range. The bits behind the prefix are cleared; a range of one
 * address is that address. Null for other text.
 */
export function canonicalNetwork(text: string): string | null {
  const [addressText = '', prefixText, ...rest] = text.trim().split('/');
  if (rest.length > 0) return null;
  if (prefixText === undefined) return canonicalAddress(addressText);
  const address = parse(addressText);
  if (!address || !/^\d{1,3}$/.test(prefixText)) return null;
  // A range of IPv4-mapped addresses is written with IPv6 prefixes: /120 is IPv4's /24.
  const mappedBits = addressText.includes(':') ? 128 - lengthBits(address) : 0;
  const prefixBits = Number(prefixText) - mappedBits;
  if (prefixBits < 0 || prefixBits > lengthBits(address)) return null;
  return formatNetwork(address, prefixBits);
}

function formatNetwork(address: Address, prefixBits: number): string {
  const network = format(networkOf(address, prefixBits));
  return prefixBits === lengthBits(address) ? network : `${network}/${prefixBits}`;
}

/**
 * The client behind a canonical address, for limits: IPv6 by its /64, of which one client has all addresses
 * (1.7).
 */
export function clientOf(canonical: string): string {
  const address = canonical.includes(':') ? parse(canonical) : null;
  return address ? formatNetwork(address, 64) : canonical;
}

const FAMILY = { ipv4: '4', ipv6: '6' };

/**
 * The bits of a canonical address as text, after the number of its family. The addresses of a network begin
 * alike. Empty for other text.
 */
export function addressBits(canonical: string): string {
  const address = parse(canonical);
  if (!address) return '';
  const bits = address.toByteArray().map((byte) => byte.toString(2).padStart(8, '0'));
  return FAMILY[address.kind()] + bits.join('');
}

/** The common beginning of {@link addressBits} in a canonical CIDR range; null for an address. */
export function networkBits(canonical: string): string | null {
  const [address = '', prefixBits] = canonical.split('/');
  return prefixBits === undefined ? null : addressBits(address).slice(0, 1 + Number(prefixBits));
}

/** The addresses and CIDR ranges in a list with blanks or commas, canonical. Other text is left out. */
export const parseNetworks = (list: string): string[] =>
  list.split(/[\s,]+/).flatMap((text) => canonicalNetwork(text) ?? []);

/** Whether a canonical address is in one of some canonical networks. */
export const isInNetworks = (networks: readonly string[], address: string): boolean =>
  networks.some((network) => {
    const bits = networkBits(network);
    return bits === null ? network === address : addressBits(address).startsWith(bits);
  });
