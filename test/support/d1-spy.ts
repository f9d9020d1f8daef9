import { env } from 'cloudflare:workers';
import { expect } from 'vitest';
import { interceptDatabase, type SentStatement } from './d1-intercept';

/** The statements of each round trip: one, or those of a batch. */
export type RoundTrips = (readonly SentStatement[])[];

/** The real database, with a list of what is sent to it. */
export function spyOnDatabase(db: D1Database): { spy: D1Database; roundTrips: RoundTrips } {
  const roundTrips: RoundTrips = [];
  const spy = interceptDatabase(db, (statements, send) => {
    roundTrips.push(statements);
    return send();
  });
  return { spy, roundTrips };
}

/** What a statement has read and written. D1 does not say it of a single select: it is sent again. */
export async function metaOf({ sql, params, meta }: SentStatement): Promise<D1Meta> {
  if (meta) return meta;
  expect(sql).toMatch(/^select /);
  const again = await env.DB.prepare(sql)
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
