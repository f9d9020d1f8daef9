import { MINUTE_MS } from '@licet/contract/durations';
import { sql } from 'drizzle-orm';
import { REMOVE_GRANTS } from './auth/grants.ts';
import { REMOVE_SESSIONS } from './auth/sessions.ts';
import { storeReminders } from './channels/mail/causes.ts';
import { LOOK_AFTER_MARKETS } from './channels/markets/scheduled.ts';
import { LOOK_AFTER_CUSTOMERS } from './channels/self-service.ts';
import { isOpen, storeDeliveries } from './channels/webhooks/outgoing.ts';
import { REMOVE_DELIVERIES } from './channels/webhooks/store.ts';
import { type Database, openCounted } from './db/client.ts';
import { SERVICE } from './db/events.ts';
import { REMOVE_KEYS } from './db/expired-keys.ts';
import type { Run, Task } from './db/task.ts';
import type { WaitUntil } from './lib/async.ts';
import { logFailure } from './lib/log.ts';
import { AGGREGATE, ROLL_UP } from './requests/aggregate.ts';
import { KEEP_COUNTS } from './requests/counts.ts';
import { raiseExpiriesTask } from './requests/expiries.ts';
import { REMOVE_RECORDS } from './requests/retention.ts';
import { removeEvents } from './resources/events/queries.ts';
import { type Bindings, type Services, senderOf, servicesOf } from './services.ts';

/** The work of the scheduled handler, each minute. */

/** The queries and requests of a run that the Free plan allows. */
const MAX_REQUESTS = 50;

/** Work that is due for longer has waited for other tasks. */
const MAX_WAIT_MS = 2 * MINUTE_MS;

/** The most urgent tasks come first, and those that send what the others have made last: a receiver may take its time. */
export const tasksOf = ({ caches, deliverer, mailer }: Services): readonly Task[] => [
  caches.publishTask,
  raiseExpiriesTask(mailer.isSetUp ? storeReminders : null),
  ROLL_UP,
  AGGREGATE,
  REMOVE_RECORDS,
  REMOVE_SESSIONS,
  REMOVE_GRANTS,
  removeEvents(isOpen),
  KEEP_COUNTS,
  REMOVE_KEYS,
  REMOVE_DELIVERIES,
  LOOK_AFTER_CUSTOMERS,
  LOOK_AFTER_MARKETS,
  mailer.task,
  deliverer.task,
];

/** The tasks in an order in which no backlog starves another: each that has waited too long comes first in its turn. */
async function inTurn(tasks: readonly Task[], db: Database, now: number): Promise<Task[]> {
  const times = tasks.map(({ dueSince }) => (dueSince ? sql`(${dueSince(now)})` : sql`null`));
  const read = await db
    .get<{ list: string }>(sql`select json_array(${sql.join(times, sql`, `)}) as list`)
    .catch((error) => logFailure('It is unknown which tasks have waited too long', error));
  const dueSince: readonly (number | null)[] = read ? JSON.parse(read.list) : [];
  const hasWaited = tasks.map((_, index) => (dueSince[index] ?? now) < now - MAX_WAIT_MS);
  const others = tasks.filter((_, index) => !hasWaited[index]);
  const groups = [others, ...tasks.filter((_, index) => hasWaited[index]).map((task) => [task])];
  const first = Math.floor(now / MINUTE_MS) % groups.length;
  return [...groups.slice(first), ...groups.slice(0, first)].flat();
}

/** Runs a task, unless its queries could be too many. A failure does not stop the other tasks. */
async function attempt({ failure, most, run: task }: Task, run: Run): Promise<void> {
  if (most > run.left()) return;
  try {
    await task(run);
  } catch (error) {
    logFailure(failure, error);
  }
}

/** @param scheduledTime when the run was due, in milliseconds since 1970 */
export async function runTasks(
  env: Bindings,
  scheduledTime: number,
  waitUntil: WaitUntil,
): Promise<void> {
  const services = servicesOf(env);
  const { caches, outbound, isOnOneMachine } = services;
  const { db, queries } = openCounted(env.DB, services.db.ipv6SlotPrefix);
  const added: Task[] = [];
  let requests = 0;
  const run: Run = {
    db,
    now: scheduledTime,
    settings: env,
    outbound,
    newSender() {
      const sender = senderOf(services, SERVICE, waitUntil, async () => undefined);
      return {
        ...sender,
        db,
        // Each follow-up waits for its task, which counts the queries and requests.
        caches: {
          invalidate: (changes) => caches.invalidate(changes),
          publish: async () => undefined,
        },
        channels: {
          ...sender.channels,
          storeDeliveries: (database, now) => storeDeliveries(database, now, true),
        },
      };
    },
    left: () => (isOnOneMachine ? Number.POSITIVE_INFINITY : MAX_REQUESTS - queries() - requests),
    spend(more) {
      requests += more;
    },
    add: (task) => added.push(task),
  };
  const tasks = tasksOf(services);
  for (const task of isOnOneMachine ? tasks : await inTurn(tasks, db, scheduledTime)) {
    await attempt(task, run);
    for (const next of added.splice(0)) await attempt(next, run);
  }
}
