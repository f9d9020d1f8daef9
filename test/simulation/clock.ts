interface TimedEvent {
  at: number;
  run: () => void;
}

/** More events than this in one millisecond are an endless loop. */
const MAX_EVENTS_AT_ONCE = 50_000;

/** Runs all code that awaits nothing but promises. */
const turn = (): Promise<void> => new Promise((done) => setImmediate(done));

/**
 * Virtual time. It stands still while code runs, and jumps to the next event when all code waits. Events run
 * one at a time. Those of the same millisecond run in the order in which they were planned, so a run repeats
 * exactly.
 */
export class VirtualClock {
  /** Milliseconds since 1970. */
  now: number;
  /** In the order in which they run. */
  readonly #events: TimedEvent[] = [];
  #eventsAtOnce = 0;

  constructor(now: number) {
    this.now = now;
  }

  /** Plans an event. An event in the past is the next one. @returns a function that cancels it */
  at(time: number, run: () => void): () => void {
    const event = { at: Math.max(time, this.now), run };
    // A binary search, because a flood plans thousands.
    let [low, high] = [0, this.#events.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#events[middle]?.at ?? 0) <= event.at) low = middle + 1;
      else high = middle;
    }
    this.#events.splice(low, 0, event);
    return () => {
      event.run = () => undefined;
    };
  }

  wait(milliseconds: number): Promise<void> {
    return new Promise((done) => this.at(this.now + Math.round(milliseconds), done));
  }

  /** Lets time pass, with all events in it. */
  async pass(milliseconds: number): Promise<void> {
    const end = this.now + milliseconds;
    await turn();
    while (await this.#next(end));
    this.now = end;
  }

  /** Lets time pass until a promise is settled. @returns its value */
  async until<Result>(promise: Promise<Result>, limitMs = 10 * 60_000): Promise<Result> {
    let isSettled = false;
    const settle = (): void => {
      isSettled = true;
    };
    promise.then(settle, settle);
    const end = this.now + limitMs;
    await turn();
    while (!isSettled) {
      if (!(await this.#next(end))) throw new Error(`Not settled within ${limitMs} ms`);
    }
    return promise;
  }

  async #next(end: number): Promise<boolean> {
    const [event] = this.#events;
    if (!event || event.at > end) return false;
    this.#events.shift();
    this.#eventsAtOnce = event.at === this.now ? this.#eventsAtOnce + 1 : 0;
    if (this.#eventsAtOnce > MAX_EVENTS_AT_ONCE) throw new Error('Time stands still');
    this.now = event.at;
    event.run();
    await turn();
    return true;
  }
}
