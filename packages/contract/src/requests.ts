import * as z from 'zod';
import { CREATED, KEY, named, UPDATED } from './bodies.ts';
import { address, booleanText, hardwareId, requestType, responseType } from './fields.ts';
import { MAX_TEXT_LENGTH } from './limits.ts';
import { pageQuery, period, productId } from './parameters.ts';
import { wireTimestamp } from './time.ts';

/** The history: requests, the installations that send them, and the signing keys that these ask for. */

const sentText = z.string().nullable().describe('As it was sent.');
const seen = (description: string) => wireTimestamp.describe(description);

/** The fields that a program sends. Together with its license they are an installation. */
export const installationFields = z.object({
  licenseKey: sentText,
  productId: z.int().nullable().describe('As it was sent.'),
  productVersion: sentText,
  ip: sentText.describe('The address that was checked: of the body, else of the connection.'),
  hwid: sentText,
  macAddress: sentText,
  operatingSystem: sentText,
  operatingSystemVersion: sentText,
  operatingSystemArchitecture: sentText,
  javaVersion: sentText,
});
export type InstallationFields = z.infer<typeof installationFields>;

/** A license request on the wire [2.4]. */
export const request = named(
  'LicenseRequest',
  'A validation in the history [2.4].',
  z.strictObject({
    id: z.int().describe('Grows with time.'),
    licenseId: z.int().nullable().describe('Null for a key that no license has.'),
    ...installationFields.shape,
    requestDate: seen('When it arrived.'),
    requestType: requestType.describe('The interface of the request.'),
    responseType: responseType.describe('The outcome.'),
    blockReason: z
      .string()
      .nullable()
      .describe('The reason of the blacklist entry that blocked it.'),
    notes: z.null().describe('Always null.'),
    remarks: z.string().nullable().describe('Remarks, such as the error in the request.'),
    valid: z.boolean().describe('Whether the license was valid.'),
    successful: z.boolean().describe('False if the service failed.'),
    rateLimited: z.boolean().describe('Whether it was over a rate limit.'),
    blocked: z.boolean().describe('Whether a blacklist entry blocked it.'),
    spam: z.boolean().describe('Whether its address sent too many unknown keys.'),
  }),
  {
    id: 7251896140267520,
    licenseId: 7341,
    licenseKey: KEY,
    productId: 1,
    productVersion: '1.4.2',
    ip: '192.0.2.99',
    hwid: null,
    macAddress: null,
    operatingSystem: 'Linux',
    operatingSystemVersion: '6.1.0',
    operatingSystemArchitecture: 'amd64',
    javaVersion: '21.0.5',
    requestDate: UPDATED,
    requestType: 'V1_VALIDATE',
    responseType: 'MAX_IPS_REACHED',
    blockReason: null,
    notes: null,
    remarks: null,
    valid: false,
    successful: true,
    rateLimited: false,
    blocked: false,
    spam: false,
  },
);

export type LicenseRequest = z.infer<typeof request>;

/** The query of a list of requests. */
export const requestQuery = z.strictObject({
  ...pageQuery,
  limit: pageQuery.limit.describe(
    'The number of records on a page. Records with the same id stay on one page, which can make it shorter or longer: `Link` shows whether more follow.',
  ),
  licenseKey: z
    .string()
    .trim()
    .min(1)
    .max(MAX_TEXT_LENGTH)
    .optional()
    .meta({ description: 'A license key, as in a validation.', example: KEY }),
  productId: productId.optional(),
  ip: address.optional().meta({
    description: 'Only requests from this address, such as `192.0.2.10`.',
    example: '192.0.2.10',
  }),
  hwid: hardwareId.optional().meta({
    description: 'Only requests with this hardware ID.',
    example: '1f0c3a5e-4b7d-4c1e-9a63-7d2f8e5b0c94',
  }),
  valid: booleanText.optional().meta({
    description: '`true`: only valid requests. `false`: only the others.',
    example: false,
  }),
  ...period,
});

const idleDate = (value: string, days: string) =>
  wireTimestamp
    .nullable()
    .describe(
      `When the slot of its ${value} is idle. Null if that is not bound, or the product has no \`${days}\`.`,
    );

/** An installation of a license: a server or a machine with its program version. */
export const installation = named(
  'Installation',
  'A machine that asked with the key of a license: one combination of all that its program sent.',
  z.strictObject({
    id: z.int().describe('For `after`.'),
    ip: sentText.describe('The address that was checked.'),
    hwid: sentText,
    productVersion: sentText,
    operatingSystem: sentText,
    operatingSystemVersion: sentText,
    operatingSystemArchitecture: sentText,
    javaVersion: sentText,
    macAddress: sentText,
    firstSeen: seen('When it asked for the first time.'),
    lastSeen: seen('When it asked for the last time.'),
    requests: z
      .int()
      .describe('Number of its recorded validations, without those over a rate limit.'),
    ipIdleDate: idleDate('address', 'ipIdleDays'),
    hwidIdleDate: idleDate('hardware ID', 'hwidIdleDays'),
  }),
  {
    id: 210,
    ip: '192.0.2.10',
    hwid: '4c4c4544-0051',
    productVersion: '1.4.2',
    operatingSystem: 'Linux',
    operatingSystemVersion: '6.1.0',
    operatingSystemArchitecture: 'amd64',
    javaVersion: '21.0.5',
    macAddress: null,
    firstSeen: CREATED,
    lastSeen: UPDATED,
    requests: 128,
    ipIdleDate: '2025-02-10T08:15:00.042+00:00',
    hwidIdleDate: null,
  },
);
export type Installation = z.infer<typeof installation>;

/** The number of installations that ask for a signing key, which can be a retired one. */
export const signingKeyUse = named(
  'SigningKeyUse',
  'The number of installations that ask for a signing key.',
  z.strictObject({
    kid: z.string().describe('The name of the key.'),
    installations: z.int().describe('Number of installations that have asked for it.'),
    lastSeen: wireTimestamp
      .nullable()
      .describe(
        'The last time that one of them asked, as of the last aggregation: up to a day ago.',
      ),
  }),
  { kid: 'es-1', installations: 128, lastSeen: UPDATED },
);
export type SigningKeyUse = z.infer<typeof signingKeyUse>;
