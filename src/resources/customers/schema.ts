import { MAIL_LANGUAGES } from '@licet/contract/mail-kinds';
import { sqliteTable, text } from 'drizzle-orm/sqlite-core';
import { createdAt, id, metadata, revision, uniqueUnlessNull } from '../../db/columns.ts';

/**
 * [2.5] without `passwordHash`, the chat tokens and the other fields of a login: Licet has no logins, and
 * secrets that are not stored cannot leak.
 * `otherAccountId` is the owner of licenses with platform OTHER. It is never on the wire.
 */
export const customers = sqliteTable(
  'customers',
  {
    id: id(),
    firstName: text('first_name'),
    lastName: text('last_name'),
    username: text('username'),
    email: text('email'),
    emailNormalized: text('email_normalized'),
    phoneNumber: text('phone_number'),
    profilePictureUrl: text('profile_picture_url'),
    role: text('role'),
    status: text('status'),
    chatId: text('chat_id'),
    chatUsername: text('chat_username'),
    chatAvatarUrl: text('chat_avatar_url'),
    platformAId: text('platform_a_id'),
    platformAUsername: text('platform_a_username'),
    platformBId: text('platform_b_id'),
    platformBUsername: text('platform_b_username'),
    platformCId: text('platform_c_id'),
    platformCUsername: text('platform_c_username'),
    marketAId: text('market_a_id'),
    marketAUsername: text('market_a_username'),
    marketBId: text('market_b_id'),
    marketBUsername: text('market_b_username'),
    otherAccountId: text('other_account_id'),
    createdAt: createdAt(),
    revision: revision(),
    metadata: metadata(),
    /** The last one on the customer's page, for mails (13); null before. */
    language: text('language', { enum: MAIL_LANGUAGES }),
  },
  (t) => [
    uniqueUnlessNull('customers_email', t.emailNormalized),
    uniqueUnlessNull('customers_chat', t.chatId),
    uniqueUnlessNull('customers_platform_a', t.platformAId),
    uniqueUnlessNull('customers_platform_b', t.platformBId),
    uniqueUnlessNull('customers_platform_c', t.platformCId),
    uniqueUnlessNull('customers_market_a', t.marketAId),
    uniqueUnlessNull('customers_market_b', t.marketBId),
    uniqueUnlessNull('customers_other', t.otherAccountId),
  ],
);
