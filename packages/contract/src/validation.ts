import * as z from 'zod';
import { KEY, named } from './bodies.ts';
import { MAX_HWID_BYTES } from './limits.ts';

/** The bodies of validations. The Worker imports only their types. */

const forHistory = z.string().nullish().describe('For the history.');

/** The documented body of a validation [4.7]. Decision 1.2 has the values that are accepted beyond it. */
export const validationRequest = named(
  'ValidationRequest',
  'The request of a program [4.7]. Unknown fields are ignored, and numbers are accepted as text.',
  z.object({
    licenseKey: z
      .string()
      .min(1)
      .describe('The key, as the customer has entered it: it is read as a person would read it.'),
    productId: z.int().describe('The id of the product that the program belongs to.'),
    productVersion: forHistory,
    hwid: z.string().max(MAX_HWID_BYTES).nullish().describe('The hardware ID to check and bind.'),
    ip: z
      .string()
      .nullish()
      .describe(
        'The address to check and bind. Without one, and for a private or reserved address, which identifies no machine, the connecting address counts.',
      ),
    operatingSystem: forHistory,
    osVersion: forHistory,
    osArchitecture: forHistory,
    javaVersion: forHistory,
    macAddress: forHistory,
    operatingSystemVersion: forHistory.describe(
      'Another name of `osVersion`, and used if both are sent.',
    ),
    operatingSystemArchitecture: forHistory.describe(
      'Another name of `osArchitecture`, and used if both are sent.',
    ),
    nonce: z
      .string()
      .regex(/^[\w-]{16,128}$/)
      .nullish()
      .describe(
        'At least 128 random bits as base64url: asks for a signed response. Ignored by a service without signing keys.',
      ),
    kid: z
      .string()
      .nullish()
      .describe(
        'With a nonce: the ID of the signing key that the program knows. If it is left out, the default key signs.',
      ),
    lease: z
      .boolean()
      .nullish()
      .describe('True asks for a lease. It needs a nonce and a hardware ID.'),
    takeOver: z
      .boolean()
      .nullish()
      .describe(
        'True if a person wants to move the license to this machine: if no slot is free, the value that was used longest ago gives way. That counts as one of `selfResets` of the product.',
      ),
  }),
  {
    licenseKey: KEY,
    productId: 1,
    productVersion: '1.4.2',
    hwid: '4c4c4544-0051',
    ip: '192.0.2.10',
  },
);

const IS_VALID =
  'Whether the license is valid, as the status says: 200 means valid, any other status invalid.';
const message = z.string().describe('Why.');
/** A JWS in compact form, for a program that asked for it (1.8). */
const signed = z
  .exactOptional(z.string())
  .describe(
    'A JWS in compact form ([signed responses](/docs/signing)). It is there if the request had a nonce and was not rejected.',
  );

/** The license is valid [4.7]. */
export const validResponse = named(
  'ValidResponse',
  'The license is valid [4.7].',
  z.strictObject({
    valid: z.literal(true).describe(IS_VALID),
    message,
    hardwareLocked: z.boolean().describe('Whether the license limits hardware IDs.'),
    iPLocked: z.boolean().describe('Whether the license limits addresses.'),
    expiryDate: z
      .string()
      .nullable()
      .describe('UTC without an offset; null for a license that never expires.'),
    maxIPs: z.int().describe('Maximum number of addresses; -1 is unlimited.'),
    maxHWIDs: z.int().describe('Maximum number of hardware IDs; -1 is unlimited.'),
    totalRequests: z
      .int()
      .describe('Validations of this license, including this one, as far as this location knows.'),
    signed,
    lease: z
      .exactOptional(z.string())
      .describe(
        'A JWS with which the program may start while the network is down ([leases](/docs/signing)). It is there on request, if the product has offline days.',
      ),
  }),
  {
    valid: true,
    message: 'License is valid',
    hardwareLocked: true,
    iPLocked: true,
    expiryDate: '2035-12-31T23:59:59',
    maxIPs: 2,
    maxHWIDs: 5,
    totalRequests: 128,
  },
);
export type ValidResponse = z.infer<typeof validResponse>;

/** The license is not valid, or the request was rejected [4.7]. */
export const invalidResponse = named(
  'InvalidResponse',
  'The license is not valid, or the request was rejected [4.7].',
  z.strictObject({ valid: z.literal(false).describe(IS_VALID), message, signed }),
  { valid: false, message: 'Max IPs reached' },
);
export type InvalidResponse = z.infer<typeof invalidResponse>;
