import * as z from 'zod';
import { apiIntent } from '../lib/fields';

/**
 * Responses that belong to no resource. The Worker imports only their types.
 */

/** The response of v2 to a request that failed or was rejected [7]. */
export const errorResponse = z.strictObject({
  message: z.string(),
  accepted_intents: z.array(apiIntent),
});
export type ErrorResponse = z.infer<typeof errorResponse>;

/** The license is valid [4.7]. */
export const validResponse = z.strictObject({
  valid: z.literal(true),
  message: z.string(),
  hardwareLocked: z.boolean(),
  iPLocked: z.boolean(),
  expiryDate: z.string().nullable(),
  maxIPs: z.int(),
  maxHWIDs: z.int(),
  totalRequests: z.int(),
});
export type ValidResponse = z.infer<typeof validResponse>;

/** The license is not valid, or the request was rejected [4.7]. */
export const invalidResponse = z.strictObject({ valid: z.literal(false), message: z.string() });
export type InvalidResponse = z.infer<typeof invalidResponse>;
