import * as z from 'zod';
import type { blacklists } from '../../db/schema';
import { clearableText, id, ignored, licenseDataType, mustNotBeSent, text } from '../../lib/fields';
import { toTimestamp, wireTimestamp } from '../../lib/time';

export type BlacklistRow = typeof blacklists.$inferSelect;
/** What a client can set of an entry. */
export type BlacklistValues = Pick<
  BlacklistRow,
  'licenseDataType' | 'data' | 'productId' | 'reason'
>;

const fields = {
  licenseDataType,
  data: text(512).trim().min(1),
  isForAllProducts: z.boolean(),
  productId: id.nullable(),
  reason: clearableText(1000),
};

/** The body of POST /api/v2/blacklists [4.4]. */
export const blacklistCreate = z
  .strictObject({
    id: mustNotBeSent,
    createdAt: mustNotBeSent,
    updatedAt: mustNotBeSent,
    ...fields,
    productId: fields.productId.default(null),
    reason: fields.reason.default(''),
  })
  .transform(({ id, createdAt, updatedAt, ...values }) => values);

/** The body of PUT /api/v2/blacklists/{id}: a field left out keeps its value [4.8]. */
export const blacklistUpdate = z
  .strictObject({
    id: z.exactOptional(id),
    createdAt: ignored,
    updatedAt: ignored,
    licenseDataType: z.exactOptional(fields.licenseDataType),
    data: z.exactOptional(fields.data),
    isForAllProducts: z.exactOptional(fields.isForAllProducts),
    productId: z.exactOptional(fields.productId),
    reason: z.exactOptional(fields.reason),
  })
  .transform(({ createdAt, updatedAt, ...changes }) => changes);

/** An entry on the wire [2.3]. */
export const blacklist = z.strictObject({
  id: z.int(),
  licenseDataType,
  data: z.string(),
  isForAllProducts: z.boolean(),
  productId: z.int().nullable(),
  reason: z.string(),
  createdAt: wireTimestamp,
  updatedAt: wireTimestamp,
});

export function toBlacklist(row: BlacklistRow): z.infer<typeof blacklist> {
  return {
    id: row.id,
    licenseDataType: row.licenseDataType,
    data: row.data,
    isForAllProducts: row.productId === null,
    productId: row.productId,
    reason: row.reason,
    createdAt: toTimestamp(row.createdAt),
    updatedAt: toTimestamp(row.updatedAt),
  };
}
