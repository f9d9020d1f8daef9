import type { Event, EventQuery } from '@licet/contract/events';
import { toTimestamp } from '@licet/contract/time';
import { and, desc, eq, getTableColumns, gte, isNotNull, lt, sql } from 'drizzle-orm';
import type { Database } from '../../db/client.ts';
import { isOpen } from '../../db/deliveries.ts';
import type { EventChanges } from '../../db/events.ts';
import { equalsUnindexed } from '../../db/predicates.ts';
import { events, tokens } from '../../db/schema.ts';
import { firstIdAt, timeOfId } from '../../lib/time-id.ts';

/** An event, with the name of its token: null without a token, and for a token that is gone. */
export type EventRow = Omit<typeof events.$inferSelect, 'changes'> & {
  changes: EventChanges | null;
  tokenName: string | null;
};

const ROOT_NAME = 'root';

/** An event as responses show it. */
export const toEvent = ({ tokenId, tokenName, isConsole, actor, customerId, ...row }: EventRow) =>
  ({
    id: row.id,
    time: toTimestamp(timeOfId(row.id)),
    type: row.type,
    actor: {
      tokenId,
      tokenName: actor ?? (tokenId === null ? ROOT_NAME : (tokenName ?? '')),
      isConsole,
      customerId,
    },
    ip: row.ip,
    resourceType: row.resourceType,
    resourceId: row.resourceId,
    changes: row.changes,
  }) satisfies Event;

interface EventPage {
  rows: EventRow[];
  /** The id after which the next page begins; undefined for the last page. */
  next: number | undefined;
}

/** A page of the events that match, newest first. Only the events of one resource, of the service and of customers have an index. */
export async function listEvents(
  db: Database,
  { type, resourceType, resourceId, tokenId, actor, from, to, after }: Omit<EventQuery, 'limit'>,
  limit: number,
): Promise<EventPage> {
  const rows = await db
    .select({ ...getTableColumns(events), tokenName: tokens.name })
    .from(events)
    .leftJoin(tokens, eq(tokens.id, events.tokenId))
    .where(
      and(
        resourceId === undefined
          ? equalsUnindexed(events.resourceType, resourceType)
          : and(
              resourceType && eq(events.resourceType, resourceType),
              eq(events.resourceId, resourceId),
            ),
        equalsUnindexed(events.type, type),
        equalsUnindexed(events.tokenId, tokenId),
        // The index has the events without a token alone.
        actor && and(isNotNull(events.actor), equalsUnindexed(events.actor, actor)),
        after === undefined ? undefined : lt(events.id, after),
        to === undefined ? undefined : lt(events.id, firstIdAt(to + 1)),
        from === undefined ? undefined : gte(events.id, firstIdAt(from)),
      ),
    )
    .orderBy(desc(events.id))
    .limit(limit + 1);
  const page = rows.slice(0, limit).map(({ changes, ...row }) => ({
    ...row,
    changes: changes === null ? null : JSON.parse(changes),
  }));
  return { rows: page, next: rows.length > limit ? page.at(-1)?.id : undefined };
}

/** Events that one run removes at most; the next run goes on. */
const MAX_REMOVED = 1_000;

/**
 * Removes a bounded number of events, the oldest first, but for those that are still to be delivered.
 *
 * @param start in milliseconds since 1970
 */
export async function removeEventsBefore(db: Database, start: number): Promise<void> {
  await db.delete(events).where(
    sql`${events.id} in (select id from events where id < ${firstIdAt(start)} and not ${isOpen}
      order by id limit ${MAX_REMOVED})`,
  );
}
