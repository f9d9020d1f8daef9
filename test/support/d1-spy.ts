import { env } from 'cloudflare:workers';
import { expect } from 'vitest';
import { interceptDatabase, type SentStatement } from './d1-intercept.ts';

/** The statements of each round trip: one, or those of a batch. */
export type RoundTrips = (readonly SentStatement[])[];

/** The real database, with a list of what is sent to it. */
export function spyOnDatabase(db: D1Database): { spy: D1Database; roundTrips: RoundTrips } {
  const roundTrips: RoundTrips = [];
  const spy = interceptDatabase(db, (statements, send) => {
    const index = roundTrips.push(statements) - 1;
    return send().catch((error) => {
      // The statements behind the conditions were not executed.
      if (CONDITIONS.test(statements[0]?.sql ?? '')) roundTrips[index] = statements.slice(0, 1);
      throw error;
    });
  });
  return { spy, roundTrips };
}

/** The conditions of a change, which fail its batch. */
const CONDITIONS = /^insert into "violations" \("name"\) (?=select )/;

/**
 * The rows that a statement reads and writes. D1 does not report them for a single select, which is sent again, and for
 * a batch that fails, of which only the conditions count.
 */
export async function metaOf({ sql, params, meta }: SentStatement): Promise<D1Meta> {
  if (meta) return meta;
  const select = sql.replace(CONDITIONS, '');
  expect(select).toMatch(/^select /);
  const again = await env.DB.prepare(select)
    .bind(...params)
    .run();
  return again.meta;
}

/** The rows that statements have read and written. */
export async function sumRows(statements: readonly SentStatement[]) {
  const metas = await Promise.all(statements.map(metaOf));
  return {
    read: metas.reduce((sum, { rows_read }) => sum + rows_read, 0),
    written: metas.reduce((sum, { rows_written }) => sum + rows_written, 0),
  };
}
