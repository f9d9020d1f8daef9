import { app } from './app';
import { type Bindings, edgeOf } from './edge/edge';
import { receiveRecords } from './edge/queue';
import { logFailure } from './log';
import { indexRequests } from './requests/indexing';
import { removeExpiredRequests } from './requests/retention';

/** What one task of the scheduled handler cannot do does not keep the others from it. */
async function attempt(task: Promise<unknown>, failure: string): Promise<void> {
  await task.catch((error) =>
    logFailure(error instanceof RangeError ? error.message : failure, error),
  );
}

export default {
  fetch: app.fetch,
  async scheduled(controller, env) {
    const edge = edgeOf(env);
    const now = controller.scheduledTime;
    await attempt(edge.publishDue(now), 'Changes were not published');
    await attempt(
      removeExpiredRequests(edge.db, env.REQUEST_RETENTION_DAYS, now),
      'Old records were not removed',
    );
    await attempt(indexRequests(edge.db, now), 'Records were not indexed');
  },
  async queue(batch, env) {
    await receiveRecords(edgeOf(env), batch);
  },
} satisfies ExportedHandler<Bindings>;
