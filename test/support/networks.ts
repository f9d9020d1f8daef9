import { canonicalNetwork } from '@licet/contract/addresses';

/**
 * Every network that holds an address, as a blacklist entry names it, the narrowest first: one for
 * each prefix. Tests compare the networks that the service finds by bits with these.
 */
export function networksHolding(address: string): string[] {
  const bits = address.includes(':') ? 128 : 32;
  return Array.from({ length: bits + 1 }, (_, free) =>
    canonicalNetwork(`${address}/${bits - free}`),
  ).filter((network) => network !== null);
}
