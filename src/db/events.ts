import type { EventType } from '@licet/contract/enums';
import { is, SQL, sql } from 'drizzle-orm';
import type { SQLiteTable } from 'drizzle-orm/sqlite-core';
import { firstIdAt, SLOTS } from '../lib/time-id.ts';
import type { Database } from './client.ts';
import { rowValues } from './predicates.ts';
import { events } from './schema.ts';

/**
 * Events (5). The batch of a change also stores its event, so that neither is stored without the other. An event
 * costs two written rows: itself and its entry in the index.
 */

export interface EventSender {
  /** Null for ROOT_TOKEN. */
  tokenId: number | null;
  isConsole: boolean;
  /** Whether an assistant makes the change with the token (12). */
  isMcp?: boolean;
  /** The connecting address; null if it is unknown. */
  ip: string | null;
  /** `discord:` and the id of an administrator there (10). */
  actor?: 'service' | 'customer' | 'program' | `discord:${string}`;
  /** The customer who makes the change (10). */
  customerId?: number;
}

/** The service itself, as the sender of what it changes by itself (8). */
export const SERVICE: EventSender = {
  tokenId: null,
  isConsole: false,
  ip: null,
  actor: 'service',
};

/** The values before and after a change, by field. */
export type EventChanges = Record<string, { before: unknown; after: unknown }>;

export interface NewEvent {
  type: EventType;
  /** The id of the object. Null for many objects at once, and for a session. */
  id: number | SQL | null;
  /** Fields, or JSON of them in SQL. Null without fields. */
  changes: EventChanges | SQL | null;
  /** Stores the event only if this holds after the change. */
  condition?: SQL;
}

/** Longer text is cut, and longer lists show changed values only: an event must fit into one row of D1. */
const MAX_TEXT_LENGTH = 500;
const MAX_VALUES = 100;

const isBlank = (value: unknown): boolean =>
  value == null || value === '' || (Array.isArray(value) && value.length === 0);

const shorten = (value: unknown): unknown =>
  typeof value === 'string' && value.length > MAX_TEXT_LENGTH
    ? `${value.slice(0, MAX_TEXT_LENGTH)}…`.toWellFormed()
    : value;

/** Shortens a list. A long list keeps only the values that the other list does not have. */
function shortenList(list: readonly unknown[], other: unknown): unknown[] {
  if (list.length <= MAX_VALUES && !(Array.isArray(other) && other.length > MAX_VALUES)) {
    return list.map(shorten);
  }
  const others = new Set(Array.isArray(other) ? other : []);
  const differing = list.filter((value) => !others.has(value));
  const shown: unknown[] = differing.slice(0, MAX_VALUES).map(shorten);
  if (differing.length > MAX_VALUES) shown.push(`… and ${differing.length - MAX_VALUES} more`);
  return shown;
}

const shown = (value: unknown, other: unknown): unknown =>
  Array.isArray(value) ? shortenList(value, other) : (shorten(value) ?? null);

/**
 * Finds the fields that differ between two versions of an object, both as GET shows them: null before for a new object,
 * null after for a deleted one.
 *
 * @param names the fields that a client sets
 */
export const differ =
  (names: readonly string[]) => (before: object | null, after: object | null) => {
    const [old, current] = [before, after].map(
      (values) => new Map<string, unknown>(Object.entries(values ?? {})),
    );
    const changes: EventChanges = {};
    for (const name of names) {
      const [one, other] = [old?.get(name), current?.get(name)];
      if (JSON.stringify(one) === JSON.stringify(other)) continue;
      // An empty field of a new or deleted object says nothing.
      if (isBlank(one) && isBlank(other) && (before === null || after === null)) continue;
      changes[name] = { before: shown(one, other), after: shown(other, one) };
    }
    return changes;
  };

/** The id of the newest row of a table with growing ids. */
export const newestId = (table: SQLiteTable): SQL => sql`(select max(id) from ${table})`;

/** The next id of an event of this millisecond. @param now milliseconds since 1970 */
function nextEventId(now: number): SQL {
  const first = firstIdAt(now);
  return sql`ifnull((select max(id) + 1 from events
    where id >= ${first} and id < ${first + SLOTS}), ${first})`;
}

/** The values of an event in SQL, by which a select of objects stores one for each. */
interface EventValues {
  type: SQL | EventType;
  /** That of the type unless set. */
  resource?: SQL;
  id: SQL | number | null;
  /** JSON of the changes. */
  changes: SQL | string | null;
  /** The place of the event among those of its statement, from 0. */
  place: SQL;
}

/** The row of an event, for an insert from a select. @param now milliseconds since 1970 */
export const eventRow = (
  { tokenId, isConsole, isMcp = false, ip, actor, customerId }: EventSender,
  { type, resource, id, changes, place }: EventValues,
  now: number,
): SQL =>
  rowValues(events, {
    id: sql`${nextEventId(now)} + ${place}`,
    type,
    tokenId,
    isConsole: Number(isConsole),
    ip,
    resourceType: resource ?? sql`substr(${type}, 1, instr(${type}, '.') - 1)`,
    resourceId: id,
    changes,
    actor: actor ?? null,
    customerId: customerId ?? null,
    isMcp: Number(isMcp),
  });

/** D1 allows five terms in a compound select. */
const MAX_SELECTS = 5;

const isInSql = ({ id, changes, condition }: NewEvent): boolean =>
  condition !== undefined || is(id, SQL) || is(changes, SQL);

/**
 * The statements that store events, after those of their change. An event of which no field has changed is not stored.
 *
 * @param now milliseconds since 1970
 */
export function insertEvents(
  db: Database,
  sender: EventSender,
  list: readonly NewEvent[],
  now: number,
) {
  const changed = list.filter(
    ({ changes }) => changes === null || is(changes, SQL) || Object.keys(changes).length > 0,
  );
  const selects = changed
    .filter(isInSql)
    .map(({ type, id, changes, condition = sql`true` }, index) => {
      const json = changes === null || is(changes, SQL) ? changes : JSON.stringify(changes);
      const place = sql.raw(String(index % MAX_SELECTS));
      const row = eventRow(sender, { type, id, changes: json, place }, now);
      return sql`select ${row} where ${condition}`;
    });
  const inSql = selects.flatMap((_, first) =>
    first % MAX_SELECTS === 0
      ? db
          .insert(events)
          .select(sql.join(selects.slice(first, first + MAX_SELECTS), sql` union all `))
      : [],
  );
  const others = changed.filter((one) => !isInSql(one));
  if (others.length === 0) return inSql;
  const field = (name: keyof NewEvent): SQL => sql`value ->> ${`$.${name}`}`;
  const row = eventRow(
    sender,
    { type: field('type'), id: field('id'), changes: field('changes'), place: sql`key` },
    now,
  );
  return [
    ...inSql,
    db.insert(events).select(sql`select ${row} from json_each(${JSON.stringify(others)})`),
  ];
}
