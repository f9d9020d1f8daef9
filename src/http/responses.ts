import * as z from 'zod';
import { apiIntent } from '../lib/fields';

/**
 * Bodies that belong to no resource. The Worker imports only their types. For speed, validation requests are
 * parsed by `validation/request.ts` and validation responses are built by hand.
 */

/** The response of v2 to a request that failed or was rejected [7]. */
export const errorResponse = z.strictObject({
  message: z.string(),
  accepted_intents: z.array(apiIntent),
});
export type ErrorResponse = z.infer<typeof errorResponse>;

/** The documented body of a validation [4.7]. Decision 1.2 has the values that are accepted beyond it. */
export const validationRequest = z.object({
  licenseKey: z.string().min(1),
  productId: z.int(),
  productVersion: z.string().nullish(),
  hwid: z.string().max(512).nullish(),
  ip: z.string().nullish(),
  operatingSystem: z.string().nullish(),
  osVersion: z.string().nullish(),
  osArchitecture: z.string().nullish(),
  javaVersion: z.string().nullish(),
  macAddress: z.string().nullish(),
  operatingSystemVersion: z.string().nullish(),
  operatingSystemArchitecture: z.string().nullish(),
});

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
