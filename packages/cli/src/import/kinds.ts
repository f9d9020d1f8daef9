/** What is transferred, in the order in which the one needs the other. */
export const KINDS = ['products', 'customers', 'licenses', 'blacklists'] as const;
export type Kind = (typeof KINDS)[number];

export const isKind = (text: string): text is Kind => KINDS.some((kind) => kind === text);

/** What one of a kind is called in a line of an export. */
export const NAMES: Readonly<Record<Kind, string>> = {
  products: 'product',
  customers: 'customer',
  licenses: 'license',
  blacklists: 'blacklist',
};

/** How many there are of each kind. */
export type Counts = Partial<Record<Kind, number>>;

/** One of them as its source has it, and how a person finds it there. */
export interface SourceItem {
  item: unknown;
  where: string;
}

/** Where what is imported comes from. It can be read more than once. */
export interface Source {
  /** Of what cannot be told before it is read, nothing. */
  counts: Counts;
  read: (kind: Kind) => AsyncIterable<SourceItem>;
}

export type Fields = Readonly<Record<string, unknown>>;

export const fieldsOf = (item: unknown): Fields =>
  typeof item === 'object' && item !== null && !Array.isArray(item) ? { ...item } : {};
