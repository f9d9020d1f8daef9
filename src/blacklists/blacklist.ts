import type { LicenseDataType } from '../enums';
import { addressBits, networkBits } from '../network';

export interface BlacklistEntry {
  licenseDataType: LicenseDataType;
  /** A canonical address or CIDR range, or a hardware ID. */
  data: string;
  /** Null for an entry that is for all products. */
  productId: number | null;
  reason: string;
}

/** The whole blacklist, made to be searched: the time it takes does not grow with it. */
export interface Blacklist {
  revision: number;
  entries: readonly BlacklistEntry[];
  /** The entry that refuses an address (canonical), the narrowest range first. */
  findAddress(address: string, productId: number): BlacklistEntry | undefined;
  findHwid(hwid: string, productId: number): BlacklistEntry | undefined;
}

type Index = Map<string, BlacklistEntry[]>;

function add(index: Index, key: string, entry: BlacklistEntry): void {
  const entries = index.get(key);
  if (entries) entries.push(entry);
  else index.set(key, [entry]);
}

/** An address is sought as it is; ranges by the leading bits of the address, once for each length. */
export function indexBlacklist(revision: number, entries: readonly BlacklistEntry[]): Blacklist {
  const hwids: Index = new Map();
  const addresses: Index = new Map();
  const networks: Index = new Map();
  const lengths = new Set<number>();
  for (const entry of entries) {
    if (entry.licenseDataType === 'HWID') {
      add(hwids, entry.data, entry);
      continue;
    }
    const bits = networkBits(entry.data);
    if (bits === null) {
      add(addresses, entry.data, entry);
    } else {
      add(networks, bits, entry);
      lengths.add(bits.length);
    }
  }
  const narrowestFirst = [...lengths].sort((one, other) => other - one);

  const find = (index: Index, key: string, productId: number) =>
    index.get(key)?.find((entry) => entry.productId === null || entry.productId === productId);
  return {
    revision,
    entries,
    findHwid: (hwid, productId) => find(hwids, hwid, productId),
    findAddress(address, productId) {
      const exact = find(addresses, address, productId);
      if (exact || narrowestFirst.length === 0) return exact;
      const bits = addressBits(address);
      for (const length of narrowestFirst) {
        const range = length <= bits.length && find(networks, bits.slice(0, length), productId);
        if (range) return range;
      }
      return undefined;
    },
  };
}
