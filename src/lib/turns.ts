import { type WaitUntil, wait, withTimeout } from './async';

/** Lets requests that arrived during a turn be served before the next one. */
const PAUSE_MS = 1;
/** A longer turn belongs to a database that does not respond. */
const TURN_TIMEOUT_MS = 5_000;

interface Turn {
  isOver: boolean;
  /** Begins the next turn, if it waits. */
  begin?: () => void;
}

/**
 * Work of several requests, one piece at a time, in the order in which it was asked for, and with pauses. On one
 * machine the database responds in the thread that serves the requests: without pauses, a request whose work
 * continues at once keeps all others from being served.
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
    const working = this.#take(turn, previous, work);
    waitUntil(working.catch(() => undefined));
    return working;
  }

  async #take<Result>(turn: Turn, previous: Turn, work: () => Promise<Result>): Promise<Result> {
    try {
      if (!previous.isOver) {
        // A request may settle the promise of another one, and must not await it.
        const { promise, resolve } = Promise.withResolvers<void>();
        previous.begin = resolve;
        await withTimeout(promise, TURN_TIMEOUT_MS).catch(() => undefined);
      }
      await wait(PAUSE_MS);
      return await work();
    } finally {
      turn.isOver = true;
      turn.begin?.();
    }
  }
}
