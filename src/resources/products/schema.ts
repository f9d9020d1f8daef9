import * as z from 'zod';
import type { products } from '../../db/schema';
import {
  accountId,
  clearableText,
  id,
  ignored,
  limit,
  mustNotBeSent,
  productType,
  text,
} from '../../lib/fields';
import { toTimestamp, wireTimestamp } from '../../lib/time';

export type ProductRow = typeof products.$inferSelect;
/** What a client can set of a product. */
export type ProductValues = Omit<ProductRow, 'id' | 'createdAt' | 'updatedAt' | 'revision'>;

/** A product's own limit defaults, where its creator names none. */
export const DEFAULT_LIMIT = 5;

const fields = {
  name: text(255).trim().min(1),
  description: clearableText(10_000),
  productType,
  productTypeOther: clearableText(255),
  defaultMaxIPs: limit,
  defaultMaxHWIDs: limit,
  roleId: accountId.nullable(),
  purchaseRoleId: accountId.nullable(),
  url: text(2048).nullable(),
  imageUrl: text(2048).nullable(),
};

const limitOrDefault = limit.nullish().transform((value) => value ?? DEFAULT_LIMIT);

/** The body of POST /api/v2/products [4.2]. */
export const productCreate = z
  .strictObject({
    id: mustNotBeSent,
    createdDate: mustNotBeSent,
    updatedDate: mustNotBeSent,
    ...fields,
    description: fields.description.default(''),
    productTypeOther: fields.productTypeOther.default(''),
    defaultMaxIPs: limitOrDefault,
    defaultMaxHWIDs: limitOrDefault,
    roleId: fields.roleId.default(null),
    purchaseRoleId: fields.purchaseRoleId.default(null),
    url: fields.url.default(null),
    imageUrl: fields.imageUrl.default(null),
  })
  .transform(({ id, createdDate, updatedDate, ...values }) => values);

/** The body of PUT /api/v2/products/{id}: a field left out keeps its value [4.8]. */
export const productUpdate = z
  .strictObject({
    id: z.exactOptional(id),
    createdDate: ignored,
    updatedDate: ignored,
    name: z.exactOptional(fields.name),
    description: z.exactOptional(fields.description),
    productType: z.exactOptional(fields.productType),
    productTypeOther: z.exactOptional(fields.productTypeOther),
    defaultMaxIPs: z.exactOptional(fields.defaultMaxIPs),
    defaultMaxHWIDs: z.exactOptional(fields.defaultMaxHWIDs),
    roleId: z.exactOptional(fields.roleId),
    purchaseRoleId: z.exactOptional(fields.purchaseRoleId),
    url: z.exactOptional(fields.url),
    imageUrl: z.exactOptional(fields.imageUrl),
  })
  .transform(({ createdDate, updatedDate, ...changes }) => changes);

/** A product on the wire [2.1]. */
export const product = z.strictObject({
  id: z.int(),
  name: z.string(),
  description: z.string(),
  productType,
  productTypeOther: z.string(),
  createdDate: wireTimestamp,
  updatedDate: wireTimestamp,
  defaultMaxIPs: z.int(),
  defaultMaxHWIDs: z.int(),
  roleId: z.string().nullable(),
  purchaseRoleId: z.string().nullable(),
  url: z.string().nullable(),
  imageUrl: z.string().nullable(),
});

export function toProduct(row: ProductRow): z.infer<typeof product> {
  return {
    id: row.id,
    name: row.name,
    description: row.description,
    productType: row.productType,
    productTypeOther: row.productTypeOther,
    createdDate: toTimestamp(row.createdAt),
    updatedDate: toTimestamp(row.updatedAt),
    defaultMaxIPs: row.defaultMaxIPs,
    defaultMaxHWIDs: row.defaultMaxHWIDs,
    roleId: row.roleId,
    purchaseRoleId: row.purchaseRoleId,
    url: row.url,
    imageUrl: row.imageUrl,
  };
}
