import { IMPORT_FIELDS } from '@licet/client/types';
import type { Kind } from './kinds.ts';

const { licenses, customers } = IMPORT_FIELDS;

/** The headings of a table, and the fields to suggest for an unknown name. */
export const FIELDS: Readonly<Record<Kind, readonly string[]>> = {
  ...IMPORT_FIELDS,
  licenses: [...licenses, ...customers.map((name) => `customer.${name}`)],
};
