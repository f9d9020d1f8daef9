import { IMPORT_FIELDS } from '@licet/client/types';
import { fieldsOf, type TableKind } from './kinds.ts';

const { licenses, customers } = IMPORT_FIELDS;

const OF_CUSTOMER = customers.filter((name) => name !== 'metadata');

/** The headings of a table, and the fields to suggest for an unknown name. */
export const FIELDS: Readonly<Record<TableKind, readonly string[]>> = {
  ...IMPORT_FIELDS,
  licenses: [
    ...licenses.filter((name) => name !== 'customer' && name !== 'metadata'),
    ...OF_CUSTOMER.map((name) => `customer.${name}`),
  ],
  customers: OF_CUSTOMER,
  purchases: [
    ...['marketId', 'item', 'reference', 'unit', 'order', 'buyerId', 'buyerName', 'licenseId'],
    ...['licenseKey', 'state'],
  ],
};

/** The fields without which no item of a kind can be stored, and which a file can lack as a whole. */
export const REQUIRED: Readonly<Record<TableKind, readonly string[]>> = {
  products: [],
  customers: [],
  licenses: ['licenseKey', 'productId'],
  blacklists: [],
  purchases: [],
};

/** Fields that follow from others, and are not stored. */
export const DERIVED = ['productIdString', 'effectiveEntitlements'];

/** Fields that hold values by their names, which are one column. */
export const ENTITLEMENTS = ['entitlements', 'entitlementsExpire'];

/** The fields that hold texts by their names. Each text has a column: `metadata.plan`. */
const METADATA: Readonly<Partial<Record<TableKind, readonly string[]>>> = {
  licenses: ['metadata', 'customer.metadata'],
  customers: ['metadata'],
};

/** Whether a name is that of a field, or of a text in one. */
export const isField = (kind: TableKind, name: string): boolean =>
  FIELDS[kind].includes(name) ||
  (METADATA[kind] ?? []).some((field) => name.startsWith(`${field}.`));

/** The texts in the metadata of an item, by their columns. */
export const metadataOf = (kind: TableKind, item: object): [name: string, text: string][] =>
  (METADATA[kind] ?? []).flatMap((field) => {
    const texts = field.split('.').reduce<unknown>((value, name) => fieldsOf(value)[name], item);
    return Object.entries(fieldsOf(texts)).map(([name, text]): [string, string] => [
      `${field}.${name}`,
      String(text),
    ]);
  });
