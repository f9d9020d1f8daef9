import { LICENSE_DATA_TYPES } from '@licet/contract/enums';
import { sql } from 'drizzle-orm';
import { check, index, integer, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core';
import { createdAt, id, oneOf, revision, textOrEmpty, updatedAt } from '../../db/columns.ts';
import { products } from '../products/schema.ts';

/** [2.3] An entry without a product is for all products. An IP is a canonical address or CIDR range. */
export const blacklists = sqliteTable(
  'blacklists',
  {
    id: id(),
    licenseDataType: text('license_data_type', { enum: LICENSE_DATA_TYPES }).notNull(),
    data: text('data').notNull(),
    productId: integer('product_id').references(() => products.id),
    reason: textOrEmpty('reason'),
    createdAt: createdAt(),
    updatedAt: updatedAt(),
    revision: revision(),
  },
  (t) => [
    // Two nulls differ in a unique index, so entries for all products have an index of their own.
    uniqueIndex('blacklists_entry').on(t.licenseDataType, t.data, t.productId),
    uniqueIndex('blacklists_entry_for_all')
      .on(t.licenseDataType, t.data)
      .where(sql`${t.productId} is null`),
    index('blacklists_product').on(t.productId),
    check('blacklists_license_data_type', oneOf(t.licenseDataType, LICENSE_DATA_TYPES)),
  ],
);
