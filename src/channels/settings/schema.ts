import { sqliteTable, text } from 'drizzle-orm/sqlite-core';
import { revision, updatedAt } from '../../db/columns.ts';

/** Settings of the service that administrators change while it runs (10). Without a rowid. */
export const settings = sqliteTable('settings', {
  name: text('name', { enum: ['portal', 'discord', 'mail'] }).primaryKey(),
  /** JSON of the fields. */
  value: text('value').notNull(),
  updatedAt: updatedAt(),
  revision: revision(),
});
