import { type WaitUntil, wait, withTimeout } from './async.ts';

/** Requests that wait at the same time. Beyond them a request is rejected at once. */
const MAX_WAITING = 2_000;
const MAX_WAITING_MS = 2_000;
/** Interval at which room is looked for. */
const POLL_MS = 5;
const TURN_MS = 1;
/** A request that admits others, and has not done so for this long, was cancelled. */
const CANCELLED_AFTER_MS = 250;
/** Interval at which a waiting request checks that another one still admits. */
const TICK_MS = 250;
/** A longer tick belongs to a process that stood still, or to a clock that stepped: nobody could be admitted in it. */
const MAX_TICK_MS = 350;
/** The platform ends a request 30 seconds after its response. */
const MAX_STAY_MS = 10_000;

interface AdmissionOptions {
  /** Requests that begin in a turn of the event loop. */
  maxPerTurn: number;
  /** Whether there is no room for another request. */
  isFull?: () => boolean;
  /** Called again and again while there is no room. */
  makeRoom?: (waitUntil: WaitUntil) => void;
}

/**
 * Admits requests in the order in which they come: a bounded number in a turn, and none while there is no room.
 *
 * workerd accepts connections, reads from idle ones and fires timers only when no request can go on. Connections that
 * never pause would keep it from that for seconds, and with it the database. Requests that wait for a timer let it look.
 */
export class Admission {
  readonly #options: AdmissionOptions;
  /** The functions that admit the requests that wait, the oldest first, and the times until which they wait. */
  readonly #waiting = new Map<(isAdmitted: boolean) => void, number>();
  /** Requests that have begun in this turn. */
  #begun = 0;
  /** The request that admits the others, by the time at which it did so last. */
  #admitter: { tickedAt: number } | undefined;

  constructor(options: AdmissionOptions) {
    this.#options = options;
  }

  /** @returns whether the request may begin; false after two seconds without room, or if too many others wait */
  enter(waitUntil: WaitUntil): boolean | Promise<boolean> {
    const { maxPerTurn } = this.#options;
    const isFree = this.#waiting.size === 0 && this.#begun < maxPerTurn;
    if (isFree && !this.#isFull()) {
      this.#begun++;
      // Without a limit, nobody has to end the turns.
      if (maxPerTurn < Number.POSITIVE_INFINITY) this.#keepAdmitting(waitUntil);
      return true;
    }
    const now = performance.now();
    if (this.#waiting.size >= MAX_WAITING) this.#removeCancelled(now);
    if (this.#waiting.size >= MAX_WAITING) return false;
    const isAdmitted = this.#wait(now, waitUntil);
    this.#keepAdmitting(waitUntil);
    return isAdmitted;
  }

  #isFull(): boolean {
    return this.#options.isFull?.() ?? false;
  }

  async #wait(now: number, waitUntil: WaitUntil): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    this.#waiting.set(resolve, now + MAX_WAITING_MS);
    let leftMs = MAX_WAITING_MS;
    let tickedAt = now;
    const ticking = setInterval(() => {
      const tickMs = performance.now() - tickedAt;
      tickedAt += tickMs;
      leftMs -= Math.min(Math.max(tickMs, TICK_MS), MAX_TICK_MS);
      if (leftMs <= 0) resolve(false);
      else this.#keepAdmitting(waitUntil);
    }, TICK_MS);
    const isAdmitted = await promise;
    clearInterval(ticking);
    this.#waiting.delete(resolve);
    return isAdmitted;
  }

  /** A request that was cancelled has no timer any more. */
  #removeCancelled(now: number): void {
    for (const [resolve, until] of this.#waiting) {
      if (until > now) break;
      this.#waiting.delete(resolve);
    }
  }

  /** Lets this request end the turns and admit the others, if no other one does. */
  #keepAdmitting(waitUntil: WaitUntil): void {
    const { tickedAt = Number.NEGATIVE_INFINITY } = this.#admitter ?? {};
    const isCancelled = Math.abs(performance.now() - tickedAt) > CANCELLED_AFTER_MS;
    if (isCancelled) waitUntil(this.#admitAll(waitUntil));
  }

  /** Ends the turns, and admits a part of the requests that wait in each. Goes on after its own response. */
  async #admitAll(waitUntil: WaitUntil): Promise<void> {
    const admitter = { tickedAt: performance.now() };
    const leavesAt = admitter.tickedAt + MAX_STAY_MS;
    this.#admitter = admitter;
    // Another request takes its place.
    while (this.#waiting.size + this.#begun > 0 && admitter.tickedAt < leavesAt) {
      // The first timer fires when the requests before have gone as far as they can. It is due by then, and the runtime
      // does not look for other work before it.
      await wait(0);
      await wait(this.#isFull() ? POLL_MS : TURN_MS);
      // Another request took this one for cancelled.
      if (this.#admitter !== admitter) return;
      admitter.tickedAt = performance.now();
      if (this.#isFull()) this.#options.makeRoom?.(waitUntil);
      else this.#admitSome();
    }
    this.#admitter = undefined;
  }

  #admitSome(): void {
    this.#begun = 0;
    for (const [admit] of this.#waiting) {
      if (this.#begun === this.#options.maxPerTurn) break;
      this.#begun++;
      this.#waiting.delete(admit);
      admit(true);
    }
  }
}

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
