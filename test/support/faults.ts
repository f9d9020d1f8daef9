import { interceptDatabase } from './d1-intercept';

/** What becomes of a round trip to the database. */
export type Fault =
  /** It fails before anything is executed. */
  | 'fails'
  /** It is executed, and the caller never learns of it. */
  | 'answer is lost'
  | null;

/** What a failure of D1 looks like by the time it is caught: it carries SQL and its values. */
export const databaseError = (sql: string): Error =>
  new Error(`D1_ERROR: Network connection lost. Failed query: ${sql} params: SECRET-VALUE`);

/**
 * The real database, whose round trips are disturbed on the way.
 *
 * @param faultOf says what becomes of a round trip, of which it sees all the SQL
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
    if (fault === 'answer is lost') throw databaseError(sql);
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

/** A database that nothing reaches. */
export const unreachable = (db: D1Database): D1Database =>
  new Proxy(db, {
    get: () => (sql: unknown) => {
      throw databaseError(String(sql));
    },
  });
