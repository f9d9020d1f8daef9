import * as z from 'zod';
import { apiIntent } from '../lib/fields';

/**
 * The bodies that belong to no resource. Only their types are in the Worker: of the two that a
 * validation costs time, its request is read by `validation/request.ts`, and its answer written.
 */

/** Every refusal of v2 [7]. */
export const errorAnswer = z.strictObject({
  message: z.string(),
  accepted_intents: z.array(apiIntent),
});
export type ErrorAnswer = z.infer<typeof errorAnswer>;

/** The body of a validation, as documented; what is taken beyond it decides 1.2 [4.7]. */
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

/** The license may run [4.7]. */
export const validAnswer = z.strictObject({
  valid: z.literal(true),
  message: z.string(),
  hardwareLocked: z.boolean(),
  iPLocked: z.boolean(),
  expiryDate: z.string().nullable(),
  maxIPs: z.int(),
  maxHWIDs: z.int(),
  totalRequests: z.int(),
});
export type ValidAnswer = z.infer<typeof validAnswer>;

/** It may not [4.7]. */
export const refusal = z.strictObject({ valid: z.literal(false), message: z.string() });
export type Refusal = z.infer<typeof refusal>;
