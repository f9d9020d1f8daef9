import { IMPORT_FIELDS } from '@licet/client/types';
import type { Kind } from './kinds.ts';

const { licenses, customers } = IMPORT_FIELDS;

/** The headings of a table, and the fields to suggest for an unknown name. */
export const FIELDS: Readonly<Record<Kind, readonly string[]>> = {
  ...IMPORT_FIELDS,
  licenses: [
    ...licenses.filter((name) => name !== 'customer'),
    ...customers.map((name) => `customer.${name}`),
  ],
};

/** The fields without which no item of a kind can be stored, and which a file can lack as a whole. */
export const REQUIRED: Readonly<Record<Kind, readonly string[]>> = {
  products: [],
  customers: [],
  licenses: ['licenseKey', 'productId'],
  blacklists: [],
};
