import { and, desc, eq, getTableColumns, gte, lt, type SQL, sql } from 'drizzle-orm';
import type { Database } from '../../db/client';
import { equalsUnindexed } from '../../db/predicates';
import { events, tokens } from '../../db/schema';
import { retentionStart } from '../../lib/retention';
import { firstIdAt } from '../../lib/time-id';
import type { EventQuery, EventRow } from './schema';

interface EventPage {
  rows: EventRow[];
  /** The id after which the next page begins; undefined for the last page. */
  next: number | undefined;
}

/** Events that a page looks at, if no index has its filter. */
const MAX_SEARCHED = 2_000;

/**
 * A page of the events that match, newest first. Only the events of one resource have an index: a page of another
 * filter looks at a bounded number of events, and may have few or none although there is a next page.
 */
export async function listEvents(
  db: Database,
  { type, resourceType, resourceId, tokenId, from, to, after }: Omit<EventQuery, 'limit'>,
  limit: number,
): Promise<EventPage> {
  const isOfResource = resourceType !== undefined && resourceId !== undefined;
  const indexed = isOfResource
    ? and(eq(events.resourceType, resourceType), eq(events.resourceId, resourceId))
    : undefined;
  const searched = [
    equalsUnindexed(events.type, type),
    equalsUnindexed(events.tokenId, tokenId),
    isOfResource ? undefined : equalsUnindexed(events.resourceType, resourceType),
    isOfResource ? undefined : equalsUnindexed(events.resourceId, resourceId),
  ].filter((condition) => condition !== undefined);
  const inRange = and(
    indexed,
    after === undefined ? undefined : lt(events.id, after),
    to === undefined ? undefined : lt(events.id, firstIdAt(to + 1)),
    from === undefined ? undefined : gte(events.id, firstIdAt(from)),
  );
  const last = searched.length > 0 ? await lastSearched(db, inRange) : undefined;
  const rows = await db
    .select({ ...getTableColumns(events), tokenName: tokens.name })
    .from(events)
    .leftJoin(tokens, eq(tokens.id, events.tokenId))
    .where(and(inRange, last === undefined ? undefined : gte(events.id, last), ...searched))
    .orderBy(desc(events.id))
    .limit(limit + 1);
  const page = rows.slice(0, limit).map(({ changes, ...row }) => ({
    ...row,
    changes: changes === null ? null : JSON.parse(changes),
  }));
  return { rows: page, next: rows.length > limit ? page.at(-1)?.id : last };
}

/** The oldest event that a page looks at; undefined if there are no more events than that. */
async function lastSearched(db: Database, inRange: SQL | undefined): Promise<number | undefined> {
  const [row] = await db
    .select({ id: events.id })
    .from(events)
    .where(inRange)
    .orderBy(desc(events.id))
    .limit(1)
    .offset(MAX_SEARCHED - 1);
  return row?.id;
}

/** Events that one run removes at most; the next run goes on. */
const MAX_REMOVED = 1_000;

/**
 * Removes events that are older than the retention, the oldest first, a bounded number of them.
 *
 * @param retentionDays the variable EVENT_RETENTION_DAYS; 0 keeps all
 * @param now milliseconds since 1970
 * @throws SettingError if the variable is not a number of days
 */
export async function removeExpiredEvents(
  db: Database,
  retentionDays: string,
  now: number,
): Promise<void> {
  const start = retentionStart('EVENT_RETENTION_DAYS', retentionDays, now);
  if (start === null) return;
  await db.delete(events).where(
    sql`${events.id} in (select id from events where id < ${firstIdAt(start)}
      order by id limit ${MAX_REMOVED})`,
  );
}
