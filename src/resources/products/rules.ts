import { isForeignKeyViolation } from '../../db/client';
import { ApiError } from '../../http/errors';

/** What is for a product must name one that exists. */
export const unknownProduct = (): ApiError => new ApiError(400, 'productId is not a product');

/** For the `catch` of a write that names a product. */
export function rejectUnknownProduct(error: unknown): never {
  throw isForeignKeyViolation(error) ? unknownProduct() : error;
}
