import { DAY_MS } from '@licet/contract/durations';
import { and, not, type SQL, sql } from 'drizzle-orm';
import { batch, type Database } from '../../db/client.ts';
import { eventRow, SERVICE } from '../../db/events.ts';
import { removeOld } from '../../db/remove-old.ts';
import { events } from '../../db/schema.ts';
import type { Task } from '../../db/task.ts';
import { firstIdAt } from '../../lib/time-id.ts';
import { storeDeliveries } from '../webhooks/outgoing.ts';
import { isPlaceholderSql } from './placeholders.ts';
import { isReconcileDue, RECONCILE_QUERIES, type Reconciling, reconcile } from './reconcile.ts';
import { marketDeliveries, markets, purchases, subjects } from './schema.ts';

/** The work of the scheduled handler for markets (9). */

const KEPT_DAYS = 30;
/** Requests, and subjects, that one run removes; the next run goes on. */
const MAX_REMOVED = 1_000;
/** The last requests of a market that are looked at. */
const LAST = 5;

/** Markets `m` whose last requests were all rejected, and whose last event about it is a day old. */
const isFailing = (now: number): SQL => sql`
  m.is_enabled and ifnull(m.failing_at, 0) <= ${now - DAY_MS} and (
    select count(*) = ${LAST} and min(status) >= 400
    from (select status from market_deliveries where market_id = m.id order by id desc limit ${LAST}))`;

/** The requests that are old, or whose market is deleted. A seek for each market, because the key begins with it. */
const oldRequests = (now: number, limit: number): SQL => sql`
  with recursive known(id) as (
    select min(market_id) from market_deliveries
    union all select (select min(market_id) from market_deliveries where market_id > known.id)
      from known where known.id is not null)
  select d.market_id, d.id from known cross join market_deliveries d on d.market_id = known.id
    and d.id < iif(exists (select 1 from markets where id = known.id),
      ${firstIdAt(now - KEPT_DAYS * DAY_MS)}, ${Number.MAX_SAFE_INTEGER})
  limit ${limit}`;

/** Subjects without a purchase whose time is over. */
const isOldSubject = (now: number): SQL => sql`expires_at <= ${now}`;
/** An earlier version let a purchase keep its order here. */
const isBought = sql`exists (select 1 from purchases p
  where p.market_id = market_orders.market_id and p.order_id = market_orders.order_id
    and (${isPlaceholderSql}) is not true)`;

/** Facts whose purchase has not arrived in time. */
const isOldPlaceholder = (now: number): SQL =>
  sql`updated_at <= ${now - KEPT_DAYS * DAY_MS} and ${isPlaceholderSql}`;

interface Due {
  failing: number;
  requests: number;
  subjects: number;
  placeholders: number;
  /** The market whose purchases are to be compared; null for none. */
  toReconcile: number | null;
}

/** The work that is due, by one query, which reads each market once. The one of the smallest time is compared. */
const findDue = (db: Database, now: number): Promise<Due> =>
  db.get(
    sql`select count(*) filter (where ${isFailing(now)}) as failing,
      exists (${oldRequests(now, 1)}) as requests,
      exists (select 1 from ${subjects} where ${isOldSubject(now)}) as subjects,
      exists (select 1 from ${purchases} where ${isOldPlaceholder(now)}) as placeholders,
      min(iif(${isReconcileDue(now)}, ifnull(m.reconciled_at, 0), null)) as reconciledAt,
      iif(${isReconcileDue(now)}, m.id, null) as toReconcile from ${markets} m`,
  );

const removeOldRequests = (db: Database, now: number) =>
  db.delete(marketDeliveries).where(sql`(market_id, id) in (${oldRequests(now, MAX_REMOVED)})`);

async function removeOldSubjects(db: Database, now: number): Promise<void> {
  const old = sql`(market_id, order_id) in (
    select market_id, order_id from market_orders where ${isOldSubject(now)} limit ${MAX_REMOVED})`;
  await db.update(subjects).set({ expiresAt: null }).where(and(old, isBought));
  await db.delete(subjects).where(and(old, isOldSubject(now), not(isBought)));
}

/**
 * Compares a market, and makes an event, at most one a day, if it cannot be compared.
 *
 * @throws Error that says why the market was not compared
 */
async function compareMarket(by: Reconciling, marketId: number): Promise<void> {
  try {
    await reconcile(by, marketId);
  } catch (error) {
    const now = Date.now();
    const why = error instanceof Error ? error.message : String(error);
    const isDue = sql`m.id = ${marketId} and ifnull(m.failing_at, 0) <= ${now - DAY_MS}`;
    await reportFailing(by.db, isDue, sql`${`Purchases are not compared: ${why}`}`, now);
    throw error;
  }
}

const LAST_RESULT = sql`(select result from market_deliveries where market_id = m.id order by id desc limit 1)`;

const reportFailing = (db: Database, which: SQL, reason: SQL, now: number) =>
  batch(db, {
    events: db.insert(events).select(
      sql`select ${eventRow(
        SERVICE,
        {
          type: 'market.failing',
          id: sql`m.id`,
          changes: sql`json_object('reason', json_object('before', null, 'after', ${reason}))`,
          place: sql`row_number() over (order by m.id) - 1`,
        },
        now,
      )} from ${markets} m where ${which}`,
    ),
    deliveries: storeDeliveries(db, now, true),
    markets: db
      .update(markets)
      .set({ failingAt: now })
      .where(sql`id in (select m.id from ${markets} m where ${which})`),
  });

const compare = (marketId: number): Task => ({
  failure: 'A market was not compared',
  most: RECONCILE_QUERIES,
  run: ({ settings, ...run }) =>
    compareMarket({ ...run, platformLabels: settings.PLATFORM_LABELS }, marketId),
});

/** The failing markets, the old rows and the comparison. It costs one query if there is nothing to do. */
export const LOOK_AFTER_MARKETS: Task = {
  failure: 'Markets were not looked after',
  most: 8,
  dueSince: (now) =>
    sql`select min(ifnull(m.comparison_due_at, m.created_at)) from ${markets} m where ${isReconcileDue(now)}`,
  async run({ db, now, add }) {
    const due = await findDue(db, now);
    if (due.failing) await reportFailing(db, isFailing(now), LAST_RESULT, now);
    if (due.requests) await removeOldRequests(db, now);
    if (due.subjects) await removeOldSubjects(db, now);
    if (due.placeholders) await removeOld(db, purchases, sql`id`, isOldPlaceholder(now));
    if (due.toReconcile !== null) add(compare(due.toReconcile));
  },
};
