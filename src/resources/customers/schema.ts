import * as z from 'zod';
import type { customers } from '../../db/schema';
import { accountId, id, ignored, mustNotBeSent, text } from '../../lib/fields';
import { toTimestamp, wireTimestamp } from '../../lib/time';

export type CustomerRow = typeof customers.$inferSelect;
/** What a client can set of a customer. */
export type CustomerValues = Omit<
  CustomerRow,
  'id' | 'emailNormalized' | 'otherAccountId' | 'createdAt' | 'revision'
>;

/** How e-mails are compared: without regard to case. */
export const normalizeEmail = (email: string): string => email.trim().toLowerCase();

const name = z.exactOptional(text(255).nullable());
const url = z.exactOptional(text(2048).nullable());
const account = z.exactOptional(
  accountId.nullable().transform((value) => (value === '' ? null : value)),
);
/** An e-mail as it is stored. */
export const email = z
  .string()
  .trim()
  .max(254)
  .regex(/^[^\s@\0]+@[^\s@\0]+$/, 'must be an e-mail address')
  .refine((value) => value.isWellFormed(), 'must be an e-mail address');

/** The body of PUT /api/v2/customers/{id}: a field left out keeps its value [4.8]. */
export const customerUpdate = z
  .strictObject({
    id: z.exactOptional(id),
    firstName: name,
    lastName: name,
    username: name,
    email: z.exactOptional(email.nullable()),
    phoneNumber: name,
    profilePictureUrl: url,
    passwordHash: mustNotBeSent,
    role: name,
    status: name,
    createdAt: ignored,
    lastLoginAt: mustNotBeSent,
    chatId: account,
    chatUsername: name,
    chatAvatarUrl: url,
    chatAccessToken: mustNotBeSent,
    chatRefreshToken: mustNotBeSent,
    chatTokenExpiry: mustNotBeSent,
    platformAId: account,
    platformAUsername: name,
    platformBId: account,
    platformBUsername: name,
    platformCId: account,
    platformCUsername: name,
    marketAId: account,
    marketAUsername: name,
    marketBId: account,
    marketBUsername: name,
  })
  .transform(
    ({
      passwordHash,
      createdAt,
      lastLoginAt,
      chatAccessToken,
      chatRefreshToken,
      chatTokenExpiry,
      ...changes
    }) => changes,
  );

const nullableText = z.string().nullable();

/** A customer on the wire [2.5]. */
export const customer = z.strictObject({
  id: z.int(),
  firstName: nullableText,
  lastName: nullableText,
  username: nullableText,
  email: nullableText,
  phoneNumber: nullableText,
  profilePictureUrl: nullableText,
  passwordHash: z.null(),
  role: nullableText,
  status: nullableText,
  createdAt: wireTimestamp,
  lastLoginAt: z.null(),
  chatId: nullableText,
  chatUsername: nullableText,
  chatAvatarUrl: nullableText,
  chatAccessToken: z.null(),
  chatRefreshToken: z.null(),
  chatTokenExpiry: z.null(),
  platformAId: nullableText,
  platformAUsername: nullableText,
  platformBId: nullableText,
  platformBUsername: nullableText,
  platformCId: nullableText,
  platformCUsername: nullableText,
  marketAId: nullableText,
  marketAUsername: nullableText,
  marketBId: nullableText,
  marketBUsername: nullableText,
});

export function toCustomer(row: CustomerRow): z.infer<typeof customer> {
  return {
    id: row.id,
    firstName: row.firstName,
    lastName: row.lastName,
    username: row.username,
    email: row.email,
    phoneNumber: row.phoneNumber,
    profilePictureUrl: row.profilePictureUrl,
    passwordHash: null,
    role: row.role,
    status: row.status,
    createdAt: toTimestamp(row.createdAt),
    lastLoginAt: null,
    chatId: row.chatId,
    chatUsername: row.chatUsername,
    chatAvatarUrl: row.chatAvatarUrl,
    chatAccessToken: null,
    chatRefreshToken: null,
    chatTokenExpiry: null,
    platformAId: row.platformAId,
    platformAUsername: row.platformAUsername,
    platformBId: row.platformBId,
    platformBUsername: row.platformBUsername,
    platformCId: row.platformCId,
    platformCUsername: row.platformCUsername,
    marketAId: row.marketAId,
    marketAUsername: row.marketAUsername,
    marketBId: row.marketBId,
    marketBUsername: row.marketBUsername,
  };
}
