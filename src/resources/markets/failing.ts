import { DAY_MS } from '@licet/contract/durations';
import { sql } from 'drizzle-orm';
import { batch, type Database } from '../../db/client.ts';
import { insertDeliveries } from '../../db/deliveries.ts';
import { nextEventId } from '../../db/events.ts';
import { events, markets } from '../../db/schema.ts';

/** The last requests of a market that are looked at. */
const LAST = 5;

/**
 * Makes an event of each market whose last requests were all rejected, at most one a day (9).
 *
 * @param now milliseconds since 1970
 */
export async function reportFailing(db: Database, now: number): Promise<void> {
  const isFailing = sql`m.is_enabled and ifnull(m.failing_at, 0) <= ${now - DAY_MS} and (
    select count(*) = ${LAST} and min(status) >= 400
    from (select status from market_deliveries where market_id = m.id order by id desc limit ${LAST}))`;
  await batch(db, {
    events: db.insert(events).select(
      sql`select ${nextEventId(now)} + row_number() over (order by m.id) - 1, 'market.failing', null, 0, null,
        'market', m.id, json_object('reason', json_object('before', null, 'after', (
          select result from market_deliveries where market_id = m.id order by id desc limit 1))), 'service'
        from markets m where ${isFailing}`,
    ),
    deliveries: insertDeliveries(db, now, true),
    markets: db
      .update(markets)
      .set({ failingAt: now })
      .where(sql`id in (select m.id from markets m where ${isFailing})`),
  });
}
