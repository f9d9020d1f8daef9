import { MINUTE_MS } from '@licet/contract/durations';
import { sql } from 'drizzle-orm';
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

/** The columns of a {@link StoredDelivery}. */
export const storedColumns = {
  webhookId: deliveries.webhookId,
  id: deliveries.id,
  type: deliveries.type,
  attempts: deliveries.attempts,
  step: deliveries.step,
  leaseUntil: deliveries.leaseUntil,
};

/**
 * The statement that stores the deliveries of the events of this millisecond, after those events. A delivery that is
 * stored already stays. It returns the new ones. Those of them with a lease must be attempted.
 *
 * @param now milliseconds since 1970
 * @param isLater whether the scheduled handler makes all attempts, as it does for webhooks that fail or are paused
 * @param full the ids of webhooks whose attempts it makes, too
 */
export function storeDeliveries(
  db: Database,
  now: number,
  isLater = false,
  full: readonly number[] = [],
): StoringDeliveries {
  const first = firstIdAt(now);
  const hasRoom =
    full.length === 0
      ? sql``
      : sql`and w.id not in (select value from json_each(${JSON.stringify(full)}))`;
  const isLeased = isLater
    ? sql`false`
    : sql`(w.failing_since is null and ifnull(w.paused_until, 0) <= ${now} ${hasRoom})`;
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
    .returning(storedColumns);
}

/** Whether an event of the row is still to be delivered. */
export const isOpen = sql`exists (
  select 1 from webhooks w cross join deliveries d on d.webhook_id = w.id and d.id = events.id
  where d.next_at is not null)`;
