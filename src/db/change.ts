import type { EventType } from '@licet/contract/enums';
import { and, eq, type SQL, sql } from 'drizzle-orm';
import type { RunnableQuery } from 'drizzle-orm/runnable-query';
import type { SQLiteColumn, SQLiteTable } from 'drizzle-orm/sqlite-core';
import { type WaitUntil, wait } from '../lib/async.ts';
import { DomainError } from '../lib/errors.ts';
import {
  batch,
  type Database,
  failedCheck,
  isForeignKeyViolation,
  isUniqueViolation,
  type Results,
  type Statement,
  type Statements,
} from './client.ts';
import { type EventSender, insertEvents, type NewEvent } from './events.ts';
import { type CreatedIds, type KeyedRequest, storeKey } from './idempotency.ts';
import { type Change, putIntoOutbox, type Touch } from './outbox.ts';
import { violations } from './schema.ts';

/** A delivery of an event to a webhook (8). */
export interface StoredDelivery {
  webhookId: number;
  id: number;
  type: string;
  attempts: number;
  step: number;
  /** Until when an attempt has it for itself; null without one. */
  leaseUntil: number | null;
}

/** The statement that stores the deliveries of the events of a millisecond, after those events. */
export type StoringDeliveries = RunnableQuery<StoredDelivery[], 'sqlite'>;

/** The statements of a channel for events of some types. A new object has nothing that could follow, and no id yet. */
export interface FollowUp {
  types: readonly Exclude<EventType, `${string}.created`>[];
  /**
   * The statements of the same transaction, before those of the change: they find the rows as they were.
   *
   * @param ids of the changed objects
   */
  statements: (db: Database, ids: readonly number[]) => Statement[];
}

/** The mails with keys, which follow new licenses (13). */
export interface KeyMails {
  /** @param owned selects the ids of licenses that are new, or whose customer has an e-mail from now on */
  store(db: Database, owned: SQL, now: number): RunnableQuery<{ id: number }[], 'sqlite'>;
  /** Makes the first attempts of new mails. */
  send(ids: readonly number[]): Promise<void>;
}

/** The parts that the channels add to a change (ADR 0014). */
export interface Channels {
  followUps: readonly FollowUp[];
  storeDeliveries(db: Database, now: number): StoringDeliveries;
  /** Makes the first attempts of new deliveries (8). */
  deliver(stored: readonly StoredDelivery[]): Promise<void>;
  /** Null for a service that sends no mails. */
  keyMails: KeyMails | null;
}

/** The sender of a change. */
export interface Sender extends EventSender {
  db: Database;
  /** The time of the change, in milliseconds since 1970. */
  now: number;
  /** The `Idempotency-Key` of the request. */
  key?: KeyedRequest;
  caches: {
    invalidate(changes: readonly Change[]): void;
    publish(changes: readonly Change[]): Promise<void>;
  };
  channels: Channels;
  waitUntil: WaitUntil;
  /** The conditions on which the sender may make a change. */
  permissions(): Condition[];
}

/** A condition of a change, which the database checks when it makes the change. */
export interface Condition {
  constraint: (typeof violations.$inferInsert)['name'];
  holds: SQL;
  /** The error of the change if the condition does not hold. */
  error: Error;
}

/** The names of the statements that every change has. */
type OwnNames =
  | 'conditions'
  | 'followUps'
  | 'moved'
  | 'touched'
  | 'event'
  | 'deliveries'
  | 'mails'
  | 'key';

interface NewChange<Named> {
  /** Null for a part of a change that another part stores. */
  event: NewEvent | readonly NewEvent[] | null;
  /** The snapshots that become stale. */
  touches?: readonly Touch[];
  /** Snapshots that are evicted here and published nowhere: no other isolate is thought to have one. */
  adds?: readonly Change[];
  /** All statements apply, or none if a condition does not hold. */
  when?: readonly Condition[];
  statements: Named & { [Name in OwnNames]?: never };
  /** For new objects: their ids for repetitions of the request. */
  creates?: CreatedIds;
  /** Selects the ids of licenses of which the key may be mailed: new ones, and those whose customer has an e-mail from now on. */
  owned?: SQL | undefined;
  /** The errors for a unique value that another row has, and for a reference to a missing row. */
  errors?: { unique?: Error; reference?: Error };
}

/**
 * Makes a change in one transaction: the statements, the events with their deliveries and follow-ups, the rows of the
 * outbox and the `Idempotency-Key`. Then it evicts the touched snapshots. It publishes them, and sends to webhooks, after
 * the response.
 *
 * @returns the results of the statements, by name
 * @throws the error of the first condition that does not hold, or one of `errors`
 */
export function change<Named extends Statements>(
  sender: Sender,
  made: NewChange<Named>,
): Promise<Results<Named>>;
export async function change(
  sender: Sender,
  {
    event,
    statements,
    creates,
    owned,
    touches = [],
    adds = [],
    when = [],
    errors,
  }: NewChange<Statements>,
): Promise<Results<Statements>> {
  const { db, now, key, caches, channels, waitUntil } = sender;
  const conditions = [...sender.permissions(), ...when];
  const events = event ? [event].flat() : [];
  const results = await batch(db, {
    conditions: conditions.length > 0 ? check(db, conditions) : [],
    ...putIntoOutbox(db, touches, now),
    followUps: channels.followUps.flatMap((one) => followUp(db, one, events)),
    ...statements,
    event: insertEvents(db, sender, events, now),
    deliveries: event ? [channels.storeDeliveries(db, now)] : [],
    mails: owned && channels.keyMails ? [channels.keyMails.store(db, owned, now)] : [],
    key: key && creates !== undefined ? storeKey(db, key, creates) : [],
  }).catch((error) => {
    const failed = failedCheck(error);
    const condition = conditions.find(({ constraint }) => constraint === failed);
    if (condition) throw condition.error;
    if (isUniqueViolation(error)) throw errors?.unique ?? error;
    if (isForeignKeyViolation(error)) throw errors?.reference ?? error;
    throw error;
  });
  const { touched = [], deliveries = [], mails = [] } = results;
  caches.invalidate([...touched, ...adds]);
  waitUntil(caches.publish(touched));
  deliverFirst(channels.deliver, deliveries, waitUntil);
  if (channels.keyMails && mails.length > 0) {
    waitUntil(channels.keyMails.send(mails.map(({ id }) => id)));
  }
  return results;
}

/** Makes the first attempts of new deliveries with a lease. The scheduled handler attempts the others. */
export function deliverFirst(
  deliver: Channels['deliver'],
  stored: readonly StoredDelivery[],
  waitUntil: WaitUntil,
): void {
  const leased = stored.filter(({ leaseUntil }) => leaseUntil !== null);
  if (leased.length > 0) waitUntil(deliver(leased));
}

function followUp(db: Database, { types, statements }: FollowUp, events: readonly NewEvent[]) {
  const ids = events.flatMap(({ type, id }) =>
    types.some((one) => one === type) && typeof id === 'number' ? id : [],
  );
  return ids.length > 0 ? statements(db, ids) : [];
}

/** The statement that fails, and with it its batch, unless all conditions hold. It writes nothing. */
function check(db: Database, conditions: readonly Condition[]) {
  const cases = conditions.map(
    ({ constraint, holds }) => sql`when (${holds}) is not true then ${constraint}`,
  );
  // D1 allows five terms in a compound select.
  const violated = sql`select case ${sql.join(cases, sql` `)} end as name`;
  return db.insert(violations).select(sql`select name from (${violated}) where name is not null`);
}

const OVERTAKEN = new DomainError('overtaken', 'The object has changed since it was read');

/** A condition that held when the objects were read. */
export const stillHolds = (holds: SQL): Condition => ({
  constraint: 'object_is_unchanged',
  holds,
  error: OVERTAKEN,
});

/** The row still exists, unchanged since it was read. */
export const isUnchanged = (
  table: SQLiteTable & { id: SQLiteColumn; revision: SQLiteColumn },
  { id, revision }: { id: number; revision: number },
): Condition =>
  stillHolds(
    sql`exists (select 1 from ${table} where ${and(eq(table.id, id), eq(table.revision, revision))})`,
  );

/** {@link isUnchanged} for several rows. */
export const areUnchanged = (
  table: SQLiteTable & { id: SQLiteColumn; revision: SQLiteColumn },
  rows: readonly { id: number; revision: number }[],
): Condition =>
  stillHolds(
    sql`(select count(*) from json_each(${JSON.stringify(rows.map(({ id, revision }) => [id, revision]))})
      cross join ${table} on ${table.id} = value ->> 0 and ${table.revision} = value ->> 1) = ${rows.length}`,
  );

const MAX_ATTEMPTS = 10;
const MAX_PAUSE_MS = 100;

export const isOvertaken = (error: unknown): boolean =>
  error instanceof DomainError && error.kind === 'overtaken';

/**
 * Reads and writes, and does so again if another request has changed meanwhile what was read.
 *
 * @param attempt reads, and makes a {@link change} on the condition that nothing that it read has changed
 * @param maxAttempts fewer where an attempt makes many of the queries that a request may make
 * @throws DomainError of the kind `overtaken` if others change it all the time
 */
export async function untilNotOvertaken<Result>(
  attempt: () => Promise<Result>,
  maxAttempts = MAX_ATTEMPTS,
): Promise<Result> {
  for (let count = 1; count < maxAttempts; count++) {
    try {
      return await attempt();
    } catch (error) {
      if (!isOvertaken(error)) throw error;
    }
    // Random, so that two concurrent attempts do not collide again.
    await wait(Math.random() * MAX_PAUSE_MS);
  }
  return attempt();
}

/** The row of a statement that always returns one. */
export function only<Row>([row]: readonly Row[]): Row {
  if (row === undefined) throw new Error('The statement returned no row');
  return row;
}
