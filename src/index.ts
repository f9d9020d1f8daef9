import { DAY_MS } from '@licet/contract/durations';
import { removeExpiredSessions } from './auth/sessions.ts';
import { removeExpiredKeys } from './db/idempotency.ts';
import { type Bindings, isolateOf } from './isolate.ts';
import { logFailure } from './lib/log.ts';
import { aggregateDays, rollUp } from './requests/aggregate.ts';
import { keepCounts } from './requests/counts.ts';
import { receiveRecords } from './requests/queue.ts';
import { removeRecordsBefore } from './requests/retention.ts';
import { removeEventsBefore } from './resources/events/queries.ts';
import { clearDeliveries } from './resources/webhooks/store.ts';
import { app } from './routes/app.ts';

/**
 * The entrance of the Worker. In comments here and in the folders beside it, (1.7) is a section of docs/decisions.md, and
 * [4.7] one of docs/interface.md.
 */

/** The cron by which `npm start` announces its end. */
const STOP = 'stop';

/** Runs a task of the scheduled handler. A failure does not stop the other tasks. */
const attempt = (task: Promise<unknown>, failure: string): Promise<unknown> =>
  task.catch((error) => logFailure(failure, error));

export default {
  fetch: app.fetch,
  async scheduled({ cron, scheduledTime }, env, context) {
    const { db, caches, recorder, deliverer } = isolateOf(env);
    if (cron === STOP) {
      // `npm start` waits for this line, and closes the sockets.
      console.log(JSON.stringify({ message: 'Stopping', event: 'stop' }));
      return recorder.drain((work) => context.waitUntil(work));
    }
    /** Removes rows that are older than the days of a setting; 0 keeps all. */
    const removeExpired = async (
      name: 'REQUEST_RETENTION_DAYS' | 'EVENT_RETENTION_DAYS',
      removeBefore: (start: number) => Promise<void>,
    ) => {
      const days = Number(env[name]);
      // Removing data by mistake is worse than keeping it.
      if (!(days >= 0)) {
        const message = `${name} must be a number of days, not "${env[name]}": nothing was removed`;
        logFailure(message, new RangeError());
      } else if (days > 0) await removeBefore(scheduledTime - days * DAY_MS);
    };
    // Requests of an outage wait in memory, and perhaps no new one comes.
    recorder.keepWriting((work) => context.waitUntil(work));
    await attempt(caches.publishDue(), 'Changes were not published');
    await attempt(rollUp(db, scheduledTime), 'Records were not rolled up');
    await attempt(aggregateDays(db, scheduledTime), 'Records were not aggregated');
    await attempt(
      removeExpired('REQUEST_RETENTION_DAYS', (start) => removeRecordsBefore(db, start)),
      'Old records were not removed',
    );
    await attempt(removeExpiredSessions(db, scheduledTime), 'Old sessions were not removed');
    await attempt(
      removeExpired('EVENT_RETENTION_DAYS', (start) => removeEventsBefore(db, start)),
      'Old events were not removed',
    );
    await attempt(keepCounts(db, scheduledTime), 'The licenses were not counted');
    await attempt(removeExpiredKeys(db, scheduledTime), 'Idempotency keys were not removed');
    await attempt(clearDeliveries(db, scheduledTime), 'Old deliveries were not removed');
    // The last task: a receiver may take its time.
    await attempt(deliverer.deliverDue(), 'Events were not delivered');
  },
  async queue(batch, env) {
    await receiveRecords(isolateOf(env).recorder, batch);
  },
} satisfies ExportedHandler<Bindings>;
