import { DAY_MS, MINUTE_MS } from '@licet/contract/durations';
import { type SQL, sql } from 'drizzle-orm';
import { batch, type Database, type Statement } from '../db/client.ts';
import { counters, events } from '../db/schema.ts';
import type { Task } from '../db/task.ts';
import { firstIdAt, SLOTS } from '../lib/time-id.ts';
import { licenses } from '../resources/licenses/schema.ts';
import { MAX_RAISED, raise } from './alerts.ts';

/** The alerts about expiries: those that were crossed since a counter (8). */

/** The expiries are read from this long ago, because a counter that moves each minute costs a row a minute. */
const CHECK_MS = 15 * MINUTE_MS;

const DAY = sql.raw(String(DAY_MS));
const CHECKED_AT = sql`(select value from counters where name = 'expiries_checked_at')`;

/**
 * Selects active licenses that expired, or will do so in a day or in seven, since the last check. After a pause of the
 * service each has one event, by the last of these times. A license that was created after such a time is left out.
 */
function selectExpiries(now: number): SQL {
  // The expiry of a license that waits for its first use is far away.
  const times = sql`(values
    ('license.expired', 0, ${-now}),
    ('license.expiring', ${DAY}, 0),
    ('license.expiring', 7 * ${DAY}, ${DAY}))`;
  return sql`
    select l.id as license_id, w.column1 as type,
      (l.expires_at - w.column2) / ${DAY} * ${DAY} as covered_from,
      json_object('expiryDate', json_object('before', null, 'after',
        strftime('%Y-%m-%dT%H:%M:%f+00:00', l.expires_at / 1000.0, 'unixepoch'))) as changes
    from ${times} w cross join ${licenses} l
      on l.expires_at > max(${CHECKED_AT} + w.column2, ${now} + w.column3)
      and l.expires_at <= ${now} + w.column2
    where +l.state = 'ACTIVE' and l.created_at < l.expires_at - w.column2`;
}

/** Makes the statement that stores the mails for the alerts of a millisecond (13). */
type StoreReminders = (db: Database, now: number) => Statement;

/**
 * Raises the alerts about expiries that are due, a bounded number of them. The first run begins: nothing is raised for the
 * past. Safe to run twice at once.
 *
 * @param now milliseconds since 1970
 * @param storeReminders null for a service that sends no mails
 */
async function raiseExpiries(
  db: Database,
  now: number,
  storeReminders: StoreReminders | null,
): Promise<void> {
  const first = firstIdAt(now);
  const raised = sql`(select count(*) from ${events} where id >= ${first} and id < ${first + SLOTS}
    and type in ('license.expired', 'license.expiring'))`;
  await batch(db, {
    begun: db
      .insert(counters)
      .select(sql`values ('alerts_since', ${now}), ('expiries_checked_at', ${now})`)
      .onConflictDoNothing(),
    ...raise(db, selectExpiries(now), now),
    reminders: storeReminders ? [storeReminders(db, now)] : [],
    checked: db
      .update(counters)
      .set({ value: now })
      .where(
        sql`name = 'expiries_checked_at' and ${raised} < ${MAX_RAISED}
          and (value <= ${now - CHECK_MS} or ${raised} > 0 and value < ${now})`,
      ),
  });
}

/** @param storeReminders null for a service that sends no mails */
export const raiseExpiriesTask = (storeReminders: StoreReminders | null): Task => ({
  failure: 'Events about expiries were not made',
  most: storeReminders ? 6 : 5,
  run: ({ db, now }) => raiseExpiries(db, now, storeReminders),
});
