import { gte, lt, sql } from 'drizzle-orm';
import type { Database } from '../db/client.ts';
import { bucketOfIdSql } from '../db/records.ts';
import { removeOld } from '../db/remove-old.ts';
import { firstIdAt } from '../lib/time-id.ts';
import { gaps } from './schema.ts';

/** Gaps in the history: requests that were given up because D1 did not respond, or rejected them (1.6). */

/** Requests given up by an isolate. `id` is that of the first one. */
export interface Gap {
  id: number;
  requests: number;
}

/** Stores a gap, or the higher number of a gap that is stored already. */
export const storeGap = (db: Database, gap: Gap) =>
  db
    .insert(gaps)
    .values(gap)
    .onConflictDoUpdate({
      target: gaps.id,
      set: { requests: sql`max(${gaps.requests}, excluded.requests)` },
    });

/** The gaps of a period, by bucket. Both ends are milliseconds since 1970; the last one is excluded. */
export const readGaps = (db: Database, from: number, end: number) =>
  db
    .select({
      bucket: sql<number>`${bucketOfIdSql(sql`${gaps.id}`)}`.as('gap_bucket'),
      requests: sql<number>`sum(${gaps.requests})`.as('given_up'),
    })
    .from(gaps)
    .where(sql`${gte(gaps.id, firstIdAt(from))} and ${lt(gaps.id, firstIdAt(end))}`)
    .groupBy(sql`1`)
    .orderBy(sql`1`);

export const removeGaps = (db: Database, before: number) =>
  removeOld(db, gaps, sql`id`, lt(gaps.id, firstIdAt(before)));
