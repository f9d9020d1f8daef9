import { toTimestamp } from '@licet/contract/time';
import * as z from 'zod';
import type { products } from '../../db/schema.ts';
import { pageQuery, searchText } from '../../http/pagination.ts';
import { limit, productType, text } from '../../lib/fields.ts';
import {
  accountOrNull,
  createBody,
  objectId,
  optional,
  required,
  systemTime,
  textOrEmpty,
  updateBody,
  webAddressOrNull,
  wireBody,
  wireMapper,
} from '../fields.ts';

export type ProductRow = typeof products.$inferSelect;
/** The columns that a client sets. */
export type ProductValues = Omit<ProductRow, 'id' | 'createdAt' | 'updatedAt' | 'revision'>;

const MAX_OFFLINE_DAYS = 90;

/** A product's limits for licenses, if its creator sets none. */
export const DEFAULT_LIMIT = 5;

const defaultLimit = (description: string) =>
  optional(
    limit.nullish().transform((value) => value ?? DEFAULT_LIMIT),
    limit,
    z.int(),
    description,
  );

const offlineDays = z.int().min(0).max(MAX_OFFLINE_DAYS);

/** [2.1] */
export const productFields = {
  id: objectId('Set by the service, and never used again. Programs are compiled with it.'),
  name: required(text(255).trim().min(1), z.string(), 'Need not be unique.'),
  description: textOrEmpty(10_000, 'Free text.'),
  productType: required(productType, productType, 'The kind of program.'),
  productTypeOther: textOrEmpty(255, 'Free text, for the product type `OTHER`.'),
  createdDate: systemTime,
  updatedDate: systemTime,
  defaultMaxIPs: defaultLimit('`maxIPs` of licenses without their own; 5 unless set.'),
  defaultMaxHWIDs: defaultLimit('`maxHWIDs` of licenses without their own; 5 unless set.'),
  roleId: accountOrNull('A role on the chat service.'),
  purchaseRoleId: accountOrNull('A role on the chat service, for buyers.'),
  url: webAddressOrNull('The page of the product.'),
  imageUrl: webAddressOrNull('The image of the product.'),
  offlineDays: optional(
    offlineDays.nullish().transform((value) => value ?? 0),
    offlineDays,
    z.int(),
    'How many days a lease lets a program run without the network; 0, the default, for none.',
  ),
};

export const PRODUCT_ADDRESSES = ['url', 'imageUrl'] as const;

export const productCreate = createBody(productFields);
export const productUpdate = updateBody(productFields);
export const product = wireBody(productFields);

/** The query of a list of products. */
export const productQuery = z.strictObject({
  ...pageQuery,
  productType: productType.optional(),
  q: searchText,
});

export type ProductQuery = z.infer<typeof productQuery>;

const toWire = wireMapper(productFields);

/** A product as responses show it. */
export const toProduct = (row: ProductRow) =>
  toWire({
    ...row,
    createdDate: toTimestamp(row.createdAt),
    updatedDate: toTimestamp(row.updatedAt),
  });
