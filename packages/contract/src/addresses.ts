import ipaddr from 'ipaddr.js';

/** IP addresses and CIDR ranges, and their canonical forms. */

type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** Four decimal parts. Octal, hexadecimal and short forms would give an address several forms. */
const isIPv4 = (text: string): boolean =>
  /^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?!$)|$)){4}$/.test(text);

/** IPv6 without a zone, and IPv4. Null for other text. */
export function parseAddress(text: string): Address | null {
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

export const formatAddress = (address: Address): string =>
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
  const address = parseAddress(trimmed);
  return address && formatAddress(address);
}

/**
 * The canonical form of an address or a CIDR range. The bits behind the prefix are cleared; a range of one
 * address is that address. Null for other text.
 */
export function canonicalNetwork(text: string): string | null {
  const [addressText = '', prefixText, ...rest] = text.trim().split('/');
  if (rest.length > 0) return null;
  if (prefixText === undefined) return canonicalAddress(addressText);
  const address = parseAddress(addressText);
  if (!address || !/^\d{1,3}$/.test(prefixText)) return null;
  // A range of IPv4-mapped addresses is written with IPv6 prefixes: /120 is IPv4's /24.
  const mappedBits = addressText.includes(':') ? 128 - lengthBits(address) : 0;
  const prefixBits = Number(prefixText) - mappedBits;
  if (prefixBits < 0 || prefixBits > lengthBits(address)) return null;
  return formatNetwork(address, prefixBits);
}

function formatNetwork(address: Address, prefixBits: number): string {
  const network = formatAddress(networkOf(address, prefixBits));
  return prefixBits === lengthBits(address) ? network : `${network}/${prefixBits}`;
}
