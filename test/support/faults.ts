import { env } from 'cloudflare:workers';
import { interceptDatabase } from './d1-intercept.ts';

/** The fault of a round trip to the database; null for none. */
export type Fault =
  /** It fails before anything is executed. */
  | 'fails'
  /** It is executed, but the caller gets an error. */
  | 'response is lost'
  | null;

/** A failure of D1 as it is caught: with the SQL and its values in the message. */
export const databaseError = (sql: string): Error =>
  new Error(`D1_ERROR: Network connection lost. Failed query: ${sql} params: SECRET-VALUE`);

/**
 * The real database, with faults on the way to it.
 *
 * @param faultOf returns the fault of a round trip, from all of its SQL
 */
export const withFaults = (
  db: D1Database,
  faultOf: (sql: string) => Fault | Promise<Fault>,
): D1Database =>
  interceptDatabase(db, async (statements, send) => {
    const sql = statements.map((statement) => statement.sql).join(';\n');
    const fault = await faultOf(sql);
    if (fault === 'fails') throw databaseError(sql);
    const result = await send();
    if (fault === 'response is lost') throw databaseError(sql);
    return result;
  });

/** The real database, in which something happens once: just before the first write reaches it. */
export function beforeFirstWrite(db: D1Database, happen: () => Promise<unknown>): D1Database {
  let hasHappened = false;
  return withFaults(db, async (sql) => {
    const isWrite = /^(insert|update|delete) /m.test(sql);
    if (isWrite && !hasHappened) {
      hasHappened = true;
      await happen();
    }
    return null;
  });
}

/** Takes a table away from the service while something runs. */
export async function withoutTable(table: string, run: () => Promise<void>): Promise<void> {
  await env.DB.prepare(`alter table ${table} rename to hidden_${table}`).run();
  try {
    await run();
  } finally {
    await env.DB.prepare(`alter table hidden_${table} rename to ${table}`).run();
  }
}

/** A database that nothing reaches. */
export const unreachable = (db: D1Database): D1Database =>
  new Proxy(db, {
    get: () => (sql: unknown) => {
      throw databaseError(String(sql));
    },
  });
