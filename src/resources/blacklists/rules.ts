import { canonicalNetwork } from '@licet/contract/addresses';
import type { blacklists } from '../../db/schema.ts';
import { DomainError } from '../../lib/errors.ts';

export type EntryRow = typeof blacklists.$inferSelect;
/** The columns that a client sets. */
export type EntryValues = Omit<EntryRow, 'id' | 'createdAt' | 'updatedAt' | 'revision'>;

/**
 * The entry to store, by the rules for more than one field [2.3]. An address or a range becomes canonical.
 *
 * @throws DomainError if `data` is neither an address nor a range, or if the product is missing
 */
export function entryOf(values: EntryValues & { isForAllProducts: boolean }): EntryValues {
  const { licenseDataType, reason, isForAllProducts } = values;
  const data = licenseDataType === 'IP' ? canonicalNetwork(values.data) : values.data;
  if (data === null) throw new DomainError('invalid', 'data must be an IP address or a CIDR range');
  const productId = isForAllProducts ? null : values.productId;
  if (!isForAllProducts && productId === null) {
    throw new DomainError('invalid', 'productId is required when isForAllProducts is false');
  }
  return { licenseDataType, data, productId, reason };
}
