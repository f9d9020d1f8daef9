import { app } from './app';
import { openDatabase } from './db/client';
import { removeExpiredRequests } from './requests/retention';

export default {
  fetch: app.fetch,
  async scheduled(controller, env) {
    await removeExpiredRequests(
      openDatabase(env.DB),
      env.REQUEST_RETENTION_DAYS,
      controller.scheduledTime,
    );
  },
} satisfies ExportedHandler<Env>;
