import { logFailure } from './lib/log.ts';
import { storeLeftRecords } from './requests/queue.ts';
import { app } from './routes/app.ts';
import { runTasks } from './scheduled.ts';
import { type Bindings, servicesOf } from './services.ts';

/**
 * The entrance of the Worker. In comments here and in the folders beside it, (1.7) is a section of docs/decisions.md, and
 * [4.7] one of docs/interface.md.
 */

/** The cron by which `npm start` announces its end. */
const STOP = 'stop';

const worker = {
  fetch: app.fetch,
  async scheduled({ cron, scheduledTime }, env, context) {
    const services = servicesOf(env);
    const { recorder, deliverer, mailer } = services;
    const waitUntil = (work: Promise<unknown>) => context.waitUntil(work);
    services.flushFailures();
    if (cron === STOP) {
      // `npm start` waits for this line, and closes the sockets.
      console.log(JSON.stringify({ message: 'Stopping', event: 'stop' }));
      await Promise.all([recorder.drain(waitUntil), deliverer.drain(), mailer.drain()]);
      return;
    }
    // Requests of an outage wait in memory, and perhaps no new one comes.
    recorder.keepWriting(waitUntil);
    await runTasks(env, scheduledTime, waitUntil);
  },
  async queue(batch, env, context) {
    await storeLeftRecords(servicesOf(env).recorder, batch, (work) => context.waitUntil(work));
  },
} satisfies ExportedHandler<Bindings>;

export default {
  ...worker,
  async scheduled(controller, env, context) {
    try {
      await worker.scheduled(controller, env, context);
    } catch (error) {
      // The outcome of the run does not differ from that of a failed request.
      logFailure('The scheduled tasks failed', error);
      throw error;
    }
  },
} satisfies ExportedHandler<Bindings>;
