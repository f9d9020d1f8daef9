import { DomainError } from '../../lib/errors.ts';

export const UNKNOWN_PRODUCT = new DomainError(
  'invalid',
  'productId is not a product',
  'productId',
);
