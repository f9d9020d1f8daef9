/** A statement as it is sent to D1. */
export interface SentStatement {
  sql: string;
  params: readonly unknown[];
  /** Undefined until D1 has responded, and for a single select. */
  meta: D1Meta | undefined;
}

/** Sees the statements of a round trip, one or those of a batch, and decides when they are sent. */
export type Interceptor = <Result>(
  statements: readonly SentStatement[],
  send: () => Promise<Result>,
) => Promise<Result>;

let sending = 0;

/** Whether a round trip to the real database or the real KV is under way. */
export const isSending = (): boolean => sending > 0;

/** Makes a round trip that {@link isSending} sees. */
export async function counted<Result>(send: () => Promise<Result>): Promise<Result> {
  sending++;
  try {
    return await send();
  } finally {
    sending--;
  }
}

/**
 * The rows of a statement. `raw()` drops what they cost: a select can be sent again for it, and a write has columns of
 * different names.
 */
async function sendForRows(statement: D1PreparedStatement, sent: SentStatement) {
  if (sent.sql.startsWith('select ')) return statement.raw();
  const { results, meta } = await statement.all();
  sent.meta = meta;
  return results.map((row) => Object.values(row));
}

/** The real database, each of whose round trips goes through an interceptor. */
export function interceptDatabase(db: D1Database, interceptor: Interceptor): D1Database {
  const intercept: Interceptor = (statements, send) => interceptor(statements, () => counted(send));
  const known = new WeakMap<D1PreparedStatement, [D1PreparedStatement, SentStatement]>();

  function unwrap(statement: D1PreparedStatement): [D1PreparedStatement, SentStatement] {
    const found = known.get(statement);
    if (!found) throw new Error('The statement belongs to another database');
    return found;
  }

  function wrap(
    statement: D1PreparedStatement,
    sql: string,
    params: readonly unknown[] = [],
  ): D1PreparedStatement {
    const sent: SentStatement = { sql, params, meta: undefined };
    const sendForAll = async () => {
      const result = await statement.all();
      sent.meta = result.meta;
      return result;
    };
    const proxy = new Proxy(statement, {
      get(_, property) {
        switch (property) {
          case 'bind':
            return (...values: unknown[]) => wrap(statement.bind(...values), sql, values);
          case 'all':
          case 'run':
            return () => intercept([sent], sendForAll);
          case 'raw':
            return () => intercept([sent], () => sendForRows(statement, sent));
          default:
            throw new Error(`A statement's ${String(property)} is not intercepted`);
        }
      },
    });
    known.set(proxy, [statement, sent]);
    return proxy;
  }

  function batch(statements: D1PreparedStatement[]): Promise<D1Result[]> {
    const pairs = statements.map(unwrap);
    return intercept(
      pairs.map(([, sent]) => sent),
      async () => {
        const results = await db.batch(pairs.map(([statement]) => statement));
        pairs.forEach(([, sent], index) => {
          sent.meta = results[index]?.meta;
        });
        return results;
      },
    );
  }

  return new Proxy(db, {
    get(_, property) {
      switch (property) {
        case 'prepare':
          return (sql: string) => wrap(db.prepare(sql), sql);
        case 'batch':
          return batch;
        default:
          throw new Error(`The database's ${String(property)} is not intercepted`);
      }
    },
  });
}
