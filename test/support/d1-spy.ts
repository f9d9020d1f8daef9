/** A statement as it was sent to D1. */
export interface SentStatement {
  sql: string;
  params: readonly unknown[];
  /** Undefined where D1's answer does not tell: `raw()` drops it. */
  meta: D1Meta | undefined;
}

/** The statements of each round trip: one, or those of a batch. */
export type RoundTrips = SentStatement[][];

type Property = string | symbol;

/** Reads a member of a platform object, whose methods must be called on the object itself. */
function member(target: object, property: Property): unknown {
  const value: unknown = Reflect.get(target, property);
  return typeof value === 'function' ? value.bind(target) : value;
}

/** The real database, with a list of what is sent to it. */
export function spyOnDatabase(db: D1Database): { spy: D1Database; roundTrips: RoundTrips } {
  const roundTrips: RoundTrips = [];
  const known = new WeakMap<D1PreparedStatement, [D1PreparedStatement, SentStatement]>();

  function unwrap(statement: D1PreparedStatement): [D1PreparedStatement, SentStatement] {
    const found = known.get(statement);
    if (!found) throw new Error('The statement was not prepared by the spy');
    return found;
  }

  function wrap(
    statement: D1PreparedStatement,
    sql: string,
    params: readonly unknown[] = [],
  ): D1PreparedStatement {
    const sent: SentStatement = { sql, params, meta: undefined };
    const proxy = new Proxy(statement, {
      get(target, property) {
        switch (property) {
          case 'bind':
            return (...values: unknown[]) => wrap(target.bind(...values), sql, values);
          case 'all':
          case 'run':
            return async () => {
              roundTrips.push([sent]);
              const result = await target.all();
              sent.meta = result.meta;
              return result;
            };
          case 'first':
          case 'raw':
            roundTrips.push([sent]);
            return member(target, property);
          default:
            return member(target, property);
        }
      },
    });
    known.set(proxy, [statement, sent]);
    return proxy;
  }

  const spy = new Proxy(db, {
    get(target, property) {
      switch (property) {
        case 'prepare':
          return (sql: string) => wrap(target.prepare(sql), sql);
        case 'batch':
          return async (statements: D1PreparedStatement[]) => {
            const pairs = statements.map(unwrap);
            roundTrips.push(pairs.map(([, sent]) => sent));
            const results = await target.batch(pairs.map(([statement]) => statement));
            pairs.forEach(([, sent], index) => {
              sent.meta = results[index]?.meta;
            });
            return results;
          };
        case 'exec':
        case 'withSession':
          throw new Error(`The spy does not know ${property}`);
        default:
          return member(target, property);
      }
    },
  });
  return { spy, roundTrips };
}
