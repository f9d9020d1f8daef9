import {
  index,
  integer,
  primaryKey,
  sqliteTable,
  text,
  uniqueIndex,
} from 'drizzle-orm/sqlite-core';

/** The codes by which a customer's page links an account at Discord (10): the newest one of each customer. */
export const discordLinkCodes = sqliteTable(
  'discord_link_codes',
  {
    customerId: integer('customer_id').primaryKey(),
    codeHash: text('code_hash').notNull(),
    expiresAt: integer('expires_at').notNull(),
  },
  (t) => [uniqueIndex('discord_link_codes_hash').on(t.codeHash)],
);

/** The interactions of the last minutes (10): each is handled once. Without a rowid. */
export const discordInteractions = sqliteTable(
  'discord_interactions',
  {
    id: text('id').primaryKey(),
    handledAt: integer('handled_at').notNull(),
  },
  (t) => [index('discord_interactions_handled').on(t.handledAt)],
);

/** The products of which an account at Discord has got its license by a role (10): one each. Without a rowid. */
export const discordClaims = sqliteTable(
  'discord_claims',
  {
    chatId: text('chat_id').notNull(),
    productId: integer('product_id').notNull(),
  },
  (t) => [primaryKey({ columns: [t.chatId, t.productId] })],
);

/** The roles that were given at Discord, or could not be given yet (10). Without a rowid. */
export const discordRoles = sqliteTable(
  'discord_roles',
  {
    chatId: text('chat_id').notNull(),
    roleId: text('role_id').notNull(),
    /** When it is next looked at whether a license still gives the role, or the role is tried again. */
    dueAt: integer('due_at').notNull(),
    /** False for a role that could not be given. */
    isGiven: integer('is_given', { mode: 'boolean' }).notNull().default(true),
  },
  (t) => [primaryKey({ columns: [t.chatId, t.roleId] }), index('discord_roles_due').on(t.dueAt)],
);
