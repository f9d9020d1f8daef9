import { HOUR_MS } from '@licet/contract/durations';
import { NOTICE_EFFECTS, type NoticeEffect } from '@licet/contract/enums';
import { sql } from 'drizzle-orm';
import type { Database } from '../../db/client.ts';
import { withNewest } from '../../db/predicates.ts';
import { byLabel, type Metric } from '../../lib/exposition.ts';
import { firstIdAt } from '../../lib/time-id.ts';
import { marketDeliveries, markets } from './schema.ts';

/** The metric of the requests of markets (6). */

/** The requests of each market that a scrape reads at most. */
const MAX_READ = 100;

/** The label of requests without an effect. */
const REJECTED = 'REJECTED';

/** The statement of a scrape, by the primary key. @param now milliseconds since 1970 */
export const marketMetricStatements = (db: Database, now: number) => ({
  notices: db
    .select({
      effect: sql<NoticeEffect | null>`d.effect`.as('noticed_effect'),
      count: sql<number>`count(*)`.as('counted'),
    })
    .from(
      withNewest(markets, marketDeliveries, 'market_id', {
        first: firstIdAt(now - HOUR_MS),
        most: MAX_READ,
      }),
    )
    .groupBy(sql`1`),
});

/** The rows of {@link marketMetricStatements}. */
interface MarketMetricRows {
  notices: readonly { effect: NoticeEffect | null; count: number }[];
}

export function marketMetrics({ notices }: MarketMetricRows): Metric[] {
  const counts = new Map(notices.map(({ effect, count }) => [effect ?? REJECTED, count]));
  return [
    {
      name: 'licet_market_notices_last_hour',
      type: 'gauge',
      help: `Requests of markets in the last hour, by effect. REJECTED did not come from the market, or could not be applied. At most ${MAX_READ} of each market are counted.`,
      samples: byLabel(
        'effect',
        [...NOTICE_EFFECTS, REJECTED].map((effect) => [effect, counts.get(effect) ?? 0]),
      ),
    },
  ];
}
