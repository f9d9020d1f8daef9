import type { VirtualClock } from './clock.ts';
import type { Invocation } from './invocation.ts';
import { currentInvocation } from './invocation.ts';

const PERIOD_MS = 60_000;

/** A rate limiter of the platform, counted per location and minute. It can fail altogether. */
export class FakeLimiter {
  readonly #clock: VirtualClock;
  readonly #limit: number;
  readonly #counts = new Map<string, number>();
  #failsUntil = 0;

  constructor(clock: VirtualClock, limit: number) {
    this.#clock = clock;
    this.#limit = limit;
  }

  fail(milliseconds: number): void {
    this.#failsUntil = this.#clock.now + milliseconds;
  }

  endFaults(): void {
    this.#failsUntil = 0;
  }

  /** The binding of an isolate in a location. */
  binding(location: string): object {
    return {
      limit: async ({ key }: { key: string }) => {
        if (this.#clock.now < this.#failsUntil) throw new Error('Rate limiter unavailable');
        const window = Math.floor(this.#clock.now / PERIOD_MS);
        const name = JSON.stringify([location, window, key]);
        const count = (this.#counts.get(name) ?? 0) + 1;
        this.#counts.set(name, count);
        const success = count <= this.#limit;
        if (!success) markLimited(currentInvocation());
        return { success };
      },
    };
  }
}

function markLimited(invocation: Invocation | undefined): void {
  if (invocation) invocation.isLimited = true;
}
