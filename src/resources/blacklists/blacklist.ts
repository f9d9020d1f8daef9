import type { LicenseDataType } from '@licet/contract/enums';
import { isObject } from '@licet/contract/json';
import { ALL_PRODUCTS } from '../../db/codes.ts';
import { addressBits, networkBits } from '../../lib/networks.ts';

export interface BlacklistEntry {
  licenseDataType: LicenseDataType;
  /** A canonical address or CIDR range, or a hardware ID. */
  data: string;
  /** Null for an entry that is for all products. */
  productId: number | null;
  reason: string;
}

/**
 * Entries of one kind in columns, sorted by key. A cold isolate parses the whole blacklist in the time of
 * one request, and columns are parsed several times as fast as objects.
 */
interface Table {
  keys: readonly string[];
  /** Or {@link ALL_PRODUCTS}. */
  productIds: readonly number[];
  /** Positions in the list of reasons. */
  reasons: readonly number[];
}

interface Tables {
  reasons: readonly string[];
  hwids: Table;
  addresses: Table;
  /** By the bits that all addresses of a range have in common. */
  networks: Table;
}

/**
 * The whole blacklist. The tables are searched as they are: an index of them would take a cold isolate longer than
 * the rest of a request.
 */
export class Blacklist {
  readonly tables: Tables;
  /** The lengths of ranges, the narrowest first. */
  readonly #lengths: readonly number[];

  constructor(tables: Tables) {
    this.tables = tables;
    const lengths = new Set(tables.networks.keys.map((bits) => bits.length));
    this.#lengths = [...lengths].sort((one, other) => other - one);
  }

  /** The reason why an address (canonical) is blocked; the narrowest range counts. */
  findAddress(address: string, productId: number): string | undefined {
    const exact = findReason(this.tables.addresses, address, productId);
    if (exact !== undefined || this.#lengths.length === 0) return this.#reason(exact);
    const bits = addressBits(address);
    for (const length of this.#lengths) {
      if (length > bits.length) continue;
      const range = findReason(this.tables.networks, bits.slice(0, length), productId);
      if (range !== undefined) return this.#reason(range);
    }
    return undefined;
  }

  /** The reason why a hardware ID is blocked. */
  findHwid(hwid: string, productId: number): string | undefined {
    return this.#reason(findReason(this.tables.hwids, hwid, productId));
  }

  #reason(index: number | undefined): string | undefined {
    return index === undefined ? undefined : (this.tables.reasons[index] ?? '');
  }
}

/** The first row of a key; the row after it if the key is not there. */
function firstRowOf({ keys }: Table, key: string): number {
  let low = 0;
  let high = keys.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((keys[middle] ?? '') < key) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** @returns the reason of a row with a key that is for the product */
function findReason(table: Table, key: string, productId: number): number | undefined {
  const { keys, productIds, reasons } = table;
  for (let row = firstRowOf(table, key); keys[row] === key; row++) {
    const id = productIds[row];
    if (id === ALL_PRODUCTS || id === productId) return reasons[row];
  }
  return undefined;
}

export function blacklistOf(entries: readonly BlacklistEntry[]): Blacklist {
  const reasons = [...new Set(entries.map(({ reason }) => reason))];
  const positions = new Map(reasons.map((reason, position) => [reason, position]));
  const tableOf = (keyOf: (entry: BlacklistEntry) => string | null): Table => {
    const rows = entries
      .flatMap((entry) => {
        const key = keyOf(entry);
        const reason = positions.get(entry.reason) ?? 0;
        return key === null ? [] : [{ key, productId: entry.productId ?? ALL_PRODUCTS, reason }];
      })
      .sort((one, other) => (one.key < other.key ? -1 : one.key > other.key ? 1 : 0));
    return {
      keys: rows.map(({ key }) => key),
      productIds: rows.map(({ productId }) => productId),
      reasons: rows.map(({ reason }) => reason),
    };
  };
  const isIP = ({ licenseDataType }: BlacklistEntry) => licenseDataType === 'IP';
  const tables = {
    reasons,
    hwids: tableOf((entry) => (isIP(entry) ? null : entry.data)),
    addresses: tableOf((entry) =>
      isIP(entry) && networkBits(entry.data) === null ? entry.data : null,
    ),
    networks: tableOf((entry) => (isIP(entry) ? networkBits(entry.data) : null)),
  };
  return new Blacklist(tables);
}

const isTexts = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((item) => typeof item === 'string');

const isSorted = (texts: readonly string[]): boolean =>
  texts.every((text, row) => row === 0 || (texts[row - 1] ?? '') <= text);

const isIntegers = (value: unknown): value is number[] =>
  Array.isArray(value) && value.every(Number.isSafeInteger);

function toTable(value: unknown): Table | undefined {
  if (!isObject(value)) return undefined;
  const { keys, productIds, reasons } = value;
  if (!isTexts(keys) || !isSorted(keys)) return undefined;
  if (!isIntegers(productIds) || !isIntegers(reasons)) return undefined;
  const isWhole = productIds.length === keys.length && reasons.length === keys.length;
  return isWhole ? { keys, productIds, reasons } : undefined;
}

/**
 * The blacklist with the tables in a value of KV; null if they are corrupt. By hand: a schema would take longer for
 * ten thousand entries than a request may compute.
 */
export function toBlacklist(value: unknown): Blacklist | null {
  if (!isObject(value) || !isTexts(value.reasons)) return null;
  const { reasons } = value;
  const [hwids, addresses, networks] = [value.hwids, value.addresses, value.networks].map(toTable);
  if (!hwids || !addresses || !networks) return null;
  return new Blacklist({ reasons, hwids, addresses, networks });
}
