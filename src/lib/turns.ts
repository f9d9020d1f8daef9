import { type WaitUntil, wait, withTimeout } from './async.ts';

const MAX_PAUSE_MS = 100;
/** A longer turn belongs to a database that does not respond. */
const TURN_TIMEOUT_MS = 5_000;

interface Turn {
  isOver: boolean;
  /** Begins the next turn, if it waits. */
  begin?: () => void;
}

/**
 * Runs work of several requests, one piece at a time, in the order of the calls. After each piece there is a pause. It
 * is as long as the piece kept timers from running, and at most {@link MAX_PAUSE_MS}.
 *
 * On one machine the database responds in the thread that serves the requests: without pauses, such work would keep
 * other requests from being served. At Cloudflare, timers run while a piece waits for the database, and the pauses are
 * short.
 */
export class Turns {
  #last: Turn = { isOver: true };

  /**
   * Does a piece of work when its turn comes.
   *
   * @param waitUntil keeps the turn alive if its request is cancelled, so that the next one comes
   */
  run<Result>(work: () => Promise<Result>, waitUntil: WaitUntil): Promise<Result> {
    const previous = this.#last;
    const turn: Turn = { isOver: false };
    this.#last = turn;
    const working = Promise.withResolvers<Result>();
    const take = async () => {
      if (!previous.isOver) {
        // The request that made a promise awaits it; another request may settle it.
        const { promise, resolve } = Promise.withResolvers<void>();
        previous.begin = resolve;
        await withTimeout(promise, TURN_TIMEOUT_MS).catch(() => undefined);
      }
      const startedAt = performance.now();
      const timer = wait(0).then(() => performance.now() - startedAt);
      await work().then(working.resolve, working.reject);
      await wait(Math.min(await timer, MAX_PAUSE_MS));
      turn.isOver = true;
      turn.begin?.();
    };
    waitUntil(take());
    return working.promise;
  }
}
