import { IMPORT_KINDS, type ImportKind } from '@licet/contract/enums';
import { isObject } from '@licet/contract/json';

/** The kinds of items, in the order of import: later ones refer to earlier ones. */
export const KINDS = IMPORT_KINDS;
export type Kind = ImportKind;

/** The kinds of tables that the command line reads: `licet purchases import` has its own. */
export type TableKind = Kind | 'purchases';

export const isKind = (text: string): text is Kind => KINDS.some((kind) => kind === text);

/** The name of an item in a line of an export. */
export const NAMES: Readonly<Record<Kind, string>> = {
  products: 'product',
  customers: 'customer',
  licenses: 'license',
  blacklists: 'blacklist',
};

/** For example "1 product" and "2,000 licenses". */
export const counted = (count: number, kind: Kind): string =>
  `${count.toLocaleString('en')} ${count === 1 ? NAMES[kind] : kind}`;

/** The number of items of each kind. */
export type Counts = Partial<Record<Kind, number>>;

/** An item of a source, and its place there for the user. */
export interface SourceItem {
  item: unknown;
  where: string;
  /** The reason why the item cannot be read. It is rejected, the others are imported. */
  problem?: string;
  /** The headings of its table. */
  headings?: readonly string[];
}

/** The source of an import. It can be read more than once. */
export interface Source {
  /** Unknown counts are left out. */
  counts: Counts;
  read: (kind: Kind) => AsyncIterable<SourceItem>;
}

export type Fields = Readonly<Record<string, unknown>>;

export const fieldsOf = (item: unknown): Fields => (isObject(item) ? item : {});
