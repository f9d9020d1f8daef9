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
import { app } from './routes/app.ts';

/** The cron by which `npm start` announces its end. */
const STOP = 'stop';

/** A setting with an invalid value. Its message may be logged. */
class SettingError extends Error {
  override name = 'SettingError';
}

/**
 * The time of the oldest rows that are kept, in milliseconds since 1970; null to keep all.
 *
 * @param name the variable with the number of days; 0 keeps all
 * @throws SettingError if the variable is not a number of days
 */
function retentionStart(name: string, retentionDays: string, now: number): number | null {
  const days = Number(retentionDays);
  // Removing data by mistake is worse than keeping it.
  if (!(days >= 0)) throw new SettingError(`${name} must be a number of days`);
  return days === 0 ? null : now - days * DAY_MS;
}

/** Runs a task of the scheduled handler. A failure does not stop the other tasks. */
async function attempt(task: Promise<unknown>, failure: string): Promise<void> {
  await task.catch((error) =>
    logFailure(error instanceof SettingError ? error.message : failure, error),
  );
}

export default {
  fetch: app.fetch,
  async scheduled({ cron, scheduledTime }, env, context) {
    const { db, caches, recorder } = isolateOf(env);
    if (cron === STOP) {
      // `npm start` waits for this line, and closes the sockets.
      console.log(JSON.stringify({ message: 'Stopping', event: 'stop' }));
      return recorder.drain((work) => context.waitUntil(work));
    }
    /** Removes rows that are older than a setting. */
    const removeExpired = async (
      name: 'REQUEST_RETENTION_DAYS' | 'EVENT_RETENTION_DAYS',
      removeBefore: (start: number) => Promise<void>,
    ) => {
      const start = retentionStart(name, env[name], scheduledTime);
      if (start !== null) await removeBefore(start);
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
  },
  async queue(batch, env) {
    await receiveRecords(isolateOf(env).recorder, batch);
  },
} satisfies ExportedHandler<Bindings>;
