import type { Context } from 'hono';
import type { AuthEnv } from '../../auth/middleware.ts';
import type { Database } from '../../db/client.ts';
import { isolateOf } from '../../isolate.ts';

/** The database, for a handler that only reads. The rest of its time counts as time in the database. */
export function databaseOf(c: Context<AuthEnv>): Database {
  c.get('timings').startDatabase();
  return isolateOf(c.env).db;
}
