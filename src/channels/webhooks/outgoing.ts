import { MINUTE_MS } from '@licet/contract/durations';
import { type SQL, sql } from 'drizzle-orm';
import type { StoringDeliveries } from '../../db/change.ts';
import type { Database } from '../../db/client.ts';
import { rowValues } from '../../db/predicates.ts';
import { firstIdAt, SLOTS } from '../../lib/time-id.ts';
import { deliveries } from './schema.ts';

/**
 * The deliveries of events to webhooks (8). The batch of an event also stores its deliveries, so that neither is stored
 * without the other.
 */

/**
 * The time that an attempt has a delivery for itself: longer than the wait for its turn, the attempt and the storing of
 * its result. Then it counts as cut off, and another attempt follows.
 */
export const LEASE_MS = MINUTE_MS;

/** Whether a webhook `w` has asked for the type of an event `e`. */
const isWanted = sql`(json_array_length(w.types) = 0 or exists (
  select 1 from json_each(w.types) wanted
  where wanted.value in (e.type, substr(e.type, 1, instr(e.type, '.')) || '*')))`;

/** Whether an attempt of a webhook `w` may be made at once. Another is made by the scheduled handler. */
const isReady = (now: number): SQL =>
  sql`(w.failing_since is null and ifnull(w.paused_until, 0) <= ${now})`;

/**
 * The statement that stores the deliveries of the events of this millisecond, after those events. A delivery that is
 * stored already stays. It returns the new ones. The caller must attempt those of them that have a lease.
 *
 * @param now milliseconds since 1970
 * @param isLater whether all attempts are left to the scheduled handler
 */
export function storeDeliveries(db: Database, now: number, isLater = false): StoringDeliveries {
  const first = firstIdAt(now);
  const isLeased = isLater ? sql`false` : isReady(now);
  const leaseUntil = sql`iif(${isLeased}, ${now + LEASE_MS}, null)`;
  const row = rowValues(deliveries, {
    webhookId: sql`w.id`,
    id: sql`e.id`,
    type: sql`e.type`,
    attempts: sql`iif(${isLeased}, 1, 0)`,
    step: 0,
    nextAt: sql`ifnull(${leaseUntil}, ${now})`,
    leaseUntil,
  });
  return db
    .insert(deliveries)
    .select(
      sql`select ${row} from events e cross join webhooks w
        where e.id >= ${first} and e.id < ${first + SLOTS} and w.is_enabled and ${isWanted}`,
    )
    .onConflictDoNothing()
    .returning({
      webhookId: deliveries.webhookId,
      id: deliveries.id,
      attempts: deliveries.attempts,
    });
}

/** Whether an event of the row is still to be delivered. */
export const isOpen = sql`exists (
  select 1 from webhooks w cross join deliveries d on d.webhook_id = w.id and d.id = events.id
  where d.next_at is not null)`;
