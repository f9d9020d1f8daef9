interface TimedEvent {
  at: number;
  order: number;
  run: () => void;
}

const isBefore = (one: TimedEvent, other: TimedEvent): boolean =>
  one.at < other.at || (one.at === other.at && one.order < other.order);

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
  /** A binary heap: the next event is the first. */
  readonly #events: TimedEvent[] = [];
  #planned = 0;
  #eventsAtOnce = 0;

  constructor(now: number) {
    this.now = now;
  }

  /** Plans an event. An event in the past is the next one. @returns a function that cancels it */
  at(time: number, run: () => void): () => void {
    const event = { at: Math.max(time, this.now), order: this.#planned++, run };
    this.#push(event);
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
    this.#removeFirst();
    this.#eventsAtOnce = event.at === this.now ? this.#eventsAtOnce + 1 : 0;
    if (this.#eventsAtOnce > MAX_EVENTS_AT_ONCE) throw new Error('Time stands still');
    this.now = event.at;
    event.run();
    await turn();
    return true;
  }

  #push(event: TimedEvent): void {
    const events = this.#events;
    let place = events.length;
    events.push(event);
    while (place > 0) {
      const above = (place - 1) >> 1;
      const parent = events[above];
      if (!parent || !isBefore(event, parent)) break;
      events[place] = parent;
      events[above] = event;
      place = above;
    }
  }

  #removeFirst(): void {
    const events = this.#events;
    const last = events.pop();
    if (!last || events.length === 0) return;
    events[0] = last;
    let place = 0;
    for (;;) {
      const left = 2 * place + 1;
      const [one, other] = [events[left], events[left + 1]];
      const isRight = one !== undefined && other !== undefined && isBefore(other, one);
      const child = isRight ? other : one;
      if (child === undefined || !isBefore(child, last)) return;
      const below = isRight ? left + 1 : left;
      events[place] = child;
      events[below] = last;
      place = below;
    }
  }
}
