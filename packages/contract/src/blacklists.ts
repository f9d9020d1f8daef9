import * as z from 'zod';
import { CREATED, named, UPDATED } from './bodies.ts';
import { id, licenseDataType, text } from './fields.ts';
import { MAX_BLOCKED_LENGTH, MAX_REASON_LENGTH } from './limits.ts';
import { pageQuery, productId, searchText } from './parameters.ts';
import {
  createBody,
  objectId,
  optional,
  required,
  systemTime,
  textOrEmpty,
  updateBody,
  wireBody,
  wireMapper,
} from './resource.ts';

/** [2.3] */
export const entryFields = {
  id: objectId(),
  licenseDataType: required(licenseDataType, licenseDataType, 'The kind of value.'),
  data: required(
    text(MAX_BLOCKED_LENGTH).trim().min(1),
    z.string(),
    'An address, a CIDR range, or a hardware ID. Addresses are kept in canonical form.',
  ),
  isForAllProducts: required(
    z.boolean(),
    z.boolean(),
    'Whether it applies to all products, or only to `productId`.',
  ),
  productId: optional(
    id.nullable().default(null),
    id.nullable(),
    z.int().nullable(),
    'The product that it applies to; null for all products.',
  ),
  reason: textOrEmpty(
    MAX_REASON_LENGTH,
    'For administrators: in the history, never in the response to a program.',
  ),
  createdAt: systemTime,
  updatedAt: systemTime,
};

export const entryExample = {
  licenseDataType: 'IP',
  data: '192.0.2.0/24',
  isForAllProducts: true,
  productId: null,
  reason: 'Leaked keys',
} as const;

/** Picks the fields of a response. */
export const pickEntry = wireMapper(entryFields);

export const entry = named(
  'BlacklistEntry',
  'A blacklist entry [2.3].',
  wireBody(entryFields),
  pickEntry({ ...entryExample, id: 5, createdAt: CREATED, updatedAt: UPDATED }),
);
export const entryCreate = named(
  'BlacklistEntryCreate',
  'A new blacklist entry [4.4].',
  createBody(entryFields),
  entryExample,
);
export const entryUpdate = named(
  'BlacklistEntryUpdate',
  'Changes of an entry: an omitted field keeps its value [4.8].',
  updateBody(entryFields),
  { reason: 'Charged back', isForAllProducts: false, productId: 1 },
);

/** The query of a list of entries. */
export const entryQuery = z.strictObject({
  ...pageQuery,
  licenseDataType: licenseDataType.optional().describe('Only entries of this type.'),
  productId: productId.optional(),
  q: searchText,
});
export type EntryQuery = z.infer<typeof entryQuery>;
