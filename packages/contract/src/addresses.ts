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

const formatAddress = (address: Address): string =>
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

/** The IPv4 address inside a canonical address of 6to4 or NAT64; null for another address. */
function embeddedIPv4(canonical: string): string | null {
  if (!/^(?:2002|64:ff9b:):/.test(canonical)) return null;
  const bytes = ipaddr.IPv6.parse(canonical).toByteArray();
  if (canonical.startsWith('2002:')) return bytes.slice(2, 6).join('.');
  return bytes.slice(4, 12).every((byte) => byte === 0) ? bytes.slice(12).join('.') : null;
}

/**
 * The canonical form of an IP address: RFC 5952, and `1.2.3.4` for that address inside a mapped, 6to4 or NAT64 one (1.2).
 * Null for other text.
 */
export function canonicalAddress(text: string): string | null {
  const trimmed = text.trim();
  if (isIPv4(trimmed)) return trimmed;
  const address = parseAddress(trimmed);
  const canonical = address && formatAddress(address);
  return canonical && (embeddedIPv4(canonical) ?? canonical);
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

/**
 * The addresses that do not say where a machine is, as patterns of SQLite's GLOB over canonical forms: all that are not
 * global unicast. Those for documentation count as global, because guides use them (1.2).
 */
export const LOCAL_PATTERNS: readonly string[] = [
  ...['0.*', '10.*', '127.*', '169.254.*', '172.1[6-9].*', '172.2[0-9].*', '172.3[01].*'],
  ...['100.6[4-9].*', '100.[7-9][0-9].*', '100.1[01][0-9].*', '100.12[0-7].*', '192.0.0.*'],
  ...['192.88.99.*', '192.168.*', '198.1[89].*', '22[4-9].*', '2[3-5][0-9].*'],
  // IPv6 outside 2000::/3. A first group of less than four digits begins with zeros.
  ...['?:*', '??:*', '???:*', '[014-9a-f]???:*'],
  // 2001::/23, the addresses of protocols, such as Teredo.
  ...['2001::*', '2001:[0-9a-f]:*', '2001:[0-9a-f][0-9a-f]:*', '2001:1[0-9a-f][0-9a-f]:*'],
];

const toExpression = (pattern: string): string =>
  pattern.replaceAll('.', '\\.').replaceAll('?', '.').replace('*', '.*');
const LOCAL = new RegExp(`^(?:${LOCAL_PATTERNS.map(toExpression).join('|')})$`);

/** Whether a canonical address says where a machine is (1.2). */
export const isGlobal = (canonical: string): boolean => !LOCAL.test(canonical);

/** The rest of a sentence about an address that {@link globalAddress} leaves out. */
export const LOCAL_ADDRESS = 'is a private or reserved address and identifies no machine';

/**
 * The canonical form of an address that says where a machine is, as a license binds it. Null for other text, and for other
 * addresses (1.2).
 */
export function globalAddress(text: string): string | null {
  const address = canonicalAddress(text);
  return address && isGlobal(address) ? address : null;
}

const IPV6_GROUPS = 8;

/** The 32 hexadecimal digits of a canonical IPv6 address. */
function hexOf(canonical: string): string {
  const [before, after] = canonical.split('::');
  const groupsIn = (text: string | undefined): string[] => (text ? text.split(':') : []);
  const [first, last] = [groupsIn(before), groupsIn(after)];
  const missing = Array(Math.max(0, IPV6_GROUPS - first.length - last.length)).fill('0');
  return [...first, ...missing, ...last].map((group) => group.padStart(4, '0')).join('');
}

/**
 * The slot of a canonical address. For global IPv6 it is the first bits, because one machine has all addresses of a network
 * (1.4). It is another text than any address, and made from the text: a parser takes ten times as long.
 *
 * @param ipv6SlotPrefix the bits that count
 */
export function slotOf(canonical: string, ipv6SlotPrefix: number): string {
  if (!canonical.includes(':') || !isGlobal(canonical)) return canonical;
  const hex = hexOf(canonical);
  const digits = Math.floor(ipv6SlotPrefix / 4);
  const unused = 4 - (ipv6SlotPrefix % 4);
  const next = unused === 4 ? '' : Number.parseInt(hex.charAt(digits), 16) >> unused;
  return `${hex.slice(0, digits)}/${next}`;
}

/** The first address of each slot, in their order. */
export function firstOfSlots(addresses: readonly string[], ipv6SlotPrefix: number): string[] {
  const slots = new Map<string, string>();
  for (const address of addresses) {
    const slot = slotOf(address, ipv6SlotPrefix);
    if (!slots.has(slot)) slots.set(slot, address);
  }
  return [...slots.values()];
}

/** The number of addresses that count for the limit of a license, if each has its own slot (1.4). */
export const countGlobal = (addresses: readonly string[]): number =>
  addresses.filter(isGlobal).length;

/**
 * The number of slots to show beside a limit. In a private network, a license has no address that says where a machine is:
 * the others take as many slots, among them alone (1.2).
 */
export const countTaken = (addresses: readonly string[]): number =>
  countGlobal(addresses) || addresses.length;
