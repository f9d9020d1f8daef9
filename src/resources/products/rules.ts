import { DomainError } from '../../lib/errors.ts';

/** The error for a product that does not exist. */
export const UNKNOWN_PRODUCT = new DomainError('invalid', 'productId is not a product');
