import { type DeliveryState, PING_TYPE } from '@licet/contract/enums';
import { toOptionalTimestamp, toTimestamp } from '@licet/contract/time';
import type { Delivery } from '@licet/contract/webhooks';
import { and, desc, eq, lt, type SQL, sql } from 'drizzle-orm';
import type { StoredDelivery } from '../../db/change.ts';
import type { Database } from '../../db/client.ts';
import { rowValues } from '../../db/predicates.ts';
import type { AddressSettings } from '../../lib/public-url.ts';
import { LAST_STEP } from '../../lib/retries.ts';
import { firstIdAt, SLOTS, timeOfId } from '../../lib/time-id.ts';
import { readMessages } from './messages.ts';
import { LEASE_MS, storedColumns } from './outgoing.ts';
import { deliveries, type WebhookRow } from './schema.ts';

/** The deliveries of a webhook, as administrators see them (8). */

type DeliveryRow = typeof deliveries.$inferSelect;

const stateOf = ({ nextAt, error }: DeliveryRow, { isEnabled }: WebhookRow): DeliveryState => {
  if (nextAt !== null && isEnabled) return 'PENDING';
  return nextAt === null && error === null ? 'DELIVERED' : 'FAILED';
};

const isIn = (state: DeliveryState | undefined, { isEnabled }: WebhookRow): SQL | undefined => {
  const isPending = isEnabled ? sql`${deliveries.nextAt} is not null` : sql`false`;
  const isDelivered = sql`(${deliveries.nextAt} is null and ${deliveries.error} is null)`;
  switch (state) {
    case 'PENDING':
      return isPending;
    case 'DELIVERED':
      return isDelivered;
    case 'FAILED':
      return sql`not ${isPending} and not ${isDelivered}`;
    default:
      return undefined;
  }
};

/** Reads deliveries with the bodies that are sent. @param where limits them to those of the webhook that match */
async function read(
  db: Database,
  settings: AddressSettings,
  webhook: WebhookRow,
  where: SQL | undefined,
  limit: number,
): Promise<Delivery[]> {
  const rows = await db
    .select()
    .from(deliveries)
    .where(and(eq(deliveries.webhookId, webhook.id), where))
    .orderBy(desc(deliveries.id))
    .limit(limit);
  const [group] = await readMessages(db, settings, rows);
  return (group?.messages ?? []).map(({ delivery: row, body }) => {
    const { id, type, attempts, status, error, response, durationMs } = row;
    const state = stateOf(row, webhook);
    return {
      ...{ id, type, attempts, status, error, response, durationMs },
      time: toTimestamp(timeOfId(id)),
      state,
      attemptedAt: toOptionalTimestamp(row.attemptedAt),
      nextAttemptAt: state === 'PENDING' ? toOptionalTimestamp(row.nextAt) : null,
      request: body,
    };
  });
}

interface DeliveryPage {
  deliveries: Delivery[];
  /** The id after which the next page begins; undefined for the last page. */
  next: number | undefined;
}

/** A page of the deliveries of a webhook, newest first. */
export async function listDeliveries(
  db: Database,
  settings: AddressSettings,
  webhook: WebhookRow,
  { after, state }: { after?: number | undefined; state?: DeliveryState | undefined },
  limit: number,
): Promise<DeliveryPage> {
  const isAfter = after === undefined ? undefined : lt(deliveries.id, after);
  const found = await read(db, settings, webhook, and(isAfter, isIn(state, webhook)), limit + 1);
  const page = found.slice(0, limit);
  return { deliveries: page, next: found.length > limit ? page.at(-1)?.id : undefined };
}

export const findDelivery = async (
  db: Database,
  settings: AddressSettings,
  webhook: WebhookRow,
  id: number,
): Promise<Delivery | undefined> =>
  (await read(db, settings, webhook, eq(deliveries.id, id), 1))[0];

/**
 * Stores a test message, with a lease for its one attempt.
 *
 * @param now milliseconds since 1970
 */
export async function insertPing(
  db: Database,
  webhookId: number,
  now: number,
): Promise<StoredDelivery[]> {
  // The upper half: the events of a millisecond are counted up from its first id.
  const first = firstIdAt(now) + SLOTS / 2;
  const id = sql`ifnull((select max(id) + 1 from deliveries
    where webhook_id = ${webhookId} and id >= ${first} and id < ${first + SLOTS / 2}), ${first})`;
  const leaseUntil = now + LEASE_MS;
  const row = rowValues(deliveries, {
    webhookId,
    id,
    type: PING_TYPE,
    attempts: 1,
    step: LAST_STEP,
    nextAt: leaseUntil,
    leaseUntil,
  });
  return db
    .insert(deliveries)
    .select(sql`select ${row} where exists (select 1 from webhooks where id = ${webhookId})`)
    .returning(storedColumns);
}
