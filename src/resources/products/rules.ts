import { DomainError } from '../../lib/errors.ts';

export const unknownProduct = (productId: number | null): DomainError =>
  new DomainError('invalid', `productId ${productId} does not exist`, 'productId');
