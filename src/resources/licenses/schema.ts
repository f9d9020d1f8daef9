import {
  timestamp,
  timestampText,
  toOptionalTimestamp,
  toTimestamp,
  wireTimestamp,
} from '@licet/contract/time';
import * as z from 'zod';
import type { licenses } from '../../db/schema.ts';
import { pageQuery, searchText } from '../../http/pagination.ts';
import {
  address,
  booleanText,
  daysText,
  hardwareId,
  id,
  idText,
  ignored,
  licensePlatform,
  licenseStatus,
  licenseType,
  limit,
  MAX_LIMIT,
  mustNotBeSent,
  text,
} from '../../lib/fields.ts';
import { type CustomerRow, customer, emailAddress, toCustomer } from '../customers/schema.ts';
import {
  accountOrEmpty,
  createBody,
  objectId,
  optional,
  required,
  setByService,
  systemTime,
  textOrEmpty,
  updateBody,
  wireBody,
  wireMapper,
} from '../fields.ts';
import { statusAt } from './status.ts';

/** A license with its rows of other tables. */
export type LicenseRow = typeof licenses.$inferSelect & {
  ips: readonly string[];
  hwids: readonly string[];
  totalRequests: number;
  customer: CustomerRow | null;
};

/** The values that a client sets, of a stored license. */
export const valuesOf = ({
  id,
  licenseKey,
  licenseKeyNormalized,
  pastRequests,
  totalRequests,
  customerId,
  customer,
  createdAt,
  updatedAt,
  revision,
  ...values
}: LicenseRow) => values;
export type LicenseValues = ReturnType<typeof valuesOf>;

const distinct = (values: readonly string[]): string[] => [...new Set(values)];

const limitOfProduct = (description: string) =>
  optional(limit.nullable().default(null), limit, z.int(), description);

function boundValues(value: z.ZodType<string>, description: string) {
  const schema = z.array(value).max(MAX_LIMIT).transform(distinct);
  return optional(schema.default([]), schema, z.array(z.string()), description);
}

/** [2.2] */
export const licenseFields = {
  id: objectId(),
  licenseKey: {
    create: mustNotBeSent,
    update: z.exactOptional(text(255)),
    wire: z.string(),
    description: 'Made by the service, and compared without regard to case. It cannot be changed.',
  },
  productId: required(id, z.int(), 'The product of the license.'),
  productIdString: {
    create: ignored,
    update: ignored,
    wire: z.string(),
    description: '`productId` as text.',
  },
  licenseType: required(
    licenseType,
    licenseType,
    '`TEMPORARY` needs an `expiryDate`, `PERMANENT` has none.',
  ),
  licensePlatform: optional(
    licensePlatform.nullable().default(null),
    licensePlatform.nullable(),
    licensePlatform.nullable(),
    'The platform or market where it was bought.',
  ),
  licensePlatformOther: textOrEmpty(255, 'Free text, for the platform `OTHER`.'),
  ownerPlatformId: accountOrEmpty('The id of the owner there.'),
  createdDate: systemTime,
  updatedDate: systemTime,
  expiryDate: optional(
    timestamp.nullable().default(null),
    timestamp.nullable(),
    wireTimestamp.nullable(),
    'From this millisecond on it is `EXPIRED`. ISO 8601, or a date alone.',
  ),
  maxIPs: limitOfProduct('Maximum number of addresses: -1 is unlimited, 0 none.'),
  maxHWIDs: limitOfProduct('Maximum number of hardware IDs: -1 is unlimited, 0 none.'),
  totalRequests: {
    create: ignored,
    update: ignored,
    wire: z.int(),
    description: 'Number of recorded validations.',
  },
  ownerChatId: accountOrEmpty('The id of the owner on the chat service.'),
  ownerChatUsername: textOrEmpty(255, 'The name of the owner on the chat service.'),
  licenseStatus: optional(
    licenseStatus.default('ACTIVE'),
    licenseStatus,
    licenseStatus,
    '`EXPIRED` follows from `expiryDate`, and is written as `ACTIVE`.',
  ),
  hwids: boundValues(
    hardwareId,
    'The bound hardware IDs, in the order in which they were bound. `[]` frees all.',
  ),
  ips: boundValues(
    address,
    'The bound addresses, in the order in which they were bound. `[]` frees all.',
  ),
  notes: textOrEmpty(10_000, 'For administrators.'),
  customer: setByService(
    customer.nullable(),
    'The owner, according to `customerId`, `customerEmail` or the owner fields; set by the service.',
  ),
};

/** A field that no response has. */
function writeOnly<Schema extends z.ZodType>(schema: Schema, description: string) {
  const sent = z.exactOptional(schema);
  return { create: sent, update: sent, wire: schema, description };
}

/** The fields of a body: those of a response, and the customer to whom the license belongs (3). */
export const licenseBodyFields = {
  ...licenseFields,
  customerId: writeOnly(
    id.nullable(),
    'The customer to whom the license belongs, in place of the owner fields. A token that may not read customers names only a customer with a license. In a PUT, null is nobody.',
  ),
  customerEmail: writeOnly(
    emailAddress.nullable(),
    'The e-mail of the customer to whom the license belongs. A customer with a new one is created.',
  ),
};

export const MAX_BATCH = 500;

/** The fields of a batch: those of a create, and how many. */
export const licenseBatchFields = {
  ...licenseBodyFields,
  count: required(
    z.int().min(1).max(MAX_BATCH),
    z.int(),
    'The number of licenses, each with a key of its own.',
  ),
};

export const licenseCreate = createBody(licenseBodyFields);
export const licenseBatch = createBody(licenseBatchFields);
export const licenseUpdate = updateBody(licenseBodyFields);
export const license = wireBody(licenseFields);

/** The query of a list of licenses: `expiresFrom` and `expiresTo` are both inclusive. */
export const licenseQuery = z.strictObject({
  ...pageQuery,
  licenseStatus: licenseStatus.optional(),
  licenseType: licenseType.optional(),
  productId: idText.optional(),
  q: searchText,
  expiresFrom: timestampText.optional(),
  expiresTo: timestampText.optional(),
  /** Licenses without any validation. */
  unused: booleanText.optional(),
  /** Licenses that were used before, but not within this number of days. */
  dormantDays: daysText.optional(),
  /** Licenses without a free slot for an address or for a hardware ID. */
  full: booleanText.optional(),
  sort: z.enum(['id', '-id', 'expiryDate', '-expiryDate']).optional(),
  total: booleanText.optional(),
});
export type LicenseQuery = z.infer<typeof licenseQuery>;

const toWire = wireMapper(licenseFields);

/** The values that responses show in another form than they are stored. */
export const wireValues = (values: LicenseValues, now: number) => ({
  expiryDate: toOptionalTimestamp(values.expiresAt),
  licenseStatus: statusAt(values, now),
  hwids: [...values.hwids],
  ips: [...values.ips],
});

/**
 * A license as responses show it.
 *
 * @param now milliseconds since 1970; the status depends on it
 */
export const toLicense = (row: LicenseRow, now: number) =>
  toWire({
    ...row,
    ...wireValues(row, now),
    productIdString: String(row.productId),
    createdDate: toTimestamp(row.createdAt),
    updatedDate: toTimestamp(row.updatedAt),
    customer: row.customer && toCustomer(row.customer),
  });
