import { DAY_MS, HOUR_MS } from '@licet/contract/durations';
import { type SQL, sql } from 'drizzle-orm';
import { removeOld } from '../db/remove-old.ts';
import type { Task } from '../db/task.ts';
import { LOOK_AFTER_ROLES } from './discord/roles.ts';
import { discordInteractions, discordLinkCodes, discordRoles } from './discord/schema.ts';
import { mails } from './mail/schema.ts';
import { pageLinks, pageSessions, portalCodes, portalSessions } from './portal/schema.ts';

const KEPT_MAILS_MS = 30 * DAY_MS;

/**
 * Removes old links, sessions, codes, mails and interactions, and finds out whether a role at Discord is due (10). A link is kept
 * for a day after its end, so that its customer reads that it has expired. Costs one query if there is nothing to do.
 */
export const LOOK_AFTER_CUSTOMERS: Task = {
  failure: 'Links, sessions, mails and interactions of customers were not looked after',
  most: 8,
  dueSince: () => sql`select min(due_at) from ${discordRoles}`,
  async run({ db, now, add }) {
    const old = [
      { table: pageLinks, key: sql`code_hash`, isOld: sql`expires_at <= ${now - DAY_MS}` },
      { table: pageSessions, key: sql`session_hash`, isOld: sql`created_at <= ${now - DAY_MS}` },
      { table: discordLinkCodes, key: sql`customer_id`, isOld: sql`expires_at <= ${now}` },
      { table: mails, key: sql`id`, isOld: sql`created_at <= ${now - KEPT_MAILS_MS}` },
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
    for (const { table, key, isOld } of due.old ? [...old, ...ofVersionBefore] : []) {
      await removeOld(db, table, key, isOld);
    }
    if (due.roles) add(LOOK_AFTER_ROLES);
  },
};
