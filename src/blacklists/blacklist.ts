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

/**
 * Entries of one kind in columns, sorted by key. A cold isolate parses the whole blacklist in the time of
 * one request, and columns are parsed several times as fast as objects.
 */
interface Table {
  keys: readonly string[];
  /** 0 for all products. */
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

/** The whole blacklist. The time of a search does not grow with its length. */
export class Blacklist {
  readonly id = 0;
  readonly revision: number;
  readonly tables: Tables;
  readonly #hwids: TableIndex;
  readonly #addresses: TableIndex;
  readonly #networks: TableIndex;
  /** The lengths of ranges, the narrowest first. */
  readonly #lengths: readonly number[];

  constructor(revision: number, tables: Tables) {
    this.revision = revision;
    this.tables = tables;
    this.#hwids = new TableIndex(tables.hwids);
    this.#addresses = new TableIndex(tables.addresses);
    this.#networks = new TableIndex(tables.networks);
    const lengths = new Set(tables.networks.keys.map((bits) => bits.length));
    this.#lengths = [...lengths].sort((one, other) => other - one);
  }

  /** The reason why an address (canonical) is blocked; the narrowest range counts. */
  findAddress(address: string, productId: number): string | undefined {
    const exact = this.#addresses.find(address, productId);
    if (exact !== undefined || this.#lengths.length === 0) return this.#reason(exact);
    const bits = addressBits(address);
    for (const length of this.#lengths) {
      if (length > bits.length) continue;
      const range = this.#networks.find(bits.slice(0, length), productId);
      if (range !== undefined) return this.#reason(range);
    }
    return undefined;
  }

  /** The reason why a hardware ID is blocked. */
  findHwid(hwid: string, productId: number): string | undefined {
    return this.#reason(this.#hwids.find(hwid, productId));
  }

  #reason(index: number | undefined): string | undefined {
    return index === undefined ? undefined : (this.tables.reasons[index] ?? '');
  }
}

/** Finds the rows of a table by their key. */
class TableIndex {
  readonly #table: Table;
  readonly #firstRows = new Map<string, number>();

  constructor(table: Table) {
    this.#table = table;
    const { keys } = table;
    let last: string | undefined;
    for (let row = 0; row < keys.length; row++) {
      const key = keys[row];
      if (key !== undefined && key !== last) this.#firstRows.set(key, row);
      last = key;
    }
  }

  /** @returns the reason of a row that is for the product */
  find(key: string, productId: number): number | undefined {
    const { keys, productIds, reasons } = this.#table;
    const first = this.#firstRows.get(key);
    if (first === undefined) return undefined;
    for (let row = first; keys[row] === key; row++) {
      if (productIds[row] === 0 || productIds[row] === productId) return reasons[row];
    }
    return undefined;
  }
}

/** The blacklist with these entries. */
export function blacklistOf(revision: number, entries: readonly BlacklistEntry[]): Blacklist {
  const reasons = [...new Set(entries.map(({ reason }) => reason))];
  const positions = new Map(reasons.map((reason, position) => [reason, position]));
  const tableOf = (keyOf: (entry: BlacklistEntry) => string | null): Table => {
    const rows = entries
      .flatMap((entry) => {
        const key = keyOf(entry);
        const reason = positions.get(entry.reason) ?? 0;
        return key === null ? [] : [{ key, productId: entry.productId ?? 0, reason }];
      })
      .sort((one, other) => (one.key < other.key ? -1 : one.key > other.key ? 1 : 0));
    return {
      keys: rows.map(({ key }) => key),
      productIds: rows.map(({ productId }) => productId),
      reasons: rows.map(({ reason }) => reason),
    };
  };
  const isIP = ({ licenseDataType }: BlacklistEntry) => licenseDataType === 'IP';
  return new Blacklist(revision, {
    reasons,
    hwids: tableOf((entry) => (isIP(entry) ? null : entry.data)),
    addresses: tableOf((entry) =>
      isIP(entry) && networkBits(entry.data) === null ? entry.data : null,
    ),
    networks: tableOf((entry) => (isIP(entry) ? networkBits(entry.data) : null)),
  });
}

/** The blacklist as KV holds it. */
export const encodeBlacklist = (format: number, { revision, tables }: Blacklist): string =>
  JSON.stringify({ format, revision, ...tables });

type Fields = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Fields => typeof value === 'object' && value !== null;

const isTexts = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((item) => typeof item === 'string');

const isIntegers = (value: unknown): value is number[] =>
  Array.isArray(value) && value.every(Number.isSafeInteger);

function toTable(value: unknown): Table | undefined {
  if (!isObject(value)) return undefined;
  const { keys, productIds, reasons } = value;
  if (!isTexts(keys) || !isIntegers(productIds) || !isIntegers(reasons)) return undefined;
  const isWhole = productIds.length === keys.length && reasons.length === keys.length;
  return isWhole ? { keys, productIds, reasons } : undefined;
}

/**
 * The blacklist in a value of KV; null if it is corrupt or in another format. By hand: a schema would take
 * longer for ten thousand entries than a request may compute.
 */
export function decodeBlacklist(format: number, text: string): Blacklist | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  if (!isObject(value) || value.format !== format || !isTexts(value.reasons)) return null;
  const { revision, reasons } = value;
  const [hwids, addresses, networks] = [value.hwids, value.addresses, value.networks].map(toTable);
  if (!hwids || !addresses || !networks || typeof revision !== 'number') return null;
  return new Blacklist(revision, { reasons, hwids, addresses, networks });
}
