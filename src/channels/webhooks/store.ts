import { DAY_MS, MINUTE_MS } from '@licet/contract/durations';
import { PING_TYPE } from '@licet/contract/enums';
import { type SQL, sql } from 'drizzle-orm';
import type { StoredDelivery } from '../../db/change.ts';
import { batch, type Database } from '../../db/client.ts';
import { insertEvents, SERVICE } from '../../db/events.ts';
import { nextRevisionSql } from '../../db/outbox.ts';
import type { Task } from '../../db/task.ts';
import { firstIdAt } from '../../lib/time-id.ts';
import type { Outcome } from './attempt.ts';
import { LEASE_MS, storeDeliveries, storedColumns } from './outgoing.ts';
import { deliveries, type WebhookRow, webhooks } from './schema.ts';

/** The rows of deliveries under way (8): their leases, their outcomes and their end. */

const KEPT_DAYS = 30;
/** Deliveries that one run removes or closes; the next run goes on. */
const MAX_CLEARED = 1_000;
const LAST_SUCCESS_PRECISION_MS = 5 * MINUTE_MS;
/** The attempts of a round for a webhook that fails, each of which may take ten seconds. */
const MAX_FAILING = 4;
const MAX_FAILING_MS = 5 * DAY_MS;
const FAILED_TOO_LONG = 'No delivery has succeeded for five days';

const lease = (now: number) => ({
  attempts: sql`${deliveries.attempts} + 1`,
  nextAt: now + LEASE_MS,
  leaseUntil: now + LEASE_MS,
});

/**
 * Claims deliveries that are due, with a lease: the oldest of each webhook first, so that none waits for the many of
 * another.
 *
 * @param busy the ids of webhooks that get none
 * @param now milliseconds since 1970
 */
export const claimDue = (
  db: Database,
  limit: number,
  busy: readonly number[],
  now: number,
): Promise<StoredDelivery[]> =>
  db
    .update(deliveries)
    .set(lease(now))
    .where(
      sql`(webhook_id, id) in (
        select webhook_id, id from (
          select d.webhook_id, d.id, d.next_at, w.failing_since,
            row_number() over (partition by d.webhook_id order by d.next_at) as turn
          from webhooks w cross join deliveries d on d.webhook_id = w.id and d.id in (
            select due.id from deliveries due where due.webhook_id = w.id and due.next_at <= ${now}
            order by due.next_at limit ${limit})
          where w.is_enabled and ifnull(w.paused_until, 0) <= ${now}
            and w.id not in (select value from json_each(${JSON.stringify(busy)})))
        where failing_since is null or turn <= ${MAX_FAILING}
        order by turn, next_at limit ${limit})`,
    )
    .returning(storedColumns);

/** Selects since when the oldest delivery is due to a receiver that works. @param now milliseconds since 1970 */
export const deliveriesDueSince = (now: number): SQL =>
  sql`select min((select min(d.next_at) from deliveries d
      where d.webhook_id = w.id and d.next_at is not null))
    from webhooks w where w.is_enabled and w.failing_since is null and ifnull(w.paused_until, 0) <= ${now}`;

/** Claims one delivery, whatever its state, unless an attempt is under way. @param now milliseconds since 1970 */
export const claimDelivery = (
  db: Database,
  { webhookId, id }: { webhookId: number; id: number },
  now: number,
): Promise<StoredDelivery[]> =>
  db
    .update(deliveries)
    // A test has one attempt.
    .set({ ...lease(now), step: sql`iif(type = ${PING_TYPE}, step, 0)` })
    .where(sql`webhook_id = ${webhookId} and id = ${id} and ifnull(lease_until, 0) <= ${now}`)
    .returning(storedColumns);

/** The fields of an outcome that its delivery keeps. */
const OUTCOME = ['status', 'error', 'response', 'durationMs', 'step', 'nextAt'] as const;

/** A delivery with the outcome of its attempt, and its webhook as it was before. */
export interface Attempted {
  delivery: StoredDelivery;
  webhook: WebhookRow;
  outcome: Outcome;
}

/** A select of the objects in a list, with these fields as columns. */
const rowsOf = (list: readonly object[], names: readonly string[]) =>
  sql`(select ${sql.raw(
    names.map((name) => `value ->> '$.${name}' as ${name}`).join(', '),
  )} from json_each(${JSON.stringify(list)}))`;

/**
 * Stores the outcomes of attempts, each unless another attempt has the delivery meanwhile.
 *
 * @param now milliseconds since 1970
 */
export async function storeOutcomes(
  db: Database,
  attempted: readonly Attempted[],
  now: number,
): Promise<void> {
  if (attempted.length === 0) return;
  const outcomes = attempted.map(({ delivery, outcome }) => ({ ...delivery, ...outcome }));
  await batch(db, {
    deliveries: db
      .update(deliveries)
      .set({
        ...Object.fromEntries(OUTCOME.map((name) => [name, sql.raw(`o.${name}`)])),
        leaseUntil: null,
        attemptedAt: now,
      })
      .from(sql`${rowsOf(outcomes, ['webhookId', 'id', 'attempts', ...OUTCOME])} o`)
      .where(
        sql`(${deliveries.webhookId}, ${deliveries.id}, ${deliveries.attempts}) = (o.webhookId, o.id, o.attempts)`,
      ),
    webhooks: updateWebhooks(db, attempted, now),
  });
}

/** The attempts by their webhooks. */
const byWebhook = (attempted: readonly Attempted[]) => [
  ...Map.groupBy(attempted, ({ webhook }) => webhook),
];

/** The statement that notes which receivers work, fail or want a pause; none if all that is known. */
function updateWebhooks(db: Database, attempted: readonly Attempted[], now: number) {
  const notes = byWebhook(attempted).flatMap(([{ id, failingSince, ...webhook }, all]) => {
    const known = all.flatMap(({ outcome }) => outcome.isWorking ?? []);
    const isKnown =
      known.length === all.length &&
      !known.includes(false) &&
      failingSince === null &&
      webhook.pausedUntil === null &&
      (webhook.lastSuccessAt ?? 0) >= now - LAST_SUCCESS_PRECISION_MS;
    if (isKnown) return [];
    const pausedUntil = Math.max(...all.map(({ outcome }) => outcome.pausedUntil ?? 0));
    // A success beside failures says that the receiver works.
    return { id, isWorking: known.length > 0 ? known.includes(true) : null, pausedUntil };
  });
  if (notes.length === 0) return [];
  // A failure without `Retry-After` keeps the pause that another attempt was given.
  const longerPause = sql`max(n.pausedUntil, ifnull(${webhooks.pausedUntil}, 0))`;
  return db
    .update(webhooks)
    .set({
      lastSuccessAt: sql`iif(n.isWorking = 1, ${now}, ${webhooks.lastSuccessAt})`,
      failingSince: sql`case n.isWorking when 1 then null when 0 then ifnull(${webhooks.failingSince}, ${now})
        else ${webhooks.failingSince} end`,
      pausedUntil: sql`iif(n.isWorking = 1, null, nullif(${longerPause}, 0))`,
    })
    .from(sql`${rowsOf(notes, ['id', 'isWorking', 'pausedUntil'])} n`)
    .where(
      sql`${webhooks.id} = n.id and (n.isWorking = 1
        or (n.isWorking = 0 and ${webhooks.failingSince} is null)
        or ${longerPause} > ifnull(${webhooks.pausedUntil}, 0))`,
    );
}

/** Gives up leases without an attempt. The deliveries are due. @param now milliseconds since 1970 */
export async function releaseDeliveries(
  db: Database,
  leased: readonly StoredDelivery[],
  now: number,
): Promise<void> {
  if (leased.length === 0) return;
  await db
    .update(deliveries)
    .set({ attempts: sql`${deliveries.attempts} - 1`, nextAt: now, leaseUntil: null })
    .where(
      sql`(webhook_id, id, attempts) in (
        select value ->> '$.webhookId', value ->> '$.id', value ->> '$.attempts'
        from json_each(${JSON.stringify(leased)}))`,
    );
}

/** A webhook to switch off. */
export interface DisabledWebhook {
  id: number;
  /** The address that failed. Another one, set meanwhile, stays on. */
  url: string;
  /** The first failure, if the webhook is switched off for it: a success meanwhile keeps it on. */
  failingSince: number | null;
  /** For the console. */
  reason: string;
}

/** The webhooks that want no more, or have failed for too long. @param now milliseconds since 1970 */
export const findDisabled = (attempted: readonly Attempted[], now: number): DisabledWebhook[] =>
  byWebhook(attempted).flatMap(([{ id, url, failingSince }, all]) => {
    const outcomes = all.map(({ outcome }) => outcome);
    const reason = outcomes.find(({ goneReason }) => goneReason !== null)?.goneReason;
    if (reason) return { id, url, failingSince: null, reason };
    const hasFailed = outcomes.some(({ isWorking }) => isWorking === false);
    const isFailing = hasFailed && !outcomes.some(({ isWorking }) => isWorking);
    const isTooLong = failingSince !== null && now - failingSince >= MAX_FAILING_MS;
    return isFailing && isTooLong ? { id, url, failingSince, reason: FAILED_TOO_LONG } : [];
  });

/** The queries of {@link disableWebhooks}, beside one for each webhook. */
export const DISABLE_QUERIES = 3;

/**
 * Switches webhooks off, which is an event of each. One that is off stays as it is.
 *
 * @param now milliseconds since 1970
 */
export async function disableWebhooks(
  db: Database,
  off: readonly DisabledWebhook[],
  now: number,
): Promise<void> {
  const isOn = ({ id, url, failingSince }: DisabledWebhook) =>
    sql`exists (select 1 from webhooks where id = ${id} and is_enabled and url = ${url}
      and (${failingSince} is null or failing_since = ${failingSince}))`;
  await batch(db, {
    events: insertEvents(
      db,
      SERVICE,
      off.map((one) => ({
        type: 'webhook.disabled' as const,
        id: one.id,
        changes: { reason: { before: null, after: one.reason } },
        condition: isOn(one),
      })),
      now,
    ),
    webhooks: db
      .update(webhooks)
      .set({
        isEnabled: false,
        disabledReason: sql`o.reason`,
        updatedAt: now,
        revision: nextRevisionSql(webhooks.revision, now),
      })
      .from(sql`${rowsOf(off, ['id', 'url', 'failingSince', 'reason'])} o`)
      .where(
        sql`${webhooks.id} = o.id and ${webhooks.isEnabled} and ${webhooks.url} = o.url
          and (o.failingSince is null or ${webhooks.failingSince} = o.failingSince)`,
      ),
    // To the other webhooks.
    deliveries: storeDeliveries(db, now, true),
    closed: closeDeliveries(db),
  });
}

/** The error of a delivery without another attempt. */
const SWITCHED_OFF = 'The webhook was switched off';

const CLOSED = {
  nextAt: null,
  error: sql`ifnull(${deliveries.error} || '. ', '') || ${SWITCHED_OFF}`,
};

/** Closes a bounded number of open deliveries of webhooks that are off: they are not sent when those are on again. */
const closeDeliveries = (db: Database) =>
  db
    .update(deliveries)
    .set(CLOSED)
    .where(
      sql`(webhook_id, id) in (
        select d.webhook_id, d.id from webhooks w cross join deliveries d on d.webhook_id = w.id
        where not w.is_enabled and d.next_at is not null limit ${MAX_CLEARED})`,
    );

/** Closes all open deliveries of a webhook. */
export const closeDeliveriesOf = (db: Database, webhookId: number) =>
  db.update(deliveries).set(CLOSED).where(sql`webhook_id = ${webhookId} and next_at is not null`);

/**
 * Closes deliveries of webhooks that are off, and removes those that are old or whose webhook is deleted, a bounded number
 * of each.
 *
 * @param now milliseconds since 1970
 */
async function clearDeliveries(db: Database, now: number): Promise<void> {
  const start = firstIdAt(now - KEPT_DAYS * DAY_MS);
  await batch(db, {
    closed: closeDeliveries(db),
    removed: db.delete(deliveries).where(
      // A seek for each webhook, because the key begins with it.
      sql`(webhook_id, id) in (
        with recursive known(id) as (
          select min(webhook_id) from deliveries
          union all select (select min(webhook_id) from deliveries where webhook_id > known.id)
            from known where known.id is not null)
        select d.webhook_id, d.id from known cross join deliveries d on d.webhook_id = known.id
          and d.id < iif(exists (select 1 from webhooks where id = known.id), ${start}, ${Number.MAX_SAFE_INTEGER})
        limit ${MAX_CLEARED})`,
    ),
  });
}

export const REMOVE_DELIVERIES: Task = {
  failure: 'Old deliveries were not removed',
  most: 2,
  run: ({ db, now }) => clearDeliveries(db, now),
};
