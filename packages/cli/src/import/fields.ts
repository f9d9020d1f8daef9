import { IMPORT_FIELDS } from '@licet/client/types';
import type { TableKind } from './kinds.ts';

const { licenses, customers } = IMPORT_FIELDS;

/** The headings of a table, and the fields to suggest for an unknown name. */
export const FIELDS: Readonly<Record<TableKind, readonly string[]>> = {
  ...IMPORT_FIELDS,
  licenses: [
    ...licenses.filter((name) => name !== 'customer'),
    ...customers.map((name) => `customer.${name}`),
  ],
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
