import { canonicalNetwork } from '@licet/contract/addresses';
import { MIN_PREFIX_BITS } from '@licet/contract/limits';
import { DomainError } from '../../lib/errors.ts';
import type { blacklists } from './schema.ts';

export type EntryRow = typeof blacklists.$inferSelect;
/** The columns that a client sets. */
export type EntryValues = Omit<EntryRow, 'id' | 'createdAt' | 'updatedAt' | 'revision'>;

/** The data as it is stored; null for an IP that is neither an address nor a range. */
export const canonicalData = ({
  licenseDataType,
  data,
}: Pick<EntryValues, 'licenseDataType' | 'data'>): string | null =>
  licenseDataType === 'IP' ? canonicalNetwork(data) : data;

/**
 * The entry to store, by the rules for more than one field [2.3]. An address or a range becomes canonical.
 *
 * @param stored the entry that changes: its range stays, although an earlier version took wider ones
 * @throws DomainError if `data` is neither an address nor a range, for one that would block nearly everybody, or if the product is missing
 */
export function entryOf(
  values: EntryValues & { isForAllProducts: boolean },
  stored?: EntryRow,
): EntryValues {
  const { licenseDataType, reason, isForAllProducts } = values;
  const data = canonicalData(values);
  if (data === null) {
    throw new DomainError('invalid', 'data must be an IP address or a CIDR range', 'data');
  }
  const isRange = licenseDataType === 'IP' && data.includes('/');
  const isStored = stored?.licenseDataType === licenseDataType && stored.data === data;
  const minPrefixBits = MIN_PREFIX_BITS[data.includes(':') ? 'ipv6' : 'ipv4'];
  if (isRange && !isStored && Number(data.split('/')[1]) < minPrefixBits) {
    throw new DomainError(
      'invalid',
      `data must be a range of /${minPrefixBits} or narrower: a wider one would block nearly everybody`,
      'data',
    );
  }
  const productId = isForAllProducts ? null : values.productId;
  if (!isForAllProducts && productId === null) {
    throw new DomainError(
      'missing',
      'productId is required when isForAllProducts is false',
      'productId',
    );
  }
  return { licenseDataType, data, productId, reason };
}
