import { type WaitUntil, wait } from './async';

/** Requests that wait at the same time. Beyond them a request is rejected at once. */
const MAX_WAITING = 2_000;
const MAX_WAITING_MS = 2_000;
/** Pause between two looks for room. */
const POLL_MS = 5;
const TURN_MS = 1;
/** A request that admits others, and has not done so for this long, was cancelled. */
const CANCELLED_AFTER_MS = 250;
/** The platform ends a request 30 seconds after its response. */
const MAX_STAY_MS = 20_000;

interface AdmissionOptions {
  /** The most requests that begin in a turn of the event loop. */
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
 * never pause would delay all that for seconds, and the database with it. While requests wait for a timer, workerd
 * looks for other work.
 */
export class Admission {
  readonly #options: AdmissionOptions;
  /** The functions that admit the requests that wait, the oldest first. */
  readonly #waiting = new Set<(isAdmitted: boolean) => void>();
  /** Requests that have begun since requests that wait were last admitted, or with them. */
  #begun = 0;
  /** When one of the requests that wait last looked for room. */
  #tickedAt = Number.NEGATIVE_INFINITY;

  constructor(options: AdmissionOptions) {
    this.#options = options;
  }

  /** @returns whether the request may begin; false after two seconds without room, or if too many others wait */
  enter(waitUntil: WaitUntil): boolean | Promise<boolean> {
    const isFree = this.#waiting.size === 0 && this.#begun < this.#options.maxPerTurn;
    if (isFree && !this.#isFull()) {
      this.#begun++;
      return true;
    }
    return this.#waiting.size < MAX_WAITING && this.#wait(waitUntil);
  }

  #isFull(): boolean {
    return this.#options.isFull?.() ?? false;
  }

  async #wait(waitUntil: WaitUntil): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const timer = setTimeout(() => resolve(false), MAX_WAITING_MS);
    this.#waiting.add(resolve);
    if (Math.abs(performance.now() - this.#tickedAt) > CANCELLED_AFTER_MS) {
      waitUntil(this.#admitAll(waitUntil));
    }
    const isAdmitted = await promise;
    clearTimeout(timer);
    this.#waiting.delete(resolve);
    return isAdmitted;
  }

  /** Admits the requests that wait, one part each turn. Goes on after its own response. */
  async #admitAll(waitUntil: WaitUntil): Promise<void> {
    const leavesAt = performance.now() + MAX_STAY_MS;
    while (this.#waiting.size > 0 && performance.now() < leavesAt) {
      this.#tickedAt = performance.now();
      // The first timer is due when the earlier requests have gone as far as they can, and fires without a look for
      // other work. The second one lets the runtime look.
      await wait(0);
      await wait(this.#isFull() ? POLL_MS : TURN_MS);
      if (this.#isFull()) this.#options.makeRoom?.(waitUntil);
      else this.#admitSome();
    }
    this.#tickedAt = Number.NEGATIVE_INFINITY;
  }

  #admitSome(): void {
    this.#begun = 0;
    for (const admit of this.#waiting) {
      if (this.#begun === this.#options.maxPerTurn) break;
      this.#begun++;
      this.#waiting.delete(admit);
      admit(true);
    }
  }
}
