import { toTimestamp } from '@licet/contract/time';
import * as z from 'zod';
import type { customers } from '../../db/schema.ts';
import { accountId } from '../../lib/fields.ts';
import {
  alwaysNull,
  createBody,
  objectId,
  optional,
  systemTime,
  textOrNull,
  updateBody,
  webAddressOrNull,
  wireBody,
  wireMapper,
} from '../fields.ts';

export type CustomerRow = typeof customers.$inferSelect;
/** The columns that a client sets. */
export type CustomerValues = Omit<
  CustomerRow,
  'id' | 'emailNormalized' | 'otherAccountId' | 'createdAt' | 'revision'
>;

/** The columns that are not about the person. */
export const KEPT_COLUMNS: readonly string[] = ['id', 'createdAt', 'revision'];

/** Whether nothing identifies a customer, as after the person was forgotten (6). */
export const isForgotten = (row: CustomerRow): boolean =>
  Object.entries(row).every(([name, value]) => KEPT_COLUMNS.includes(name) || value === null);

/** An e-mail in the form in which e-mails are compared: without regard to case. */
export const normalizeEmail = (email: string): string => email.trim().toLowerCase();

/** An e-mail. */
export const emailAddress = z
  .string()
  .trim()
  .max(254)
  .regex(/^[^\s@\0]+@[^\s@\0]+$/, 'must be an e-mail address')
  .refine((value) => value.isWellFormed(), 'must be an e-mail address');

const email = emailAddress.nullable();

const account = accountId.nullable().transform((value) => value || null);

/** An account belongs to one customer at most: empty text is no account. */
const accountOf = (description: string) =>
  optional(account.default(null), account, z.string().nullable(), description);

const platformId = accountOf('Account on the platform or market: its id.');
const platformUsername = textOrNull(255, 'Account on the platform or market: its name.');

/** [2.5] A customer is created with a license too. */
export const customerFields = {
  id: objectId(),
  firstName: textOrNull(255, 'First name.'),
  lastName: textOrNull(255, 'Last name.'),
  username: textOrNull(255, 'Name of the account.'),
  email: optional(
    email.default(null),
    email,
    z.string().nullable(),
    'Unique without regard to case.',
  ),
  phoneNumber: textOrNull(255, 'Free text.'),
  profilePictureUrl: webAddressOrNull('Address of a picture.'),
  passwordHash: alwaysNull,
  role: textOrNull(255, 'Free text.'),
  status: textOrNull(255, 'Free text.'),
  createdAt: systemTime,
  lastLoginAt: alwaysNull,
  chatId: accountOf('Account on the chat service: its id.'),
  chatUsername: textOrNull(255, 'Account on the chat service: its name.'),
  chatAvatarUrl: webAddressOrNull('Account on the chat service: its picture.'),
  chatAccessToken: alwaysNull,
  chatRefreshToken: alwaysNull,
  chatTokenExpiry: alwaysNull,
  platformAId: platformId,
  platformAUsername: platformUsername,
  platformBId: platformId,
  platformBUsername: platformUsername,
  platformCId: platformId,
  platformCUsername: platformUsername,
  marketAId: platformId,
  marketAUsername: platformUsername,
  marketBId: platformId,
  marketBUsername: platformUsername,
};

export const CUSTOMER_ADDRESSES = ['profilePictureUrl', 'chatAvatarUrl'] as const;

export const customerCreate = createBody(customerFields);
export const customerUpdate = updateBody(customerFields);
export const customer = wireBody(customerFields);

const toWire = wireMapper(customerFields);

/** A customer as responses show it. Logins and their secrets are not stored. */
export const toCustomer = (row: CustomerRow) =>
  toWire({
    ...row,
    createdAt: toTimestamp(row.createdAt),
    passwordHash: null,
    lastLoginAt: null,
    chatAccessToken: null,
    chatRefreshToken: null,
    chatTokenExpiry: null,
  });
