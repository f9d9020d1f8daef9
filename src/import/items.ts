import * as z from 'zod';
import { ApiError } from '../http/errors';
import {
  accountId,
  booleanText,
  describeError,
  id,
  licenseDataType,
  licensePlatform,
  licenseStatus,
  licenseType,
  limit,
  parseFields,
  productType,
  text,
} from '../lib/fields';
import { isObject, type JsonObject } from '../lib/json';
import { timestamp } from '../lib/time';
import { email } from '../resources/customers/schema';
import { normalizeLicenseKey } from '../resources/licenses/key';

/**
 * The items of an import: what GET answers for a resource, here or from another service of this
 * interface, or a row of a table. So they are taken more leniently than the bodies of POST and PUT:
 * null and empty text count as absent, a number may be written as text, and what is not known is
 * ignored. The values are held to the same rules.
 */

export const isBlank = (value: unknown): boolean =>
  value === undefined || value === null || value === '';

const withoutBlanks = (value: unknown): unknown =>
  isObject(value)
    ? Object.fromEntries(Object.entries(value).filter(([, field]) => !isBlank(field)))
    : value;

const readNumber = (value: unknown): unknown =>
  typeof value === 'string' && /^-?\d+(\.0+)?$/.test(value.trim()) ? Number(value) : value;

const number = <Schema extends z.ZodType>(schema: Schema) => z.preprocess(readNumber, schema);

const textOrEmpty = (maxLength: number) => text(maxLength).default('');
const textOrNull = (maxLength: number) => text(maxLength).nullable().default(null);
const account = accountId
  .transform((value) => value || null)
  .nullable()
  .default(null);

const MAX_ID = 2 ** 48;
/** An id to be kept: the next one that the database gives out is above it, and must be exact as well. */
const importId = id.max(MAX_ID);

export const productItem = z.object({
  id: number(importId),
  name: text(255).trim().min(1),
  description: textOrEmpty(10_000),
  productType,
  productTypeOther: textOrEmpty(255),
  createdDate: timestamp.optional(),
  updatedDate: timestamp.optional(),
  defaultMaxIPs: number(limit).optional(),
  defaultMaxHWIDs: number(limit).optional(),
  roleId: account,
  purchaseRoleId: account,
  url: textOrNull(2048),
  imageUrl: textOrNull(2048),
});

/** Secrets, and what belongs to a login, are not among the fields: they are ignored (3). */
export const customerItem = z.object({
  id: number(importId).optional(),
  firstName: textOrNull(255),
  lastName: textOrNull(255),
  username: textOrNull(255),
  email: email.nullable().default(null),
  phoneNumber: textOrNull(255),
  profilePictureUrl: textOrNull(2048),
  role: textOrNull(255),
  status: textOrNull(255),
  createdAt: timestamp.optional(),
  chatId: account,
  chatUsername: textOrNull(255),
  chatAvatarUrl: textOrNull(2048),
  platformAId: account,
  platformAUsername: textOrNull(255),
  platformBId: account,
  platformBUsername: textOrNull(255),
  platformCId: account,
  platformCUsername: textOrNull(255),
  marketAId: account,
  marketAUsername: textOrNull(255),
  marketBId: account,
  marketBUsername: textOrNull(255),
});
export type CustomerItem = z.infer<typeof customerItem>;

export const licenseItem = z.object({
  id: number(importId).optional(),
  licenseKey: text(255).refine((key) => normalizeLicenseKey(key) !== '', 'must not be empty'),
  productId: number(id),
  productIdString: z.unknown().optional(),
  licenseType,
  licensePlatform: licensePlatform.nullable().default(null),
  licensePlatformOther: textOrEmpty(255),
  ownerPlatformId: accountId.default(''),
  createdDate: timestamp.optional(),
  updatedDate: timestamp.optional(),
  expiryDate: timestamp.nullable().default(null),
  maxIPs: number(limit).optional(),
  maxHWIDs: number(limit).optional(),
  totalRequests: number(z.int().min(0)).default(0),
  ownerChatId: accountId.default(''),
  ownerChatUsername: textOrEmpty(255),
  licenseStatus: licenseStatus.default('ACTIVE'),
  hwids: z.array(z.string()).default([]),
  ips: z.array(z.string()).default([]),
  notes: textOrEmpty(10_000),
  customer: z.preprocess(withoutBlanks, customerItem).optional(),
});

export const blacklistItem = z.object({
  id: number(importId).optional(),
  licenseDataType,
  data: text(512).trim().min(1),
  isForAllProducts: z
    .union([z.boolean(), booleanText], { error: 'must be true or false' })
    .optional(),
  productId: number(id).nullable().default(null),
  reason: textOrEmpty(1000),
  createdAt: timestamp.optional(),
  updatedAt: timestamp.optional(),
});

/** An item that can be stored, with what was sent: a field that was not sent differs from nothing. */
export interface Item<Values> {
  values: Values;
  sent: JsonObject;
}

/**
 * An item as its schema has it.
 *
 * @returns the reason, where it cannot be stored
 */
export function readItem<Schema extends z.ZodObject>(
  schema: Schema,
  sent: unknown,
): Item<z.infer<Schema>> | string {
  if (!isObject(sent)) return 'must be an object';
  const { data, error } = parseFields(schema, withoutBlanks(sent));
  return error ? describeError(error) : { values: data, sent };
}

/** What a rule that holds for POST, too, has against an item; undefined where it has nothing. */
export function refusalOf(error: unknown): string {
  if (error instanceof ApiError) return error.message;
  throw error;
}

const MAX_NAME_LENGTH = 100;

/** Collects the names of fields that hold something and are not taken. */
export function collectIgnored(names: Set<string>, schema: z.ZodObject, sent: unknown): void {
  if (!isObject(sent)) return;
  for (const [name, value] of Object.entries(sent)) {
    if (isBlank(value)) continue;
    if (!Object.hasOwn(schema.shape, name)) names.add(name.slice(0, MAX_NAME_LENGTH));
  }
}
