import { toTimestamp } from '@licet/contract/time';
import * as z from 'zod';
import type { blacklists } from '../../db/schema.ts';
import { pageQuery, searchText } from '../../http/pagination.ts';
import { id, idText, licenseDataType, text } from '../../lib/fields.ts';
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
} from '../fields.ts';

export type EntryRow = typeof blacklists.$inferSelect;
/** The columns that a client sets. */
export type EntryValues = Omit<EntryRow, 'id' | 'createdAt' | 'updatedAt' | 'revision'>;

/** [2.3] */
export const entryFields = {
  id: objectId(),
  licenseDataType: required(licenseDataType, licenseDataType, 'The kind of value.'),
  data: required(
    text(512).trim().min(1),
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
    1000,
    'For administrators: in the history, never in the response to a program.',
  ),
  createdAt: systemTime,
  updatedAt: systemTime,
};

export const entryCreate = createBody(entryFields);
export const entryUpdate = updateBody(entryFields);
export const entry = wireBody(entryFields);

/** The query of a list of entries. */
export const entryQuery = z.strictObject({
  ...pageQuery,
  licenseDataType: licenseDataType.optional(),
  productId: idText.optional(),
  q: searchText,
});

export type EntryQuery = z.infer<typeof entryQuery>;

const toWire = wireMapper(entryFields);

/** A blacklist entry as responses show it. */
export const toEntry = (row: EntryRow) =>
  toWire({
    ...row,
    isForAllProducts: row.productId === null,
    createdAt: toTimestamp(row.createdAt),
    updatedAt: toTimestamp(row.updatedAt),
  });
