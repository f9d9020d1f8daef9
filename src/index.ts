import { app } from './app';
import { openDatabase } from './db/client';
import { logFailure } from './log';
import { removeExpiredRequests } from './requests/retention';

export default {
  fetch: app.fetch,
  async scheduled(controller, env) {
    const db = openDatabase(env.DB);
    const { REQUEST_RETENTION_DAYS } = env;
    await removeExpiredRequests(db, REQUEST_RETENTION_DAYS, controller.scheduledTime).catch(
      (error) =>
        logFailure(
          error instanceof RangeError ? error.message : 'Old records were not removed',
          error,
        ),
    );
  },
} satisfies ExportedHandler<Env>;
