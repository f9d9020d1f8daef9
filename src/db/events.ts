import type { EventType } from '@licet/contract/enums';
import { is, SQL, sql } from 'drizzle-orm';
import type { SQLiteTable } from 'drizzle-orm/sqlite-core';
import { firstIdAt, SLOTS } from '../lib/time-id.ts';
import type { Database } from './client.ts';
import { events } from './schema.ts';

/**
 * Events (5). The batch of a change also stores its event, so that neither is stored without the other. An event
 * costs two written rows: itself and its entry in the index.
 */

export interface EventSender {
  /** Null for ROOT_TOKEN. */
  tokenId: number | null;
  isConsole: boolean;
  /** The connecting address; null if it is unknown. */
  ip: string | null;
  /** `discord:` and the id of an administrator there (10). */
  actor?: 'service' | 'customer' | `discord:${string}`;
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
export function nextEventId(now: number): SQL {
  const first = firstIdAt(now);
  return sql`ifnull((select max(id) + 1 from events
    where id >= ${first} and id < ${first + SLOTS}), ${first})`;
}

/**
 * The statement that stores the events of several objects, after those of its change.
 *
 * @param now milliseconds since 1970
 */
export const insertEvents = (
  db: Database,
  { tokenId, isConsole, ip, actor, customerId }: EventSender,
  list: readonly { type: EventType; id: number; changes: EventChanges }[],
  now: number,
) =>
  list.length === 0
    ? []
    : db.insert(events).select(
        sql`select ${nextEventId(now)} + key, value ->> 'type', ${tokenId}, ${Number(isConsole)}, ${ip},
          substr(value ->> 'type', 1, instr(value ->> 'type', '.') - 1), value ->> 'id', value ->> 'changes',
          ${actor ?? null}, ${customerId ?? null}
          from json_each(${JSON.stringify(list)})`,
      );

/**
 * The statement that stores an event, after those of its change. None if no field has changed.
 *
 * @param now milliseconds since 1970
 */
export function insertEvent(
  db: Database,
  { tokenId, isConsole, ip, actor, customerId }: EventSender,
  { type, id: resourceId, changes, condition = sql`true` }: NewEvent,
  now: number,
) {
  const isSql = changes === null || is(changes, SQL);
  if (!isSql && Object.keys(changes).length === 0) return [];
  return db.insert(events).select(
    sql`select ${nextEventId(now)}, ${type}, ${tokenId}, ${Number(isConsole)}, ${ip},
      ${type.slice(0, type.indexOf('.'))}, ${resourceId}, ${isSql ? changes : JSON.stringify(changes)},
      ${actor ?? null}, ${customerId ?? null}
      where ${condition}`,
  );
}
