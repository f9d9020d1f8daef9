import { isForeignKeyViolation } from '../../db/client';
import { ApiError } from '../../http/errors';

/** The error for a product that does not exist. */
export const unknownProduct = (): ApiError => new ApiError(400, 'productId is not a product');

/** Handles the error of a write that refers to a product. */
export function rejectUnknownProduct(error: unknown): never {
  throw isForeignKeyViolation(error) ? unknownProduct() : error;
}
