import type { Event, EventQuery } from '@licet/contract/events';
import { toTimestamp } from '@licet/contract/time';
import { and, desc, eq, getTableColumns, gte, isNotNull, lt, type SQL, sql } from 'drizzle-orm';
import type { Database } from '../../db/client.ts';
import type { EventChanges } from '../../db/events.ts';
import { equalsUnindexed } from '../../db/predicates.ts';
import { removeOld } from '../../db/remove-old.ts';
import { events } from '../../db/schema.ts';
import { retentionStart, type Task } from '../../db/task.ts';
import { firstIdAt, timeOfId } from '../../lib/time-id.ts';
import { tokens } from '../tokens/schema.ts';

/** An event, with the name of its token: null without a token, and for a token that is gone. */
export type EventRow = Omit<typeof events.$inferSelect, 'changes'> & {
  changes: EventChanges | null;
  tokenName: string | null;
};

const ROOT_NAME = 'root';

/** An event as responses show it. */
export const toEvent = ({
  tokenId,
  tokenName,
  isConsole,
  isMcp,
  actor,
  customerId,
  ...row
}: EventRow) =>
  ({
    id: row.id,
    time: toTimestamp(timeOfId(row.id)),
    type: row.type,
    actor: {
      tokenId,
      tokenName: actor ?? (tokenId === null ? ROOT_NAME : (tokenName ?? '')),
      isConsole,
      isMcp,
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

/** Events of which a condition holds, newest first. */
export async function readEvents(
  db: Database,
  where: SQL | undefined,
  limit: number,
): Promise<EventRow[]> {
  const rows = await db
    .select({ ...getTableColumns(events), tokenName: tokens.name })
    .from(events)
    .leftJoin(tokens, eq(tokens.id, events.tokenId))
    .where(where)
    .orderBy(desc(events.id))
    .limit(limit);
  return rows.map(({ changes, ...row }) => ({
    ...row,
    changes: changes === null ? null : JSON.parse(changes),
  }));
}

/** A page of the events that match, newest first. Only the events of one resource, of the service and of customers have an index. */
export async function listEvents(
  db: Database,
  { type, resourceType, resourceId, tokenId, actor, from, to, after }: Omit<EventQuery, 'limit'>,
  limit: number,
): Promise<EventPage> {
  const rows = await readEvents(
    db,
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
    limit + 1,
  );
  return {
    rows: rows.slice(0, limit),
    next: rows.length > limit ? rows[limit - 1]?.id : undefined,
  };
}

/** Removes old events, but for those of which a condition on the row holds. */
export const removeEvents = (isKept: SQL): Task => ({
  failure: 'Old events were not removed',
  most: 1,
  async run(run) {
    const start = retentionStart(run, 'EVENT_RETENTION_DAYS');
    if (start === null) return;
    await removeOld(run.db, events, sql`id`, sql`id < ${firstIdAt(start)} and not ${isKept}`);
  },
});
