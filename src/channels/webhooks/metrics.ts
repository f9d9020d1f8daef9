import { HOUR_MS } from '@licet/contract/durations';
import { DELIVERY_STATES, type DeliveryState } from '@licet/contract/enums';
import { sql } from 'drizzle-orm';
import type { Database } from '../../db/client.ts';
import { withNewest } from '../../db/predicates.ts';
import { byLabel, type Metric } from '../../lib/exposition.ts';
import { firstIdAt, timeOfId } from '../../lib/time-id.ts';
import { deliveries, webhooks } from './schema.ts';

/** The metrics of deliveries to webhooks (6). */

/** The deliveries of each webhook that a scrape reads at most. */
const MAX_READ = 100;

/**
 * The statements of a scrape, by the indexes of deliveries. The last due ones have failed most often, and are the oldest.
 *
 * @param now milliseconds since 1970
 */
export const deliveryMetricStatements = (db: Database, now: number) => ({
  pending: db
    .select({
      count: sql<number>`count(d.id)`.as('pending'),
      oldest: sql<number | null>`min(d.id)`.as('oldest'),
    })
    .from(
      sql`${webhooks} w cross join ${deliveries} d on d.webhook_id = w.id and d.id in (
        select o.id from ${deliveries} o where o.webhook_id = w.id and o.next_at is not null
        order by o.next_at desc limit ${MAX_READ})`,
    )
    .where(sql`w.is_enabled`),
  recent: db
    .select({
      state: sql<DeliveryState>`case
        when d.next_at is not null and p.is_enabled then 'PENDING'
        when d.next_at is null and d.error is null then 'DELIVERED' else 'FAILED' end`.as('state'),
      count: sql<number>`count(*)`.as('counted'),
    })
    .from(
      withNewest(webhooks, deliveries, 'webhook_id', {
        first: firstIdAt(now - HOUR_MS),
        most: MAX_READ,
      }),
    )
    .groupBy(sql`1`),
  failing: db
    .select({ count: sql<number>`count(*)`.as('failing') })
    .from(webhooks)
    .where(sql`${webhooks.isEnabled} and ${webhooks.failingSince} is not null`),
});

/** The rows of {@link deliveryMetricStatements}. */
interface DeliveryMetricRows {
  pending: readonly { count: number; oldest: number | null }[];
  recent: readonly { state: DeliveryState; count: number }[];
  failing: readonly { count: number }[];
}

const countOf = (rows: readonly { count: number }[]): number => rows[0]?.count ?? 0;

/** @param now as for the statements */
export function deliveryMetrics(rows: DeliveryMetricRows, now: number): Metric[] {
  const { pending, recent, failing } = rows;
  const oldest = pending[0]?.oldest ?? null;
  const ageMs = oldest === null ? 0 : Math.max(0, now - timeOfId(oldest));
  const counts = new Map(recent.map(({ state, count }) => [state, count]));
  return [
    {
      name: 'licet_webhook_deliveries_last_hour',
      type: 'gauge',
      help: `Deliveries of the events of the last hour, by state. At most ${MAX_READ} of each webhook are counted.`,
      samples: byLabel(
        'state',
        DELIVERY_STATES.map((state) => [state, counts.get(state) ?? 0]),
      ),
    },
    {
      name: 'licet_webhook_deliveries_pending',
      type: 'gauge',
      help: `Deliveries that another attempt follows, of any age. At most ${MAX_READ} of each webhook are counted.`,
      samples: [{ value: countOf(pending) }],
    },
    {
      name: 'licet_webhook_oldest_pending_age_seconds',
      type: 'gauge',
      help: 'Age of the oldest message among those pending deliveries. 0 without any.',
      samples: [{ value: ageMs / 1_000 }],
    },
    {
      name: 'licet_webhooks_failing',
      type: 'gauge',
      help: 'Webhooks whose last attempts have failed.',
      samples: [{ value: countOf(failing) }],
    },
  ];
}
