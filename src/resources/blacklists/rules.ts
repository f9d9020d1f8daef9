import { ApiError } from '../../http/errors';
import { canonicalNetwork } from '../../lib/ip';
import type { EntryValues } from './schema';

/**
 * The entry to store: what it is made of depends on more than one field [2.3]. IP data becomes
 * canonical, as addresses are compared.
 *
 * @throws 400 for IP data that is neither an address nor a range, and where no product is named
 */
export function entryOf(values: EntryValues & { isForAllProducts: boolean }): EntryValues {
  const { licenseDataType, reason, isForAllProducts } = values;
  const data = licenseDataType === 'IP' ? canonicalNetwork(values.data) : values.data;
  if (data === null) throw new ApiError(400, 'data must be an IP address or a CIDR range');
  const productId = isForAllProducts ? null : values.productId;
  if (!isForAllProducts && productId === null) {
    throw new ApiError(400, 'productId is required when isForAllProducts is false');
  }
  return { licenseDataType, data, productId, reason };
}
