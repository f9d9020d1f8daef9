import { REMOVE_GRANTS } from './auth/grants.ts';
import { REMOVE_SESSIONS } from './auth/sessions.ts';
import { storeReminders } from './channels/mail/causes.ts';
import { LOOK_AFTER_MARKETS } from './channels/markets/scheduled.ts';
import { LOOK_AFTER_CUSTOMERS } from './channels/self-service.ts';
import { isOpen } from './channels/webhooks/outgoing.ts';
import { REMOVE_DELIVERIES } from './channels/webhooks/store.ts';
import { openCounted } from './db/client.ts';
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

/** The most urgent tasks come first. */
export const tasksOf = ({ caches, mailer }: Services): readonly Task[] => [
  caches.publishTask,
  ROLL_UP,
  AGGREGATE,
  REMOVE_RECORDS,
  REMOVE_SESSIONS,
  REMOVE_GRANTS,
  removeEvents(isOpen),
  KEEP_COUNTS,
  REMOVE_KEYS,
  REMOVE_DELIVERIES,
  LOOK_AFTER_MARKETS,
  LOOK_AFTER_CUSTOMERS,
  raiseExpiriesTask(mailer.isSetUp ? storeReminders : null),
];

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
  const { deliverer, mailer, outbound, isOnOneMachine } = services;
  const { db, queries } = openCounted(env.DB, services.db.ipv6SlotPrefix);
  const due = [...tasksOf(services)];
  let requests = 0;
  const run: Run = {
    db,
    now: scheduledTime,
    settings: env,
    outbound,
    // Mails wait for the task below, which counts its queries.
    newSender: () => ({ ...senderOf(services, SERVICE, waitUntil, async () => undefined), db }),
    left: () => (isOnOneMachine ? Number.POSITIVE_INFINITY : MAX_REQUESTS - queries() - requests),
    spend(more) {
      requests += more;
    },
    add: (task) => due.push(task),
  };
  for (const task of due) await attempt(task, run);
  await attempt(mailer.task, run);
  // The last one: a receiver may take its time.
  await attempt(deliverer.task, run);
}
