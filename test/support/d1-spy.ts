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
