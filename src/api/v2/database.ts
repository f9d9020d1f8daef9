import type { Context } from 'hono';
import type { AuthEnv } from '../../auth/middleware';
import { type Database, openDatabase } from '../../db/client';

/** The database for a handler: from then on its request waits for nothing else. */
export function databaseOf(c: Context<AuthEnv>): Database {
  c.get('visit').enterDatabase();
  return openDatabase(c.env.DB);
}
