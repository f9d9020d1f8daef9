import * as z from 'zod';

/** The bodies of the responses to validations. The Worker imports only their types. */

/** A JWS in compact form, for a program that asked for it (1.8). */
const signed = z.exactOptional(z.string());

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
  signed,
  lease: z.exactOptional(z.string()),
});
export type ValidResponse = z.infer<typeof validResponse>;

/** The license is not valid, or the request was rejected [4.7]. */
export const invalidResponse = z.strictObject({
  valid: z.literal(false),
  message: z.string(),
  signed,
});
export type InvalidResponse = z.infer<typeof invalidResponse>;
