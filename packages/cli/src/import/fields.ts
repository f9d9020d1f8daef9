import { IMPORT_FIELDS } from '@licet/client/types';
import type { Kind } from './kinds.ts';

const { licenses, customers } = IMPORT_FIELDS;

/** The headings of a table, and the fields to suggest for a misspelt name. */
export const FIELDS: Readonly<Record<Kind, readonly string[]>> = {
  ...IMPORT_FIELDS,
  licenses: [...licenses, ...customers.map((name) => `customer.${name}`)],
};

const folded = (name: string): string => name.replaceAll(/[\s_-]+/g, '').toLowerCase();

/** The field whose name differs from the given one only by case, `_`, `-` or blanks. */
export const meantField = (kind: Kind, name: string): string | undefined =>
  FIELDS[kind].find((field) => folded(field) === folded(name));
