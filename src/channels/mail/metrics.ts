import { DAY_MS } from '@licet/contract/durations';
import { MAIL_STATES, type MailState } from '@licet/contract/mail-kinds';
import { sql } from 'drizzle-orm';
import type { Database } from '../../db/client.ts';
import { byLabel, type Metric } from '../../lib/exposition.ts';
import { mails } from './schema.ts';

/** The metrics of mails to customers (6, 13). */

/** The newest mails that a scrape reads at most. */
const MAX_READ = 1_000;

/** The statements of a scrape. @param now milliseconds since 1970 */
export const mailMetricStatements = (db: Database, now: number) => ({
  mails: db
    .select({
      state: sql<MailState>`state`.as('mail_state'),
      count: sql<number>`count(*)`.as('mail_count'),
    })
    .from(
      sql`(select state from ${mails} where created_at > ${now - DAY_MS}
        order by created_at desc limit ${MAX_READ})`,
    )
    .groupBy(sql`1`),
  waitingMails: db
    .select({
      count: sql<number>`count(*)`.as('waiting_count'),
      oldest: sql<number | null>`min(created_at)`.as('waiting_oldest'),
    })
    .from(
      sql`(select created_at from ${mails} where next_at is not null
        and kind in ('key', 'link', 'expiring', 'test') order by next_at limit ${MAX_READ})`,
    ),
});

/** The rows of {@link mailMetricStatements}. */
interface MailMetricRows {
  mails: readonly { state: MailState; count: number }[];
  waitingMails: readonly { count: number; oldest: number | null }[];
}

/** @param now as for the statements */
export function mailMetrics(
  { mails: recent, waitingMails: [waiting] }: MailMetricRows,
  now: number,
): Metric[] {
  const counts = new Map(recent.map(({ state, count }) => [state, count]));
  const oldest = waiting?.oldest ?? null;
  return [
    {
      name: 'licet_mails_last_day',
      type: 'gauge',
      help: `Mails of the last day, by state. At most the newest ${MAX_READ} are counted.`,
      samples: byLabel(
        'state',
        MAIL_STATES.map((state) => [state, counts.get(state) ?? 0]),
      ),
    },
    {
      name: 'licet_mails_waiting',
      type: 'gauge',
      help: `Mails that another attempt follows, of any age. At most ${MAX_READ} are counted.`,
      samples: [{ value: waiting?.count ?? 0 }],
    },
    {
      name: 'licet_mail_oldest_waiting_age_seconds',
      type: 'gauge',
      help: 'Age of the oldest mail among those that wait. 0 without any.',
      samples: [{ value: oldest === null ? 0 : Math.max(0, now - oldest) / 1_000 }],
    },
  ];
}
