import * as z from 'zod';
import type { licenses } from '../../db/schema';
import {
  accountId,
  address,
  clearableText,
  hardwareId,
  id,
  ignored,
  licensePlatform,
  licenseStatus,
  licenseType,
  limit,
  mustNotBeSent,
  text,
} from '../../lib/fields';
import { timestamp, toOptionalTimestamp, toTimestamp, wireTimestamp } from '../../lib/time';
import { type CustomerRow, customer, toCustomer } from '../customers/schema';
import { statusAt } from './status';

/** A license with what belongs to it in other tables. */
export type LicenseRow = typeof licenses.$inferSelect & {
  ips: readonly string[];
  hwids: readonly string[];
  totalRequests: number;
  customer: CustomerRow | null;
};

/** What a client can set of a license. */
export type LicenseValues = Omit<
  LicenseRow,
  | 'id'
  | 'licenseKey'
  | 'licenseKeyNormalized'
  | 'pastRequests'
  | 'totalRequests'
  | 'customerId'
  | 'customer'
  | 'createdAt'
  | 'updatedAt'
  | 'revision'
>;

/** What is set of a stored license. */
export const valuesOf = (row: LicenseRow): LicenseValues => ({
  productId: row.productId,
  licenseType: row.licenseType,
  licensePlatform: row.licensePlatform,
  licensePlatformOther: row.licensePlatformOther,
  ownerPlatformId: row.ownerPlatformId,
  ownerChatId: row.ownerChatId,
  ownerChatUsername: row.ownerChatUsername,
  expiresAt: row.expiresAt,
  maxIPs: row.maxIPs,
  maxHWIDs: row.maxHWIDs,
  state: row.state,
  notes: row.notes,
  ips: row.ips,
  hwids: row.hwids,
});

const distinct = (values: readonly string[]): string[] => [...new Set(values)];

const fields = {
  productId: id,
  licenseType,
  licensePlatform: licensePlatform.nullable(),
  licensePlatformOther: clearableText(255),
  ownerPlatformId: accountId.nullable().transform((value) => value ?? ''),
  expiryDate: timestamp.nullable(),
  maxIPs: limit,
  maxHWIDs: limit,
  ownerChatId: accountId.nullable().transform((value) => value ?? ''),
  ownerChatUsername: clearableText(255),
  licenseStatus,
  ips: z.array(address).transform(distinct),
  hwids: z.array(hardwareId).transform(distinct),
  notes: clearableText(10_000),
};

/** The body of POST /api/v2/licenses [4.3]. */
export const licenseCreate = z
  .strictObject({
    id: mustNotBeSent,
    licenseKey: mustNotBeSent,
    createdDate: mustNotBeSent,
    updatedDate: mustNotBeSent,
    customer: mustNotBeSent,
    productIdString: ignored,
    totalRequests: ignored,
    ...fields,
    licensePlatform: fields.licensePlatform.default(null),
    licensePlatformOther: fields.licensePlatformOther.default(''),
    ownerPlatformId: fields.ownerPlatformId.default(''),
    expiryDate: fields.expiryDate.default(null),
    maxIPs: fields.maxIPs.nullable().default(null),
    maxHWIDs: fields.maxHWIDs.nullable().default(null),
    ownerChatId: fields.ownerChatId.default(''),
    ownerChatUsername: fields.ownerChatUsername.default(''),
    licenseStatus: fields.licenseStatus.default('ACTIVE'),
    ips: fields.ips.default([]),
    hwids: fields.hwids.default([]),
    notes: fields.notes.default(''),
  })
  .transform(
    ({
      id,
      licenseKey,
      createdDate,
      updatedDate,
      customer,
      productIdString,
      totalRequests,
      ...values
    }) => values,
  );

/** The body of PUT /api/v2/licenses/{id}: a field left out keeps its value [4.8]. */
export const licenseUpdate = z
  .strictObject({
    id: z.exactOptional(id),
    licenseKey: z.exactOptional(text(255)),
    createdDate: ignored,
    updatedDate: ignored,
    customer: ignored,
    productIdString: ignored,
    totalRequests: ignored,
    productId: z.exactOptional(fields.productId),
    licenseType: z.exactOptional(fields.licenseType),
    licensePlatform: z.exactOptional(fields.licensePlatform),
    licensePlatformOther: z.exactOptional(fields.licensePlatformOther),
    ownerPlatformId: z.exactOptional(fields.ownerPlatformId),
    expiryDate: z.exactOptional(fields.expiryDate),
    maxIPs: z.exactOptional(fields.maxIPs),
    maxHWIDs: z.exactOptional(fields.maxHWIDs),
    ownerChatId: z.exactOptional(fields.ownerChatId),
    ownerChatUsername: z.exactOptional(fields.ownerChatUsername),
    licenseStatus: z.exactOptional(fields.licenseStatus),
    ips: z.exactOptional(fields.ips),
    hwids: z.exactOptional(fields.hwids),
    notes: z.exactOptional(fields.notes),
  })
  .transform(
    ({ createdDate, updatedDate, customer, productIdString, totalRequests, ...changes }) => changes,
  );

/** A license on the wire [2.2]. */
export const license = z.strictObject({
  id: z.int(),
  licenseKey: z.string(),
  productId: z.int(),
  productIdString: z.string(),
  licenseType,
  licensePlatform: licensePlatform.nullable(),
  licensePlatformOther: z.string(),
  ownerPlatformId: z.string(),
  createdDate: wireTimestamp,
  updatedDate: wireTimestamp,
  expiryDate: wireTimestamp.nullable(),
  maxIPs: z.int(),
  maxHWIDs: z.int(),
  totalRequests: z.int(),
  ownerChatId: z.string(),
  ownerChatUsername: z.string(),
  licenseStatus,
  hwids: z.array(z.string()),
  ips: z.array(z.string()),
  notes: z.string(),
  customer: customer.nullable(),
});

/** @param now milliseconds since 1970; the status depends on it */
export function toLicense(row: LicenseRow, now: number): z.infer<typeof license> {
  return {
    id: row.id,
    licenseKey: row.licenseKey,
    productId: row.productId,
    productIdString: String(row.productId),
    licenseType: row.licenseType,
    licensePlatform: row.licensePlatform,
    licensePlatformOther: row.licensePlatformOther,
    ownerPlatformId: row.ownerPlatformId,
    createdDate: toTimestamp(row.createdAt),
    updatedDate: toTimestamp(row.updatedAt),
    expiryDate: toOptionalTimestamp(row.expiresAt),
    maxIPs: row.maxIPs,
    maxHWIDs: row.maxHWIDs,
    totalRequests: row.totalRequests,
    ownerChatId: row.ownerChatId,
    ownerChatUsername: row.ownerChatUsername,
    licenseStatus: statusAt(row, now),
    hwids: [...row.hwids],
    ips: [...row.ips],
    notes: row.notes,
    customer: row.customer && toCustomer(row.customer),
  };
}
