import { canonicalNetwork, parseAddress } from '@licet/contract/addresses';

/** The client behind a canonical address, for limits: IPv6 by its /64, of which one client has all addresses (1.7). */
export const clientOf = (canonical: string): string =>
  (canonical.includes(':') && canonicalNetwork(`${canonical}/64`)) || canonical;

const FAMILY = { ipv4: '4', ipv6: '6' };

/**
 * The bits of a canonical address as text, after the number of its family. The addresses of a network begin
 * alike. Empty for other text.
 */
export function addressBits(canonical: string): string {
  const address = parseAddress(canonical);
  if (!address) return '';
  const bits = address.toByteArray().map((byte) => byte.toString(2).padStart(8, '0'));
  return FAMILY[address.kind()] + bits.join('');
}

/** The common beginning of {@link addressBits} in a canonical CIDR range; null for an address. */
export function networkBits(canonical: string): string | null {
  const [address = '', prefixBits] = canonical.split('/');
  return prefixBits === undefined ? null : addressBits(address).slice(0, 1 + Number(prefixBits));
}

/**
 * The beginning that the canonical forms of all addresses in a canonical network share, to find them in an index of text.
 * It has the whole groups of the prefix, up to the first zero, which `::` may hide. Others may have it, too.
 */
export function commonBeginning(network: string): string {
  const [address = '', prefixBits] = network.split('/');
  if (prefixBits === undefined) return address;
  const [separator, bits] = address.includes(':') ? ([':', 16] as const) : (['.', 8] as const);
  const groups = address.split(separator).slice(0, Math.floor(Number(prefixBits) / bits));
  const isHidden = (group: string): boolean => separator === ':' && /^0?$/.test(group);
  const end = groups.findIndex(isHidden);
  return groups
    .slice(0, end === -1 ? undefined : end)
    .map((group) => group + separator)
    .join('');
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
