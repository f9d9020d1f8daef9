import { DAY_MS, HOUR_MS } from '@licet/contract/durations';
import { type SQL, sql } from 'drizzle-orm';
import type { Database } from '../db/client.ts';
import {
  discordInteractions,
  discordLinkCodes,
  discordRoles,
  pageLinks,
  pageSessions,
  portalCodes,
  portalSessions,
} from '../db/schema.ts';

/** The work of the scheduled handler for the customer's page and Discord (10). */

/** Rows of a table that one run removes; the next run goes on. */
const MAX_REMOVED = 1_000;

/** The queries of a run, at most. */
export const SELF_SERVICE_QUERIES = 7;

/**
 * Removes old links, sessions, codes and interactions. A link is known for a day after its end, to be told from a wrong
 * one. Costs one query if there is nothing to do.
 *
 * @param now milliseconds since 1970
 * @returns whether a role at Discord is to be looked at
 */
export async function lookAfterCustomers(db: Database, now: number): Promise<boolean> {
  const old = [
    { table: pageLinks, key: sql`code_hash`, isOld: sql`expires_at <= ${now - DAY_MS}` },
    { table: pageSessions, key: sql`session_hash`, isOld: sql`created_at <= ${now - DAY_MS}` },
    { table: discordLinkCodes, key: sql`customer_id`, isOld: sql`expires_at <= ${now}` },
    { table: discordInteractions, key: sql`id`, isOld: sql`handled_at <= ${now - HOUR_MS}` },
  ];
  // Beside the others, so that an idle minute does not look at them.
  const ofVersionBefore = [
    { table: portalCodes, key: sql`code_hash`, isOld: sql`created_at <= ${now - DAY_MS}` },
    { table: portalSessions, key: sql`session_hash`, isOld: sql`created_at <= ${now - DAY_MS}` },
  ];
  const isThere = (table: object, where: SQL): SQL =>
    sql`exists (select 1 from ${table} where ${where})`;
  const due = await db.get<{ roles: number; old: number }>(
    sql`select ${isThere(discordRoles, sql`due_at <= ${now}`)} as roles,
      ${sql.join(
        old.map(({ table, isOld }) => isThere(table, isOld)),
        sql` or `,
      )} as old`,
  );
  if (due.old) {
    for (const { table, key, isOld } of [...old, ...ofVersionBefore]) {
      await db
        .delete(table)
        .where(sql`${key} in (select ${key} from ${table} where ${isOld} limit ${MAX_REMOVED})`);
    }
  }
  return due.roles === 1;
}
