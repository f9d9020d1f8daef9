import { DAY_MS } from '@licet/contract/durations';
import { removeExpiredSessions } from './auth/sessions.ts';
import { openCounted } from './db/client.ts';
import { SERVICE } from './db/events.ts';
import { removeExpiredKeys } from './db/idempotency.ts';
import { type Bindings, isolateOf } from './isolate.ts';
import { logFailure } from './lib/log.ts';
import { aggregateDays, rollUp } from './requests/aggregate.ts';
import { ALERT_QUERIES, raiseAlerts } from './requests/alerts.ts';
import { keepCounts } from './requests/counts.ts';
import { receiveRecords } from './requests/queue.ts';
import { removeRecordsBefore } from './requests/retention.ts';
import { TAKE_QUERIES, takeRoles } from './resources/discord/roles.ts';
import { removeEventsBefore } from './resources/events/queries.ts';
import { RECONCILE_QUERIES } from './resources/markets/reconcile.ts';
import { compareMarket, lookAfterMarkets, MARKET_QUERIES } from './resources/markets/scheduled.ts';
import { lookAfterCustomers, SELF_SERVICE_QUERIES } from './resources/self-service.ts';
import { clearDeliveries } from './resources/webhooks/store.ts';
import { app } from './routes/app.ts';

/**
 * The entrance of the Worker. In comments here and in the folders beside it, (1.7) is a section of docs/decisions.md, and
 * [4.7] one of docs/interface.md.
 */

/** The cron by which `npm start` announces its end. */
const STOP = 'stop';

/** The queries and requests of a run that the Free plan allows. */
const MAX_REQUESTS = 50;

const worker = {
  fetch: app.fetch,
  async scheduled({ cron, scheduledTime }, env, context) {
    const isolate = isolateOf(env);
    const { caches, recorder, deliverer, outbound, trustedProxies } = isolate;
    isolate.flushFailures();
    if (cron === STOP) {
      // `npm start` waits for this line, and closes the sockets.
      console.log(JSON.stringify({ message: 'Stopping', event: 'stop' }));
      await Promise.all([recorder.drain((work) => context.waitUntil(work)), deliverer.drain()]);
      return;
    }
    const { db, queries } = openCounted(env.DB);
    let published = 1;
    let toReconcile: number | null = null;
    let areRolesDue = false;
    const left = () =>
      trustedProxies ? Number.POSITIVE_INFINITY : MAX_REQUESTS - published - queries();
    /**
     * Runs a task, unless its queries could be too many: then it waits for the next run. A failure does not stop the
     * other tasks.
     *
     * @param most the number of its queries and requests, at most
     */
    const attempt = async (most: number, task: () => Promise<unknown>, failure: string) => {
      if (most > left()) return;
      try {
        await task();
      } catch (error) {
        logFailure(failure, error);
      }
    };
    /** The number of a setting. A wrong one is logged, and counts as 0. */
    const numberOf = (
      name: 'REQUEST_RETENTION_DAYS' | 'EVENT_RETENTION_DAYS' | 'MANY_ADDRESSES',
      unit: string,
      effect: string,
    ): number => {
      const value = Number(env[name]);
      if (value >= 0) return value;
      const message = `${name} must be a number of ${unit}, not "${env[name]}": ${effect}`;
      logFailure(message, new RangeError());
      return 0;
    };
    /** Removes rows that are older than the days of a setting; 0 keeps all. */
    const removeExpired = async (
      name: 'REQUEST_RETENTION_DAYS' | 'EVENT_RETENTION_DAYS',
      removeBefore: (start: number) => Promise<void>,
    ) => {
      // Removing data by mistake is worse than keeping it.
      const days = numberOf(name, 'days', 'nothing was removed');
      if (days > 0) await removeBefore(scheduledTime - days * DAY_MS);
    };
    // Requests of an outage wait in memory, and perhaps no new one comes.
    recorder.keepWriting((work) => context.waitUntil(work));
    await attempt(
      21,
      async () => {
        published = await caches.publishDue();
      },
      'Changes were not published',
    );
    await attempt(12, () => rollUp(db, scheduledTime), 'Records were not rolled up');
    await attempt(8, () => aggregateDays(db, scheduledTime), 'Records were not aggregated');
    await attempt(
      8,
      () => removeExpired('REQUEST_RETENTION_DAYS', (start) => removeRecordsBefore(db, start)),
      'Old records were not removed',
    );
    await attempt(
      1,
      () => removeExpiredSessions(db, scheduledTime),
      'Old sessions were not removed',
    );
    await attempt(
      1,
      () => removeExpired('EVENT_RETENTION_DAYS', (start) => removeEventsBefore(db, start)),
      'Old events were not removed',
    );
    await attempt(2, () => keepCounts(db, scheduledTime), 'The licenses were not counted');
    await attempt(
      1,
      () => removeExpiredKeys(db, scheduledTime),
      'Idempotency keys were not removed',
    );
    await attempt(2, () => clearDeliveries(db, scheduledTime), 'Old deliveries were not removed');
    await attempt(
      MARKET_QUERIES,
      async () => {
        toReconcile = await lookAfterMarkets(db, scheduledTime);
      },
      'Markets were not looked after',
    );
    await attempt(
      SELF_SERVICE_QUERIES,
      async () => {
        areRolesDue = await lookAfterCustomers(db, scheduledTime);
      },
      'Links, sessions and interactions of customers were not looked after',
    );
    await attempt(
      ALERT_QUERIES,
      () => {
        const manyAddresses = numberOf('MANY_ADDRESSES', 'addresses', 'none are too many');
        return raiseAlerts(db, manyAddresses || null, scheduledTime);
      },
      'Events about licenses were not made',
    );
    if (toReconcile !== null) {
      const marketId = toReconcile;
      await attempt(
        RECONCILE_QUERIES,
        async () => {
          published += await compareMarket(
            {
              db,
              outbound,
              newSender: () => ({
                ...SERVICE,
                db,
                caches,
                deliver: (stored) => deliverer.gather(stored),
                now: Date.now(),
                waitUntil: (work) => context.waitUntil(work),
                permissions: () => [],
              }),
              platformLabels: env.PLATFORM_LABELS,
              left,
            },
            marketId,
          );
        },
        'A market was not compared',
      );
    }
    if (areRolesDue) {
      await attempt(
        TAKE_QUERIES,
        async () => {
          published += await takeRoles({ db, outbound, now: scheduledTime }, left);
        },
        'Roles at Discord were not looked after',
      );
    }
    // The last task: a receiver may take its time.
    await attempt(0, () => deliverer.deliverDue(db, left), 'Events were not delivered');
  },
  async queue(batch, env) {
    await receiveRecords(isolateOf(env).recorder, batch);
  },
} satisfies ExportedHandler<Bindings>;

export default {
  ...worker,
  async scheduled(controller, env, context) {
    try {
      await worker.scheduled(controller, env, context);
    } catch (error) {
      // The outcome of the run does not tell it from a request that failed.
      logFailure('The scheduled tasks failed', error);
      throw error;
    }
  },
} satisfies ExportedHandler<Bindings>;
