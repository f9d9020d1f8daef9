/** What becomes of a round trip to the database. */
export type Fault =
  /** It fails before anything is executed. */
  | 'fails'
  /** It is executed, and the caller never learns of it. */
  | 'answer is lost'
  | null;

/** What a failure of D1 looks like by the time it is caught: it carries SQL and its values. */
const databaseError = (sql: string): Error =>
  new Error(`D1_ERROR: Network connection lost. Failed query: ${sql} params: SECRET-VALUE`);

/**
 * The real database, whose batches are disturbed on the way.
 *
 * @param faultOf says what becomes of a batch, of which it sees all the SQL
 */
export function withFaults(
  db: D1Database,
  faultOf: (sql: string) => Fault | Promise<Fault>,
): D1Database {
  let prepared: string[] = [];

  async function batch(statements: D1PreparedStatement[]): Promise<D1Result[]> {
    const sql = prepared.join(';\n');
    prepared = [];
    const fault = await faultOf(sql);
    if (fault === 'fails') throw databaseError(sql);
    const results = await db.batch(statements);
    if (fault === 'answer is lost') throw databaseError(sql);
    return results;
  }

  function prepare(sql: string): D1PreparedStatement {
    prepared.push(sql);
    return db.prepare(sql);
  }

  return new Proxy(db, {
    get(target, property) {
      if (property === 'batch') return batch;
      if (property === 'prepare') return prepare;
      return Reflect.get(target, property);
    },
  });
}

/** A database that nothing reaches. */
export const unreachable = (db: D1Database): D1Database =>
  new Proxy(db, {
    get: () => (sql: unknown) => {
      throw databaseError(String(sql));
    },
  });
